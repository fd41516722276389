package loadgen

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"time"
)

// Ways of stamping an arrival.
const (
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
	tls     *tls.Config // nil: plain
	clocks  *clocks
	timeout time.Duration
}

func newDialer(base *url.URL, stamps string, insecure bool, timeout time.Duration) (*dialer, error) {
	d := &dialer{clocks: newClocks(), timeout: min(timeout, 10*time.Second)}
	port := base.Port()
	switch base.Scheme {
	case "http":
		if port == "" {
			port = "80"
		}
		d.stamps = StampsKernel
		if !kernelStampsWork() {
			d.stamps = StampsRead
		}
	case "https":
		if port == "" {
			port = "443"
		}
		d.tls = &tls.Config{ServerName: base.Hostname(), InsecureSkipVerify: insecure, NextProtos: []string{"http/1.1"}}
		d.stamps = StampsRead
	default:
		return nil, errors.New("base URL has scheme " + base.Scheme + "; http and https are known")
	}
	switch stamps {
	case "":
	case StampsRead:
		d.stamps = StampsRead
	case StampsKernel:
		if d.tls != nil {
			return nil, errors.New("stamps ktime were asked for, and TLS hides which segment carried what; https takes read")
		}
		if d.stamps != StampsKernel {
			return nil, errors.New("stamps ktime were asked for, and this system has none; it takes read")
		}
	default:
		return nil, errors.New("stamps " + stamps + " are unknown; ktime and read are known")
	}
	d.address = net.JoinHostPort(base.Hostname(), port)
	return d, nil
}

func (d *dialer) dial(ctx context.Context) (*conn, error) {
	nd := net.Dialer{Timeout: d.timeout}
	if d.stamps == StampsKernel {
		nd.Control = askKernelStamps
	}
	nc, err := nd.DialContext(ctx, "tcp", d.address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc, clocks: d.clocks, seen: d.clocks.cur.Load(), dialed: Now()}
	if d.stamps == StampsKernel {
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

// kernelStampsWork tries the socket option on a socket of its own.
func kernelStampsWork() bool {
	lc := net.ListenConfig{Control: askKernelStamps}
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return false
	}
	l.Close()
	return true
}
