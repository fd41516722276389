package engine

import (
	"strings"
	"testing"
	"time"

	"rowproof/internal/loadgen"
	"rowproof/internal/row"
)

// A stream without end, of events too small to weigh much.
func TestEndlessEventsAreAFailure(t *testing.T) {
	body := strings.Repeat("data:\n\n", 5000)
	c := &loadgen.Capture{Spec: loadgen.Spec{Protocol: row.Passes}, Outcomes: []loadgen.Outcome{{
		Phase: row.PhaseTimed, HTTPStatus: 200, Body: []byte(body), Call: loadgen.Call{OSL: 4},
	}}}
	s := Samples(c)[0]
	if want := "the answer passed 1040 events: 4 for each token asked for and 1024 beside"; s.Status != row.StatusError || s.Reason != want {
		t.Errorf("%s: %q, want %q", s.Status, s.Reason, want)
	}
}

// Answers made to be slow or large to read fail, or are read in little time and memory:
// each of these took minutes or gigabytes where every level and line was read again.
func TestAnswersMadeToBeCostly(t *testing.T) {
	pad := strings.Repeat(" ", 3<<20)
	for name, c := range map[string]struct{ body, status, reason, path string }{
		"deep errors":             {`data: ` + strings.Repeat(`{"error":`, 9000) + pad + `"x"` + strings.Repeat("}", 9000) + "\n\n", "error", `{"error":`, PathCompletions},
		"deep content":            {`data: {"choices":[{"text":` + strings.Repeat(`[{"type":"text","text":`, 4900) + `"x"` + pad + strings.Repeat("}]", 4900) + "}]}\n\ndata: [DONE]\n\n", "ok", "", PathCompletions},
		"lines of one":            {strings.Repeat("data: x\n", 2_000_000) + "\n", "error", "an event is not JSON: x", PathCompletions},
		"empty choices":           {`data: {"choices":[{}` + strings.Repeat(",{}", 2_000_000) + "]}\n\n", "error", "an event of 6000", PathCompletions},
		"many data-less":          {strings.Repeat("event: x\n\n", 1_000_000), "error", "the body holds no event", PathCompletions},
		"deep thinking of Ollama": {`{"message":{"content":` + strings.Repeat(`[{"type":"text","text":`, 4900) + `"x"` + pad + strings.Repeat("}]", 4900) + "},\"done\":false}\n{\"done\":true}\n", "ok", "", PathOllamaChat},
		"lines without end":       {strings.Repeat("x\n", 2_000_000), "error", "the answer passed 1040 events", PathOllamaChat},
		"blank lines":             {strings.Repeat(" \n", 2_000_000), "error", "the server sent nothing", PathOllamaChat},
		"choices for llama.cpp":   {`data: {"choices":[{"text":` + strings.Repeat(`[{"type":"text","text":`, 4900) + `"x"` + pad + strings.Repeat("}]", 4900) + "}]}\n\ndata: {\"stop\":true}\n\n", "ok", "", PathCompletion},
		"text that repeats":       {strings.Repeat(`data: {"text":"`+strings.Repeat("x", 60_000)+"\"}\n\n", 1000) + "data: [DONE]\n\n", "ok", "", PathGenerate},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			got := Samples(&loadgen.Capture{Spec: loadgen.Spec{Protocol: row.Passes}, Outcomes: []loadgen.Outcome{{
				Phase: row.PhaseTimed, HTTPStatus: 200, Body: []byte(c.body), Call: loadgen.Call{Path: c.path, OSL: 4},
			}}})[0]
			if got.Status != c.status || !strings.HasPrefix(got.Reason, c.reason) || time.Since(began) > 20*time.Second {
				t.Errorf("%s after %s: %q", got.Status, time.Since(began), got.Reason)
			}
		})
	}
}
