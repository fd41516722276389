// Package harness reads result files of other tools: what they measured, by their own
// definitions, and the requests behind it where the file holds any. It is pure parsing:
// a reader in, a Result out, in bounded memory whatever the file holds, so that measure
// and a reader's browser run the same code. Nothing is guessed: what a file does not say
// is empty, and NaN, Infinity, a rate of 0 and a time below 0 are no figures.
package harness

import (
	"io"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// Result is what one file holds.
type Result struct {
	Format  string // such as vllm-serve; Formats lists them
	Tool    string // as its users call it: vllm bench serve
	Version string // "" where the file does not say
	Clock   string // where its times come from, in words
	Runs    []Run
	Left    []string // what of the file was left out, and why
}

// Run is one measurement in the file: a row to be.
type Run struct {
	Place int64  // in the file, from 1: the line of JSONL or CSV, the element of a list
	At    string // when, RFC 3339 in UTC; "" where the file does not say

	Engine  string            // as the tool calls the backend: vllm, sglang, openai-chat; "" unknown
	Model   string            // as the file names it
	Devices int64             // GPUs that the file says were used; 0 unknown
	Server  map[string]string // what the file repeats of the server's own settings, secrets masked; nil
	Labels  map[string]string // what the file claims of what ran and nobody reported: hw, precision, image, tp, …

	Workload row.Workload // what the file does not say is zero or nil; Unsaid says so
	Unsaid   []string     // fields of Workload that the file does not say, by JSON path: load.concurrency
	Status   string       // row.StatusOK or row.StatusError
	Reason   string

	Stated    []row.Stated     // every figure of the file, as it stands there
	DurationS roofline.Decimal // what its rates are divided by

	// Samples are its requests, whole µs, in the order of the file; nil where it holds none,
	// and NoSamples says why.
	Samples   []row.Sample
	NoSamples string

	// Figures are the tool's own, converted, of a run without samples; a null has its reason
	// in Missing. With samples ours are computed from those, and these are empty.
	Figures row.Figures
	Missing map[string]string
}

// Parse reads one file. name is its name, whose ending may help to tell what it is; the
// content decides. The error says where in the file, what was found and what would be
// accepted.
func Parse(name string, r io.Reader) (*Result, error) { return parse(name, r) }
