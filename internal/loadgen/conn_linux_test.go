package loadgen

import (
	"context"
	"net"
	"net/url"
	"testing"
	"time"
)

// pair is a stamped connection and its other end.
func pair(t *testing.T) (*conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d, _, err := newDialer(&url.URL{Scheme: "http", Host: l.Addr().String()}, StampsKernel, 1, false, time.Second)
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
	t.Cleanup(func() { c.Close(); other.Close() })
	return c, other
}

// What waited 30 ms for its reader is stamped with when it came.
func TestStampIsOfTheArrivalAndNotOfTheRead(t *testing.T) {
	c, other := pair(t)
	buf := make([]byte, 100)
	for range 5 {
		before := Now()
		if _, err := other.Write([]byte("token")); err != nil {
			t.Fatal(err)
		}
		after := Now()
		time.Sleep(30 * time.Millisecond)
		n, at, err := c.read(buf)
		if err != nil || string(buf[:n]) != "token" {
			t.Fatalf("%q, %v", buf[:n], err)
		}
		if at < before-1000 || at > after+5_000_000 {
			t.Errorf("stamped %d ns after the write began; it took %d ns, and the read came %d ns after", at-before, after-before, Now()-after)
		}
	}
}

func TestStepOfTheWallClockIsCountedAndItsStampIsNone(t *testing.T) {
	c, other := pair(t)
	buf := make([]byte, 100)
	read := func() int64 {
		t.Helper()
		if _, err := other.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		_, at, err := c.read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	if at := read(); at == Unstamped {
		t.Fatal("no stamp before the step")
	}
	// As if the wall clock had stood two seconds later until now.
	c.clocks.cur.Store(&epoch{c.clocks.cur.Load().offset + 2e9})
	c.seen = c.clocks.cur.Load()
	if at := read(); at != Unstamped {
		t.Errorf("stamped %d across a step", at)
	}
	if n := c.clocks.steps.Load(); n != 1 {
		t.Errorf("%d steps counted, want 1", n)
	}
	before := Now()
	if at := read(); at < before-1000 || at > Now() {
		t.Errorf("after the step a stamp is %d ns off", at-before)
	}
}

func TestIdleConnectionTellsThatItWasClosed(t *testing.T) {
	c, other := pair(t)
	if !c.fresh() {
		t.Error("an open connection looks closed")
	}
	other.Close()
	deadline := time.Now().Add(5 * time.Second)
	for c.fresh() {
		if time.Now().After(deadline) {
			t.Fatal("a closed connection looks open")
		}
	}
}
