package row

import "strconv"

// OK says whether the request completed.
func (s *Sample) OK() bool { return s.Status == StatusOK }

// Cut says whether we ended the request ourselves: a drain request that still ran when
// the last timed one had ended. No usage came for it, and it is no failure.
func (s *Sample) Cut() bool { return s.Phase == PhaseDrain && s.OK() && s.OSL == nil }

// Kept says whether the request's gaps were kept; where not, First, Last, Chunks and
// Tokens stand in their place.
func (s *Sample) Kept() bool { return s.Chunks == nil }

// ContentChunks counts the chunks that carried content.
func (s *Sample) ContentChunks() int64 {
	if !s.Kept() {
		return *s.Chunks
	}
	return int64(len(s.T))
}

// ChunkTokens sums the tokens of the chunks, one a chunk unless N says more.
func (s *Sample) ChunkTokens() int64 {
	if !s.Kept() {
		if s.Tokens != nil {
			return *s.Tokens
		}
		return *s.Chunks
	}
	if s.N == nil {
		return int64(len(s.T))
	}
	var n int64
	for _, k := range s.N {
		n += k
	}
	return n
}

// tokensIn is the tokens of chunk j.
func (s *Sample) tokensIn(j int) int64 {
	if j < len(s.N) {
		return s.N[j]
	}
	return 1
}

// Hole describes usage whose parts do not add up, or is "" where they do.
func (s *Sample) Hole() string {
	if s.UsageTotal == nil {
		return ""
	}
	var isl, osl int64
	if s.ISL != nil {
		isl = *s.ISL
	}
	if s.OSL != nil {
		osl = *s.OSL
	}
	if isl+osl == *s.UsageTotal {
		return ""
	}
	text := "usage does not add up: prompt " + itoa(isl) + " + completion " + itoa(osl) + " = " +
		itoa(isl+osl) + ", total " + itoa(*s.UsageTotal)
	if rest := *s.UsageTotal - isl - osl; rest > 0 {
		text += ": " + itoa(rest) + " in neither"
	}
	return text
}

// OutputTokens is how many tokens the request brought: what usage says, else what its
// chunks hold. why is not "" where neither may be used.
func (s *Sample) OutputTokens() (n int64, why string) {
	if why = s.Hole(); why != "" {
		return 0, why
	}
	if s.OSL == nil {
		return s.ChunkTokens(), ""
	}
	if *s.OSL == 0 && s.ContentChunks() > 0 {
		return 0, "usage says 0 output tokens, yet " + itoa(s.ContentChunks()) + " chunks of content came"
	}
	if why = s.disagreement(); why != "" {
		return 0, why
	}
	return *s.OSL, ""
}

// disagreement says in which way usage can't be of what came: fewer tokens than the
// chunks brought, or more than were asked for and than the chunks say. A chunk may hold
// several tokens, and some tokens print nothing: that alone is none.
func (s *Sample) disagreement() string {
	n, came := *s.OSL, s.ChunkTokens()
	switch {
	case n < came:
		return "usage disagrees with the chunks counted: " + itoa(n) + " output tokens, and " + itoa(came) + " came"
	case s.asked > 0 && n > s.asked && n != came:
		return "usage disagrees with the chunks counted: " + itoa(n) + " output tokens where " + itoa(s.asked) + " were asked for, and " + itoa(came) + " came"
	}
	return ""
}

// spreadable says whether the chunks' token counts may stand for single tokens: they
// sum to the usage, but for the end token and the few that print nothing.
func (s *Sample) spreadable() (why string) {
	n, why := s.OutputTokens()
	if why != "" {
		return why
	}
	have := s.ChunkTokens()
	if off := n - have; off < 0 || off > max(1, n/50) {
		return "the chunks' tokens do not sum to usage (" + itoa(have) + " of " + itoa(n) + "): a gap a token cannot be told"
	}
	return ""
}

// arrivals are the times of the chunks in µs since the row's zero; NoStamp where none
// tells. Only of a request whose gaps were kept.
func (s *Sample) arrivals() []int64 {
	at := make([]int64, len(s.T))
	now := s.Sent
	for j, d := range s.T {
		if d == NoStamp {
			at[j] = NoStamp
			continue
		}
		now += d
		at[j] = now
	}
	return at
}

// FirstContent is the arrival of the first content in µs since the row's zero.
func (s *Sample) FirstContent() (int64, bool) {
	if !s.Kept() {
		if s.First == nil {
			return 0, false
		}
		return s.Sent + *s.First, true
	}
	if len(s.T) == 0 || s.T[0] == NoStamp {
		return 0, false
	}
	return s.Sent + s.T[0], true
}

// LastContent is the arrival of the last content in µs since the row's zero.
func (s *Sample) LastContent() (int64, bool) {
	if !s.Kept() {
		if s.Last == nil {
			return 0, false
		}
		return s.Sent + *s.Last, true
	}
	if len(s.T) == 0 || s.T[len(s.T)-1] == NoStamp {
		return 0, false
	}
	at := s.Sent
	for _, d := range s.T {
		if d != NoStamp {
			at += d
		}
	}
	return at, true
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
