package row

// EngineName is how an engine writes itself: vLLM for vllm; the id where it is not known.
func EngineName(id string) string {
	switch id {
	case "vllm":
		return "vLLM"
	case "sglang":
		return "SGLang"
	case "llamacpp":
		return "llama.cpp"
	case "ollama":
		return "Ollama"
	case "trtllm":
		return "TensorRT-LLM"
	case "lmdeploy":
		return "LMDeploy"
	case "tgi":
		return "TGI"
	case EmbeddedEngine:
		return "embedded engine"
	}
	return id
}
