package rowtest

import (
	"strconv"

	"rowproof/internal/row"
)

// Spread is the cell on several devices: one pool shares the model as it says, with the
// flags of vLLM that ask for it.
func Spread(was *row.AsItWas, pool row.Pool) *row.AsItWas {
	pool.Role = "all"
	for _, n := range []*int64{&pool.Count, &pool.TP, &pool.PP, &pool.DP, &pool.EP} {
		*n = max(*n, 1)
	}
	was.Recipe.Pools = []row.Pool{pool}
	for _, f := range []struct {
		name string
		n    int64
	}{{"--tensor-parallel-size", pool.TP}, {"--pipeline-parallel-size", pool.PP}, {"--data-parallel-size", pool.DP}} {
		if f.n > 1 {
			was.Recipe.Flags = append(was.Recipe.Flags, f.name, strconv.FormatInt(f.n, 10))
		}
	}
	if pool.EP > 1 {
		was.Recipe.Flags = append(was.Recipe.Flags, "--enable-expert-parallel")
	}
	was.Recipe.Env = map[string]string{"NCCL_NVLS_ENABLE": "0", "NVSHMEM_DISABLE_NVLS": "1",
		"TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "VLLM_FLASHINFER_ALLREDUCE_BACKEND": "trtllm"}
	was.Target.Count = was.Recipe.GPUs()
	was.Target.Name = strconv.FormatInt(was.Target.Count, 10) + "× " + was.Target.Name
	return was
}

// title is what the engine calls its process on a device: vLLM names the ranks of what
// is shared.
func title(recipe *row.Recipe, device int64) string {
	p := recipe.Pools[0]
	if p.TP*p.PP*p.DP == 1 {
		return "VLLM::EngineCore"
	}
	s := "VLLM::Worker"
	for _, d := range []struct {
		mark       string
		n, divided int64
	}{{"_DP", p.DP, p.TP * p.PP}, {"_PP", p.PP, p.TP}, {"_TP", p.TP, 1}} {
		if d.n > 1 {
			s += d.mark + strconv.FormatInt(device/d.divided%d.n, 10)
		}
	}
	return s
}
