package content

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"rowproof/internal/harness"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

const beside = "../bench/beside/vllm-0.26.0"

// The table of an engine's own client beside ours states what both clients' files hold, and
// the text what the server itself counted meanwhile.
func TestBesideAnEnginesOwnClient(t *testing.T) {
	text, err := os.ReadFile("methodology.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "### Beside an engine's own client\n")
	if !found {
		t.Fatal("methodology.md has no such section")
	}
	section, _, _ := strings.Cut(rest, "\n#")
	lines := 0
	for _, line := range strings.Split(section, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 5 {
			continue
		}
		if _, err := strconv.Atoi(cells[0]); err != nil {
			continue
		}
		lines++
		theirs, ours := p50s(t, cells[0], cells[1])
		said := fmt.Sprintf("%.1f%%", 100*(theirs/ours-1))
		if cells[2] != four(theirs) || cells[3] != four(ours) || cells[4] != said {
			t.Errorf("%s: the files give %s, %s, %s", line, four(theirs), four(ours), said)
		}
		if math.Abs(theirs/ours-1) > 0.03 && cells[0]+cells[1] != "1TTFT" {
			t.Errorf("%s: a difference above 3%% without an explanation", line)
		}
	}
	if lines != 4 {
		t.Errorf("%d lines in the table, want 4", lines)
	}
	bundle := ours(t, "1")
	var first, last *row.MetricSample
	for i := range bundle.Evidence {
		if m := bundle.Evidence[i].Metrics; len(m) > 0 {
			first, last = &m[0], &m[len(m)-1]
		}
	}
	if first == nil {
		t.Fatal("our report has no counters of the server")
	}
	sum, count := counter(first, "vllm:time_to_first_token_seconds_sum"), counter(first, "vllm:time_to_first_token_seconds_count")
	theirs := 1000 * sum / count
	mine := 1000 * (counter(last, "vllm:time_to_first_token_seconds_sum") - sum) / (counter(last, "vllm:time_to_first_token_seconds_count") - count)
	tokenize := 1000 * counter(first, `http_request_duration_seconds_sum{handler="/tokenize"`)
	for _, want := range []string{
		fmt.Sprintf("%.1f ms over that client's requests and %.1f ms over ours", theirs, mine),
		fmt.Sprintf("`/tokenize` took %.1f ms", tokenize),
	} {
		if !strings.Contains(section, want) {
			t.Errorf("the text does not say %q", want)
		}
	}
}

func four(v float64) string {
	digits := 3 - int(math.Floor(math.Log10(v)))
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func ours(t *testing.T, streams string) *rowfile.Bundle {
	t.Helper()
	b, err := rowfile.Load(filepath.Join(beside, "measure-c"+streams+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func p50s(t *testing.T, streams, figure string) (theirs, mine float64) {
	t.Helper()
	f, err := os.Open(filepath.Join(beside, "client-c"+streams+".json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	result, err := harness.Parse(f.Name(), f)
	if err != nil {
		t.Fatal(err)
	}
	of := func(figures *row.Figures) float64 {
		if figure == "TTFT" {
			return *figures.TTFT.P50
		}
		return *figures.TPOT.P50
	}
	return of(&result.Runs[0].Figures), of(&ours(t, streams).Report.Rows[0].Figures)
}

func counter(s *row.MetricSample, name string) float64 {
	for k, v := range s.Values {
		if strings.HasPrefix(k, name) {
			return v
		}
	}
	return math.NaN()
}
