package loadgen

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

func TestFlowJoinsWhatArrived(t *testing.T) {
	for _, c := range []struct {
		name string
		isn  uint32
		add  [][3]int64 // offset, length, at
		want []segment
	}{
		{"in order", 7, [][3]int64{{0, 10, 1}, {10, 5, 2}}, []segment{{0, 10, 1}, {10, 15, 2}}},
		{"the sequence wraps", 1<<32 - 5, [][3]int64{{0, 10, 1}, {10, 5, 2}}, []segment{{0, 10, 1}, {10, 15, 2}}},
		{"sent again", 0, [][3]int64{{0, 10, 1}, {0, 10, 9}, {5, 10, 10}}, []segment{{0, 10, 1}, {10, 15, 10}}},
		{"a hole filled late holds up what is behind it", 0, [][3]int64{{0, 10, 1}, {20, 10, 2}, {10, 10, 8}}, []segment{{0, 10, 1}, {10, 20, 8}, {20, 30, 8}}},
		{"one over two holes", 0, [][3]int64{{5, 5, 1}, {15, 5, 2}, {0, 25, 3}}, []segment{{0, 5, 3}, {5, 10, 3}, {10, 15, 3}, {15, 20, 3}, {20, 25, 3}}},
		{"a loss stays a hole", 0, [][3]int64{{0, 10, 1}, {20, 10, 3}}, []segment{{0, 10, 1}, {20, 30, 3}}},
		{"without a clock", 0, [][3]int64{{0, 10, 5}, {10, 10, Unstamped}, {20, 10, 6}}, []segment{{0, 10, 5}, {10, 20, Unstamped}, {20, 30, 6}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &flow{isn: c.isn}
			for _, a := range c.add {
				f.add(c.isn+uint32(a[0]), a[1], a[2])
			}
			if got := f.settle(); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// Segments in any order, repeated and overlapping, from any sequence number: each byte
// has its first arrival, or that of one in front of it.
func TestFlowAgainstBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		f := &flow{isn: r.Uint32()}
		n := 1 + r.IntN(60)
		first := make([]int64, n)
		for at := int64(1); at < 40; at++ {
			start := r.IntN(n)
			length := 1 + r.IntN(n-start)
			f.add(f.isn+uint32(start), int64(length), at)
			for i := start; i < start+length; i++ {
				if first[i] == 0 {
					first[i] = at
				}
			}
		}
		segs := f.settle()
		got := make([]int64, n)
		end := int64(0)
		for _, s := range segs {
			if s.start < end {
				t.Fatalf("segments overlap: %v", segs)
			}
			end = s.end
			for i := s.start; i < s.end; i++ {
				got[i] = s.at
			}
		}
		latest := int64(0)
		for i, at := range first {
			latest = max(latest, at)
			if at == 0 && got[i] != 0 || at != 0 && got[i] != latest {
				t.Fatalf("byte %d came at %d and is stamped %d", i, latest, got[i])
			}
		}
	}
}

func TestFlowStampsPieces(t *testing.T) {
	segs := []segment{{0, 100, 1}, {100, 120, 2}, {120, 140, 3}, {160, 200, 5}}
	for _, c := range []struct {
		name   string
		pieces []piece
		want   []Stamp
	}{
		{"a chunk a segment, read at once", []piece{{off: 15, raw: 118, at: 9, shared: true, framed: true}, {off: 30, raw: 138, at: 9, framed: true}},
			[]Stamp{{Off: 15, At: 2}, {Off: 30, At: 3}}},
		{"a chunk over two segments", []piece{{off: 30, raw: 135, at: 9, framed: true}}, []Stamp{{Off: 15, At: 2}, {Off: 30, At: 3}}},
		{"an unframed body over a hole", []piece{{off: 60, raw: 170, at: 9}}, []Stamp{{Off: 10, At: 2}, {Off: 30, At: 3}, {Off: 50, At: Unstamped}, {Off: 60, At: 5}}},
		{"a lost chunk at the end of a read", []piece{{off: 10, raw: 130, at: 3, framed: true}, {off: 20, raw: 150, at: 4, framed: true}},
			[]Stamp{{Off: 10, At: 3}, {Off: 20, At: 4}}},
		{"a lost chunk inside a read", []piece{{off: 10, raw: 150, at: 9, shared: true, framed: true}, {off: 20, raw: 180, at: 9, framed: true}},
			[]Stamp{{Off: 10, At: Unstamped}, {Off: 20, At: 5}}},
		{"a record of TLS over a hole, of use from its last byte on", []piece{{off: 10, raw: 170, at: 9, framed: true, sealed: true}, {off: 14, raw: 170, at: 9, framed: true, sealed: true}},
			[]Stamp{{Off: 14, At: 5}}},
		{"behind all that was seen", []piece{{off: 10, raw: 300, at: 9, shared: true}}, []Stamp{{Off: 10, At: Unstamped}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := stamps(segs, c.pieces); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
