package tradeoff

import (
	"math"
	"slices"
	"strings"
	"testing"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

func TestFront(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name   string
		points []Point
		want   []bool
	}{
		{"none", nil, []bool{}},
		{"one", []Point{{1, 1}}, []bool{true}},
		{"beaten on both", []Point{{1, 1}, {2, 2}}, []bool{false, true}},
		{"a trade", []Point{{1, 3}, {2, 2}, {3, 1}}, []bool{true, true, true}},
		{"as fast and slower to serve", []Point{{2, 2}, {2, 1}}, []bool{true, false}},
		{"as cheap and slower", []Point{{1, 2}, {2, 2}}, []bool{false, true}},
		{"equal", []Point{{2, 2}, {2, 2}, {1, 1}}, []bool{true, true, false}},
		{"inside", []Point{{1, 4}, {2, 1}, {3, 3}, {4, 0}}, []bool{true, false, true, true}},
		{"missing", []Point{{nan, 9}, {9, nan}, {1, 1}}, []bool{false, false, true}},
	} {
		if got := Front(c.points); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// The definition itself, point against point, over a grid with many ties.
func TestFrontByDefinition(t *testing.T) {
	var points []Point
	for i := range 60 {
		points = append(points, Point{float64(i * 7 % 11), float64(i * 13 % 9)})
	}
	front := Front(points)
	for i, p := range points {
		beaten := slices.ContainsFunc(points, func(q Point) bool {
			return q.X >= p.X && q.Y >= p.Y && (q.X > p.X || q.Y > p.Y)
		})
		if front[i] == beaten {
			t.Errorf("%v: on the front %v, beaten %v", p, front[i], beaten)
		}
	}
}

// known is a small catalogue: one model of 8B on one and eight devices, and one that
// cannot fit anywhere.
func known() Catalog {
	dense := func(layers, hidden int64) *roofline.Model {
		return &roofline.Model{Name: "M", Weights: []string{"bf16"}, Architecture: roofline.Architecture{
			Hidden: hidden, Vocabulary: 128256, MaxContext: 131072,
			Layers: []roofline.Layer{{Count: layers, Norms: 2,
				Attention: roofline.Attention{Kind: "gqa", Heads: 32, KVHeads: 8, HeadDim: 128},
				FFN:       roofline.FFN{Kind: "dense", Width: 14336}}}}}
	}
	target := func(count int64) *roofline.Target {
		return &roofline.Target{Name: "T", Count: count, MemoryGB: "80", BandwidthGBs: "3350", LinkGBs: "450",
			PeakTFLOPs: map[string]roofline.Decimal{"bf16": "989"}}
	}
	recipe := func(tp, dp int64) *row.Recipe {
		return &row.Recipe{Weights: row.Weights{Dtype: "bf16"}, KVDtype: "bf16",
			Pools: []row.Pool{{Role: "all", Count: 1, TP: tp, PP: 1, DP: dp, EP: 1}}}
	}
	return Catalog{
		Models:  map[string]*roofline.Model{"m": dense(32, 4096), "big": dense(400, 8192)},
		Targets: map[string]*roofline.Target{"t": target(1), "t-x8": target(8)},
		Strategies: map[string]*row.Strategy{
			"latency": {Name: "Latency", BestBy: row.BestPerUser}, "throughput": {Name: "Throughput", BestBy: row.BestPerGPU}},
		Recipes: map[string]*row.Recipe{
			"m/t/latency/vllm": recipe(1, 1), "m/t/latency/sglang": recipe(1, 1), "m/t/throughput/vllm": recipe(1, 1),
			"m/t-x8/latency/vllm": recipe(8, 1), "big/t/latency/vllm": recipe(1, 1),
		},
	}
}

func ranked(recipe string, c int64, user, gpu float64) Measured {
	return Measured{ID: recipe, Recipe: recipe, Ranked: true, ISL: 1024, OSL: 256, Concurrency: c,
		Repeats: 3, Verdict: "verified", PerUser: &user, PerGPU: &gpu}
}

func find(t *testing.T, gaps []Gap, recipe, shape string) Gap {
	t.Helper()
	for _, g := range gaps {
		if g.Recipe == recipe && g.Shape == shape {
			return g
		}
	}
	t.Fatalf("no gap %s %s in %+v", recipe, shape, gaps)
	return Gap{}
}

// With nothing measured, each recipe that can run is a gap; what cannot fit is none.
func TestGapsOfNothing(t *testing.T) {
	gaps := Gaps(known(), nil)
	if len(gaps) != 4 {
		t.Fatalf("%d gaps", len(gaps))
	}
	for i, g := range gaps {
		if g.Rank != i+1 || g.Kind != GapRecipe || g.Shape != "1024:256" || !slices.Equal(g.Loads, []int64{1, 4, 16, 64}) {
			t.Errorf("%+v", g)
		}
		if strings.HasPrefix(g.Recipe, "big/") {
			t.Error("a model that does not fit is no gap")
		}
	}
	if last := gaps[3]; last.Recipe != "m/t-x8/latency/vllm" || last.GPUs != 8 {
		t.Errorf("eight devices are the dearest: %+v", last)
	}
	g := find(t, gaps, "m/t/latency/vllm", "1024:256")
	want := "measure bench m --recipe m/t/latency/vllm --base-url http://127.0.0.1:8000 --cells 1024:256" +
		" --concurrency 1,4,16,64 --num-prompts auto --repeats 3 --output m-t-latency-vllm-1024x256"
	if g.Command != want {
		t.Errorf("command\n%s\nwant\n%s", g.Command, want)
	}
	if !strings.HasPrefix(g.Why, "Nothing of M ranks at 1024:256 yet") || len(g.Changes) != 2 {
		t.Errorf("why %q, changes %q", g.Why, g.Changes)
	}
}

// The minutes on paper for one load: 180 s, and 3 × 22 waves of one request at 60%.
func TestGapMinutes(t *testing.T) {
	c := known()
	var rows []Measured
	for _, n := range []int64{4, 16, 64} {
		rows = append(rows, ranked("m/t/latency/vllm", n, 100, 100))
	}
	g := find(t, Gaps(c, rows), "m/t/latency/vllm", "1024:256")
	if !slices.Equal(g.Loads, []int64{1}) || g.Kind != GapLoad {
		t.Fatalf("%+v", g)
	}
	step := (2*7504924672 + 1152*131072) / 3350e9
	prefill := (2*6979584000*1024 + 2*128256*4096 + 4*32*32*128*1024*1025/2) / 989e12
	seconds := 180 + 3*22*(prefill+255*step)/0.6
	if want := int64(math.Ceil(seconds / 60)); *g.GPUMinutes != want {
		t.Errorf("%d GPU-minutes, on paper %d", *g.GPUMinutes, want)
	}
}

// A load between two that the recipe has measured can lead by neither rate: its own rows
// bound it. It may stand on the front, and be the answer at a pace, unless another recipe's
// row is better than its bounds on both; one above the highest may serve more together.
func TestGapsBetweenMeasuredLoads(t *testing.T) {
	rows := []Measured{ranked("m/t/latency/vllm", 1, 100, 100), ranked("m/t/latency/vllm", 16, 50, 700), ranked("m/t/latency/vllm", 64, 20, 1000)}
	at4 := func(more ...Measured) Gap {
		t.Helper()
		g := find(t, Gaps(known(), append(slices.Clone(rows), more...)), "m/t/latency/vllm", "1024:256")
		if !slices.Equal(g.Loads, []int64{4}) || g.Kind != GapLoad || g.Neighbours != 1 {
			t.Fatalf("%+v", g)
		}
		return g
	}
	// At c = 4 it can reach 100 a user, as at c = 1, and 700 a GPU, as at c = 16: no row is
	// as good on both, and of those with 100 tok/s a user the best gives 100.
	if g := at4(); !slices.Equal(g.Changes, []string{"M at 1024:256, a place on the front", "M at 1024:256, the most per GPU within TPOT p50 ≤ 10 ms"}) ||
		g.Why != "It cannot take rank 1, but could stand on the front: no measured row is better both for each user and per GPU than its roofs. Within TPOT p50 of 10 ms it could give the most per GPU." {
		t.Errorf("between: %+v", g)
	}
	// Another's row that gives more than 700 to users of 100 leaves it nothing.
	if g := at4(ranked("m/t/throughput/vllm", 16, 101, 701)); len(g.Changes) != 0 ||
		g.Why != "It cannot take rank 1, but where latency gives way to throughput is read between measured loads." {
		t.Errorf("between and beaten: %+v", g)
	}
	// One that is better per GPU alone does not.
	if g := at4(ranked("m/t/throughput/vllm", 16, 99, 5000)); len(g.Changes) != 2 {
		t.Errorf("beaten on one side: %+v", g)
	}
	above := []Measured{rows[0], rows[1], ranked("m/t/latency/vllm", 4, 80, 300)}
	g := find(t, Gaps(known(), above), "m/t/latency/vllm", "1024:256")
	if !slices.Equal(g.Loads, []int64{64}) || !slices.Equal(g.Changes, []string{"M at 1024:256, output tok/s per GPU",
		"M at 1024:256, the most per GPU within TPOT p50 ≤ 50 ms", "M at 1024:256, the most per GPU within TPOT p50 ≤ 20 ms"}) {
		t.Errorf("above: %+v", g)
	}
}

// A gap between measured loads comes before one of the same worth and cost that is not.
func TestNeighboursComeFirst(t *testing.T) {
	var rows []Measured
	for _, n := range []int64{1, 16, 64} { // far beyond any roof: no gap changes anything
		rows = append(rows, ranked("m/t/latency/vllm", n, 1e6, 1e6))
	}
	for _, n := range []int64{4, 16, 64} {
		rows = append(rows, ranked("m/t/latency/sglang", n, 1e6, 1e6))
	}
	gaps := Gaps(known(), rows)
	inner, outer := find(t, gaps, "m/t/latency/vllm", "1024:256"), find(t, gaps, "m/t/latency/sglang", "1024:256")
	if inner.Neighbours != 1 || outer.Neighbours != 0 || inner.Rank > outer.Rank {
		t.Errorf("between: %+v\nat the end: %+v", inner, outer)
	}
}

// Rows of another engine version than the recipe pins say nothing of what it now is; a row
// of the pinned one closes its load again.
func TestGapsOfStaleVersions(t *testing.T) {
	c := known()
	c.Recipes["m/t/latency/vllm"].Engine = row.EngineRef{Name: "vllm", Version: "0.33.0"}
	var rows []Measured
	for _, n := range []int64{1, 4, 16, 64} {
		m := ranked("m/t/latency/vllm", n, 100, 100)
		m.Version = "0.26.0"
		rows = append(rows, m)
	}
	g := find(t, Gaps(c, rows), "m/t/latency/vllm", "1024:256")
	if g.Kind != GapStale || !slices.Equal(g.Loads, []int64{1, 4, 16, 64}) ||
		!strings.Contains(g.What, ": measured with 0.26.0, and the recipe pins 0.33.0; 1024:256 at c = 1, 4, 16 and 64") ||
		!strings.HasPrefix(g.Why, "Its rows are of 0.26.0, and say nothing of the version that the recipe now pins. ") {
		t.Errorf("%+v", g)
	}
	again := ranked("m/t/latency/vllm", 4, 100, 100)
	again.Version = "0.33.0"
	if g := find(t, Gaps(c, append(rows, again)), "m/t/latency/vllm", "1024:256"); !slices.Equal(g.Loads, []int64{1, 16, 64}) || g.Kind != GapStale {
		t.Errorf("with one of the pinned version: %+v", g)
	}
	for i := range rows {
		rows[i].Version = "0.33.0"
	}
	for _, g := range Gaps(c, rows) {
		if g.Recipe == "m/t/latency/vllm" && g.Shape == "1024:256" {
			t.Errorf("all its loads are measured with the pinned version: %+v", g)
		}
	}
}

// A gap whose roof lies below what leads changes nothing and comes last.
func TestGapsThatCannotWin(t *testing.T) {
	rows := []Measured{}
	for _, n := range []int64{1, 4, 16, 64} {
		rows = append(rows, ranked("m/t/latency/vllm", n, 1e6, 1e6))
	}
	gaps := Gaps(known(), rows)
	g := find(t, gaps, "m/t/throughput/vllm", "1024:256")
	if len(g.Changes) != 0 || !strings.HasPrefix(g.Why, "It cannot take rank 1") {
		t.Errorf("%+v", g)
	}
	if gaps[0].Shape == "1024:256" {
		t.Errorf("first is %+v, though nothing at that shape can be passed", gaps[0])
	}
	for _, g := range gaps {
		if g.Recipe == "m/t/latency/vllm" && g.Shape == "1024:256" {
			t.Errorf("all its loads are measured: %+v", g)
		}
	}
	if g := find(t, gaps, "m/t/latency/vllm", "2048:128"); g.Kind != GapShape {
		t.Errorf("a measured recipe lacks its other shapes: %+v", g)
	}
}

// A queue-bound row closes its load, and leads nothing.
func TestQueueBoundRowsLeadNothing(t *testing.T) {
	rows := []Measured{ranked("m/t/latency/vllm", 1, 100, 100)}
	for _, n := range []int64{4, 16, 64} {
		m := ranked("m/t/latency/vllm", n, 1e6, 1e6)
		m.QueueBound = true
		rows = append(rows, m)
	}
	for _, g := range Gaps(known(), rows) {
		if g.Recipe == "m/t/latency/vllm" && g.Shape == "1024:256" {
			t.Errorf("all its loads are measured: %+v", g)
		}
	}
	for _, line := range Coverage(known(), "m", rows, nil).Cells {
		for _, cell := range line {
			if cell.Best != nil && cell.Best.QueueBound {
				t.Errorf("best of its cell: %+v", cell.Best)
			}
		}
	}
	if g := find(t, Gaps(known(), rows), "m/t/throughput/vllm", "1024:256"); len(g.Changes) == 0 {
		t.Errorf("nothing can pass it: %+v", g)
	}
}

// Only verified, sustained rows of three repeats close a gap.
func TestGapsOfRowsThatDoNotRank(t *testing.T) {
	for name, spoil := range map[string]func(*Measured){
		"unverified": func(m *Measured) { m.Verdict = "unverified" },
		"other load": func(m *Measured) { m.Ranked = false },
		"one repeat": func(m *Measured) { m.Repeats = 1 },
	} {
		var rows []Measured
		for _, n := range []int64{1, 4, 16, 64} {
			m := ranked("m/t/latency/vllm", n, 100, 100)
			spoil(&m)
			rows = append(rows, m)
		}
		g := find(t, Gaps(known(), rows), "m/t/latency/vllm", "1024:256")
		if g.Kind != GapRank || !strings.HasPrefix(g.Why, "Its rows stand in no ranking") {
			t.Errorf("%s: %+v", name, g)
		}
	}
	withdrawn := ranked("m/t/latency/vllm", 1, 100, 100)
	withdrawn.Verdict = "withdrawn"
	if g := find(t, Gaps(known(), []Measured{withdrawn}), "m/t/latency/vllm", "1024:256"); g.Kind != GapRecipe {
		t.Errorf("a withdrawn row is no row: %+v", g)
	}
}

// A layout whose roofs cannot be computed is a gap of unknown cost, not of none.
func TestGapOfUnknownCost(t *testing.T) {
	c := known()
	c.Recipes["m/t-x8/latency/vllm"].Pools = []row.Pool{
		{Role: "all", Count: 2, TP: 2, PP: 1, DP: 1, EP: 1}, {Role: "all", Count: 1, TP: 4, PP: 1, DP: 1, EP: 1}}
	gaps := Gaps(c, nil)
	g := gaps[len(gaps)-1]
	if g.Recipe != "m/t-x8/latency/vllm" || g.GPUMinutes != nil || g.GPUs != 8 ||
		g.Basis != "not estimated: missing which of the recipe's pools served a request: their layouts differ" {
		t.Errorf("%+v", g)
	}
	if s := Summary(gaps); !strings.Contains(s, "and 1 of unknown cost") {
		t.Errorf("summary %q", s)
	}
}

// Prompts and decode steps on devices of their own: each side has its roof from its own.
func TestRoofsOfPoolsApart(t *testing.T) {
	c := known()
	pools := func(filling, decoding int64) roofs {
		c.Recipes["m/t-x8/latency/vllm"].Pools = []row.Pool{
			{Role: "prefill", Count: filling, TP: 1, PP: 1, DP: 1, EP: 1}, {Role: "decode", Count: decoding, TP: 1, PP: 1, DP: 1, EP: 1}}
		r, fits, why := roofsOf(c, "m/t-x8/latency/vllm", load{8192, 64, 16})
		if !fits || why != "" {
			t.Fatalf("fits %v, %s", fits, why)
		}
		return r
	}
	even, few, many := pools(4, 4), pools(2, 6), pools(6, 2)
	if !(few.perUser.hard > even.perUser.hard && even.perUser.hard > many.perUser.hard) {
		t.Errorf("more devices that decode have fewer streams each: %v, %v, %v", few.perUser.hard, even.perUser.hard, many.perUser.hard)
	}
	// At 8192:64 prompts are what takes time: 8 devices bring as many as fill them.
	if got, want := even.perGPU.hard/few.perGPU.hard, 2.0; math.Abs(got-want) > 1e-9 {
		t.Errorf("twice the devices for prompts bring %v times the tokens", got)
	}
	one, _, _ := roofsOf(c, "m/t/latency/vllm", load{8192, 64, 16})
	if !(even.perGPU.hard < one.perGPU.hard) {
		t.Errorf("a side that waits for the other brings %v a GPU, and one that does both %v", even.perGPU.hard, one.perGPU.hard)
	}
}

// What tokens that choose their experts for themselves can reach tells what a run will
// take, and what it is likely to change; what it could change at all, the hard roof.
func TestGapsOfModelsWithExperts(t *testing.T) {
	c := known()
	layer := &c.Models["m"].Architecture.Layers[0]
	layer.FFN = roofline.FFN{Kind: roofline.MoE, Width: 1024, Experts: 64, TopK: 4}
	r, fits, why := roofsOf(c, "m/t/latency/vllm", load{1024, 256, 64})
	if !fits || why != "" || !(r.perUser.expected < 0.5*r.perUser.hard) || !(r.perGPU.expected < r.perGPU.hard) {
		t.Fatalf("%+v %v %q", r, fits, why)
	}
	if wave := 255 / r.perUser.expected; r.waveSeconds < wave {
		t.Errorf("a wave takes %v s, its steps alone %v", r.waveSeconds, wave)
	}
	one, _, _ := roofsOf(c, "m/t/latency/vllm", load{1024, 256, 1})
	rows := []Measured{ranked("m/t/throughput/vllm", 64, one.perUser.expected*0.7, r.perGPU.expected*0.7)}
	g := find(t, Gaps(c, rows), "m/t/latency/vllm", "1024:256")
	ranks := []string{"M at 1024:256, tok/s for each user", "M at 1024:256, output tok/s per GPU"}
	if len(g.Changes) < 2 || !slices.Equal(g.Changes[:2], ranks) || g.Likely != 0 {
		t.Errorf("could change %q, likely %d of them", g.Changes, g.Likely)
	}
	rows = []Measured{ranked("m/t/throughput/vllm", 64, one.perUser.expected*0.5, r.perGPU.expected*0.5)}
	if g := find(t, Gaps(c, rows), "m/t/latency/vllm", "1024:256"); len(g.Changes) < 2 || !slices.Equal(g.Changes[:2], ranks) || g.Likely < 2 {
		t.Errorf("could change %q, likely %d of them", g.Changes, g.Likely)
	}
}

func TestSummary(t *testing.T) {
	got := Summary(Gaps(known(), nil))
	if !strings.HasPrefix(got, "4 gaps, about ") || !strings.HasSuffix(got, " GPU-hours; the first could change 2 recommendations.") {
		t.Errorf("%q", got)
	}
	// The second could change what the first could, and something else: two suffice.
	gaps := []Gap{{Changes: []string{"a"}}, {Changes: []string{"a", "b"}}, {Changes: []string{"b"}}, {}}
	if got := Summary(gaps); !strings.HasSuffix(got, "; the first 2 could change 2 recommendations.") {
		t.Errorf("%q", got)
	}
}

func TestCoverage(t *testing.T) {
	c := known()
	fast, wide := ranked("m/t/latency/vllm", 1, 200, 180), ranked("m/t/latency/vllm", 64, 90, 4000)
	other := ranked("m/t/latency/sglang", 1, 190, 170)
	weak := ranked("m/t/latency/sglang", 4, 900, 900)
	weak.Repeats = 1
	gone := ranked("m/t/throughput/vllm", 64, 100, 100)
	gone.Verdict = "withdrawn"
	rows := []Measured{fast, wide, other, weak, gone}
	m := Coverage(c, "m", rows, Gaps(c, rows))
	if !slices.Equal(m.Targets, []string{"t", "t-x8"}) || !slices.Equal(m.Strategies, []string{"latency", "throughput"}) {
		t.Fatalf("%q × %q", m.Targets, m.Strategies)
	}
	latency := m.Cells[0][0]
	if latency.Best == nil || latency.Best.Concurrency != 1 || *latency.Best.PerUser != 200 {
		t.Errorf("the fastest for one user is best here: %+v", latency.Best)
	}
	if latency.Rows != 4 || len(latency.Recipes) != 2 || latency.Gap == 0 {
		t.Errorf("%+v", latency)
	}
	if c := m.Cells[0][1]; c.Best != nil || c.Withdrawn != 1 || c.Rows != 0 || c.Gap == 0 {
		t.Errorf("withdrawn: %+v", c)
	}
	if c := m.Cells[1][1]; len(c.Recipes) != 0 || c.Gap != 0 {
		t.Errorf("no recipe: %+v", c)
	}
	if c := Coverage(c, "big", nil, nil).Cells[0][0]; !strings.HasPrefix(c.Unfit, "does not fit: ") {
		t.Errorf("too big: %+v", c)
	}
}

// A replica answers for itself: eight devices in two groups of four.
func TestQueryOfReplicas(t *testing.T) {
	c := known()
	c.Recipes["m/t-x8/latency/vllm"].Pools[0].TP = 4
	c.Recipes["m/t-x8/latency/vllm"].Pools[0].DP = 2
	l, why := layoutOf(c, "m/t-x8/latency/vllm")
	q, replicas := l.decode, l.decoding
	if q.TP != 4 || replicas != 2 || why != "" {
		t.Errorf("tp %d, %d replicas, %q", q.TP, replicas, why)
	}
	one, _, _ := roofsOf(c, "m/t-x8/latency/vllm", load{1024, 256, 1})
	two, _, _ := roofsOf(c, "m/t-x8/latency/vllm", load{1024, 256, 2})
	if one.perUser != two.perUser {
		t.Error("two streams on two replicas do not share a step")
	}
	for recipe, want := range map[string]string{
		"m/t/none/vllm": "no recipe m/t/none/vllm",
	} {
		if _, why := layoutOf(c, recipe); why != want {
			t.Errorf("%s: %q", recipe, why)
		}
	}
	c.Recipes["m/t/latency/vllm"].Speculation = &row.Speculation{Method: "eagle3", DraftTokens: 3}
	if _, why := layoutOf(c, "m/t/latency/vllm"); !strings.HasPrefix(why, "speculation") {
		t.Errorf("speculation: %q", why)
	}
}
