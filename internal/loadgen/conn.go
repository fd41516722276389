package loadgen

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// Ways of stamping an arrival.
const (
	StampsRing   = "ring"  // a packet ring's stamp of the segment, whatever the client was doing
	StampsKernel = "ktime" // the kernel's receive stamp of the segment
	StampsRead   = "read"  // the time at which Read returned
)

// conn is one connection that tells when what it read had arrived.
type conn struct {
	net.Conn
	kernel *kernelReader // nil: stamps at Read
	clocks *clocks
	seen   *epoch // the epoch of the latest kernel stamp
	dialed int64  // when it was opened
	port   uint16 // our end's
	got    int64  // bytes read so far
}

// read fills p and returns when its last byte had arrived, or Unstamped.
func (c *conn) read(p []byte) (n int, at int64, err error) {
	if c.kernel == nil {
		n, err = c.Conn.Read(p)
		return n, Now(), err
	}
	n, wall, err := c.kernel.read(p)
	if err != nil {
		return n, Now(), err
	}
	e, now := c.clocks.current()
	stepped := c.seen != e
	c.seen = e
	if wall == 0 || stepped {
		// A stamp from around a step may belong to either side of it.
		return n, Unstamped, nil
	}
	at = wall - e.offset
	if at > now {
		if at > now+stepNS {
			return n, Unstamped, nil
		}
		at = now
	}
	if at < c.dialed-stepNS {
		return n, Unstamped, nil
	}
	return n, at, nil
}

// fresh says whether an idle connection can still carry a request. Where that cannot
// be asked, the request itself finds out.
func (c *conn) fresh() bool { return c.kernel == nil || !c.kernel.closedByPeer() }

// dialer opens connections to one server, by one kind of stamp. Proxies are not used:
// what is measured is the server.
type dialer struct {
	address string // as resolved by the first success
	stamps  string
	noRing  string      // why there is none, where one was wanted
	tls     *tls.Config // nil: plain
	clocks  *clocks
	timeout time.Duration
}

// newDialer settles which stamps the run has; ring is opened where they are to come
// from one.
func newDialer(base *url.URL, stamps string, streams int, insecure bool, timeout time.Duration) (*dialer, *ring, error) {
	d := &dialer{clocks: newClocks(), timeout: timeout, stamps: StampsRead}
	port := base.Port()
	switch base.Scheme {
	case "http":
		port = cmp.Or(port, "80")
	case "https":
		port = cmp.Or(port, "443")
		d.tls = &tls.Config{ServerName: base.Hostname(), InsecureSkipVerify: insecure, NextProtos: []string{"http/1.1"}}
	default:
		return nil, nil, errors.New("base URL has scheme " + base.Scheme + "; http and https are known")
	}
	d.address = net.JoinHostPort(base.Hostname(), port)
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, nil, errors.New("base URL has port " + port + "; it takes 1 to 65535")
	}
	switch stamps {
	case "", StampsRing, StampsKernel, StampsRead:
	default:
		return nil, nil, errors.New("stamps " + stamps + " are unknown; ring, ktime and read are known")
	}
	if stamps == StampsRead || stamps == "" && d.tls != nil {
		return d, nil, nil
	}
	if d.tls != nil {
		return nil, nil, errors.New("stamps " + stamps + " were asked for, and TLS hides which segment carried what; https takes read")
	}
	if !kernelStampsWork() {
		if stamps == "" {
			return d, nil, nil
		}
		return nil, nil, errors.New("stamps " + stamps + " were asked for, and this system has none; it takes read")
	}
	d.stamps = StampsKernel
	if stamps == StampsKernel {
		return d, nil, nil
	}
	r, err := openRing(uint16(number), streams, d.clocks)
	switch {
	case err == nil:
		d.stamps = StampsRing
	case stamps == StampsRing:
		return nil, nil, errors.New("stamps ring were asked for: " + err.Error() + "; a ring needs CAP_NET_RAW (setcap cap_net_raw+ep on this program), and without it ktime is the best")
	default:
		d.noRing = err.Error()
	}
	return d, r, nil
}

// kernel says whether reads ask for the kernel's stamp; beside a ring they stand in
// for what it lost.
func (d *dialer) kernel() bool { return d.stamps != StampsRead }

func (d *dialer) dial(ctx context.Context) (*conn, error) {
	nd := net.Dialer{Timeout: d.timeout}
	if d.kernel() {
		nd.Control = askKernelStamps
	}
	nc, err := nd.DialContext(ctx, "tcp", d.address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc, clocks: d.clocks, seen: d.clocks.cur.Load(), dialed: Now()}
	if a, ok := nc.LocalAddr().(*net.TCPAddr); ok {
		c.port = uint16(a.Port)
	}
	if d.kernel() {
		if c.kernel, err = newKernelReader(nc); err != nil {
			nc.Close()
			return nil, err
		}
	}
	if d.tls != nil {
		tc := tls.Client(nc, d.tls)
		hctx, cancel := context.WithTimeout(ctx, d.timeout)
		defer cancel()
		if err := tc.HandshakeContext(hctx); err != nil {
			nc.Close()
			return nil, err
		}
		c.Conn = tc
	}
	return c, nil
}

// kernelStampsWork says whether the kernel stamps what arrives.
func kernelStampsWork() bool { return stamping() != nil }

// stamping switches the kernel's stamping on and keeps it so: it begins a little after
// the first socket asks for it, and ends with the last. So the socket on which it is
// tried stays open for good; nil when no stamp came.
var stamping = sync.OnceValue(func() net.Conn {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return nil
	}
	defer l.Close()
	d := net.Dialer{Control: askKernelStamps, Timeout: 5 * time.Second}
	near, err := d.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil
	}
	far, err := l.Accept()
	if err != nil {
		near.Close()
		return nil
	}
	defer far.Close()
	k, err := newKernelReader(near)
	buf := make([]byte, 1)
	near.SetDeadline(time.Now().Add(5 * time.Second))
	for tries := 0; err == nil && tries < 500; tries++ {
		if _, err = far.Write(buf); err != nil {
			break
		}
		var wall int64
		if _, wall, err = k.read(buf); wall != 0 {
			return near
		}
		time.Sleep(time.Millisecond)
	}
	near.Close()
	return nil
})
