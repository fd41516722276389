package engine

import (
	"bytes"
	"encoding/json"
)

// answers are what a server answered when it was asked what it is.
type answers struct {
	owner string            // of its models
	of    map[string][]byte // by path; those that were 200
}

func (a *answers) keep(path string, body []byte) {
	if body == nil {
		return
	}
	if a.of == nil {
		a.of = map[string][]byte{}
	}
	a.of[path] = body
}

// object says whether the answer of a path is a JSON object with these members.
func (a *answers) object(path string, members ...string) bool {
	var o map[string]json.RawMessage
	if a.of[path] == nil || json.Unmarshal(a.of[path], &o) != nil {
		return false
	}
	for _, m := range members {
		if _, ok := o[m]; !ok {
			return false
		}
	}
	return true
}

// series says whether its metrics hold a series whose name begins so.
func (a *answers) series(prefix string) bool {
	for _, path := range []string{pathMetrics, pathOwnMetrics} {
		if text := a.of[path]; bytes.HasPrefix(text, []byte(prefix)) || bytes.Contains(text, []byte("\n"+prefix)) {
			return true
		}
	}
	return false
}

// marks tell the engines apart, the surest first: by the owner of the models, by what
// only one of them answers, by the names of its metrics.
var marks = []struct {
	engine string
	owner  string
	shows  func(a *answers) bool
	series string
}{
	{Embedded, "rowproof", nil, ""}, // that it calls itself: its metrics stay what they are
	{SGLang, "sglang", func(a *answers) bool {
		return a.object(pathServerInfo, "model_path", "tokenizer_path") || a.object(pathServerInfoOld, "model_path", "tokenizer_path")
	}, "sglang:"},
	{VLLM, "vllm", nil, "vllm:"},
	{TRTLLM, "tensorrt_llm", nil, "trtllm_"},
	{LMDeploy, "lmdeploy", nil, "lmdeploy:"},
	{LlamaCPP, "llamacpp", func(a *answers) bool {
		return a.object(pathProps, "default_generation_settings", "total_slots")
	}, "llamacpp:"},
	{TGI, "", func(a *answers) bool { return a.object(pathInfo, "model_id", "max_total_tokens") }, "tgi_"},
	{Ollama, "", func(a *answers) bool { return a.object(pathOllamaVersion, "version") }, ""},
}

// engine is the name of the engine that answered so, or "".
func (a *answers) engine() string {
	for _, m := range marks {
		if m.owner != "" && a.owner == m.owner || m.shows != nil && m.shows(a) || m.series != "" && a.series(m.series) {
			return m.engine
		}
	}
	return ""
}

// named says that no more need be asked to name the engine, and to know its settings.
func (a *answers) named() bool {
	switch a.engine() {
	case Embedded, SGLang, VLLM, LMDeploy:
		return true
	}
	return false
}

// take fills in what follows from the answers.
func (s *Server) take(a *answers) {
	s.Engine = a.engine()
	s.Version = versionIn(a.of[pathVersion])
	if a.of[pathMetrics] != nil {
		s.Metrics = pathMetrics
	}
	switch s.Engine {
	case "":
		s.Engine = "unknown: neither its models nor its metrics name an engine"
		if a.owner != "" {
			s.Engine = "unknown: its models are owned by " + visible([]byte(a.owner), 60)
		}
	case SGLang:
		s.takeSGLang(a)
	case LlamaCPP:
		s.takeLlamaCPP(a.of[pathProps])
		if s.Metrics == "" && isSlots(a.of[pathSlots]) {
			s.Metrics = pathSlots
		}
	case Ollama:
		s.Version = versionIn(a.of[pathOllamaVersion])
		s.takeTags(a.of[pathTags])
	case TGI:
		s.takeInfo(a.of[pathInfo])
	case TRTLLM:
		// Its /metrics answers JSON of the latest iterations, which nobody else does.
		if s.Metrics = ""; a.of[pathOwnMetrics] != nil {
			s.Metrics = pathOwnMetrics
		}
	}
}

// show keeps settings with the path that they came from.
func (s *Server) show(path string, body []byte) {
	if body != nil {
		s.Info, s.InfoFrom = body, path
	}
}

// limit says how long prompt and output together may be, where /v1/models does not.
func (s *Server) limit(n *int64) {
	for i := range s.Models {
		if s.Models[i].MaxLen == nil && n != nil && *n > 0 {
			s.Models[i].MaxLen = n
		}
	}
}

// add lists a model that /v1/models did not.
func (s *Server) add(m ServedModel) {
	if len(s.Models) == 0 && m.ID != "" {
		s.Models = append(s.Models, m)
	}
}
