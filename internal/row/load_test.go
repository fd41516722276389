package row

import "testing"

// What ranks, and what never stands beside it.
func TestRankedAndFamily(t *testing.T) {
	plain := func() *Workload {
		return &Workload{Kind: "text", Protocol: Sustained, Endpoint: "/v1/completions", Load: Load{Concurrency: p(int64(8))},
			Prompts: Prompts{Kind: PromptsRandom, State: Cold}}
	}
	if !plain().Ranked() {
		t.Error("the usual load does not rank")
	}
	higher := plain()
	*higher.Load.Concurrency, higher.ISL, higher.OSL, higher.Seed = 64, 2048, 128, "7"
	if higher.Family() != plain().Family() {
		t.Errorf("height and lengths part the family: %q and %q", higher.Family(), plain().Family())
	}
	families := map[string]string{plain().Family(): "plain"}
	for name, change := range map[string]func(w *Workload){
		"passes":             func(w *Workload) { w.Protocol = Passes },
		"open loop":          func(w *Workload) { w.Load = Load{RequestRate: p("4"), Burstiness: p("1")} },
		"bursts":             func(w *Workload) { w.Load = Load{RequestRate: p("4"), Burstiness: p("0.5")} },
		"with a most":        func(w *Workload) { w.Load = Load{RequestRate: p("4"), Burstiness: p("1"), Concurrency: p(int64(8))} },
		"times of a trace":   func(w *Workload) { w.Load, w.Prompts.Kind = Load{}, PromptsTrace },
		"trace, closed loop": func(w *Workload) { w.Prompts.Kind = PromptsTrace },
		"dataset":            func(w *Workload) { w.Prompts.Kind, w.Prompts.SHA256 = PromptsDataset, p("aa") },
		"another dataset":    func(w *Workload) { w.Prompts.Kind, w.Prompts.SHA256 = PromptsDataset, p("bb") },
		"warm":               func(w *Workload) { w.Prompts.State = Warm },
		"a shared prefix":    func(w *Workload) { w.Prompts.SharedPrefix = 512 },
		"sessions":           func(w *Workload) { w.Sessions = p(int64(4)) },
	} {
		w := plain()
		change(w)
		if w.Ranked() {
			t.Errorf("%s ranks", name)
		}
		if other, ok := families[w.Family()]; ok {
			t.Errorf("%s and %s share a family", name, other)
		}
		families[w.Family()] = name
	}
}
