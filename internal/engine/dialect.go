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

	write   func(b *body, p Prompt, o Options)
	framing *framing
	decode  func(r *reading, data []byte) says
	end     string // what ends a whole answer
}

// framing is how an answer is taken apart, and what to call its parts.
type framing struct {
	split func(body []byte, most int) stream
	part  string
	a     string // the article of part
	ender string // what stands after each
}

var (
	eventStream = &framing{split: parseStream, a: "an", part: "event", ender: "blank line"}
	jsonLines   = &framing{split: parseLines, a: "a", part: "line", ender: "newline"}
)

// routes in the order that help shows them.
var routes = []route{
	{path: PathCompletions, ids: true,
		write: completionsBody, framing: eventStream, decode: openAIEvent, end: doneMark},
	{path: PathChat, chat: true,
		write: chatBody, framing: eventStream, decode: openAIEvent, end: doneMark},
	{path: PathGenerate, engines: []string{SGLang}, ids: true, bare: true, repeats: true,
		write: generateBody, framing: eventStream, decode: generateEvent, end: doneMark},
	{path: PathCompletion, engines: []string{LlamaCPP}, ids: true,
		write: completionBody, framing: eventStream, decode: completionEvent, end: `its last event ("stop": true)`},
	{path: PathOllamaGenerate, engines: []string{Ollama}, noEOS: true,
		write: ollamaGenerateBody, framing: jsonLines, decode: ollamaLine, end: `its last object ("done": true)`},
	{path: PathOllamaChat, engines: []string{Ollama}, chat: true, noEOS: true,
		write: ollamaChatBody, framing: jsonLines, decode: ollamaLine, end: `its last object ("done": true)`},
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
