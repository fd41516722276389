//go:build wasip1

// Full is the browser module that loads when a reader hands the page a file of their own:
// it reads a config.json as measure does and answers with the model's half of a question,
// which the lean module then computes with. Nothing leaves the page. full.d.ts states the
// contract.
package main

import (
	"encoding/json"
	"unsafe"

	"rowproof/internal/checkpoint"
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

// text is where the last answer begins.
//
//go:wasmexport text
func text() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(said)) }

func main() {}
