package rowtest

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

// Llama8B is the published cell of Llama 3.1 8B under vLLM on one H200.
func Llama8B() *row.AsItWas {
	return &row.AsItWas{
		Recipe: row.Recipe{
			Engine:    row.EngineRef{Name: "vllm", Version: "0.26.0"},
			Runtime:   row.Runtime{Packages: map[string]string{"vllm": "0.26.0", "torch": "2.11.0"}},
			Weights:   row.Weights{Repository: "random", Dtype: "bf16"},
			KVDtype:   "bf16",
			Pools:     []row.Pool{{Role: "all", Count: 1, TP: 1, PP: 1, DP: 1, EP: 1}},
			Nodes:     1,
			Router:    "none",
			KVOffload: "none",
			Adapters:  []string{},
			Env:       map[string]string{},
			Flags:     []string{"--load-format", "dummy", "--max-model-len", "16384", "--enable-prompt-tokens-details"},
			Launch:    []string{"vllm", "serve", "{weights}", "{flags}", "--port", "{port}"},
			Arch:      []string{"sm_90"},
			Notes:     "Made for a test.",
		},
		Model: roofline.Model{
			Name: "Llama 3.1 8B", Publisher: "Meta", Licence: "Llama 3.1 Community License",
			Repositories: []string{"meta-llama/Llama-3.1-8B-Instruct"},
			Architecture: roofline.Architecture{
				Hidden: 4096, Vocabulary: 128256, MaxContext: 131072,
				Layers: []roofline.Layer{{
					Count:     32,
					Attention: roofline.Attention{Kind: "gqa", Heads: 32, KVHeads: 8, HeadDim: 128},
					FFN:       roofline.FFN{Kind: "dense", Width: 14336},
					Norms:     2,
				}},
			},
			Weights: []string{"bf16", "fp8"}, KV: []string{"bf16", "fp8"},
			Published: roofline.Published{TotalParams: "8"},
			Sources:   map[string]string{},
		},
		Target: roofline.Target{
			Name: "H200 SXM", Vendor: "NVIDIA", Device: "NVIDIA H200", Architecture: "sm_90", Count: 1,
			MemoryGB: "141", MemoryBytes: 150754820096, BandwidthGBs: "4800",
			PeakTFLOPs: map[string]roofline.Decimal{"bf16": "989", "fp8": "1979", "int8": "1979"},
			LinkGBs:    "450", BoardW: "700", MeasuredCopyGBs: "4290", MaxMemoryClockMHz: 3201,
			Sources: map[string]string{},
		},
	}
}

// header is a report without rows.
func header(o Options) *row.Report {
	was := o.AsItWas
	engine := was.Recipe.Engine
	memory := was.Target.MemoryBytes
	balancing, hostMemory := int64(0), int64(264<<30)
	r := &row.Report{
		Schema: row.Schema, Recipe: o.Recipe, AsItWas: was, MeasuredAt: o.MeasuredAt,
		Tool: row.Tool{Version: "0.1.0", Revision: revision, Go: "go1.26.8",
			Command: []string{"measure", "bench", "--recipe", o.Recipe}},
		Receipt: row.Receipt{
			Engine: row.EngineReceipt{
				Name: engine.Name, Version: engine.Version, Model: modelID(o),
				StartedAt:   startedAt(o),
				CommandLine: append([]string{engine.Name, "serve", modelID(o)}, was.Recipe.Flags...),
				Arguments:   arguments(was.Recipe.Flags), ArgumentsFrom: "process command line",
				Environment: maps.Clone(was.Recipe.Env),
			},
			Weights: row.WeightsReceipt{Source: weightsSource(&was.Recipe), Revision: was.Recipe.Weights.Revision},
			Devices: []row.Device{},
			Host:    row.Host{Kernel: "6.12.0", CPU: "Test CPU", Cores: 16, MemoryBytes: &hostMemory, NUMABalancing: &balancing},
			Runtime: row.RuntimeReceipt{Kind: "packages", Image: was.Recipe.Runtime.Image, Packages: was.Recipe.Runtime.Packages},
			Unread:  map[string]string{},
		},
		Client: client(o),
		Rows:   []row.Row{},
	}
	for i := range was.Recipe.GPUs() {
		r.Receipt.Devices = append(r.Receipt.Devices, row.Device{
			Index: i, Name: was.Target.Device, UUID: "GPU-0000000" + strconv.FormatInt(i, 10),
			MemoryBytes: &memory, Driver: "580.159.04", Used: true, Processes: []string{title(&was.Recipe, i)},
		})
	}
	if o.Simulated {
		r.Recipe, r.AsItWas = "", nil
		r.Receipt.Engine.Name, r.Receipt.Engine.Version = row.EmbeddedEngine, "0.1.0"
		r.Receipt.Weights = row.WeightsReceipt{Source: "unknown"}
		r.Receipt.Devices = []row.Device{}
	}
	return r
}

// modelID is the model that the recipe names.
func modelID(o Options) string {
	id, _, _ := strings.Cut(o.Recipe, "/")
	return id
}

// startedAt is 20 minutes before the run.
func startedAt(o Options) string {
	at, err := time.Parse(time.RFC3339, o.MeasuredAt)
	must(err)
	return at.Add(-20 * time.Minute).UTC().Format(time.RFC3339)
}

// client is a good one; its errors are those of a host with two cores.
func client(o Options) row.Client {
	level := func(streams, gaps int64) row.SelftestLevel {
		return row.SelftestLevel{
			Streams:     streams,
			ITLErrorNS:  row.ErrorDist{P50: 1100, P99: 12000 + streams, Max: 90000},
			TTFTErrorNS: row.ErrorDist{P50: 2100, P99: 14000 + streams, Max: 80000},
			Gaps:        gaps,
		}
	}
	l := level(64, 100000)
	test := &row.Selftest{Streams: l.Streams, ITLErrorNS: l.ITLErrorNS, TTFTErrorNS: l.TTFTErrorNS, Gaps: l.Gaps}
	c := row.Client{Stamps: o.Stamps, Selftest: test}
	if o.Calibrated {
		c.Boot = "5b2d7a4e-0000-4000-8000-000000000001"
		at, err := time.Parse(time.RFC3339, o.MeasuredAt)
		must(err)
		test.Levels = []row.SelftestLevel{level(1, 12700), l, level(256, 400000), level(1024, 1600000)}
		test.MeasuredAt = at.Add(-2 * time.Hour).UTC().Format(time.RFC3339)
		test.Boot, test.Stamps, test.Revision = c.Boot, o.Stamps, revision
	}
	return c
}

const revision = "0000000000000000000000000000000000000000"

func workload(o Options, c Cell, seed uint64) row.Workload {
	w := row.Workload{
		Kind: "text", Protocol: o.Protocol, Endpoint: "/v1/completions", ISL: c.ISL, OSL: c.OSL,
		Load:     row.Load{Concurrency: &c.Concurrency},
		Prompts:  row.Prompts{Kind: row.PromptsRandom, State: row.Cold},
		Sampling: row.Sampling{Temperature: "0", IgnoreEOS: true},
		Seed:     strconv.FormatUint(seed, 10), Warmup: o.Warmup, Repeats: o.Repeats,
	}
	if c.Rate != "" {
		w.Load.RequestRate = &c.Rate
		if burstiness := "1"; c.Rate != row.OwnTimes {
			w.Load.Burstiness = &burstiness
		}
		w.Warmup *= connections // requests, since there are no streams
		if c.Concurrency == 0 {
			w.Load.Concurrency = nil
		}
	}
	if c.Prompts != "" {
		sum := rowfile.SHA256([]byte(c.Prompts))
		w.Prompts.Kind, w.Prompts.SHA256 = c.Prompts, &sum
		w.Lengths = &row.Lengths{ISLP50: c.ISL, ISLP99: c.ISL * 3 / 2, OSLP50: c.OSL, OSLP99: c.OSL * 3 / 2}
	}
	if c.Prompts == row.PromptsTrace {
		block := int64(16)
		w.Block = &block
	}
	if o.Protocol == row.Passes {
		w.Iters = &o.Iters
		return w
	}
	requests := o.Requests
	if requests == 0 {
		requests = max(20, 10*c.Concurrency)
	}
	w.Requests = &requests
	return w
}

// arguments are a recipe's flags as a server would report them.
func arguments(flags []string) map[string]string {
	out := map[string]string{}
	name := ""
	for _, f := range flags {
		if strings.HasPrefix(f, "--") {
			name = strings.TrimPrefix(f, "--")
			out[name] = "true"
		} else {
			out[name] = f
		}
	}
	return out
}

func weightsSource(r *row.Recipe) string {
	if r.Weights.Repository == "random" {
		return "random"
	}
	return "repository"
}
