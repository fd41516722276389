package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"rowproof/internal/gate"
	"rowproof/internal/row"
)

// A client that takes so much of a core may have been what limited a row.
const busyClient = 0.8

// Below so many chunks CPU a chunk is the cost of a run's beginning and end.
const leastChunks = 1000

// foretell says before the first row how far the client itself will be off.
func foretell(w io.Writer, c *row.Client) {
	text := "client: stamps " + c.Stamps
	if t := c.Selftest; t != nil {
		text += fmt.Sprintf("; its own error with %s: ITL p99 %s, TTFT p99 %s", countOf(int(t.Streams), "stream"), µsWords(t.ITLErrorNS.P99), µsWords(t.TTFTErrorNS.P99))
		if t.MeasuredAt != "" {
			text += " (measure selftest, " + t.MeasuredAt + ")"
		}
	}
	fmt.Fprintln(w, text)
}

// µsWords is a short time; one of a millisecond or more in ms.
func µsWords(ns int64) string {
	if ns >= 1_000_000 {
		return strconv.FormatFloat(float64(ns)/1e6, 'f', 1, 64) + " ms"
	}
	return strconv.FormatFloat(float64(ns)/1000, 'f', 1, 64) + " µs"
}

// clientLag is what the captures of rows say of the client: the worst of each.
type clientLag struct {
	repeats             int
	dispatch, sweep     int64 // µs, p99
	cpu, wall, chunks   int64
	unstamped, drops    int64
	late                int64   // connections
	busiest             float64 // share of a core
	filled, blocks      int64   // of the ring
	busiestAt, latestAt string
	over                string // where requests were sent later than gate client allows, at worst; "" nowhere
	overBy              int64  // µs
}

func (l *clientLag) add(name string, r *row.Row, e *row.Evidence, samples []row.Sample) {
	limit, held := gate.LateP99Limit(&r.Figures)
	for i := range samples {
		l.chunks += samples[i].ContentChunks()
	}
	for _, k := range e.Capture {
		l.repeats++
		if k.DispatchP99 > l.dispatch || l.latestAt == "" {
			l.dispatch, l.latestAt = k.DispatchP99, name
		}
		if held && float64(k.DispatchP99) > limit && k.DispatchP99 > l.overBy {
			l.overBy = k.DispatchP99
			l.over = "over the " + µsWords(int64(1000*limit)) + " that gate client allows"
			if r.Workload.Repeats > 1 {
				l.over += " the median of a row's repeats"
			}
			if name != l.latestAt {
				l.over = µsWords(1000*k.DispatchP99) + " (" + name + ") is " + l.over
			}
		}
		l.sweep = max(l.sweep, k.SweepP99)
		l.cpu += k.CPU
		l.wall += k.Wall
		l.unstamped += k.Unstamped
		l.drops += k.Drops
		l.late += k.LateConnections
		if share := cpuShare(&k); share > l.busiest {
			l.busiest, l.busiestAt = share, name
		}
		if k.Blocks > 0 && k.BlocksUsed*max(l.blocks, 1) >= l.filled*k.Blocks {
			l.filled, l.blocks = k.BlocksUsed, k.Blocks
		}
	}
}

// cpuShare is how much of a core the client took.
func cpuShare(k *row.CaptureStats) float64 {
	if k.Wall <= 0 {
		return 0
	}
	return float64(k.CPU) / float64(k.Wall)
}

// tell says it in a line; nothing where there was no capture.
func (l *clientLag) tell(w io.Writer) {
	if l.repeats == 0 || l.wall == 0 {
		return
	}
	parts := []string{"requests sent late by p99 " + µsWords(1000*l.dispatch) + " at worst (" + l.latestAt + ")"}
	if l.over != "" {
		parts[0] += ", " + l.over
	}
	if l.sweep > 0 {
		parts = append(parts, "its reading thread woken late by p99 "+µsWords(1000*l.sweep))
	}
	if l.cpu > 0 && l.chunks >= leastChunks {
		parts = append(parts, fmt.Sprintf("%.1f µs of CPU a chunk, at most %.0f%% of a core (%s)", float64(l.cpu)/float64(l.chunks), 100*l.busiest, l.busiestAt))
	}
	if l.blocks > 0 {
		parts = append(parts, fmt.Sprintf("ring filled to %d of %d blocks", l.filled, l.blocks))
	}
	if l.unstamped+l.drops > 0 {
		parts = append(parts, fmt.Sprintf("%s without a time, %s dropped", countOf(int(l.unstamped), "chunk"), countOf(int(l.drops), "packet")))
	} else {
		parts = append(parts, "no chunk without a time")
	}
	if l.late > 0 {
		parts = append(parts, countOf(int(l.late), "connection")+" opened after the clock had started")
	}
	fmt.Fprintln(w, "\nclient: "+strings.Join(parts, "; "))
}

// busyNote says of a row that the client may have been what limited it.
func busyNote(captures []row.CaptureStats) []string {
	most := 0.0
	for i := range captures {
		most = max(most, cpuShare(&captures[i]))
	}
	if most < busyClient {
		return nil
	}
	return []string{"the client took " + strconv.FormatFloat(100*most, 'f', 0, 64) + "% of a core: it may have been the limit"}
}
