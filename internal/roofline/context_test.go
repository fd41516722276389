package roofline

import (
	"math"
	"testing"
)

// At the mean context a step needs no more than its steps do on average, one by one; at
// the next longer one that is not beyond the mean length it would need more.
func TestMeanContext(t *testing.T) {
	kinds := func(more ...Attention) *Model {
		m := llama8b()
		full := m.Architecture.Layers[0]
		full.Count = 8
		m.Architecture.Layers = []Layer{full}
		for _, a := range more {
			l := full
			l.Attention.Window, l.Attention.Chunk, l.Attention.Selected = a.Window, a.Chunk, a.Selected
			m.Architecture.Layers = append(m.Architecture.Layers, l)
		}
		return m
	}
	for _, c := range []struct {
		name        string
		model       *Model
		first, last int64
		mean        bool // what the layers read grows evenly
	}{
		{"all", kinds(), 1025, 1279, true},
		{"a window that is full throughout", kinds(Attention{Window: 128}), 1025, 1279, true},
		{"a window that is never full", kinds(Attention{Window: 4096}), 129, 1151, true},
		{"a window that fills on the way", kinds(Attention{Window: 512}), 129, 1151, false},
		{"two windows", kinds(Attention{Window: 256}, Attention{Window: 700}), 129, 1151, false},
		{"a selection", kinds(Attention{Selected: 300}), 129, 1151, false},
		{"one chunk", kinds(Attention{Chunk: 8192}), 1025, 1279, true},
		{"chunks that begin on the way", kinds(Attention{Chunk: 256}), 129, 1151, false},
		{"a chunk that ends with the first step", kinds(Attention{Chunk: 256}), 256, 600, false},
		{"no step", kinds(Attention{Window: 128}), 129, 128, true},
		{"one step", kinds(Attention{Window: 128}), 129, 129, true},
	} {
		q := Query{Model: c.model, Target: h100(), Batch: 64}
		got := q.MeanContext(c.first, c.last)
		middle := float64(c.first+c.last) / 2
		if c.mean {
			if got != middle {
				t.Errorf("%s: %v, the mean length is %v", c.name, got, middle)
			}
			continue
		}
		in := Pack(q)
		at := func(s int64) (float64, float64) {
			in[SlotContext] = float64(s)
			out := CeilingPacked(in)
			return out[OutMemoryMS], out[OutComputeMS]
		}
		var memory, compute float64
		for s := c.first; s <= c.last; s++ {
			m, f := at(s)
			memory, compute = memory+m, compute+f
		}
		n := float64(c.last - c.first + 1)
		memory, compute = memory/n, compute/n
		const rounding = 1 + 1e-12
		if m, f := at(int64(got)); got != math.Trunc(got) || m > memory*rounding || f > compute*rounding {
			t.Errorf("%s: %v needs %v and %v ms, the steps on average %v and %v", c.name, got, m, f, memory, compute)
		}
		if !(got <= middle) {
			t.Errorf("%s: %v is beyond the mean length %v", c.name, got, middle)
		}
		for s := int64(got) + 1; s <= int64(middle); s++ {
			if m, f := at(s); m*rounding <= memory && f*rounding <= compute {
				t.Fatalf("%s: %v, and %d would do", c.name, got, s)
			}
		}
	}
}

// A file may state a chunk of one token and an output of any length.
func TestMeanContextEnds(t *testing.T) {
	m := llama8b()
	m.Architecture.Layers[0].Attention.Chunk = 1
	if got := (Query{Model: m, Target: h100(), Batch: 1}).MeanContext(1, 1<<60); got != 0 {
		t.Errorf("%v", got)
	}
}
