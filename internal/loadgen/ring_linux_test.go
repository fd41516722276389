package loadgen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rowproof/internal/row"
)

// ringOrNone opens a ring, or shows that without the right to, a run says what a ring
// needs and takes the next best by itself.
func ringOrNone(t *testing.T, base *url.URL, c *clocks, port uint16) *ring {
	t.Helper()
	r, err := openRing(port, 1, c)
	if err == nil {
		t.Cleanup(r.close)
		return r
	}
	if !errors.Is(err, unix.EPERM) {
		t.Fatal(err)
	}
	if _, _, err := newDialer(base, StampsRing, 1, false, time.Second); err == nil || !strings.Contains(err.Error(), "CAP_NET_RAW") {
		t.Errorf("%v", err)
	}
	if d, _, err := newDialer(base, "", 1, false, time.Second); err != nil || d.stamps != StampsKernel || !strings.Contains(d.noRing, "not permitted") {
		t.Errorf("%+v, %v", d, err)
	}
	return nil
}

// A client that reads nothing until all has come gets several chunks in one read; the
// ring still has each under the time of its own write.
func TestRingStampsEachSegmentOfALateRead(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(address, func(t *testing.T) {
			l, err := net.Listen("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			base := &url.URL{Scheme: "http", Host: l.Addr().String()}
			d, mine, err := newDialer(base, StampsKernel, 1, false, time.Second)
			if err != nil || mine != nil {
				t.Fatal(err, mine)
			}
			ring := ringOrNone(t, base, d.clocks, uint16(l.Addr().(*net.TCPAddr).Port))
			if ring == nil {
				return
			}
			c, err := d.dial(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			other, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()

			var wrote [][2]int64
			write := func(s string) {
				before := Now()
				if _, err := other.Write([]byte(s)); err != nil {
					t.Fatal(err)
				}
				wrote = append(wrote, [2]int64{before, Now()})
			}
			write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			total := 47
			for i := range 8 {
				chunk := fmt.Sprintf("8\r\ntoken %d\n\r\n", i)
				time.Sleep(3 * time.Millisecond)
				write(chunk)
				total += len(chunk)
			}
			write("0\r\n\r\n")

			var resp response
			resp.reset()
			buf := make([]byte, readSize)
			reads := 0
			for resp.state != whole {
				n, at, err := c.read(buf)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := resp.feed(buf[:n], c.got, at); err != nil {
					t.Fatal(err)
				}
				c.got += int64(n)
				reads++
			}
			ring.close()
			if ring.drops != 0 {
				t.Fatalf("%d drops", ring.drops)
			}
			f := ring.flow(&sighting{port: c.port, dialed: c.dialed})
			if f == nil {
				t.Fatal("the ring did not see the connection")
			}
			stamps := f.stamps(resp.pieces)
			if len(stamps) != 8 || reads > 2 {
				t.Fatalf("%d stamps of 8 chunks in %d reads", len(stamps), reads)
			}
			for i, s := range stamps {
				w := wrote[i+1]
				if s.Off != int64(8*(i+1)) || s.Shared || s.At < w[0]-1000 || s.At > w[1]+5_000_000 {
					t.Errorf("chunk %d: %+v, written from %d to %d", i, s, w[0], w[1])
				}
			}
		})
	}
}

// What comes from another port does not enter the ring.
func TestRingSeesOnePortOnly(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	base := &url.URL{Scheme: "http", Host: l.Addr().String()}
	port := uint16(l.Addr().(*net.TCPAddr).Port)
	ring := ringOrNone(t, base, newClocks(), port+1)
	if ring == nil {
		return
	}
	spec := load((&counter{}).start(t), row.Passes, 1, 0)
	spec.Iters = 3
	if _, err := Run(context.Background(), spec); err != nil {
		t.Fatal(err)
	}
	ring.close()
	if len(ring.flows) != 0 {
		t.Errorf("%d connections of another port", len(ring.flows))
	}
}

// Where the ring sees nothing of a connection, its reads' stamps serve, and it is said.
func TestRingThatSeesNothingIsNoRing(t *testing.T) {
	d := &dialer{clocks: newClocks(), stamps: StampsRing}
	r := &runner{dialer: d, ring: &ring{flows: map[uint16][]*flow{}}}
	r.spec.Base = &url.URL{Host: "127.0.0.1"}
	w := &worker{r: r, out: []Outcome{{Phase: row.PhaseTimed}}, seen: []sighting{{port: 7, pieces: []piece{{off: 3, raw: 9, at: 55, framed: true}}}}}
	r.workers = []*worker{w}
	c := r.capture()
	if s := c.Outcomes[0].Stamps; len(s) != 1 || s[0] != (Stamp{Off: 3, At: 55}) {
		t.Errorf("%+v", s)
	}
	if c.Stats.Stamps != StampsKernel || len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "did not see") {
		t.Errorf("%+v, %q", c.Stats, c.Notes)
	}
}
