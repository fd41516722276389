package host

import (
	"context"
	"time"

	"rowproof/internal/row"
)

const (
	settleEvery = 250 * time.Millisecond
	settleStill = 2500 * time.Millisecond // without a change, of a gauge that an idle server leaves as it was
	settleMost  = 20 * time.Second
)

// Settle waits until the server has nothing left of what was asked before: some go on
// with requests that their client has cancelled, and count these into the next row. It
// returns how many it still runs where it has not come to rest in time, and 0 else, also
// where its metrics do not tell.
func Settle(ctx context.Context, ref ServerRef) (running int64) {
	return settle(ctx, newScraper(ref), settleEvery, settleStill, settleMost)
}

func settle(ctx context.Context, s *scraper, every, still, most time.Duration) (running int64) {
	end := time.Now().Add(most)
	tick := time.NewTicker(every)
	defer tick.Stop()
	var before map[string]float64
	same := time.Now() // since when nothing changed
	for {
		values, err := s.scrape(ctx, keptDuring)
		if err != nil {
			return 0
		}
		now := row.ServerFrom(&row.Evidence{Metrics: []row.MetricSample{{When: row.During, Values: values}}}).RunningMax
		switch {
		case now == nil || *now == 0:
			return 0
		case !sameWork(before, values):
			before, same = values, time.Now()
		case time.Since(same) >= still:
			return 0
		}
		if time.Now().After(end) {
			return *now
		}
		select {
		case <-ctx.Done():
			return 0
		case <-tick.C:
		}
	}
}

// sameWork says whether two readings are of the same work: every series but the time of
// the reading is as it was.
func sameWork(a, b map[string]float64) bool {
	if len(a) != len(b) {
		return false
	}
	for name, v := range a {
		if w, ok := b[name]; !ok || w != v {
			return false
		}
	}
	return true
}
