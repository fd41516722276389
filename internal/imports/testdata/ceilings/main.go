// Ceilings answers packed questions from stdin on stdout, so that a test can hold builds
// for different machines against each other. Each question is its length and its slots;
// each answer its slots, and its formulas as lines.
package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"

	"rowproof/internal/roofline"
)

func main() {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	defer out.Flush()
	number := func() uint64 {
		var b [8]byte
		if _, err := io.ReadFull(in, b[:]); errors.Is(err, io.EOF) {
			out.Flush()
			os.Exit(0)
		} else if err != nil {
			panic(err)
		}
		return binary.LittleEndian.Uint64(b[:])
	}
	for {
		query := make([]float64, number())
		for i := range query {
			query[i] = math.Float64frombits(number())
		}
		for _, v := range roofline.CeilingPacked(query) {
			if math.IsNaN(v) {
				v = math.NaN() // machines differ in which they make
			}
			_ = binary.Write(out, binary.LittleEndian, v)
		}
		if roofline.Packed(query) {
			_, _ = out.WriteString(roofline.Formula(query) + "\n" + roofline.PrefillFormula(query) + "\n")
		}
	}
}
