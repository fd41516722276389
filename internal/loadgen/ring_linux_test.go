package loadgen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rowproof/internal/row"
)

// mayRing says whether rings can be had, or shows that without the right to, a run says
// what a ring needs and takes the next best by itself.
func mayRing(t *testing.T) bool {
	t.Helper()
	r, err := takeRing(1, 0)
	if err == nil {
		r.giveBack()
		return true
	}
	if !errors.Is(err, unix.EPERM) {
		t.Fatal(err)
	}
	spec := Spec{Base: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, Stamps: StampsRing}
	if _, _, err := newDialer(&spec); err == nil || !strings.Contains(err.Error(), "CAP_NET_RAW") {
		t.Errorf("%v", err)
	}
	spec.Stamps = ""
	if d, _, err := newDialer(&spec); err != nil || d.stamps != StampsKernel || !strings.Contains(d.noRing, "not permitted") {
		t.Errorf("%+v, %v", d, err)
	}
	return false
}

// tokens answers with n chunks, and notes when each was written.
type tokens struct {
	base  *url.URL
	wrote [][2]int64
	n     int
	pause func(i int)
	ended chan struct{} // wrote is complete
}

func (k *tokens) start(t *testing.T, address string) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	k.base = &url.URL{Scheme: "http", Host: l.Addr().String()}
	k.ended = make(chan struct{})
	go func() {
		defer close(k.ended)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		take(bufio.NewReader(c))
		io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for i := range k.n {
			k.pause(i)
			before := Now()
			fmt.Fprintf(c, "9\r\ntoken %03d\r\n", i%1000)
			k.wrote = append(k.wrote, [2]int64{before, Now()})
		}
		io.WriteString(c, "0\r\n\r\n")
	}()
}

// A client that reads at beats gets several chunks in one read; the ring still has each
// under the time of its own write.
func TestRingStampsEachSegmentOfALateRead(t *testing.T) {
	if !mayRing(t) {
		return
	}
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(address, func(t *testing.T) {
			k := &tokens{n: 40, pause: func(int) { time.Sleep(time.Millisecond) }}
			k.start(t, address)
			spec := load(k.base, row.Passes, 1, 0)
			spec.Iters, spec.Stamps = 1, StampsRing
			spec.Build = func(int) Call { return Call{Path: "/", OSL: 40} }
			got, err := Run(context.Background(), spec)
			if err != nil {
				t.Fatal(err)
			}
			<-k.ended
			o := got.Outcomes[0]
			if o.Err != "" || len(o.Stamps) != k.n || got.Stats.Reads >= int64(k.n) || got.Stats.Drops != 0 {
				t.Fatalf("%q, %d stamps, %+v", o.Err, len(o.Stamps), got.Stats)
			}
			for i, s := range o.Stamps {
				w := k.wrote[i]
				if s.Off != int64(9*(i+1)) || s.Shared || s.At < w[0]-1000 || s.At > w[1]+5_000_000 {
					t.Errorf("chunk %d: %+v, written from %d to %d", i, s, w[0], w[1])
				}
			}
		})
	}
}

// A ring that is too small while nobody empties it loses packets. What it lost has no
// stamp and is counted; the rest is as exact as ever.
func TestRingThatIsTooSmall(t *testing.T) {
	if !mayRing(t) {
		return
	}
	k := &tokens{n: 3000, pause: func(i int) {
		if i > 2800 {
			time.Sleep(time.Millisecond) // the ring has room again
		}
	}}
	k.start(t, "127.0.0.1:0")
	spec := load(k.base, row.Passes, 1, 0)
	spec.Iters, spec.Stamps, spec.RingBlocks = 1, StampsRing, 2
	spec.Build = func(int) Call { return Call{Path: "/", OSL: 3000} }
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	<-k.ended
	o, st := got.Outcomes[0], got.Stats
	if o.Err != "" || len(o.Body) != 9*k.n {
		t.Fatalf("%q, %d bytes", o.Err, len(o.Body))
	}
	exact, lost, off := 0, 0, int64(0)
	for _, s := range o.Stamps {
		if s.At == Unstamped {
			lost += int(s.Off - off)
		} else {
			for end := off + 9; end <= s.Off; end += 9 { // chunks that follow each other under one stamp
				if w := k.wrote[end/9-1]; s.At < w[0]-1000 || s.At > w[1]+20_000_000 {
					t.Errorf("chunk %d: %+v, written from %d to %d", end/9-1, s, w[0], w[1])
				}
				exact++
			}
		}
		off = s.Off
	}
	if lost == 0 || exact == 0 || st.Drops == 0 || st.Unstamped == 0 || st.Blocks != 2 || st.BlocksUsed == 0 {
		t.Errorf("%d exact, %d bytes lost, %+v", exact, lost, st)
	}
	if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "dropped") {
		t.Errorf("notes %q", got.Notes)
	}
}

// When the wall clock steps, stamps of around the step are none, and the others are as
// exact on both sides of it.
func TestRingAcrossAStepOfTheWallClock(t *testing.T) {
	if !mayRing(t) {
		return
	}
	k := &tokens{n: 300}
	k.pause = func(i int) {
		time.Sleep(time.Millisecond)
		if i != 150 {
			return
		}
		// As if the wall clock had stood two seconds later until now.
		_, port, _ := addressOf(k.base)
		rings.Lock()
		r := rings.of[ringKey{port, ringBlocks}]
		rings.Unlock()
		r.mu.Lock()
		e := &epoch{r.clocks.cur.Load().offset + 2e9}
		r.clocks.cur.Store(e)
		r.seen = e
		r.mu.Unlock()
	}
	k.start(t, "127.0.0.1:0")
	spec := load(k.base, row.Passes, 1, 0)
	spec.Iters, spec.Stamps = 1, StampsRing
	spec.Build = func(int) Call { return Call{Path: "/", OSL: 300} }
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	<-k.ended
	exact, lost, off := 0, 0, int64(0)
	for _, s := range got.Outcomes[0].Stamps {
		if s.At == Unstamped {
			lost += int(s.Off - off)
		} else if w := k.wrote[s.Off/9-1]; s.At < w[0]-1000 || s.At > w[1]+20_000_000 {
			t.Errorf("chunk %d: %+v, written from %d to %d", s.Off/9-1, s, w[0], w[1])
		} else {
			exact++
		}
		off = s.Off
	}
	if got.Stats.ClockSteps != 1 || lost == 0 || exact < 100 {
		t.Errorf("%d exact, %d bytes lost, %+v", exact, lost, got.Stats)
	}
}

// What comes from another port does not enter the ring.
func TestRingSeesOnePortOnly(t *testing.T) {
	if !mayRing(t) {
		return
	}
	base := (&counter{}).start(t)
	_, port, err := addressOf(base)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := takeRing(port+1, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer ring.giveBack()
	spec := load(base, row.Passes, 1, 0)
	spec.Iters = 3
	if _, err := Run(context.Background(), spec); err != nil {
		t.Fatal(err)
	}
	ring.settle(nil)
	ring.mu.Lock()
	defer ring.mu.Unlock()
	if len(ring.flows) != 0 {
		t.Errorf("%d connections of another port", len(ring.flows))
	}
}

// Where the ring sees nothing of the connections, as behind address translation, the
// kernel's stamps serve, and it is said.
func TestRingThatSeesNothingIsNoRing(t *testing.T) {
	if !mayRing(t) {
		return
	}
	base := (&counter{}).start(t)
	_, port, _ := addressOf(base)
	other, err := takeRing(port+1, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.giveBack()
	rings.Lock()
	rings.of[ringKey{port, ringBlocks}] = other
	rings.Unlock()
	defer func() {
		rings.Lock()
		delete(rings.of, ringKey{port, ringBlocks})
		rings.Unlock()
	}()
	spec := load(base, row.Passes, 2, 0)
	spec.Iters, spec.Stamps = 2, StampsRing
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range got.Outcomes {
		if o.Err != "" || len(o.Stamps) == 0 || o.Stamps[0].At < o.Sent || o.Stamps[0].At > o.Ended {
			t.Errorf("%+v", o)
		}
	}
	if got.Stats.Stamps != StampsKernel || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "did not see") {
		t.Errorf("%+v, %q", got.Stats, got.Notes)
	}
}

// One ring serves the runs that follow each other.
func TestRunsShareARing(t *testing.T) {
	if !mayRing(t) {
		return
	}
	srv := &counter{}
	base := srv.start(t)
	_, port, _ := addressOf(base)
	var first atomic.Pointer[ring]
	for range 3 {
		spec := load(base, row.Passes, 2, 0)
		spec.Iters, spec.Stamps = 1, StampsRing
		got, err := Run(context.Background(), spec)
		if err != nil || got.Stats.Unstamped != 0 || got.Stats.Stamps != StampsRing {
			t.Fatal(err, got)
		}
		rings.Lock()
		r := rings.of[ringKey{port, ringBlocks}]
		rings.Unlock()
		if first.CompareAndSwap(nil, r); r == nil || first.Load() != r {
			t.Error("another ring was opened")
		}
	}
}
