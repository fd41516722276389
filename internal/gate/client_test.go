package gate_test

import (
	"strconv"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

func formatted(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

// The selftest that counts is the one with the least streams that are not fewer than the
// row's; nothing lies between two levels.
func TestTheLevelOfTheSelftest(t *testing.T) {
	at := func(c int64) rowtest.Options {
		return rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 16, Concurrency: c}}, Protocol: row.Passes, Calibrated: true}
	}
	bad := func(streams int64) func(m *made) {
		return func(m *made) {
			test := m.report.Client.Selftest
			for i := range test.Levels {
				if test.Levels[i].Streams == streams {
					late(&test.Levels[i].ITLErrorNS, 40_000_000)
				}
			}
		}
	}
	const wrong = "the client's own ITL error p99 is 40,000 µs"
	plant(t, at(4), "client", gate.Pass, "small", func(*made) {})
	plant(t, at(4), "client", gate.Fail, wrong, bad(64))
	plant(t, at(4), "client", gate.Pass, "small", bad(256))
	plant(t, at(4), "client", gate.Pass, "small", bad(1)) // one stream says nothing of four
	plant(t, at(1), "client", gate.Fail, wrong, bad(1))
	plant(t, at(65), "client", gate.Fail, wrong, bad(256)) // the next level, and not 64
	plant(t, at(65), "client", gate.Pass, "small", bad(64))
	plant(t, at(4), "client", gate.Unjudged, "missing a selftest with 4 streams: it ran with 2", func(m *made) {
		test := m.report.Client.Selftest
		test.Streams, test.Levels = 2, test.Levels[:1]
	})
	plant(t, at(4), "client", gate.Unjudged, "missing a selftest of 100 gaps", func(m *made) {
		test := m.report.Client.Selftest
		test.Levels[1].Gaps, test.Gaps = 99, 99
	})
	// Of a summary and a level of one number of streams the worse counts.
	plant(t, at(4), "client", gate.Fail, wrong, func(m *made) { late(&m.report.Client.Selftest.ITLErrorNS, 40_000_000) })
}

// A calibration holds for one boot, one source of stamps and one build.
func TestASelftestOfAnother(t *testing.T) {
	o := rowtest.Options{Calibrated: true}
	for reason, change := range map[string]func(c *row.Client){
		"a selftest of this boot: this one is of boot f00d": func(c *row.Client) { c.Selftest.Boot = "f00d" },
		"the boot of the client's host":                     func(c *row.Client) { c.Boot = "" },
		"a selftest with stamps ktime: this one had ring":   func(c *row.Client) { c.Selftest.Stamps = "ring" },
		"a selftest with stamps ktime: this one had none":   func(c *row.Client) { c.Selftest.Stamps = "" },
		"a selftest of this build":                          func(c *row.Client) { c.Selftest.Revision = "1111111111111111111111111111111111111111" },
		"this one is of none stated, the run of 0000":       func(c *row.Client) { c.Selftest.Revision = "" },
		"a selftest from before the run":                    func(c *row.Client) { c.Selftest.MeasuredAt = "2026-11-30T13:00:00Z" },
		"the time of the selftest":                          func(c *row.Client) { c.Selftest.MeasuredAt = "" },
		"a selftest whose levels rise":                      func(c *row.Client) { c.Selftest.Levels[0].Streams = 999 },
		"its errors are not p50 ≤ p99 ≤ max":                func(c *row.Client) { c.Selftest.Levels[1].ITLErrorNS.P50 = 1 << 40 },
	} {
		plant(t, o, "client", gate.Unjudged, reason, func(m *made) { change(&m.report.Client) })
	}
	plant(t, o, "client", gate.Unjudged, "missing a selftest with stamps read, which repeat 1 had", func(m *made) {
		m.evidence[1].Capture[1].Stamps = "read"
	})
	plant(t, o, "client", gate.Unjudged, "missing what the capture of repeat 2 says of itself", func(m *made) {
		m.evidence[1].Capture = m.evidence[1].Capture[:2]
	})
	plant(t, o, "client", gate.Unjudged, "missing what the capture of repeat 1 says of itself, once", func(m *made) {
		m.evidence[1].Capture = append(m.evidence[1].Capture, m.evidence[1].Capture[1])
	})
}

// What was lost counts by whichever says more: the samples, or the capture.
func TestLostStamps(t *testing.T) {
	ring := rowtest.Options{Stamps: "ring", Calibrated: true}
	plant(t, ring, "client", gate.Fail, "120 of 3840 chunks have no stamp", func(m *made) {
		for _, s := range timed(m) {
			s.T[5] = row.NoStamp
		}
	})
	plant(t, ring, "client", gate.Fail, "the capture lost 500 stamps of", func(m *made) { m.evidence[1].Capture[1].Unstamped = 500 })
	plant(t, ring, "client", gate.Fail, "the packet ring dropped 500 packets", func(m *made) {
		m.evidence[1].Capture[1].Drops, m.evidence[1].Capture[2].Drops = 500, -500
	})
	plant(t, ring, "client", gate.Fail, "the packet ring dropped 500 packets", func(m *made) { m.evidence[1].Capture[1].Drops = 500 })
	plant(t, ring, "client", gate.Pass, "small", func(m *made) {
		m.evidence[1].Capture[1].Drops, m.evidence[1].Capture[1].Unstamped = 2, 2
		timed(m)[0].T[4], timed(m)[9].T[4] = row.NoStamp, row.NoStamp
	})
}

// Where stamps are of reads, chunks under one stamp cannot be told apart; a ring has
// stamped them all.
func TestSharedStamps(t *testing.T) {
	together := func(m *made) {
		for _, s := range timed(m) {
			s.T[5], s.T[6] = s.T[5]+s.T[6], 0
		}
	}
	plant(t, rowtest.Options{Stamps: "ktime"}, "client", gate.Fail, "120 of 3720 chunks came under the stamp of the chunk before", together)
	plant(t, rowtest.Options{Stamps: "read"}, "client", gate.Fail, "reads cannot tell", together)
	plant(t, rowtest.Options{Stamps: "ring"}, "client", gate.Pass, "small", together)
	plant(t, rowtest.Options{Stamps: "ktime"}, "client", gate.Pass, "small", func(m *made) {
		s := timed(m)[0]
		s.T[5], s.T[6] = s.T[5]+s.T[6], 0
	})
}

// What is shown, and blocks nothing.
func TestOwnLagIsTold(t *testing.T) {
	plant(t, rowtest.Options{}, "client", gate.Warn, "3 connections of repeat 0 opened after the clock had started", func(m *made) {
		m.evidence[1].Capture[0].LateConnections = 3
	})
	plant(t, rowtest.Options{}, "client", gate.Warn, "the thread that reads was woken 80,000 µs late", func(m *made) {
		m.evidence[1].Capture[0].SweepP99 = 80_000
	})
	plant(t, rowtest.Options{}, "client", gate.Warn, "the client stood still for 480,000 µs at least once (repeat 2)", func(m *made) {
		m.evidence[1].Capture[2].SweepMax = 480_000
	})
	for _, r := range judge(t, make1(1, rowtest.Options{Stamps: "ring", Calibrated: true}).files(t), nil)[0] {
		if r.Gate != "client" {
			continue
		}
		names := map[string]bool{}
		for _, f := range r.Figures {
			names[f.Name] = true
		}
		for _, want := range []string{"selftest", "ITL error p99", "TTFT error p99", "chunks without a stamp", "requests sent late by, p99", "CPU of the client, repeat 0"} {
			if !names[want] {
				t.Errorf("no figure %q among %v", want, r.Figures)
			}
		}
	}
}
