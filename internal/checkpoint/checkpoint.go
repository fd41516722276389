// Package checkpoint reads what a checkpoint says of itself, without loading a weight:
// its config.json, and the headers of its GGUF or safetensors files.
//
//	Config(data, name, beside...) (*roofline.Model, []Problem)
//	    a Hugging Face config.json: the architecture, the format in which its weights are
//	    stored, the cache formats
//	GGUF(name, files...) (*Header, []Problem)
//	    the header of a GGUF file, or of all parts of one: exact bytes by part, parameters,
//	    the dominant format, and the model that its metadata describe
//	Safetensors(files...) (*Header, []Problem)
//	    the headers of safetensors files, one or the shards of one checkpoint: exact bytes
//	    by part, parameters with packs undone, the dominant format
//	ReadIndex(data) (*Index, []Problem), index.Safetensors(files...)
//	    the files that a model.safetensors.index.json names, held against what it says
//	header.Settle(model, problems) []Problem
//	    puts the tensors' own bytes and format in place of what config.json says of them
//
// Nothing is guessed. A model type that is not known, a key that may change the cost and
// is not understood, a size that no model has: each is a Problem with its path, all at
// once, and where there is a problem there is no result to trust. What a published model
// leaves out is filled in by the documented default of its type, never by another's.
//
// The package does no I/O of its own and needs neither os nor net, so that the browser's
// full module uses it as it is. Memory is bounded whatever a file claims.
package checkpoint

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Problem is one thing wrong with a file, or not understood in it.
type Problem struct {
	Where string // path of the key ("text_config.num_attention_heads"), or a tensor's name; "" is the whole file
	Text  string // what was found, and what would be accepted

	// Bytes says that only the size of the weights is in doubt, not the architecture: the
	// tensors' own headers (GGUF, Safetensors) answer it, and the problem is then none.
	Bytes bool
}

func (p Problem) String() string {
	if p.Where == "" {
		return p.Text
	}
	return p.Where + ": " + p.Text
}

// mostProblems are told of one file; of more, how many there were.
const mostProblems = 50

// problems collects what is wrong.
type problems struct {
	list []Problem
	more int
}

func (p *problems) add(where, text string) { p.tell(Problem{Where: where, Text: text}) }

func (p *problems) tell(one Problem) {
	if len(p.list) == mostProblems {
		p.more++
		return
	}
	const most = 200
	if len(one.Where) > most {
		one.Where = one.Where[:most] + "…"
	}
	one.Where, one.Text = printable(one.Where), printable(one.Text)
	p.list = append(p.list, one)
}

// printable is a text in which what no terminal should see of a file is written as
// strconv.Quote writes it.
func printable(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[i]), 16))
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		}
		i += n
	}
	return b.String()
}

func (p *problems) told() []Problem {
	if p.more > 0 {
		return append(p.list, Problem{Text: "and " + strconv.Itoa(p.more) + " more"})
	}
	return p.list
}

// shown is a text cut to what a message can hold.
func shown(s string) string {
	if cut := clip(s); cut != s {
		return strconv.Quote(cut) + "…"
	}
	return strconv.Quote(s)
}

func clip(s string) string { return s[:min(len(s), 80)] }
