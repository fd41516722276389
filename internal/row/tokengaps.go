package row

import "math"

// TokenGaps are the gaps of the completed timed requests that ITL is of, in µs; where no
// gap between tokens can be told, those between chunks, and ofTokens is false.
func TokenGaps(samples []Sample) (gaps []int64, ofTokens bool) {
	e := &series{why: map[string]string{}}
	for i := range samples {
		if s := &samples[i]; s.Phase == PhaseTimed && s.OK() {
			e.gaps(s, nil)
		}
	}
	list := e.itl.list
	if ofTokens = len(list) > 0; !ofTokens {
		list = e.chunk.list
	}
	gaps = make([]int64, len(list))
	for i, ms := range list {
		gaps[i] = int64(math.Round(ms * 1000))
	}
	return gaps, ofTokens
}
