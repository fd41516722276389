package row

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Limit is the most that a latency may be in ms: TTFT p99 ≤ 200 ms.
type Limit struct {
	Figure   string // "ttft_ms", "ttfa_ms", "itl_ms", "tpot_ms" or "e2e_ms"
	Permille int    // 500, 900, 950, 990 or Mean
	Max      float64
}

// Mean in place of a limit's permille asks for the mean.
const Mean = 0

// What a limit may be of, by the names that metrics have.
var (
	LimitFigures = []string{"ttft", "ttfa", "itl", "tpot", "e2e"}
	LimitPoints  = []string{"p50", "p90", "p95", "p99", "mean"}
	permilles    = []int{500, 900, 950, 990, Mean} // of LimitPoints
)

// ParseLimits reads "ttft_p99<500ms,itl_p50<0.05s"; wrong says of each part that is no
// limit what is the matter with it.
func ParseLimits(s string) (limits []Limit, wrong []string) {
	seen := map[string]bool{}
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		l, ok := parseLimit(part)
		name := l.Name()
		switch {
		case !ok:
			wrong = append(wrong, strconv.Quote(part)+" is no limit")
		case seen[name] && !slices.Contains(wrong, name+" stands twice"):
			wrong = append(wrong, name+" stands twice")
		}
		seen[name] = true
		limits = append(limits, l)
	}
	return limits, wrong
}

func parseLimit(s string) (l Limit, ok bool) {
	name, most, found := strings.Cut(s, "<")
	figure, point, parted := strings.Cut(strings.TrimSpace(name), "_")
	at := slices.Index(LimitPoints, point)
	if !found || !parted || at < 0 || !slices.Contains(LimitFigures, figure) {
		return l, false
	}
	most = strings.TrimSpace(strings.TrimPrefix(most, "=")) // a limit is what may just be reached
	scale := 1.0
	text, ok := strings.CutSuffix(most, "ms")
	if !ok {
		text, ok = strings.CutSuffix(most, "s")
		scale = 1000
	}
	v, err := strconv.ParseFloat(text, 64)
	l = Limit{Figure: figure + "_ms", Permille: permilles[at], Max: v * scale}
	return l, ok && err == nil && v > 0 && !math.IsInf(l.Max, 0)
}

// Name is ttft_p99 of a limit on it.
func (l Limit) Name() string {
	at := slices.Index(permilles, l.Permille)
	if at < 0 {
		return ""
	}
	return strings.TrimSuffix(l.Figure, "_ms") + "_" + LimitPoints[at]
}

// LimitWords is how limits are written.
func LimitWords(limits []Limit) string {
	out := make([]string, len(limits))
	for i, l := range limits {
		out[i] = l.Name() + "<" + TimeWords(l.Max)
	}
	return strings.Join(out, ",")
}

// TimeWords is a time to four digits, without an exponent.
func TimeWords(ms float64) string {
	v, err := strconv.ParseFloat(strconv.FormatFloat(ms, 'g', 4, 64), 64)
	if err != nil {
		v = ms
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + "ms"
}
