package loadgen

import (
	"math"
	"slices"

	"rowproof/internal/row"
)

// capture gathers outcomes in order, and what the capture says of itself. Each
// connection's stamps are joined to its answers in turn, and let go of then.
func (r *runner) capture() *Capture {
	l := r.loop
	c := &Capture{Spec: r.spec, NoRing: r.dialer.noRing}
	st := &c.Stats
	st.Repeat = int64(r.spec.Repeat)
	st.Stamps = r.dialer.stamps
	st.Reads = l.reads
	st.Connections = l.opened.Load()
	st.LateConnections = l.lateOnes
	st.SpilledBytes = l.store.size
	st.CPU, st.Wall = l.cpu/1000, (l.ended-l.started)/1000
	st.SweepP99, st.SweepMax = micro(rank(l.late, 0.99)), micro(rank(l.late, 1))

	of := map[*conn][]*record{}
	var conns []*conn
	for _, rec := range l.records {
		if rec.conn == nil {
			continue
		}
		if of[rec.conn] == nil {
			conns = append(conns, rec.conn)
		}
		of[rec.conn] = append(of[rec.conn], rec)
	}
	unseen := 0
	if l.lazy {
		r.ring.settle(conns)
		st.Drops = r.ring.stats()
		st.Blocks, st.BlocksUsed = int64(r.ring.key.blocks), r.ring.mostFilled()
	}
	for _, conn := range conns {
		var segs []segment
		if l.lazy {
			var seen bool
			if segs, seen = r.ring.flow(conn); !seen {
				unseen++
			}
		}
		for _, rec := range of[conn] {
			var s []Stamp
			if l.lazy {
				s = stamps(segs, pieces(rec.marks))
			} else {
				s = stampsOf(pieces(rec.marks))
			}
			rec.marks = nil
			for _, s := range s {
				if s.Shared {
					st.SharedStamps++
				}
				if s.At == Unstamped {
					st.Unstamped++
				}
			}
			if rec.parts == nil {
				rec.Stamps = s
			} else {
				rec.aside = &aside{file: l.store.file, parts: rec.parts, rest: rec.Body, stamps: packStamps(s)}
				rec.Body = nil
			}
		}
	}

	slices.SortFunc(l.records, func(a, b *record) int { return a.Seq - b.Seq })
	c.Outcomes = make([]Outcome, len(l.records))
	var lags []int64
	for i, rec := range l.records {
		c.Outcomes[i] = rec.Outcome
		if rec.Phase == row.PhaseTimed && rec.Sent != 0 {
			lags = append(lags, rec.Sent-max(rec.Enqueued, rec.slot))
		}
	}
	st.DispatchP50, st.DispatchP99, st.DispatchMax = micro(rank(lags, 0.5)), micro(rank(lags, 0.99)), micro(rank(lags, 1))
	r.note(c, unseen)
	return c
}

// note says what a reader of the figures should know.
func (r *runner) note(c *Capture, unseen int) {
	say := func(text string) { c.Notes = append(c.Notes, text) }
	l, st := r.loop, &c.Stats
	if r.blind {
		say("the packet ring did not see the connections of " + itoa(len(l.records)) + " of " + itoa(len(l.records)) + " requests; they have the kernel's stamp of each read")
	}
	if unseen > 0 {
		say("the packet ring did not see " + itoa(unseen) + " of " + itoa(int(st.Connections)) + " connections: what they brought has no stamp")
	}
	if r.dialer.speaks != "" {
		say(r.dialer.speaks)
	}
	if n := r.dialer.others; n > 0 {
		say("the server's name has " + itoa(n+1) + " addresses; one of them was measured")
	}
	if names := proxiesUnused(r.spec.Base); names != "" {
		say(names + " of the environment was not used: the server itself is measured")
	}
	if st.Drops > 0 {
		say("the packet ring dropped " + itoa(int(st.Drops)) + " packets")
	}
	if l.store.failed != nil {
		say("answers stayed in memory: no temporary file took them")
	}
	if note := l.pace.gaveUp(); note != "" {
		say(note)
	}
}

// rank is the value that a share of v does not pass; 0 of none. It sorts v.
func rank(v []int64, share float64) int64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[max(0, int(math.Ceil(share*float64(len(v))))-1)]
}

func micro(ns int64) int64 { return (ns + 500) / 1000 }
