package main

import (
	"fmt"
	"slices"
	"testing"

	"rowproof/internal/roofline"
)

func cold(seed uint64, u *used) *prompts {
	return &prompts{seed: seed, length: 64, shared: 16, lo: firstID, hi: lastIDUnknown, used: u}
}

func TestColdPromptsNeverRecur(t *testing.T) {
	var u used
	seen := map[string]bool{}
	for k := range 2 {
		p := cold(rowSeed(7, k), &u)
		prefix := p.units(0, 0)[:16]
		for repeat := range 2 {
			for seq := range 100 {
				ids := p.units(repeat, seq+1)
				if len(ids) != 64 || slices.Min(ids) < firstID || slices.Max(ids) >= lastIDUnknown {
					t.Fatalf("prompt of %d ids from %d to %d", len(ids), slices.Min(ids), slices.Max(ids))
				}
				if !slices.Equal(ids[:16], prefix) {
					t.Fatal("the shared prefix differs within a row")
				}
				// No two share even the first ids after the prefix: nothing for a cache to serve.
				if start := fmt.Sprint(ids[16:20]); seen[start] {
					t.Fatalf("row %d repeat %d seq %d begins as another did", k, repeat, seq)
				} else {
					seen[start] = true
				}
			}
		}
	}
}

func TestPromptsAreMadeAgainFromTheirSeed(t *testing.T) {
	a, b := cold(rowSeed(7, 3), &used{}), cold(rowSeed(7, 3), &used{})
	if !slices.Equal(a.units(1, 5), b.units(1, 5)) {
		t.Error("the same seed, row, repeat and place gave two prompts")
	}
	if rowSeed(7, 0) != 7 {
		t.Error("a run of one row under its recorded seed would send other prompts")
	}
	if slices.Equal(a.units(1, 5)[:16], cold(rowSeed(8, 3), &used{}).units(1, 5)[:16]) {
		t.Error("another seed gave the same prefix")
	}
}

func TestRepeatPromptsUseOneSet(t *testing.T) {
	p := cold(1, &used{})
	p.set = 4
	var first, second []string
	for seq := range 4 {
		first = append(first, fmt.Sprint(p.units(0, seq)))
		second = append(second, fmt.Sprint(p.units(0, seq+4)))
	}
	if !slices.Equal(first, second) {
		t.Error("the second pass used other prompts")
	}
	slices.Sort(first)
	if len(slices.Compact(first)) != 4 {
		t.Error("the set repeats a prompt within a pass")
	}
	if slices.Equal(p.units(1, 0), p.units(0, 0)) {
		t.Error("a repeat has no prompts of its own")
	}
}

func TestOneTokenPromptsDoNotRecur(t *testing.T) {
	p := &prompts{seed: 1, length: 1, lo: 0, hi: 50, used: &used{}}
	seen := map[int]bool{}
	for seq := range 50 {
		seen[p.units(0, seq)[0]] = true
	}
	if len(seen) != 50 {
		t.Errorf("50 prompts out of 50 ids: %d distinct", len(seen))
	}
}

func TestIDsStayInTheVocabulary(t *testing.T) {
	for vocabulary, want := range map[int64][2]int64{128256: {1000, 100000}, 49152: {1000, 48152}, 300: {0, 300}} {
		lo, hi := idRange(&roofline.Model{Architecture: roofline.Architecture{Vocabulary: vocabulary}})
		if lo != want[0] || hi != want[1] {
			t.Errorf("vocabulary %d: ids %d to %d, want %v", vocabulary, lo, hi, want)
		}
	}
	if lo, hi := idRange(nil); lo != 1000 || hi != 30000 {
		t.Errorf("unknown vocabulary: ids %d to %d", lo, hi)
	}
}

func TestEachWordStandsOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range words {
		if seen[w] {
			t.Errorf("word %s stands twice", w)
		}
		seen[w] = true
	}
}
