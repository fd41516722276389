package row_test

import (
	"strings"
	"testing"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// What each layout shares: copies of a dense model are replicas; copies of one with
// experts are a group where the experts lie over more devices than a copy has.
func TestRoofOfLayouts(t *testing.T) {
	dense, moe := &roofline.Model{}, &roofline.Model{}
	dense.Architecture.Layers = []roofline.Layer{{Count: 1, FFN: roofline.FFN{Kind: roofline.Dense}}}
	moe.Architecture.Layers = []roofline.Layer{{Count: 1, FFN: roofline.FFN{Kind: roofline.Dense}},
		{Count: 1, FFN: roofline.FFN{Kind: roofline.MoE, Experts: 8, TopK: 2}}}
	for _, c := range []struct {
		name           string
		model          *roofline.Model
		engine         string
		pool           row.Pool
		tp, pp, dp, ep int64
		replicas       int64
	}{
		{"one device", dense, "vllm", row.Pool{Count: 1, TP: 1, PP: 1, DP: 1, EP: 1}, 1, 1, 0, 0, 1},
		{"copies of a dense model", dense, "vllm", row.Pool{Count: 2, TP: 2, PP: 2, DP: 2, EP: 4}, 2, 2, 0, 0, 4},
		{"experts over one copy", moe, "sglang", row.Pool{Count: 1, TP: 8, PP: 1, DP: 1, EP: 8}, 8, 1, 0, 8, 1},
		{"experts over all copies", moe, "sglang", row.Pool{Count: 3, TP: 1, PP: 1, DP: 8, EP: 8}, 1, 1, 8, 8, 3},
		{"copies with experts of their own", moe, "sglang", row.Pool{Count: 1, TP: 4, PP: 1, DP: 2, EP: 4}, 4, 1, 0, 4, 2},
		{"experts split over all copies", moe, "vllm", row.Pool{Count: 1, TP: 2, PP: 1, DP: 4, EP: 1}, 2, 1, 4, 0, 1},
		{"attention alone in parallel on data", moe, "sglang", row.Pool{Count: 1, TP: 2, PP: 1, DP: 4, EP: 1}, 2, 1, 4, 0, 1},
	} {
		flags := []string{}
		if strings.HasPrefix(c.name, "attention alone") {
			flags = append(flags, "--enable-dp-attention")
		}
		r := row.Recipe{Flags: flags, Engine: row.EngineRef{Name: c.engine}, Weights: row.Weights{Dtype: "bf16"}, KVDtype: "bf16", Pools: []row.Pool{c.pool}}
		q, replicas, why := r.Roof(c.model, &roofline.Target{})
		if q.TP != c.tp || q.PP != c.pp || q.DP != c.dp || q.EP != c.ep || replicas != c.replicas || why != "" {
			t.Errorf("%s: tp %d pp %d dp %d ep %d, %d replicas, %q; want %d %d %d %d, %d", c.name, q.TP, q.PP, q.DP, q.EP, replicas, why, c.tp, c.pp, c.dp, c.ep, c.replicas)
		}
	}
}

// What an engine's flags say of the cache and of states, in each way of writing them: a
// name and its value, or both in one, in the flags or in the launch line.
func TestRoofOfFlags(t *testing.T) {
	stateful := &roofline.Model{}
	stateful.Architecture.Layers = []roofline.Layer{{Count: 1, Attention: roofline.Attention{Kind: roofline.Linear, State: &roofline.State{ValueHeads: 1, ValueDim: 1}}}}
	for _, c := range []struct {
		name          string
		model         *roofline.Model
		flags, launch []string
		dcp           int64
		state         string
	}{
		{"none", stateful, nil, nil, 0, "bf16"},
		{"no states", &roofline.Model{}, []string{"--mamba-ssm-cache-dtype", "float32"}, nil, 0, ""},
		{"a cache dealt out", stateful, []string{"--decode-context-parallel-size", "8"}, nil, 8, "bf16"},
		{"a cache dealt out, in short", stateful, []string{"-dcp", "4"}, nil, 4, "bf16"},
		{"a cache dealt out, of SGLang", stateful, []string{"--dcp-size=2"}, nil, 2, "bf16"},
		{"a cache dealt out by the launch line", stateful, nil, []string{"vllm", "serve", "--decode-context-parallel-size=2"}, 2, "bf16"},
		{"states in 32 bits", stateful, []string{"--mamba-ssm-cache-dtype", "float32"}, nil, 0, "fp32"},
		{"states in 32 bits, of SGLang", stateful, []string{"--mamba-ssm-dtype=float32"}, nil, 0, "fp32"},
		{"states in 16 bits", stateful, nil, []string{"vllm", "serve", "--mamba-ssm-cache-dtype", "float16"}, 0, "fp16"},
		{"states as the engine likes", stateful, []string{"--mamba-ssm-cache-dtype", "auto"}, nil, 0, "bf16"},
		{"a flag without its value", stateful, []string{"-dcp"}, nil, 0, "bf16"},
	} {
		r := row.Recipe{Flags: c.flags, Launch: c.launch, Weights: row.Weights{Dtype: "bf16"}, KVDtype: "bf16", Pools: []row.Pool{{Count: 1, TP: 8, PP: 1, DP: 1, EP: 1}}}
		q, _, why := r.Roof(c.model, &roofline.Target{})
		if q.DCP != c.dcp || q.StateDtype != c.state || why != "" {
			t.Errorf("%s: dcp %d, states in %q, %q; want %d, %q", c.name, q.DCP, q.StateDtype, why, c.dcp, c.state)
		}
	}
}

func TestRoofOfPools(t *testing.T) {
	pool := func(role string, count, tp int64) row.Pool {
		return row.Pool{Role: role, Count: count, TP: tp, PP: 1, DP: 1, EP: 1}
	}
	m, target := &roofline.Model{}, &roofline.Target{}
	recipe := func(pools ...row.Pool) *row.Recipe {
		return &row.Recipe{Weights: row.Weights{Dtype: "fp8"}, KVDtype: "fp8", Pools: pools}
	}
	apart := recipe(pool("prefill", 3, 4), pool("decode", 1, 8), pool("decode", 1, 8))
	q, decoding, why := apart.Roof(m, target)
	if q.TP != 8 || decoding != 2 || why != "" || !apart.Apart() {
		t.Errorf("decode: tp %d, %d replicas, %q", q.TP, decoding, why)
	}
	q, filling, why := apart.PrefillRoof(m, target)
	if q.TP != 4 || filling != 3 || why != "" || q.WeightDtype != "fp8" {
		t.Errorf("prefill: tp %d, %d replicas, %q", q.TP, filling, why)
	}
	same := recipe(pool("all", 1, 4), pool("all", 2, 4))
	if q, n, why := same.PrefillRoof(m, target); q.TP != 4 || n != 3 || why != "" || same.Apart() {
		t.Errorf("equal pools: tp %d, %d replicas, %q", q.TP, n, why)
	}
	for name, c := range map[string]struct {
		recipe *row.Recipe
		want   string
	}{
		"layouts that differ": {recipe(pool("all", 1, 4), pool("all", 1, 8)), "which of the recipe's pools"},
		"no pool":             {recipe(), "the parallel layout"},
		"no devices":          {recipe(pool("all", 1, 0)), "the parallel layout"},
		"no decode pool":      {recipe(pool("prefill", 1, 1)), "the parallel layout"},
		"no weights dtype":    {&row.Recipe{KVDtype: "bf16", Pools: []row.Pool{pool("all", 1, 1)}}, "the weights' dtype"},
		"no KV dtype":         {&row.Recipe{Weights: row.Weights{Dtype: "bf16"}, Pools: []row.Pool{pool("all", 1, 1)}}, "the KV dtype"},
	} {
		if _, _, why := c.recipe.Roof(m, target); !strings.HasPrefix(why, c.want) {
			t.Errorf("%s: %q, want %q", name, why, c.want)
		}
	}
}

func TestRoofOfSpeculation(t *testing.T) {
	plain, mtp := &roofline.Model{}, &roofline.Model{}
	mtp.Architecture.MTP = &roofline.MTP{Modules: 1}
	for _, c := range []struct {
		method string
		model  *roofline.Model
		reads  bool
	}{{"eagle3", mtp, false}, {"deepseek_mtp", mtp, true}, {"NEXTN", mtp, true}, {"mtp", plain, false}} {
		r := row.Recipe{Weights: row.Weights{Dtype: "bf16"}, KVDtype: "bf16", Pools: []row.Pool{{Count: 1, TP: 1, PP: 1, DP: 1}},
			Speculation: &row.Speculation{Method: c.method, DraftTokens: 3, Acceptance: "0.7"}}
		q, _, why := r.Roof(c.model, &roofline.Target{})
		if q.Gamma != 3 || q.Acceptance != 0.7 || q.MTPDrafts != c.reads || why != "" {
			t.Errorf("%s: gamma %d, acceptance %v, mtp %v, %q", c.method, q.Gamma, q.Acceptance, q.MTPDrafts, why)
		}
	}
}

// Tokens a step from counters: over the drafting steps, unless the server generated more
// tokens than these explain.
func TestPerStep(t *testing.T) {
	for _, c := range []struct {
		name             string
		spec             row.Spec
		requests         int64
		drafted, yielded float64
	}{
		{"no draft", row.Spec{}, 10, 0, 1},
		{"every step drafts", row.Spec{Drafts: 100, DraftTokens: 300, Accepted: 150}, 10, 3, 2.5},
		{"and so says the count of tokens", row.Spec{Drafts: 100, DraftTokens: 300, Accepted: 150, Generated: 262}, 10, 3, 2.5},
		{"one step in four drafts", row.Spec{Drafts: 100, DraftTokens: 300, Accepted: 150, Generated: 560}, 10, 0.75, 1.375},
	} {
		if d, y := c.spec.PerStep(c.requests); d != c.drafted || y != c.yielded {
			t.Errorf("%s: %v drafted, %v yielded; want %v, %v", c.name, d, y, c.drafted, c.yielded)
		}
	}
}

// The batch of a row's step is Little's law over the tokens that steps bring; the median
// is held where every request has the same batch, else the mean.
func TestStepOfARow(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	was := &row.AsItWas{Recipe: row.Recipe{Weights: row.Weights{Dtype: "bf16"}, KVDtype: "bf16", Pools: []row.Pool{{Count: 1, TP: 1, PP: 1, DP: 1}}}}
	streams := int64(8)
	made := func() *row.Row {
		return &row.Row{
			Workload: row.Workload{ISL: 100, OSL: 21, Protocol: row.Sustained, Load: row.Load{Concurrency: &streams}},
			Figures:  row.Figures{TPOT: &row.Dist{P50: v(9), Mean: v(10)}, OutputTokPerSec: v(735), RequestPerSec: v(35)},
		}
	}
	// 700 tokens a second by steps of 10 ms: 7 sequences decode, where the 35 first tokens
	// would make it 7.35. Caches hold 101 to 120 tokens.
	s, why := was.Step(made())
	if why != "" || s.Batch != 7 || s.Query.Batch != 7 || s.Context != 110.5 || s.Query.Context != 110 || s.TPOT != 9 || s.Name != "TPOT p50" || s.Yielded != 1 {
		t.Errorf("%+v %q", s, why)
	}
	rate := "3.5"
	for name, change := range map[string]func(*row.AsItWas, *row.Row){
		"an open loop":   func(_ *row.AsItWas, n *row.Row) { n.Workload.Load = row.Load{RequestRate: &rate} },
		"two replicas":   func(w *row.AsItWas, _ *row.Row) { w.Recipe.Pools[0].Count = 2 },
		"drafted tokens": func(_ *row.AsItWas, n *row.Row) { n.Server.Spec = &row.Spec{Drafts: 10, DraftTokens: 30, Accepted: 5} },
	} {
		w, n := *was, made()
		w.Recipe.Pools = []row.Pool{was.Recipe.Pools[0]}
		change(&w, n)
		s, why := w.Step(n)
		if why != "" || s.TPOT != 10 || s.Name != "mean TPOT" {
			t.Errorf("%s: %+v %q", name, s, why)
		}
		if name == "drafted tokens" && (s.Query.Gamma != 3 || s.Query.Accepted != 1.5 || s.Drafted != 3 || s.Yielded != 1.5) {
			t.Errorf("%s: %+v", name, s)
		}
		if name == "two replicas" && s.Batch != 3.5 {
			t.Errorf("%s: a batch of %v", name, s.Batch)
		}
	}
	was.Recipe.Speculation = &row.Speculation{Method: "mtp", DraftTokens: 3}
	if _, why := was.Step(made()); why != "the draft counters: how many tokens a step accepts is unknown" {
		t.Errorf("%q", why)
	}
}
