package engine

import "slices"

// Names of the engines whose dialect is known.
const (
	VLLM     = "vllm"
	SGLang   = "sglang"
	LlamaCPP = "llamacpp"
	Ollama   = "ollama"
	TGI      = "tgi"
	TRTLLM   = "trtllm"
	LMDeploy = "lmdeploy"
	OpenAI   = "openai" // none of an engine's extensions
	Embedded = "embedded"
)

// Engines are the names in the order that help shows them.
var Engines = []string{VLLM, SGLang, LlamaCPP, Ollama, TGI, TRTLLM, LMDeploy, OpenAI, Embedded}

// route is one kind of request: how it is written, and how its answer is read.
type route struct {
	path    string
	engines []string // that have it; nil: any
	chat    bool     // it takes messages, and a template stands round them
	ids     bool     // it takes a prompt as token ids
	noEOS   bool     // it can't be asked to run on past the end token
	bare    bool     // it names no model: the server has one
	repeats bool     // each event of an answer repeats all before it

	write  func(b *body, p Prompt, o Options)
	split  func(body []byte, most int) stream
	decode func(r *reading, data []byte) says

	end   string // what ends a whole answer
	unit  string // what an answer is made of, with its article
	one   string // the same without
	ender string // what stands after each
}

// routes in the order that help shows them.
var routes = []route{
	{path: PathCompletions, ids: true, write: completionsBody, split: parseStream, decode: openAIEvent,
		end: doneMark, unit: "an event", one: "event", ender: "blank line"},
	{path: PathChat, chat: true, write: chatBody, split: parseStream, decode: openAIEvent,
		end: doneMark, unit: "an event", one: "event", ender: "blank line"},
	{path: PathGenerate, engines: []string{SGLang}, ids: true, bare: true, repeats: true, write: generateBody, split: parseStream, decode: generateEvent,
		end: doneMark, unit: "an event", one: "event", ender: "blank line"},
	{path: PathCompletion, engines: []string{LlamaCPP}, ids: true, write: completionBody, split: parseStream, decode: completionEvent,
		end: `its last event ("stop": true)`, unit: "an event", one: "event", ender: "blank line"},
	{path: PathOllamaGenerate, engines: []string{Ollama}, noEOS: true, write: ollamaGenerateBody, split: parseLines, decode: ollamaLine,
		end: `its last object ("done": true)`, unit: "a line", one: "line", ender: "newline"},
	{path: PathOllamaChat, engines: []string{Ollama}, chat: true, noEOS: true, write: ollamaChatBody, split: parseLines, decode: ollamaLine,
		end: `its last object ("done": true)`, unit: "a line", one: "line", ender: "newline"},
}

// routeOf is the route of a path; of one that nobody knows, that of completions.
func routeOf(path string) *route {
	for i := range routes {
		if routes[i].path == path {
			return &routes[i]
		}
	}
	return &routes[0]
}

// Paths are all routes, those of OpenAI's API first.
func Paths() []string {
	var out []string
	for i := range routes {
		out = append(out, routes[i].path)
	}
	return out
}

// RoutesOf are the routes that an engine serves, the one to take without being told
// first: the engine's own where that says more of each token than OpenAI's API does.
// An engine that is not known may have any.
func RoutesOf(name string) []string {
	var own, common []string
	known := slices.Contains(Engines, name)
	for i := range routes {
		switch {
		case routes[i].engines == nil:
			common = append(common, routes[i].path)
		case slices.Contains(routes[i].engines, name) || !known:
			own = append(own, routes[i].path)
		}
	}
	if name == LlamaCPP || name == Ollama {
		return append(own, common...)
	}
	return append(common, own...)
}

// IsChat says whether a route takes messages, which a template of the server surrounds.
func IsChat(path string) bool { return routeOf(path).chat }

// TakesIDs says whether a route takes a prompt as token ids.
func TakesIDs(path string) bool { return routeOf(path).ids }

// TakesIgnoreEOS says whether a route can be asked to run on past the end token.
func TakesIgnoreEOS(path string) bool { return !routeOf(path).noEOS }
