package loadgen

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"testing"

	"rowproof/internal/row"
)

// large answers with mebibytes of its number, in pieces.
func large(mib int) *counter {
	return &counter{handle: func(w http.ResponseWriter, r *http.Request, _ int) {
		piece := bytes.Repeat([]byte(r.URL.Path[1:]), 1<<10)
		for range mib << 10 {
			w.Write(piece)
		}
	}}
}

func runLarge(t *testing.T) *Capture {
	t.Helper()
	spec := load(large(4).start(t), row.Passes, 4, 0)
	spec.Iters = 3
	spec.Build = func(seq int) Call { return Call{Path: "/" + string(rune('a'+seq)), OSL: 1 << 16} }
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Outcomes) != 12 {
		t.Fatalf("%d outcomes", len(got.Outcomes))
	}
	return got
}

func checkLarge(t *testing.T, got *Capture) {
	t.Helper()
	for i := range got.Outcomes {
		o := &got.Outcomes[i]
		if err := o.Load(); err != nil || o.Err != "" {
			t.Fatal(err, o.Err)
		}
		if want := bytes.Repeat([]byte{byte('a' + i)}, 4<<20); !bytes.Equal(o.Body, want) {
			t.Errorf("request %d: %d bytes, want %d of %c", i, len(o.Body), len(want), 'a'+i)
		}
		off := int64(0)
		for _, s := range o.Stamps {
			if s.Off <= off || s.At < o.Sent || s.At > o.Ended {
				t.Fatalf("request %d: stamp %+v after %d; sent %d, ended %d", i, s, off, o.Sent, o.Ended)
			}
			off = s.Off
		}
		if off != int64(len(o.Body)) {
			t.Errorf("request %d: stamps reach %d of %d bytes", i, off, len(o.Body))
		}
	}
}

// What passes the bound waits in a file, whole and in order, and can be brought again.
func TestAnswersArePutAside(t *testing.T) {
	got := runLarge(t)
	if got.Stats.SpilledBytes < 16<<20 || got.Stats.SpilledBytes > 48<<20 {
		t.Errorf("%d bytes put aside of %d", got.Stats.SpilledBytes, 48<<20)
	}
	checkLarge(t, got)
	for i := range got.Outcomes {
		got.Outcomes[i].Unload()
	}
	checkLarge(t, got)
}

// Without a place for the file all stays in memory, nothing is lost, and it is said.
func TestAnswersStayWhereNoFileTakesThem(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	got := runLarge(t)
	if want := "answers stayed in memory: no temporary file took them"; got.Stats.SpilledBytes != 0 || len(got.Notes) != 1 || got.Notes[0] != want {
		t.Errorf("%d bytes put aside, notes %q", got.Stats.SpilledBytes, got.Notes)
	}
	checkLarge(t, got)
}

// A server that goes on with a request after we ended it does not hold up the run.
func TestCancelledRequestThatLivesOnHoldsNothingUp(t *testing.T) {
	gone := make(chan struct{})
	srv := &counter{handle: func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 0 {
			<-gone
		}
		io.WriteString(w, "data: [DONE]\n\n")
	}}
	base := srv.start(t)
	t.Cleanup(func() { close(gone) }) // before the server closes, which waits for it
	spec := load(base, row.Passes, 1, 0)
	spec.Iters, spec.Timeout = 2, 80_000_000
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Outcomes) != 1 || got.Outcomes[0].Err != "timeout: not whole after 80ms" {
		t.Errorf("%+v", got.Outcomes)
	}
}
