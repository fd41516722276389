package loadgen

import (
	"context"
	"net"
	"net/url"
	"testing"
	"time"
)

// pair is a connection and its other end.
func pair(t *testing.T, stamps string) (*conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d, _, err := newDialer(&Spec{Base: &url.URL{Scheme: "http", Host: l.Addr().String()}, Stamps: stamps, Timeout: time.Second, Connect: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.dial(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.transport.Close(); other.Close() })
	return c, other
}

// readSoon reads what comes within five seconds.
func readSoon(t *testing.T, c *conn, p []byte) (int, arrival) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		n, from, err := c.transport.read(p)
		if err == nil {
			return n, from
		}
		if err != errAgain {
			t.Fatal(err)
		}
	}
	t.Fatal("nothing came")
	return 0, arrival{}
}

// What waited 30 ms for its reader is stamped with when it came.
func TestStampIsOfTheArrivalAndNotOfTheRead(t *testing.T) {
	c, other := pair(t, StampsKernel)
	buf := make([]byte, 100)
	for range 5 {
		before := Now()
		if _, err := other.Write([]byte("token")); err != nil {
			t.Fatal(err)
		}
		after := Now()
		time.Sleep(30 * time.Millisecond)
		n, from := readSoon(t, c, buf)
		if string(buf[:n]) != "token" {
			t.Fatalf("%q", buf[:n])
		}
		if from.at < before-1000 || from.at > after+5_000_000 {
			t.Errorf("stamped %d ns after the write began; it took %d ns, and the read came %d ns after", from.at-before, after-before, Now()-after)
		}
	}
}

func TestStepOfTheWallClockIsCountedAndItsStampIsNone(t *testing.T) {
	c, other := pair(t, StampsKernel)
	clocks := c.socket.clocks
	buf := make([]byte, 100)
	read := func() int64 {
		t.Helper()
		if _, err := other.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		_, from := readSoon(t, c, buf)
		return from.at
	}
	if at := read(); at == Unstamped {
		t.Fatal("no stamp before the step")
	}
	// As if the wall clock had stood two seconds later until now.
	clocks.cur.Store(&epoch{clocks.cur.Load().offset + 2e9})
	c.socket.seen = clocks.cur.Load()
	if at := read(); at != Unstamped {
		t.Errorf("stamped %d across a step", at)
	}
	if n := clocks.steps.Load(); n != 1 {
		t.Errorf("%d steps counted, want 1", n)
	}
	before := Now()
	if at := read(); at < before-1000 || at > Now() {
		t.Errorf("after the step a stamp is %d ns off", at-before)
	}
}

func TestIdleConnectionTellsThatItWasClosed(t *testing.T) {
	c, other := pair(t, StampsKernel)
	s := &stream{l: &loop{buf: make([]byte, 100)}, conn: c}
	if !s.fresh() {
		t.Error("an open connection looks closed")
	}
	other.Close()
	deadline := time.Now().Add(5 * time.Second)
	for s.fresh() {
		if time.Now().After(deadline) {
			t.Fatal("a closed connection looks open")
		}
	}
}
