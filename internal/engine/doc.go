// Package engine speaks the servers' dialects: it builds requests, understands what
// came back, and asks a server what it is. Understanding happens after the clock has
// stopped, over complete bodies; when each token arrived comes from the stamps of the
// bytes that carried it.
//
// A route is one kind of request with its answer: OpenAI's two, which every engine has,
// and the own ones of SGLang, llama.cpp and Ollama. An answer is an event stream or
// lines of JSON; an event says what it printed, how many tokens it held, and, at the
// end, what the server counted and timed itself. A server is known by who owns its
// models, by what only its kind answers, and by the names of its metrics.
//
// No server's cache is emptied before a row, though SGLang and vLLM can be asked to:
// prompts that never recur are cold without it, their own counts prove it, and a cache
// that was just emptied evicts nothing, so that a row after it would measure another
// server than its neighbours did.
package engine
