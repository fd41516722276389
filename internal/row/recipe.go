package row

import "rowproof/internal/roofline"

// Recipe is a cell on one engine: everything needed to launch it again.
type Recipe struct {
	Engine      EngineRef         `json:"engine"`
	Runtime     Runtime           `json:"runtime"`
	Weights     Weights           `json:"weights"`
	KVDtype     string            `json:"kv_dtype"`
	Pools       []Pool            `json:"pools"`
	Nodes       int64             `json:"nodes"`
	Router      string            `json:"router"`
	KVOffload   string            `json:"kv_offload"`
	Adapters    []string          `json:"adapters"`
	Speculation *Speculation      `json:"speculation"` // null: none
	Env         map[string]string `json:"env"`
	Flags       []string          `json:"flags"`
	Launch      []string          `json:"launch"`
	Arch        []string          `json:"arch"` // device architectures that the image or packages cover
	Notes       string            `json:"notes"`
}

// EngineRef names an engine and its version, letter for letter.
type EngineRef struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Runtime is an image with its digest, or pinned packages.
type Runtime struct {
	Image    string            `json:"image"`
	Packages map[string]string `json:"packages"`
}

// Weights says what is served.
type Weights struct {
	Repository string `json:"repository"` // "random" for random weights
	Revision   string `json:"revision"`
	File       string `json:"file"` // GGUF
	Dtype      string `json:"dtype"`
}

// What the replicas of a pool do.
const (
	RoleAll     = "all"
	RolePrefill = "prefill"
	RoleDecode  = "decode"
)

// Pool is a group of replicas of one role.
type Pool struct {
	Role  string `json:"role"`
	Count int64  `json:"count"`
	TP    int64  `json:"tp"`
	PP    int64  `json:"pp"`
	DP    int64  `json:"dp"`
	EP    int64  `json:"ep"`
}

// Speculation is a drafting method and how many tokens it drafts.
type Speculation struct {
	Method      string           `json:"method"`
	DraftTokens int64            `json:"draft_tokens"`
	Acceptance  roofline.Decimal `json:"acceptance,omitempty"`
}

// GPUs counts the devices over all pools: the one denominator of per-GPU figures.
func (r *Recipe) GPUs() int64 {
	var n int64
	for i := range r.Pools {
		n += r.Pools[i].GPUs()
	}
	return n
}

// GPUs counts the devices of a pool. Experts are shared over devices that it counts
// already.
func (p *Pool) GPUs() int64 { return p.Count * p.TP * p.PP * p.DP }

// MulticastOff says whether the environment keeps every library that the engine may
// reduce with from multicast, so that no switch copies or adds up on the way. Where one
// of them is left to its default, it may.
func (r *Recipe) MulticastOff() bool {
	off := map[string]string{
		"NCCL_NVLS_ENABLE":                 "0",
		"NVSHMEM_DISABLE_NVLS":             "1",
		"TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
	}
	if r.Engine.Name == "vllm" {
		off["VLLM_FLASHINFER_ALLREDUCE_BACKEND"] = "trtllm" // the default asks the driver for multicast by itself
	}
	for name, value := range off {
		if r.Env[name] != value {
			return false
		}
	}
	return true
}

// Strategy is what a recipe is tuned for.
type Strategy struct {
	Name   string `json:"name"`
	For    string `json:"for"`
	BestBy string `json:"best_by"` // which rate makes a row its best: BestPerUser or BestPerGPU
}

// What a strategy's rows are compared by.
const (
	BestPerUser = "per_user"
	BestPerGPU  = "per_gpu"
)
