package loadgen

import (
	"context"
	"net/http"
	"net/url"
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

// The words of a refusal are kept, though it never ends.
func TestAnEndlessRefusalIsHeard(t *testing.T) {
	flood := endless(strings.Repeat("no room. ", 30<<10))
	handle := flood.handle
	flood.handle = func(w http.ResponseWriter, r *http.Request, n int) {
		w.WriteHeader(http.StatusInternalServerError)
		handle(w, r, n)
	}
	spec := load(flood.start(t), row.Passes, 1, 0)
	spec.Iters = 1
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	o := got.Outcomes[0]
	if err := o.Load(); err != nil {
		t.Fatal(err)
	}
	if o.HTTPStatus != 500 || o.Err != "the answer passed 64 MiB" || len(o.Body) != mostSaid || !strings.HasPrefix(string(o.Body), "no room. no room.") {
		t.Errorf("status %d, %q with %d bytes", o.HTTPStatus, o.Err, len(o.Body))
	}
}

// Answers that each are small enough, and together are not.
func TestARunHoldsNoMoreThanItMay(t *testing.T) {
	base, _ := url.Parse("http://127.0.0.1:1")
	calls := []Call{{Path: "/", ISL: 8, OSL: 2}, {Path: "/", ISL: 100_000, OSL: 1_000_000}, {Path: "/", OSL: 1, Body: make([]byte, 4000)}}
	r := &runner{spec: Spec{Base: base, Build: func(seq int) Call { return calls[seq] }}}
	r.request(0)
	if got := r.mayHold(); got != 512<<20 {
		t.Errorf("a small run may hold %d bytes", got)
	}
	r.request(1)
	r.request(2)
	most := int64(3+1_000_000)*1024 + (8+100_000+2000)*16
	if got := r.mayHold(); got != most {
		t.Errorf("a run of one large request among small ones may hold %d bytes, want %d", got, most)
	}
	l := &loop{r: r, store: store{bound: 1000}, total: most}
	if l.weigh(); l.halted {
		t.Errorf("%d bytes of %d were too much", most, most)
	}
	l.total++
	if l.weigh(); !l.halted || !l.tooMuch {
		t.Errorf("%d bytes of %d were not too much", most+1, most)
	}
}
