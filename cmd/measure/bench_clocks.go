package main

import (
	"fmt"
	"io"
	"time"

	"rowproof/internal/row"
)

// A receipt's readings are placed beside a row's by the wall clocks of two hosts. Where
// these disagree, bench says so at once: after a night of rows it is too late.

const clocksWant = "the clocks of both hosts must agree to a second, as NTP sets them, for its readings to have a place beside a row"

// clocksAt says what is wrong with the times of a watched receipt as they are read now; ""
// where nothing is seen. A file that comes late looks like a clock that is behind.
func clocksAt(f *row.ReceiptFile, now time.Time) string {
	until, err := time.Parse(time.RFC3339Nano, f.Until)
	if err != nil || !f.Watch || f.Ended != "" {
		return ""
	}
	switch off := until.Sub(now); {
	case off > row.ClocksApart*time.Microsecond:
		return fmt.Sprintf("the clock of %s, on which the receipt is watched, is %s ahead of this host's or more; %s", oneLine(f.Host), off.Round(100*time.Millisecond), clocksWant)
	case -off > watchLag+row.ClocksApart*time.Microsecond:
		return fmt.Sprintf("the receipt's last reading is of %s ago by this host's clock: its watch on %s has stopped, its file comes late, or the clock there is behind; %s", (-off).Round(time.Second), oneLine(f.Host), clocksWant)
	}
	return ""
}

// clocksOver says by the counters that both hosts read over a row how far their clocks are
// apart; "" where that is not seen.
func clocksOver(ev *row.Evidence) string {
	least, most, ok := row.ClocksBetween(ev)
	if !ok || least <= row.ClocksApart && most >= -row.ClocksApart {
		return ""
	}
	side := "ahead of"
	if most < 0 {
		least, most, side = -most, -least, "behind"
	}
	return fmt.Sprintf("by the server's counters, which both hosts read, the receipt's clock is %.1f to %.1f s %s this host's; %s", float64(least)/1e6, float64(most)/1e6, side, clocksWant)
}

func (s *sweep) tell(w io.Writer, text string) {
	if text != "" {
		fmt.Fprintf(w, "measure bench: %s\n", text)
	}
}
