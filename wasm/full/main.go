//go:build wasip1

// Full is the browser module that loads when a reader asks for more than the page has
// computed: it reads a config.json as measure does and answers with the model's half of a
// question, which the lean module then computes with; it makes a published row again from
// its own files, every figure and every gate; and it takes a reader's own results, of
// measure or of another tool, and judges them. Nothing leaves the page. full.d.ts states
// the contract.
package main

import (
	"encoding/json"
	"time"
	"unsafe"

	"rowproof/internal/checkpoint"
	"rowproof/internal/recheck"
	"rowproof/internal/render/halves"
)

// given is the file that the page last handed over, said the last answer; both stay
// until the next one.
var given, said []byte

// file makes room for a file of n bytes and returns where it begins; 0 above most.
//
//go:wasmexport file
func file(n uint32) unsafe.Pointer {
	if n > most {
		return nil
	}
	given = make([]byte, max(n, 1))[:n]
	return unsafe.Pointer(unsafe.SliceData(given))
}

const most = 64 << 20

// answer is what config writes.
type answer struct {
	Model    *halves.Model `json:"model"`    // null where there are problems
	Problems []problem     `json:"problems"` // all that is wrong
}

// problem names the key that it lies in; "" is the whole file.
type problem struct {
	Where string `json:"where"`
	Text  string `json:"text"`
}

// config reads the file as a config.json and returns the length of its answer, which is
// JSON in UTF-8 at text().
//
//go:wasmexport config
func config() uint32 {
	a := answer{Problems: []problem{}}
	model, problems := checkpoint.Config(given, "")
	for _, p := range problems {
		a.Problems = append(a.Problems, problem{p.Where, p.Text})
	}
	if len(problems) == 0 {
		m := halves.NewModel(model)
		a.Model = &m
	}
	given = nil
	said, _ = json.Marshal(a) // holds nothing that JSON cannot write
	return uint32(len(said))
}

// named is the last name that the page wrote.
var named []byte

// name makes room for a name of n bytes and returns where it begins; 0 above mostName.
//
//go:wasmexport name
func name(n uint32) unsafe.Pointer {
	if n > mostName {
		return nil
	}
	named = make([]byte, max(n, 1))[:n]
	return unsafe.Pointer(unsafe.SliceData(named))
}

const mostName = 4 << 10

// files are those kept for the next check.
var files = folder{}

// keep keeps the file under the name.
//
//go:wasmexport keep
func keep() {
	files[string(named)] = given
	given = nil
}

// checked is what check writes.
type checked struct {
	Row   *recheck.Row `json:"row"` // null where there is none to judge
	Error string       `json:"error"`
}

// check makes row i of the report of that name again, at the reader's time in seconds
// since 1970, from the files that were kept. It forgets them and returns the length of its
// answer, which is JSON in UTF-8 at text().
//
//go:wasmexport check
func check(i uint32, now float64) uint32 {
	c := checked{}
	r, err := recheck.One(files, string(named), int(i), time.Unix(int64(now), 0).UTC().Format(time.RFC3339))
	if err != nil {
		c.Error = err.Error()
	}
	c.Row = r
	files = folder{}
	said, _ = json.Marshal(c) // holds nothing that JSON cannot write
	return uint32(len(said))
}

// counted is what goodput writes.
type counted struct {
	Good  *recheck.Good `json:"good"` // null where there is none
	Error string        `json:"error"`
}

// goodput counts the requests of row i of the named report that met the limits that the
// file last handed over states. It forgets the files and returns the length of its answer,
// which is JSON in UTF-8 at text().
//
//go:wasmexport goodput
func goodput(i uint32) uint32 {
	c := counted{}
	g, err := recheck.Goodput(files, string(named), int(i), string(given))
	if err != nil {
		c.Error = err.Error()
	}
	c.Good = g
	files, given = folder{}, nil
	said, _ = json.Marshal(c) // holds nothing that JSON cannot write
	return uint32(len(said))
}

// take judges every row of the files that were kept: reports of ours, or results of other
// tools. It forgets them and returns the length of its answer, which is a recheck.Taken.
//
//go:wasmexport take
func take(now float64) uint32 {
	t := recheck.Take(files, time.Unix(int64(now), 0).UTC().Format(time.RFC3339))
	files = folder{}
	said, _ = json.Marshal(t) // holds nothing that JSON cannot write
	return uint32(len(said))
}

// text is where the last answer begins.
//
//go:wasmexport text
func text() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(said)) }

func main() {}
