package simulator

import (
	"fmt"
	"strings"
)

// Faults is a set of ways in which answers differ from the plain healthy one: some are
// healthy too, only seldom seen; others must be told as failures. They apply to each
// FaultEvery-th request.
type Faults uint32

// Forms of the stream that mean the same as the plain one.
const (
	faultSplit      Faults = 1 << iota // each event leaves in two writes, cut anywhere
	faultComments                      // a comment before each event
	faultNoSpace                       // data:{ without the space
	faultDataLines                     // an event's JSON over two data lines
	faultCRLF                          // lines end in CR LF
	faultCR                            // lines end in CR
	faultUTF8                          // words hold signs of two and four bytes
	faultOpenEnd                       // no blank line after [DONE]
	faultUsageLast                     // usage on the last content chunk, none after it
	faultReasoning                     // in a chat, the first half is reasoning_content
	faultBlank                         // each third token prints nothing
	faultMultiToken                    // four tokens a chunk
	faultBurst                         // the whole answer at its end

	// Answers that lack something.
	faultNoUsage    // usage is never told
	faultNoCached   // usage does not tell what was cached
	faultWrongUsage // usage counts one token too many
	faultEarlyStop  // half of the tokens, finish_reason stop

	// Answers that fail.
	faultNoDone     // no [DONE] at the end
	faultOnlyDone   // [DONE] and nothing else
	faultNothing    // an empty body
	faultErrorFirst // status 200, then an error in place of the first token
	faultErrorMid   // an error after half of the tokens
	faultErrorField // the same as the SSE field error:
	faultCut        // the connection closes inside an event after half of the tokens
	faultStall      // silence after half of the tokens
	faultHTML503    // status 503 and a page
)

// faultNames in the order of the constants, with what each does.
var faultNames = []struct{ name, does string }{
	{"split", "each event leaves in two writes, cut anywhere"},
	{"comments", "a comment before each event"},
	{"no-space", "data:{ without the space"},
	{"data-lines", "an event's JSON over two data lines"},
	{"crlf", "lines end in CR LF"},
	{"cr", "lines end in CR"},
	{"utf8", "words hold signs of two and four bytes"},
	{"open-end", "no blank line after [DONE]"},
	{"usage-last", "usage on the last content chunk, none after it"},
	{"reasoning", "in a chat, the first half is reasoning_content"},
	{"blank", "each third token prints nothing"},
	{"multi-token", "four tokens a chunk"},
	{"burst", "the whole answer at its end"},
	{"no-usage", "usage is never told"},
	{"no-cached", "usage does not tell what was cached"},
	{"wrong-usage", "usage counts one token too many"},
	{"early-stop", "half of the tokens, finish_reason stop"},
	{"no-done", "no [DONE] at the end"},
	{"only-done", "[DONE] and nothing else"},
	{"nothing", "an empty body"},
	{"error-first", "status 200, then an error in place of the first token"},
	{"error-mid", "an error after half of the tokens"},
	{"error-field", "the same as the SSE field error:"},
	{"cut", "the connection closes inside an event after half of the tokens"},
	{"stall", "silence after half of the tokens"},
	{"html-503", "status 503 and a page"},
}

// Set adds faults by their names, separated by commas.
func (f *Faults) Set(names string) error {
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		found := false
		for i, n := range faultNames {
			if n.name == name {
				*f |= 1 << i
				found = true
			}
		}
		if !found {
			all := make([]string, len(faultNames))
			for i, n := range faultNames {
				all[i] = n.name
			}
			return fmt.Errorf("there is no fault %q; there are %s", name, strings.Join(all, ", "))
		}
	}
	return nil
}

// String is what Set reads.
func (f Faults) String() string {
	var names []string
	for i, n := range faultNames {
		if f&(1<<i) != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ",")
}

// Type names the flag's value in help texts.
func (f Faults) Type() string { return "names" }

func (f Faults) has(any Faults) bool { return f&any != 0 }

// FaultList is a line for each fault and what it does.
func FaultList() string {
	var b strings.Builder
	for _, n := range faultNames {
		fmt.Fprintf(&b, "  %-12s %s\n", n.name, n.does)
	}
	return b.String()
}

// frame appends one event around its data, in the form that the faults ask for.
func (f Faults) frame(b, data []byte) []byte {
	end := "\n"
	switch {
	case f.has(faultCRLF):
		end = "\r\n"
	case f.has(faultCR):
		end = "\r"
	}
	field := "data: "
	if f.has(faultNoSpace) {
		field = "data:"
	}
	if f.has(faultComments) {
		b = append(b, ": keep-alive"+end+end...)
	}
	done := string(data) == "[DONE]"
	b = append(b, field...)
	if comma := strings.IndexByte(string(data), ','); f.has(faultDataLines) && comma > 0 && !done {
		b = append(b, data[:comma+1]...)
		b = append(b, end+field...)
		data = data[comma+1:]
	}
	b = append(b, data...)
	if done && f.has(faultOpenEnd) {
		return b
	}
	return append(b, end+end...)
}
