package gate_test

import (
	"strings"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// ceilingOf is what gate ceiling says of a report's first row.
func ceilingOf(t *testing.T, m *made) gate.Result {
	t.Helper()
	m.seal()
	return answer(judge(t, m.files(t), nil)[0], "ceiling")
}

// makeOf makes a report of a recipe, model and target of one's own.
func makeOf(was *row.AsItWas, o rowtest.Options) *made {
	o.AsItWas, o.Recipe = was, "m/t/latency/vllm"
	return make1(1, o)
}

// experts is a model of one layer's kind whose tokens pass 4 of 64 experts.
func experts() *row.AsItWas {
	was := rowtest.Llama8B()
	l := &was.Model.Architecture.Layers[0]
	l.FFN = roofline.FFN{Kind: roofline.MoE, Width: 1024, Experts: 64, TopK: 4}
	return was
}

// What makes a row too fast is planted in it, each with a twin that is told as it was.
// The row fails by its true percentage, and what was planted is among what would explain
// it, by name and before what would not.
func TestCausesOfRowsAboveTheirRoof(t *testing.T) {
	// Long outputs all at once: what the engine that is played takes beside its steps, for
	// prompts and 0.15 ms for each step, counts little.
	batch := rowtest.Options{Slowness: 0.97, Protocol: row.Passes, Repeats: 1, Cells: []rowtest.Cell{{ISL: 128, OSL: 1024, Concurrency: 64}}}
	for _, c := range []struct {
		name    string
		really  func(*row.AsItWas) // how the row was made
		told    func(*row.AsItWas) // how it is labelled
		options rowtest.Options
		cause   string
	}{
		{"weights of another format", func(w *row.AsItWas) { w.Recipe.Weights.Dtype = "fp8" },
			func(w *row.AsItWas) { w.Recipe.Weights.Dtype = "bf16" }, rowtest.Options{}, "fp8, fp8-tensor, fp8-channel or int8 weights: "},
		{"a cache of another format", func(w *row.AsItWas) { w.Recipe.KVDtype = "fp8" },
			func(w *row.AsItWas) { w.Recipe.KVDtype = "bf16" },
			batch, "fp8_e5m2 or q8_0 KV: "},
		{"a memory that is clocked higher", func(w *row.AsItWas) { w.Target.BandwidthGBs = "4916.736" },
			func(w *row.AsItWas) { w.Target.BandwidthGBs, w.Target.MemoryBusBits = "3600", 6144 },
			rowtest.Options{Slowness: 1.01}, "boost clock: "},
		{"weights that lie in the cache", func(w *row.AsItWas) { small(w); w.Target.BandwidthGBs = "48000" },
			func(w *row.AsItWas) { w.Target.BandwidthGBs, w.Target.CacheBytes = "50", 50e6 },
			rowtest.Options{}, "weights in cache: "},
		{"two replicas for one", func(w *row.AsItWas) { w.Recipe.Pools[0].Count, w.Target.Count = 2, 2 },
			func(w *row.AsItWas) { w.Recipe.Pools[0].Count, w.Target.Count = 1, 1 },
			batch, "more replicas: 2 in place of 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			was := rowtest.Llama8B()
			c.really(was)
			m := makeOf(was, c.options)
			if r := ceilingOf(t, m); r.Answer != gate.Pass {
				t.Fatalf("the twin: %v %s", r.Answer, r.Reason)
			}
			c.told(was)
			r := ceilingOf(t, m)
			if r.Answer != gate.Fail || gate.Verdict(judge(t, m.files(t), nil)[0]) != gate.Unverified {
				t.Fatalf("%v %s", r.Answer, r.Reason)
			}
			_, tried, found := strings.Cut(r.Reason, ". Causes tried for ")
			if !found {
				t.Fatalf("no causes: %s", r.Reason)
			}
			closed := true
			for _, cause := range strings.Split(tried, "; ") {
				closes := strings.HasSuffix(cause, ": would explain it")
				if closes && !closed {
					t.Errorf("%q comes after what explains nothing", cause)
				}
				if strings.HasSuffix(cause, " explain it") {
					closed = closes
				}
			}
			explained := false
			for _, said := range strings.Split(tried, "explain it") {
				if i := strings.Index(said, c.cause); i >= 0 {
					explained = strings.HasSuffix(said, "would ")
				}
			}
			if !explained {
				t.Errorf("%q is not said to explain it: %s", c.cause, tried)
			}
		})
	}
}

// small makes the model's weights less than 50 MB.
func small(was *row.AsItWas) {
	a := &was.Model.Architecture
	a.Hidden, a.Vocabulary, a.TiedHead = 512, 4096, true
	l := &a.Layers[0]
	l.Count, l.FFN.Width = 4, 2048
	l.Attention.Heads, l.Attention.KVHeads, l.Attention.HeadDim = 8, 2, 64
}

// A prompt whose tokens a cache served takes less time; that it was served is counted, or
// it is a cause.
func TestAPrefixCacheThatIsNotCounted(t *testing.T) {
	m := make1(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 8192, OSL: 32, Concurrency: 1}}})
	served := int64(6000)
	for i := range m.samples[0] {
		s := &m.samples[0][i]
		s.T[0] = s.T[0] * 3 / 10
		s.Cached = &served
	}
	if r := ceilingOf(t, m); r.Answer != gate.Pass {
		t.Errorf("counted: %v %s", r.Answer, r.Reason)
	}
	zero := int64(0)
	for i := range m.samples[0] {
		m.samples[0][i].Cached = &zero
	}
	r := ceilingOf(t, m)
	if r.Answer != gate.Fail || !strings.HasPrefix(r.Reason, "TTFT p50 ") || !strings.Contains(r.Reason, "Causes tried for the TTFT: prefix cache: 0 cached tokens counted, left out of the roof already; with ") {
		t.Errorf("not counted: %v %s", r.Answer, r.Reason)
	}
}

// Tokens of a batch share experts: a row between the roof of one token's experts and what
// chance would give is healthy, and says where it stands.
func TestExpertOverlap(t *testing.T) {
	m := makeOf(experts(), rowtest.Options{Slowness: 1.05, Cells: []rowtest.Cell{{ISL: 128, OSL: 64, Concurrency: 16}}})
	r := ceilingOf(t, m)
	if r.Answer != gate.Pass || !strings.Contains(r.Reason, "of the expected one: its tokens shared more experts than chance gives them") {
		t.Errorf("%v %s", r.Answer, r.Reason)
	}
	slow := makeOf(experts(), rowtest.Options{Slowness: 6, Cells: []rowtest.Cell{{ISL: 128, OSL: 64, Concurrency: 16}}})
	if r := ceilingOf(t, slow); r.Answer != gate.Pass || !strings.HasSuffix(r.Reason, "of the expected one") {
		t.Errorf("below the expected line: %v %s", r.Answer, r.Reason)
	}
	fast := makeOf(experts(), rowtest.Options{Slowness: 0.2, Cells: []rowtest.Cell{{ISL: 128, OSL: 64, Concurrency: 16}}})
	if r := ceilingOf(t, fast); r.Answer != gate.Fail || !strings.Contains(r.Reason, "expert overlap: the roof reads no more than 4 experts a layer") {
		t.Errorf("above both: %v %s", r.Answer, r.Reason)
	}
}

// Copies that share their experts are one group: its batch is all of theirs.
func TestCeilingOfAGroup(t *testing.T) {
	was := experts()
	was.Recipe.Pools[0].DP, was.Recipe.Pools[0].EP, was.Target.Count = 4, 4, 4
	m := makeOf(was, rowtest.Options{Slowness: 1.05, Cells: []rowtest.Cell{{ISL: 128, OSL: 64, Concurrency: 16}}})
	if r := ceilingOf(t, m); r.Answer != gate.Pass || strings.Contains(r.Reason, "a replica") {
		t.Errorf("%v %s", r.Answer, r.Reason)
	}
}

// A window that fills on the way: the roof is that of the steps as they were, not of a
// step at their mean length, which reads more.
func TestCeilingOfWindows(t *testing.T) {
	was := rowtest.Llama8B()
	l := &was.Model.Architecture.Layers[0]
	l.Attention.Window = 640
	cell := rowtest.Cell{ISL: 128, OSL: 1024, Concurrency: 64}
	q, _, _ := was.Recipe.Roof(&was.Model, &was.Target)
	q.Batch = cell.Concurrency
	step := func(context int64) float64 {
		q.Context = context
		return roofline.Ceiling(q).DecodeStepMS.Hard
	}
	var sum float64
	for s := cell.ISL + 1; s < cell.ISL+cell.OSL; s++ {
		sum += step(s)
	}
	exact, long := sum/float64(cell.OSL-1), step(cell.ISL+cell.OSL/2)
	if !(exact < 0.97*long) {
		t.Fatalf("the steps take %v ms, one at their mean length %v", exact, long)
	}
	// The engine that is played takes its steps at their mean length, and 0.15 ms more.
	for _, c := range []struct {
		factor float64
		want   gate.Answer
	}{{1.01, gate.Pass}, {0.85, gate.Fail}} {
		m := makeOf(was, rowtest.Options{Slowness: (c.factor*exact - 0.15) / long, Protocol: row.Passes, Repeats: 1, Cells: []rowtest.Cell{cell}})
		if r := ceilingOf(t, m); r.Answer != c.want {
			t.Errorf("%v of the steps' time: %v %s", c.factor, r.Answer, r.Reason)
		}
	}
}

// Prompts and steps on devices of their own: each side is held by its own.
func TestCeilingOfPoolsApart(t *testing.T) {
	was := rowtest.Llama8B()
	was.Target.Count = 5
	pool := func(role string, tp int64) row.Pool {
		return row.Pool{Role: role, Count: 1, TP: tp, PP: 1, DP: 1, EP: 1}
	}
	was.Recipe.Pools = []row.Pool{pool(row.RolePrefill, 4), pool(row.RoleDecode, 1)}
	// The engine that is played takes prompts in where it decodes, on one device.
	m := makeOf(was, rowtest.Options{Cells: []rowtest.Cell{{ISL: 4096, OSL: 32, Concurrency: 2}}})
	if r := ceilingOf(t, m); r.Answer != gate.Pass {
		t.Errorf("%v %s", r.Answer, r.Reason)
	}
	was.Recipe.Pools[0].TP, was.Recipe.Pools[1].TP = 1, 4
	if r := ceilingOf(t, m); r.Answer != gate.Pass {
		t.Errorf("the other way round: %v %s", r.Answer, r.Reason)
	}
	for i := range m.samples[0] {
		m.samples[0][i].T[0] /= 4 // as four devices would
	}
	if r := ceilingOf(t, m); r.Answer != gate.Fail || !strings.HasPrefix(r.Reason, "TTFT p50 ") {
		t.Errorf("prompts faster than their one device: %v %s", r.Answer, r.Reason)
	}
	was.Recipe.Pools[0].TP, was.Recipe.Pools[1].TP = 4, 1
	if r := ceilingOf(t, m); r.Answer != gate.Pass {
		t.Errorf("prompts on four devices: %v %s", r.Answer, r.Reason)
	}
}

// A roof is told of what is known alone.
func TestCeilingOfTheUnknown(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*made)
		says   string
	}{
		{"weights", func(m *made) { m.report.AsItWas.Recipe.Weights.Dtype = "" }, "missing the weights' dtype"},
		{"cache", func(m *made) { m.report.AsItWas.Recipe.KVDtype = "" }, "missing the KV dtype"},
		{"layout", func(m *made) { m.report.AsItWas.Recipe.Pools = nil }, "missing the parallel layout"},
		{"speculation", func(m *made) {
			m.report.AsItWas.Recipe.Speculation = &row.Speculation{Method: "mtp", DraftTokens: 1, Acceptance: "0.8"}
		}, "missing the draft counters"},
		{"cache hits", func(m *made) {
			for i := range m.samples[0] {
				m.samples[0][i].Cached = nil
			}
			for i := range m.evidence[1].Metrics {
				for name := range m.evidence[1].Metrics[i].Values {
					if strings.Contains(name, "prefix_cache_hits") {
						delete(m.evidence[1].Metrics[i].Values, name)
					}
				}
			}
		}, "missing cached tokens"},
		{"bandwidth", func(m *made) { m.report.AsItWas.Target.BandwidthGBs = "" }, "missing the ceiling: no memory bandwidth is known"},
		{"model", func(m *made) { m.report.AsItWas.Model.Architecture.Layers = nil }, "missing the ceiling: "},
	} {
		m := make1(1, rowtest.Options{})
		c.change(m)
		if r := ceilingOf(t, m); r.Answer != gate.Unjudged || !strings.HasPrefix(r.Reason, c.says) {
			t.Errorf("%s: %v %s; want %s", c.what, r.Answer, r.Reason, c.says)
		}
	}
}

// Requests of unlike luck with their drafts: each may have had all accepted, and the row
// is held by its mean.
func TestSpeculationOfUnlikeRequests(t *testing.T) {
	m := make1(1, rowtest.Options{Slowness: 1.05, Cells: []rowtest.Cell{{ISL: 128, OSL: 65, Concurrency: 1}}})
	m.report.AsItWas.Recipe.Speculation = &row.Speculation{Method: "eagle3", DraftTokens: 3}
	// Most requests see 3.7 tokens a step, and the others one: the median is far below the
	// mean step's share of a token.
	for i := range m.samples[0] {
		if s := &m.samples[0][i]; i%5 != 0 {
			for j := range s.T[1:] {
				s.T[j+1] = s.T[j+1] * 10 / 37
			}
		}
	}
	// 64 tokens take 64 steps of one request in five, and 17.3 of the others: 26.6.
	drafts(m, 266, 266*3, 640-266)
	if r := ceilingOf(t, m); r.Answer != gate.Pass {
		t.Errorf("%v %s", r.Answer, r.Reason)
	}
	drafts(m, 266, 266*3, 100) // 1.38 tokens a step
	if r := ceilingOf(t, m); r.Answer != gate.Fail || !strings.HasPrefix(r.Reason, "mean TPOT ") {
		t.Errorf("fewer accepted: %v %s", r.Answer, r.Reason)
	}
}

// Some prompts lie in the cache whole and others do not at all: half of them come sooner
// than the mean prompt could.
func TestPromptsOfUnlikeHits(t *testing.T) {
	m := make1(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 8192, OSL: 32, Concurrency: 1}}})
	all, none := int64(8000), int64(0)
	for i := range m.samples[0] {
		s := &m.samples[0][i]
		if s.Cached = &none; i%3 != 0 {
			s.Cached = &all
			s.T[0] = 8000 // the prefill of 192 tokens takes a few
		}
	}
	if r := ceilingOf(t, m); r.Answer != gate.Pass {
		t.Errorf("%v %s", r.Answer, r.Reason)
	}
}

// Tokens that come together with the first were made before any gap: what follows them
// is held by its own time.
func TestTokensWithTheFirst(t *testing.T) {
	m := make1(1, rowtest.Options{Slowness: 1.05, Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}}})
	for i := range m.samples[0] {
		s := &m.samples[0][i]
		rest := append(row.Gaps{}, s.T[8:]...)
		for _, gap := range s.T[1:8] {
			s.T[0] += gap
		}
		s.T = append(s.T[:1], rest...)
		s.N = []int64{8}
		for range rest {
			s.N = append(s.N, 1)
		}
	}
	r := ceilingOf(t, m)
	if tpot, floor := *m.report.Rows[0].Figures.TPOT.P50, 3.13; !(tpot < floor) {
		t.Fatalf("TPOT %v ms over all tokens, a step takes %v", tpot, floor)
	}
	if r.Answer != gate.Pass || !strings.HasPrefix(r.Figures[0].Name, "TPOT p50 after the first chunk") {
		t.Errorf("%v %s %v", r.Answer, r.Reason, r.Figures)
	}
}
