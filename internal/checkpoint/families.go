package checkpoint

import (
	"maps"
	"slices"
)

// family is what the documented defaults of a model type are, and how it builds layers.
type family struct {
	layers     func(*decoder)
	tied       bool  // default of tie_word_embeddings
	vocabulary int64 // default of vocab_size; 0: it must be given
	context    int64 // default of max_position_embeddings; 0: not stated
}

// wrappers are model types that put a language model, under text_config, beside towers
// for pictures or sound. A text token passes none of those, and they are left out. The
// value is the type of a text_config that states none.
var wrappers = map[string]string{
	"gemma3":       "gemma3_text",
	"llama4":       "llama4_text",
	"mistral3":     "mistral",
	"kimi_k25":     "kimi_k2",
	"qwen3_vl":     "qwen3",
	"qwen3_vl_moe": "qwen3_moe",
	"qwen3_5":      "qwen3_5_text",
	"qwen3_5_moe":  "qwen3_5_moe_text",
}

// Types lists the model types that Config reads.
func Types() []string {
	types := slices.Collect(maps.Keys(families))
	types = slices.AppendSeq(types, maps.Keys(wrappers))
	slices.Sort(types)
	return types
}

// families are the model types whose cost is known, each as its reference implementation
// (transformers, unless the code says otherwise) builds it.
var families = map[string]family{
	"llama":   {layers: llama},
	"mistral": {layers: mistral},
	"qwen2":   {layers: qwen2},
	"qwen3":   {layers: qwen3},

	// Language models beside towers, under the names that their text_config has, or, in
	// older files, at the top.
	"qwen2_vl":          {layers: qwen2},
	"qwen2_vl_text":     {layers: qwen2},
	"qwen2_5_vl":        {layers: qwen2},
	"qwen2_5_vl_text":   {layers: qwen2},
	"qwen3_vl_text":     {layers: qwen3},
	"qwen3_vl_moe_text": {layers: qwen3MoE},

	"gemma2":  {layers: gemma2, tied: true, vocabulary: 256000},
	"phi3":    {layers: phi3},
	"olmo2":   {layers: olmo2},
	"glm4":    {layers: glm4},
	"smollm3": {layers: smollm3, tied: true},

	// A published text_config leaves out what equals the defaults of its class.
	"gemma3_text": {layers: gemma3, tied: true, vocabulary: 262208, context: 131072},

	"mixtral":     {layers: mixtral},
	"qwen2_moe":   {layers: qwen2MoE},
	"qwen3_moe":   {layers: qwen3MoE},
	"gpt_oss":     {layers: gptOSS},
	"glm4_moe":    {layers: glm4MoE},
	"llama4_text": {layers: llama4},
	"minimax_m2":  {layers: miniMaxM2},

	"deepseek_v2":  {layers: latentMoE},
	"deepseek_v3":  {layers: latentMoE},
	"kimi_k2":      {layers: latentMoE},
	"deepseek_v32": {layers: sparseLatentMoE},
	"glm_moe_dsa":  {layers: sparseLatentMoE},

	"cohere2":          {layers: cohere2, tied: true, vocabulary: 256000},
	"dots1":            {layers: dots1},
	"ernie4_5":         {layers: ernie, tied: true},
	"ernie4_5_moe":     {layers: ernieMoE, tied: true},
	"exaone4":          {layers: exaone4},
	"gemma":            {layers: gemma, tied: true, vocabulary: 256000},
	"glm4_moe_lite":    {layers: latentMoE},
	"granite":          {layers: llama},
	"granitemoe":       {layers: graniteMoE},
	"granitemoeshared": {layers: graniteMoE},
	"mimo_v2_flash":    {layers: miMoV2},
	"ministral":        {layers: mistral},
	"nemotron-nas":     {layers: nemotronNAS},
	"olmo3":            {layers: olmo3},
	"seed_oss":         {layers: seedOSS},

	"lfm2":             {layers: lfm2, tied: true},
	"lfm2_moe":         {layers: lfm2MoE, tied: true},
	"qwen3_next":       {layers: qwen3Next},
	"qwen3_5_text":     {layers: qwen35},
	"qwen3_5_moe_text": {layers: qwen3Next},
	"nemotron_h":       {layers: nemotronH},
	"granitemoehybrid": {layers: graniteHybrid},
	"mamba2":           {layers: mamba2},
}
