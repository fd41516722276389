package row

import (
	"slices"
	"testing"
)

func TestTokenGaps(t *testing.T) {
	several := request(0, 1000, 6000, 4000)
	several.N, several.OSL = []int64{1, 3, 1}, p(int64(5))
	lost := request(0, 1000, 2000, 3000, 5000)
	lost.T[1] = NoStamp // the gap to the next spans it
	untimed := request(0, 1000, 7000)
	untimed.Phase = PhaseWarm
	gaps, ofTokens := TokenGaps([]Sample{several, lost, untimed})
	if slices.Sort(gaps); !ofTokens || !slices.Equal(gaps, []int64{2000, 2000, 2000, 4000, 5000}) {
		t.Errorf("%v, of tokens %v", gaps, ofTokens)
	}
	several.OSL = p(int64(50)) // the chunks do not hold them
	gaps, ofTokens = TokenGaps([]Sample{several})
	if slices.Sort(gaps); ofTokens || !slices.Equal(gaps, []int64{4000, 6000}) {
		t.Errorf("%v, of tokens %v", gaps, ofTokens)
	}
	if gaps, ofTokens := TokenGaps(nil); len(gaps) != 0 || ofTokens {
		t.Errorf("%v, %v", gaps, ofTokens)
	}
}
