// Package gate judges a row by its own evidence: samples, receipt, recipe, ceiling and
// neighbours. The same code runs in measure, in gen, in CI and in a reader's browser.
// A gate answers pass, warn, fail, "cannot be judged: missing X", "does not apply:
// reason", or "not asked in schema N". It is pure and compiles to WebAssembly.
package gate

import (
	"strings"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// Answer of one gate.
type Answer uint8

// Fail and Unjudged block a verdict; the others do not.
const (
	Pass Answer = iota
	Warn
	Fail
	Unjudged
	NotApplicable
	NotAsked
)

func (a Answer) String() string {
	return [...]string{"pass", "warn", "fail", "cannot be judged", "does not apply", "not asked"}[a]
}

// Blocks says whether the answer keeps a row from being verified.
func (a Answer) Blocks() bool { return a == Fail || a == Unjudged }

// Result is one gate's answer with its reason in words and the figures it compared.
type Result struct {
	Gate    string
	Answer  Answer
	Reason  string
	Figures []Compared
	Mend    string // the command or change that would open or mend it; "" when none

	// Causes are what gate ceiling tried for what is above its roof. The reason tells them
	// too.
	Causes []roofline.Cause
}

// causesTried parts a reason from the causes at its end.
const causesTried = ". Causes tried for "

// Head is the reason without the causes, for where these stand by themselves.
func (r *Result) Head() string {
	if len(r.Causes) == 0 {
		return r.Reason
	}
	head, _, _ := strings.Cut(r.Reason, causesTried)
	return head
}

// Compared is one figure beside the limit or the value it was held against.
type Compared struct {
	Name    string
	Found   string
	Against string
}

// Input is everything a gate may look at. Fields that the reader of the file must
// compute (hashes, canonical id, form problems) come ready made, so that this package
// stays free of codecs.
type Input struct {
	Report *row.Report
	Row    *row.Row

	FormProblems   []string // what the strict reader objected to
	ComputedID     string   // recomputed over the canonical form
	SamplesSHA256  string   // of the samples file as stored; "" when absent
	EvidenceSHA256 string   // of the row's evidence line; "" when absent

	Samples   []row.Sample  // nil when they could not be read
	Evidence  *row.Evidence // nil when it could not be read
	NoSamples string        // why Samples is nil

	// Computed is row.Compute of these samples and this evidence, where the caller has it
	// already; nil has it computed.
	Computed *row.Computed

	// Today is what the catalogue says now of what the report keeps copies of; nil where none
	// is at hand, as in a browser.
	Today *Today

	Now    string  // the reader's time, RFC 3339 in UTC; "" where there is no clock
	Corpus *Corpus // nil outside publish and gen

	hits     *int64 // prefixHits, once they are read
	hitsRead bool
}

// Verdicts.
const (
	Verified   = "verified"
	Unverified = "unverified"
	Withdrawn  = "withdrawn"
	Imported   = "imported"
)
