package row

import (
	"strings"
	"testing"
)

// Four requests of one pass in a window of 200 ms, from the first enqueue to the last
// content: TTFT 50, 60, 80 and 30 ms.
func fourRequests() []Sample {
	return []Sample{
		request(0, 49_990, 10_000, 20_000),      // gaps 10, 20: TPOT 15, E2E 80
		request(0, 59_990, 30_000, 30_000),      // gaps 30, 30: TPOT 30, E2E 120
		request(0, 79_990, 20_000, 100_000),     // gaps 20, 100: TPOT 60, E2E 200
		request(10_000, 29_990, 39_000, 11_000), // gaps 39, 11: TPOT 25, E2E 80
	}
}

func TestGoodputByHand(t *testing.T) {
	w := passes(4, 1)
	samples := fourRequests()
	for name, c := range map[string]struct {
		limits []Limit
		met    int64
	}{
		"no limit is request_s":          {nil, 4},
		"ttft":                           {[]Limit{{"ttft_ms", 990, 60}}, 3},
		"at the limit is met":            {[]Limit{{"ttft_ms", 500, 80}}, 4},
		"tpot":                           {[]Limit{{"tpot_ms", 500, 25}}, 2},
		"e2e":                            {[]Limit{{"e2e_ms", 990, 100}}, 2},
		"itl p99: the greatest of a few": {[]Limit{{"itl_ms", 990, 38}}, 2},
		"itl p50: the median":            {[]Limit{{"itl_ms", 500, 30}}, 3}, // 15, 30, 60, 25
		"itl mean: 15, 30, 60, 25":       {[]Limit{{"itl_ms", Mean, 25}}, 2},
		"ttfa without reasoning is ttft": {[]Limit{{"ttfa_ms", 990, 60}}, 3},
		"every limit at once":            {[]Limit{{"ttft_ms", 990, 60}, {"itl_ms", 990, 20}}, 1},
		"none":                           {[]Limit{{"e2e_ms", 990, 1}}, 0},
	} {
		g := Goodput(w, samples, c.limits)
		if g.Met != c.met || g.Of != 4 || g.Untold != 0 || g.Interval != nil || g.Missing != "" {
			t.Errorf("%s: %+v", name, g)
		}
		near(t, name, g.PerSec, float64(c.met)/0.2)
	}
	near(t, "request_s", Compute(w, 1, samples, nil).Figures.RequestPerSec, 4/0.2)
}

// The answer came with the second chunk, and once not at all.
func TestGoodputOfTheFirstAnswer(t *testing.T) {
	one, none := int64(1), int64(-1)
	a, b := request(0, 49_990, 10_000, 20_000), request(0, 49_990, 10_000)
	a.Answer, b.Answer = &one, &none
	for most, met := range map[float64]int64{59: 0, 60: 1} {
		if g := Goodput(passes(2, 1), []Sample{a, b}, []Limit{{"ttfa_ms", 990, most}}); g.Met != met || g.Untold != 1 {
			t.Errorf("at most %v: %+v", most, g)
		}
	}
}

// Of a hundred and one gaps the 99th percentile is 20 ms, though one is of a second.
func TestGoodputTakesAPercentileOfManyGaps(t *testing.T) {
	gaps := []int64{50_000}
	for range 100 {
		gaps = append(gaps, 20_000)
	}
	s := request(0, append(gaps, 1_000_000)...)
	for most, met := range map[float64]int64{19: 0, 20: 1} {
		if g := Goodput(passes(1, 1), []Sample{s}, []Limit{{"itl_ms", 990, most}}); g.Met != met {
			t.Errorf("at most %v: %+v", most, g)
		}
	}
	if g := Goodput(passes(1, 1), []Sample{request(0, 50_000, 1_000_000)}, []Limit{{"itl_ms", 990, 20}}); g.Met != 0 {
		t.Errorf("one gap of a second: %+v", g)
	}
}

// Repeats give a median and an interval, as request_s has them; what cannot be told is
// not met.
func TestGoodputOverRepeats(t *testing.T) {
	var samples []Sample
	for repeat := range int64(3) {
		for _, s := range fourRequests() {
			s.Repeat, s.Enqueued, s.Sent = repeat, s.Enqueued+repeat*1_000_000, s.Sent+repeat*1_000_000
			samples = append(samples, s)
		}
	}
	w := passes(4, 1)
	w.Repeats = 3
	g := Goodput(w, samples, []Limit{{"ttft_ms", 990, 60}})
	near(t, "median", g.PerSec, 15)
	if g.Interval == nil || g.Interval[0] < 14.999 || g.Interval[1] > 15.001 || g.Met != 9 || g.Of != 12 {
		t.Errorf("%+v", g)
	}
	samples[0].T[0] = NoStamp
	samples[4].UsageTotal = p(int64(800))
	samples[8].Status = StatusError
	g = Goodput(w, samples, []Limit{{"ttft_ms", 990, 60}, {"tpot_ms", 500, 1000}})
	if g.Untold != 2 || g.Met != 6 || g.Of != 11 {
		t.Errorf("%+v", g)
	}
	if g := Goodput(w, nil, nil); g.PerSec != nil || !strings.Contains(g.Missing, "no timed request completed") {
		t.Errorf("nothing: %+v", g)
	}
}

// Of a sustained window, requests of any phase count that end in it, and those that we
// cut or that end after it do not, as in request_s.
func TestGoodputOfASustainedWindow(t *testing.T) {
	c := int64(2)
	w := &Workload{Protocol: Sustained, ISL: 100, OSL: 2, Load: Load{Concurrency: &c}, Requests: p(int64(2)), Repeats: 1}
	warm := request(0, 40_000, 70_000) // ends at 110 ms
	warm.Phase = PhaseWarm
	inside, after, cut := request(200_000, 20_000, 20_000), request(210_000, 9_990, 900_000), request(300_000, 20_000, 20_000)
	inside.Phase, after.Phase, cut.Phase, cut.OSL = PhaseDrain, PhaseDrain, PhaseDrain, nil
	samples := []Sample{warm, request(100_000, 59_990, 40_000), request(110_000, 389_990, 100_000), inside, after, cut}
	f := Compute(w, 1, samples, nil).Figures
	near(t, "request_s", f.RequestPerSec, 4/0.5) // 100 to 600 ms
	g := Goodput(w, samples, nil)
	near(t, "without a limit", g.PerSec, *f.RequestPerSec)
	g = Goodput(w, samples, []Limit{{"ttft_ms", 990, 60}})
	near(t, "with one", g.PerSec, 3/0.5)
	if g.Of != 4 || g.Met != 3 {
		t.Errorf("%+v", g)
	}
}
