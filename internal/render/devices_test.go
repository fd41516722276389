package render

import (
	"strings"
	"testing"

	"rowproof/internal/render/format"
	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// A recipe on two devices says how they share the model and what their links ask, with
// what was measured of them, and each of its GPUs stands beside one that serves alone.
func TestTwoDevicesBesideOne(t *testing.T) {
	root := newRoot(t)
	target := read(t, root, "data/targets/h200-sxm.yaml")
	if !strings.Contains(target, "measured_allreduce_gb_s") {
		target = strings.Replace(target, "sources:\n", "measured_allreduce_gb_s: {x2: \"300\"}\nsources:\n  measured_allreduce_gb_s: made for a test\n", 1)
	}
	write(t, root, "data/targets/h200-sxm.yaml", target)
	cells := []rowtest.Cell{{ISL: 1024, OSL: 64, Concurrency: 1}, {ISL: 1024, OSL: 64, Concurrency: 8}}
	one, _ := addReport(t, root, 1, rowtest.Options{Cells: cells[1:]})
	two, _ := addReport(t, root, 2, rowtest.Options{Cells: cells, Recipe: "llama-3.1-8b/h200-sxm-x2/latency/vllm",
		AsItWas: rowtest.Spread(rowtest.Llama8B(), row.Pool{TP: 2})})
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	page := words(read(t, out, "r", two.Rows[1].ID, "index.html"))
	for _, want := range []string{
		"2× H200 SXM (tp 2) · Latency",
		"Of a step of 1024:64, c = 8, memory takes at least ",
		"The links, decode: 2 × 32 layers × 2 × 1/2 × ",
		"Prefill: 2 × 32 layers × 2 × 1/2 × 8.389 MB ÷ 450 GB/s (ring all-reduce) = 1.193 ms.",
		"Measured on 2 such devices: the largest all-reduces reach ", " of the link’s 450 GB/s in each direction (",
		"variable NCCL_NVLS_ENABLE 0 0 yes",
		"tensor parallel ranks 0 to 1 0 on device 0, 1 on device 1 yes",
		"Device 1 NVIDIA H200, 151 GB, driver 580.159.04, VLLM::Worker_TP1",
		"1 × TP 2, PP 1, DP 1, EP 1: 2 GPUs",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the row's page does not say %q", want)
		}
	}
	alone := words(read(t, out, "r", one.Rows[0].ID, "index.html"))
	if strings.Contains(alone, "The links") || strings.Contains(alone, "tp 1") {
		t.Error("a row of one device speaks of links")
	}
	model := words(read(t, out, "recipes/llama-3.1-8b/index.html"))
	share := *two.Rows[1].Figures.OutputTokPerSecPerGPU / *one.Rows[0].Figures.OutputTokPerSecPerGPU
	for _, want := range []string{
		"2× H200 SXM (tp 2) · Latency · vLLM",
		"Beside one GPU Output tok/s for each GPU at 1024:64",
		"Load This recipe H200 SXM · Latency · vLLM c = 1 ",
		"— not measured at this load c = 8 ", " " + format.Percent(share) + " ",
		"NVSHMEM_DISABLE_NVLS=1 \\ TORCH_SYMM_MEM_DISABLE_MULTICAST=1 \\",
	} {
		if !strings.Contains(model, want) {
			t.Errorf("the model's page does not say %q", want)
		}
	}
	if n := strings.Count(model, "Beside one GPU"); n != 1 {
		t.Errorf("%d tables beside one GPU, want 1: that of the two devices", n)
	}
}

func TestLayoutWords(t *testing.T) {
	for _, c := range []struct {
		pool row.Pool
		want string
	}{
		{row.Pool{Count: 1, TP: 1, PP: 1, DP: 1, EP: 1}, ""},
		{row.Pool{Count: 1, TP: 8, PP: 1, DP: 1, EP: 1}, "tp 8"},
		{row.Pool{Count: 1, TP: 2, PP: 2, DP: 2, EP: 1}, "tp 2, pp 2, dp 2"},
		{row.Pool{Count: 2, TP: 4, PP: 1, DP: 1, EP: 4}, "tp 4, ep 4, 2 servers"},
	} {
		if got := layoutWords(&row.Recipe{Pools: []row.Pool{c.pool}}); strings.ReplaceAll(got, format.NBSP, " ") != c.want {
			t.Errorf("%+v: %q, want %q", c.pool, got, c.want)
		}
	}
}
