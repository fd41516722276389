package gate_test

import (
	"strings"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// spread makes a report of a recipe whose devices share the model so.
func spread(pool row.Pool) *made {
	return make1(1, rowtest.Options{
		Recipe: "llama-3.1-8b/h200-sxm-x2/latency/vllm", AsItWas: rowtest.Spread(rowtest.Llama8B(), pool),
		Cells: []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 8}},
	})
}

func answer(results []gate.Result, name string) gate.Result {
	for _, r := range results {
		if r.Gate == name {
			return r
		}
	}
	return gate.Result{}
}

// Healthy rows of 2, 4 and 8 devices in each layout.
func TestRowsOfSeveralDevices(t *testing.T) {
	for _, c := range []struct {
		name string
		pool row.Pool
		over string // what the denominator says
	}{
		{"tp 2", row.Pool{TP: 2}, "2 GPUs"},
		{"tp 4", row.Pool{TP: 4}, "4 GPUs"},
		{"tp 8", row.Pool{TP: 8}, "8 GPUs"},
		{"dp 2", row.Pool{DP: 2}, "2 GPUs"},
		{"tp 2, dp 2", row.Pool{TP: 2, DP: 2}, "4 GPUs"},
		{"tp 4, dp 2", row.Pool{TP: 4, DP: 2}, "8 GPUs"},
		{"pp 2", row.Pool{PP: 2}, "2 GPUs"},
		{"tp 2, pp 2, dp 2", row.Pool{TP: 2, PP: 2, DP: 2}, "8 GPUs"},
		{"tp 2, dp 2, ep 4", row.Pool{TP: 2, DP: 2, EP: 4}, "4 GPUs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := spread(c.pool)
			results := judge(t, m.files(t), nil)[0]
			if gate.Verdict(results) != gate.Verified {
				t.Errorf("not verified: %s", blocking(results))
			}
			if r := answer(results, "denominator"); !strings.Contains(r.Reason, "per-GPU figures are over "+c.over) {
				t.Errorf("denominator: %s", r.Reason)
			}
			f := m.report.Rows[0].Figures
			gpus := float64(m.report.AsItWas.Recipe.GPUs())
			if got, want := *f.OutputTokPerSecPerGPU, *f.OutputTokPerSec/gpus; got != want {
				t.Errorf("per GPU %v, want %v over %v", got, want, gpus)
			}
		})
	}
}

// What the recipe states of devices, ranks and environment is held against what the
// receipt tells, one by one.
func TestDefectsOfSeveralDevices(t *testing.T) {
	for _, c := range []struct {
		name   string
		plant  func(*row.Receipt)
		gate   string
		answer gate.Answer
		reason string
	}{
		{"multicast on", func(r *row.Receipt) { r.Engine.Environment["NCCL_NVLS_ENABLE"] = "1" },
			"label", gate.Fail, "variable NCCL_NVLS_ENABLE is 1, the recipe states 0"},
		{"a variable not set", func(r *row.Receipt) { delete(r.Engine.Environment, "NVSHMEM_DISABLE_NVLS") },
			"label", gate.Fail, "variable NVSHMEM_DISABLE_NVLS is not set, the recipe states 1"},
		{"the environment unread", func(r *row.Receipt) { r.Engine.Environment = nil },
			"label", gate.Unjudged, "variable NCCL_NVLS_ENABLE, variable NVSHMEM_DISABLE_NVLS"},
		{"one matrix a device", func(r *row.Receipt) { r.Engine.Arguments["tensor-parallel-size"] = "1" },
			"label", gate.Fail, "--tensor-parallel-size is 1, the recipe states 2"},
		{"the same part twice", func(r *row.Receipt) { r.Devices[1].Processes = []string{"VLLM::Worker_TP0"} },
			"label", gate.Fail, "tensor parallel ranks is 0 on device 0, 0 on device 1, the recipe states 0 to 1"},
		{"a part too many", func(r *row.Receipt) { r.Devices[1].Processes = []string{"VLLM::Worker_TP1", "VLLM::Worker_TP2"} },
			"label", gate.Fail, "2 on device 1, the recipe states 0 to 1"},
		{"replicas that nobody states", func(r *row.Receipt) {
			r.Devices[0].Processes, r.Devices[1].Processes = []string{"VLLM::Worker_DP0_TP0"}, []string{"VLLM::Worker_DP1_TP1"}
		}, "label", gate.Fail, "data parallel ranks is 0 on device 0, 1 on device 1, the recipe states 0"},
		{"experts shared", func(r *row.Receipt) { r.Engine.Arguments["enable-expert-parallel"] = "true" },
			"label", gate.Fail, "expert parallel size is 2, the recipe states 1"},
		{"another device among them", func(r *row.Receipt) { r.Devices[1].Name = "NVIDIA H100 80GB HBM3" },
			"label", gate.Fail, "device 1 is NVIDIA H100 80GB HBM3, the recipe states NVIDIA H200"},
		{"one of two devices held", func(r *row.Receipt) { r.Devices[1].Used, r.Devices[1].Processes = false, nil },
			"denominator", gate.Fail, "two counts: the server holds 1 GPU, and the per-GPU figures are over 2"},
		{"titles that tell no rank", func(r *row.Receipt) {
			r.Devices[0].Processes, r.Devices[1].Processes = []string{"python3"}, []string{"python3"}
		}, "label", gate.Pass, "of the recipe hold"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := spread(row.Pool{TP: 2})
			c.plant(&m.report.Receipt)
			m.seal()
			r := answer(judge(t, m.files(t), nil)[0], c.gate)
			if r.Answer != c.answer || !strings.Contains(r.Reason, c.reason) {
				t.Errorf("%s: %s: %s; want %s: %s", c.gate, r.Answer, r.Reason, c.answer, c.reason)
			}
		})
	}
}

// Tools name one device in more than one way, and a target states them.
func TestAnotherNameOfTheDevice(t *testing.T) {
	m := spread(row.Pool{TP: 2})
	m.report.AsItWas.Target.Also = []string{"AMD Instinct MI300X OAM"}
	m.report.Receipt.Devices[1].Name = "AMD Instinct MI300X OAM"
	m.seal()
	if r := answer(judge(t, m.files(t), nil)[0], "label"); r.Answer != gate.Pass {
		t.Errorf("%s: %s", r.Answer, r.Reason)
	}
	m.report.Receipt.Devices[1].Name = "AMD Instinct MI325X OAM"
	m.seal()
	if r := answer(judge(t, m.files(t), nil)[0], "label"); r.Answer != gate.Fail || !strings.Contains(r.Reason, "device 1 is AMD Instinct MI325X OAM") {
		t.Errorf("%s: %s", r.Answer, r.Reason)
	}
}

// A variable that no receipt keeps is not known to be unset.
func TestAVariableThatNoReceiptKeeps(t *testing.T) {
	m := spread(row.Pool{TP: 2})
	m.report.AsItWas.Recipe.Env["LANG"] = "C"
	m.seal()
	if r := answer(judge(t, m.files(t), nil)[0], "label"); r.Answer != gate.Unjudged || !strings.Contains(r.Reason, "variable LANG") {
		t.Errorf("%s: %s", r.Answer, r.Reason)
	}
}

// The links bound a row of many devices too: one whose steps are faster than its
// all-reduces is above the roof.
func TestCeilingOfTheLinks(t *testing.T) {
	m := spread(row.Pool{TP: 2})
	m.report.AsItWas.Target.LinkGBs = "0.5" // slower than any: 2 × 32 layers × 8 × 8,192 B take 8.4 ms
	m.seal()
	r := answer(judge(t, m.files(t), nil)[0], "ceiling")
	if r.Answer != gate.Fail || !strings.Contains(r.Reason, "is below the hard roof") {
		t.Errorf("%s: %s", r.Answer, r.Reason)
	}
}
