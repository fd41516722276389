package prompts

import (
	"fmt"
	"slices"
	"testing"

	"rowproof/internal/roofline"
)

func cold(seed uint64, u *Used) *Random {
	return &Random{Seed: seed, Length: 64, Shared: 16, Units: IDs(nil), Used: u}
}

func TestColdPromptsNeverRecur(t *testing.T) {
	var u Used
	seen := map[string]bool{}
	for _, seed := range []uint64{7, 8} {
		p := cold(seed, &u)
		prefix := p.Prompt(0, 0)[:16]
		for repeat := range 2 {
			for seq := range 100 {
				ids := p.Prompt(repeat, seq+1)
				if len(ids) != 64 || slices.Min(ids) < firstID || slices.Max(ids) >= lastIDUnknown {
					t.Fatalf("prompt of %d ids from %d to %d", len(ids), slices.Min(ids), slices.Max(ids))
				}
				if !slices.Equal(ids[:16], prefix) {
					t.Fatal("the shared prefix differs within a row")
				}
				// No two share even the first ids after the prefix: nothing for a cache to serve.
				if start := fmt.Sprint(ids[16:20]); seen[start] {
					t.Fatalf("seed %d repeat %d seq %d begins as another did", seed, repeat, seq)
				} else {
					seen[start] = true
				}
			}
		}
	}
}

func TestPromptsAreMadeAgainFromTheirSeed(t *testing.T) {
	a, b := cold(7, &Used{}), cold(7, &Used{})
	if !slices.Equal(a.Prompt(1, 5), b.Prompt(1, 5)) {
		t.Error("the same seed, repeat and place gave two prompts")
	}
	if slices.Equal(a.Prompt(1, 5)[:16], cold(8, &Used{}).Prompt(1, 5)[:16]) {
		t.Error("another seed gave the same prefix")
	}
}

func TestRepeatPromptsUseOneSet(t *testing.T) {
	p := cold(1, &Used{})
	p.Set = 4
	var first, second []string
	for seq := range 4 {
		first = append(first, fmt.Sprint(p.Prompt(0, seq)))
		second = append(second, fmt.Sprint(p.Prompt(0, seq+4)))
	}
	if !slices.Equal(first, second) {
		t.Error("the second pass used other prompts")
	}
	slices.Sort(first)
	if len(slices.Compact(first)) != 4 {
		t.Error("the set repeats a prompt within a pass")
	}
	if slices.Equal(p.Prompt(1, 0), p.Prompt(0, 0)) {
		t.Error("a repeat has no prompts of its own")
	}
}

func TestOneTokenPromptsDoNotRecur(t *testing.T) {
	p := &Random{Seed: 1, Length: 1, Units: Units{0, 50}, Used: &Used{}}
	seen := map[int]bool{}
	for seq := range 50 {
		seen[p.Prompt(0, seq)[0]] = true
	}
	if len(seen) != 50 {
		t.Errorf("50 prompts out of 50 ids: %d distinct", len(seen))
	}
}

func TestIDsStayInTheVocabulary(t *testing.T) {
	for vocabulary, want := range map[int64]Units{128256: {1000, 100000}, 49152: {1000, 48152}, 300: {0, 300}} {
		if got := IDs(&roofline.Model{Architecture: roofline.Architecture{Vocabulary: vocabulary}}); got != want {
			t.Errorf("vocabulary %d: ids %v, want %v", vocabulary, got, want)
		}
	}
	if got, want := IDs(nil), (Units{1000, 30000}); got != want {
		t.Errorf("unknown vocabulary: ids %v, want %v", got, want)
	}
}

func TestEachWordStandsOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range Words {
		if seen[w] {
			t.Errorf("word %s stands twice", w)
		}
		seen[w] = true
	}
}
