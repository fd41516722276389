package loadgen

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"rowproof/internal/row"
)

// Arrivals never wait: the first request is answered only when the last has come, over
// connections that are opened as they are needed.
func TestOpenLoopNeverWaitsForCompletions(t *testing.T) {
	const n = 12
	var all sync.WaitGroup
	all.Add(n)
	srv := &counter{handle: func(w http.ResponseWriter, _ *http.Request, i int) {
		if i < n {
			all.Done()
		}
		all.Wait()
		io.WriteString(w, "data: [DONE]\n\n")
	}}
	spec := load(srv.start(t), row.Sustained, 3, 0)
	spec.Open, spec.Requests = true, n
	spec.Build = func(seq int) Call {
		if seq == n {
			return Call{}
		}
		return Call{Path: "/", At: time.Duration(seq) * time.Millisecond}
	}
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if srv.most() != n || got.Stats.Connections != n || got.Stats.LateConnections != n-3 {
		t.Errorf("%d at once, %d connections, %d of them late", srv.most(), got.Stats.Connections, got.Stats.LateConnections)
	}
	if len(got.Outcomes) != n {
		t.Fatalf("%d outcomes", len(got.Outcomes))
	}
	for i, o := range got.Outcomes {
		if o.Err != "" || o.Phase != row.PhaseTimed || o.Seq != i || o.Sent < o.Enqueued {
			t.Errorf("%+v", o)
		}
		// Enqueued is when it was due, not when anyone got round to it.
		if want := got.Outcomes[0].Enqueued + int64(i)*int64(time.Millisecond); o.Enqueued != want {
			t.Errorf("request %d was enqueued %d ns after it was due", i, o.Enqueued-want)
		}
	}
}

// What finds the limit reached is enqueued when it is due all the same, and sent when one
// of those before it has ended.
func TestOpenLoopWithALimitInFlight(t *testing.T) {
	srv := &counter{handle: func(w http.ResponseWriter, _ *http.Request, i int) {
		time.Sleep(3 * time.Millisecond)
		io.WriteString(w, "data: [DONE]\n\n")
	}}
	spec := load(srv.start(t), row.Sustained, 2, 1)
	spec.Open, spec.Requests, spec.MaxInFlight = true, 9, 2
	spec.Build = func(seq int) Call { return Call{Path: "/", At: time.Duration(seq) * time.Microsecond} }
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if p := phases(got); p[row.PhaseFirst] != 1 || p[row.PhaseTimed] != 9 {
		t.Errorf("phases %v", p)
	}
	if srv.most() != 2 || got.Stats.LateConnections != 0 {
		t.Errorf("%d at once, %+v", srv.most(), got.Stats)
	}
	waited := 0
	for i, o := range got.Outcomes[:10] {
		if want := got.Outcomes[0].Enqueued + int64(i)*int64(time.Microsecond); o.Enqueued != want {
			t.Errorf("request %d was enqueued %d ns after it was due", i, o.Enqueued-want)
		}
		if o.Sent-o.Enqueued > int64(3*time.Millisecond) {
			waited++
		}
	}
	if waited < 7 {
		t.Errorf("%d of 10 waited for a slot", waited)
	}
	if st := got.Stats; st.DispatchMax >= 3000 {
		t.Errorf("the wait for a slot was taken for lateness: %+v", st)
	}
}

// The turns of a session follow each other, each its delay after the one before it, and
// other sessions do not wait for them.
func TestSessionsFollowThemselves(t *testing.T) {
	const turns = 3
	other := make(chan struct{})
	srv := &counter{handle: func(w http.ResponseWriter, r *http.Request, i int) {
		switch r.URL.Path {
		case "/1/0":
			<-other // the second session ends while the first one's first turn goes on
		case "/2/2":
			close(other)
		}
		io.WriteString(w, "data: [DONE]\n\n")
	}}
	spec := load(srv.start(t), row.Sustained, 2, 0)
	spec.Open, spec.Requests = true, 2*turns
	delay := 5 * time.Millisecond
	spec.Build = func(seq int) Call {
		if seq == 2*turns {
			return Call{}
		}
		session, turn := 1+seq%2, seq/2
		return Call{Path: "/" + itoa(session) + "/" + itoa(turn), Session: session, Delay: delay}
	}
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Outcomes) != 2*turns || srv.most() != 2 {
		t.Fatalf("%d outcomes, %d at once", len(got.Outcomes), srv.most())
	}
	for i, o := range got.Outcomes {
		if o.Err != "" || o.Phase != row.PhaseTimed {
			t.Errorf("%+v", o)
		}
		if i < 2 {
			continue
		}
		if before := got.Outcomes[i-2]; o.Enqueued < before.Ended+int64(delay) {
			t.Errorf("%s was enqueued %d ns after %s had ended", o.Call.Path, o.Enqueued-before.Ended, before.Call.Path)
		}
	}
}

// A run by duration times what is due within it, and ends once that has ended even if
// nothing more is due for long.
func TestOpenLoopByDuration(t *testing.T) {
	spec := load((&counter{}).start(t), row.Sustained, 1, 2)
	spec.Open, spec.Duration = true, 30*time.Millisecond
	spec.Build = func(seq int) Call {
		at := time.Duration(seq) * 5 * time.Millisecond
		if seq > 8 {
			at = time.Hour
		}
		return Call{Path: "/", At: at}
	}
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{row.PhaseFirst, row.PhaseWarm, row.PhaseTimed, row.PhaseTimed, row.PhaseTimed, row.PhaseTimed, row.PhaseTimed, row.PhaseTimed, row.PhaseTimed}
	var phases []string
	for _, o := range got.Outcomes {
		phases = append(phases, o.Phase)
	}
	if !slices.Equal(phases, want) {
		t.Errorf("%q, want %q", phases, want)
	}
}

func TestDeadServerIsNotHammeredInOpenLoop(t *testing.T) {
	srv := &counter{handle: func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(503) }}
	spec := load(srv.start(t), row.Sustained, 1, 0)
	spec.Open, spec.Requests = true, 100_000
	spec.Build = func(seq int) Call { return Call{Path: "/", At: time.Duration(seq) * time.Millisecond} }
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(got.Outcomes); n < giveUpAfter*10 || n > 1000 {
		t.Errorf("%d requests", n)
	}
	if want := "the load stopped after 30 failures in a row"; len(got.Notes) != 1 || got.Notes[0] != want {
		t.Errorf("notes %q, want %q", got.Notes, want)
	}
}

// A request of the warm-up that takes longer than all the timed ones is no failure: the
// load goes on to its end.
func TestTheWarmUpMayEndLast(t *testing.T) {
	const n = 4
	timed := make(chan struct{})
	srv := &counter{handle: func(w http.ResponseWriter, r *http.Request, _ int) {
		if r.URL.Path == "/0" {
			select {
			case <-timed:
			case <-r.Context().Done():
			}
		}
		io.WriteString(w, "data: [DONE]\n\n")
	}}
	spec := load(srv.start(t), row.Sustained, n+1, 1)
	spec.Open, spec.Requests = true, n
	spec.Build = func(seq int) Call {
		if seq > n {
			return Call{}
		}
		return Call{Path: "/" + strconv.Itoa(seq)}
	}
	var once sync.Once
	spec.Progress = func(p Progress) {
		if p.Done == n {
			once.Do(func() { close(timed) })
		}
	}
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if o := got.Outcomes[0]; o.Phase != row.PhaseFirst || o.Err != "" || len(got.Outcomes) != n+1 {
		t.Errorf("%d outcomes, the first %+v", len(got.Outcomes), o)
	}
}
