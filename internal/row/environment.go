package row

import (
	"slices"
	"strings"
)

// keptVariables are names of environment variables whose values say how an engine
// runs; a name that ends in _ stands for all that begin with it.
var keptVariables = []string{
	"VLLM_", "SGLANG_", "SGL_", "CUDA_", "NCCL_", "NVSHMEM_", "TORCH_", "TORCHINDUCTOR_", "PYTORCH_", "TRITON_", "FLASHINFER_",
	"RCCL_", "ROCR_", "HIP_", "HSA_", "NVIDIA_VISIBLE_DEVICES", "GGML_", "LLAMA_ARG_",
	"HF_", "TRANSFORMERS_OFFLINE", "TOKENIZERS_PARALLELISM",
	"PYTHONPATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "VIRTUAL_ENV",
	"OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "MKL_NUM_THREADS", "KMP_AFFINITY", "MALLOC_ARENA_MAX",
}

// KeptVariable says whether a receipt keeps a variable of the server's environment.
// Other names say nothing of the engine and much of the host.
func KeptVariable(name string) bool {
	return slices.ContainsFunc(keptVariables, func(k string) bool {
		return name == k || strings.HasSuffix(k, "_") && strings.HasPrefix(name, k)
	})
}
