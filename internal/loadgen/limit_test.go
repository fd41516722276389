package loadgen

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"rowproof/internal/row"
)

// endless writes part until the client hangs up.
func endless(part string) *counter {
	return &counter{handle: func(w http.ResponseWriter, r *http.Request, _ int) {
		for {
			if _, err := w.Write([]byte(part)); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	}}
}

func TestEndlessAnswersAreCut(t *testing.T) {
	for name, c := range map[string]struct{ part, want string }{
		"tokens":   {`data: {"choices":[{"text":"a"}]}` + "\n\n", "the answer passed 1032 chunks: 4 for each token asked for and 1024 beside"},
		"one body": {strings.Repeat("x", 256<<10), "the answer passed 64 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := load(endless(c.part).start(t), row.Passes, 1, 0)
			spec.Iters = 1
			got, err := Run(context.Background(), spec)
			if err != nil {
				t.Fatal(err)
			}
			o := got.Outcomes[0]
			if o.Err != c.want || o.Body != nil || len(o.Stamps) > 0 {
				t.Errorf("%q with %d bytes and %d stamps, want %q", o.Err, len(o.Body), len(o.Stamps), c.want)
			}
		})
	}
}

// Answers that each are small enough, and together are not.
func TestARunHoldsNoMoreThanItMay(t *testing.T) {
	spec := Spec{Concurrency: 2}
	if got := mayHold(&spec, 2, Call{ISL: 8, OSL: 2}); got != 512<<20 {
		t.Errorf("a small run may hold %d bytes", got)
	}
	if got, want := mayHold(&spec, 10_000, Call{ISL: 100_000, OSL: 1000}), int64(10_000*(1000*1024+100_000*16)); got != want {
		t.Errorf("a large run may hold %d bytes, want %d", got, want)
	}
	l := &loop{r: &runner{spec: spec, mayHold: 100}, store: store{bound: 1000}, total: 100}
	if l.weigh(); l.halted {
		t.Error("100 bytes of 100 were too much")
	}
	l.total = 101
	if l.weigh(); !l.halted || !l.tooMuch {
		t.Error("101 bytes of 100 were not too much")
	}
}
