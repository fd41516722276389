package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"rowproof/internal/loadgen"
)

// Routes of the OpenAI dialect.
const (
	PathCompletions = "/v1/completions"
	PathChat        = "/v1/chat/completions"
)

// Options is what a request asks beside its prompt. Only fields that both vLLM and
// SGLang take are sent by themselves; Extra is the user's own.
type Options struct {
	Engine    string // a name of Server.Engine: which extensions may be sent
	IgnoreEOS bool
	Extra     map[string]json.RawMessage // top-level fields; they win over ours
}

// CompletionIDs is a completion of an exact prompt, as token ids.
func CompletionIDs(model string, ids []int, osl int, o Options) loadgen.Call {
	prompt := make([]byte, 0, 7*len(ids)+2)
	prompt = append(prompt, '[')
	for i, id := range ids {
		if i > 0 {
			prompt = append(prompt, ',')
		}
		prompt = strconv.AppendInt(prompt, int64(id), 10)
	}
	prompt = append(prompt, ']')
	return call(PathCompletions, model, "prompt", prompt, len(ids), osl, o)
}

// CompletionText is a completion of a prompt in words, meant to be isl tokens long.
func CompletionText(model, text string, isl, osl int, o Options) loadgen.Call {
	return call(PathCompletions, model, "prompt", quoted(text), isl, osl, o)
}

// Chat is one user turn, meant to be isl tokens long with the server's template.
func Chat(model, text string, isl, osl int, o Options) loadgen.Call {
	messages := append([]byte(`[{"role":"user","content":`), quoted(text)...)
	messages = append(messages, "}]"...)
	return call(PathChat, model, "messages", messages, isl, osl, o)
}

func call(path, model, key string, prompt []byte, isl, osl int, o Options) loadgen.Call {
	sum := sha256.Sum256(prompt)
	type field struct {
		name  string
		value []byte
	}
	stream := []byte(`{"include_usage":true}`)
	if o.Engine == VLLM || o.Engine == SGLang || o.Engine == Embedded {
		stream = []byte(`{"include_usage":true,"continuous_usage_stats":true}`)
	}
	fields := []field{
		{"model", quoted(model)},
		{key, prompt},
		{"max_tokens", strconv.AppendInt(nil, int64(osl), 10)},
		{"temperature", []byte("0")},
		{"stream", []byte("true")},
		{"stream_options", stream},
	}
	if o.IgnoreEOS {
		fields = append(fields, field{"ignore_eos", []byte("true")})
	}
	if o.Engine == VLLM {
		fields = append(fields, field{"return_token_ids", []byte("true")})
	}
	extra := maps.Clone(o.Extra)
	body := make([]byte, 0, len(prompt)+512)
	body = append(body, '{')
	put := func(name string, value []byte) {
		if len(body) > 1 {
			body = append(body, ',')
		}
		body = append(append(append(body, quoted(name)...), ':'), value...)
	}
	for _, f := range fields {
		if v, ok := extra[f.name]; ok {
			f.value = v
			delete(extra, f.name)
		}
		put(f.name, f.value)
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		put(name, extra[name])
	}
	body = append(body, '}')
	return loadgen.Call{Path: path, Body: body, ISL: int64(isl), OSL: int64(osl), Prompt: hex.EncodeToString(sum[:8])}
}

func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always marshals
	}
	return b
}
