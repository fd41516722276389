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
	"syscall"
	"time"
)

// Ways of stamping an arrival.
const (
	StampsRing   = "ring"  // a packet ring's stamp of the segment, whatever the client was doing
	StampsKernel = "ktime" // the kernel's receive stamp of the segment
	StampsRead   = "read"  // the time at which the loop read
)

// conn is one connection.
type conn struct {
	transport transport
	framing   framing
	socket    *socket // beneath the transport, or the transport itself
	dialed    int64   // when it was opened
	address   string  // the other end's
	port      uint16  // our end's
	watched   uint32  // what the poller watches
}

// plain says that the socket carries the protocol itself.
func (c *conn) plain() bool { return c.transport == transport(c.socket) }

// dialer opens connections to one server, by one kind of stamp. Proxies are not used:
// what is measured is the server.
type dialer struct {
	address string // as resolved by the first success
	others  int    // addresses beside it that the server's name has
	speaks  string // what the first success speaks; "" is HTTP/1.1 without TLS
	stamps  string
	noRing  string      // why there is none, where one was wanted
	tls     *tls.Config // nil: plain
	clocks  *clocks
	timeout time.Duration
}

// newDialer settles which stamps the run has; a ring is taken where they are to come
// from one.
func newDialer(s *Spec) (*dialer, *ring, error) {
	d := &dialer{timeout: min(s.Timeout, s.Connect), stamps: StampsRead}
	host, number, err := addressOf(s.Base)
	if err != nil {
		return nil, nil, err
	}
	d.address = net.JoinHostPort(host, strconv.Itoa(int(number)))
	if s.Base.Scheme == "https" {
		d.tls = &tls.Config{
			ServerName: hostOf(s.Base), InsecureSkipVerify: s.Insecure, NextProtos: []string{"h2", "http/1.1"},
			DynamicRecordSizingDisabled: true, // a request is one record, or a few
		}
	}
	ring, err := d.settle(s.Stamps, number, s.RingBlocks)
	if err != nil {
		return nil, nil, err
	}
	if ring != nil {
		d.clocks = ring.clocks
	} else {
		d.clocks = newClocks()
	}
	return d, ring, nil
}

func addressOf(base *url.URL) (host string, port uint16, err error) {
	text := base.Port()
	switch base.Scheme {
	case "http":
		text = cmp.Or(text, "80")
	case "https":
		text = cmp.Or(text, "443")
	default:
		return "", 0, errors.New("base URL has scheme " + base.Scheme + "; http and https are known")
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, errors.New("base URL has port " + text + "; it takes 1 to 65535")
	}
	return base.Hostname(), uint16(number), nil
}

// StampsLack says why the stamps that are asked for are not to be had here, or nil; "" asks
// for the best there are.
func StampsLack(stamps string) error {
	if stamps == "" {
		return nil
	}
	r, err := (&dialer{}).settle(stamps, 0, 0)
	if r != nil {
		r.giveBack()
	}
	return err
}

// settle takes the stamps that were asked for, or the best there are.
func (d *dialer) settle(stamps string, port uint16, blocks int) (*ring, error) {
	switch stamps {
	case "", StampsRing, StampsKernel, StampsRead:
	default:
		return nil, errors.New("stamps " + stamps + " are unknown; ring, ktime and read are known")
	}
	if stamps == StampsRead {
		return nil, nil
	}
	if !kernelStampsWork() {
		if stamps == "" {
			return nil, nil
		}
		return nil, errors.New("stamps " + stamps + " were asked for, and this system has none; it takes read")
	}
	d.stamps = StampsKernel
	if stamps == StampsKernel {
		return nil, nil
	}
	r, err := takeRing(port, blocks)
	switch {
	case err == nil:
		d.stamps = StampsRing
	case stamps == StampsRing:
		return nil, errors.New("stamps ring were asked for: " + err.Error() + "; a ring needs CAP_NET_RAW (setcap cap_net_raw+ep on this program), and without it ktime is the best")
	default:
		d.noRing = err.Error()
	}
	return r, nil
}

func (d *dialer) dial(ctx context.Context) (*conn, error) {
	var prepare func(string, string, syscall.RawConn) error
	if d.stamps == StampsKernel {
		prepare = askKernelStamps
	}
	nc, err := connect(ctx, d.address, d.timeout, prepare)
	if err != nil {
		return nil, err
	}
	c := &conn{framing: new(http1), dialed: Now(), address: nc.RemoteAddr().String()}
	if a, ok := nc.LocalAddr().(*net.TCPAddr); ok {
		c.port = uint16(a.Port)
	}
	if d.tls == nil {
		if c.socket, err = detach(nc, 0, d); err != nil {
			nc.Close()
			return nil, err
		}
		c.transport = c.socket
		return c, nil
	}
	over, speaks, err := d.secure(ctx, nc)
	if err == nil {
		c.socket, err = detach(nc, over.got(), d)
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	over.over(c.socket)
	c.transport, c.framing = over, speaks
	return c, nil
}

// kernelStampsWork says whether the kernel stamps what arrives.
func kernelStampsWork() bool { return stamping() != nil }

// stamping switches the kernel's stamping on and keeps it so: it begins a little after
// the first socket asks for it, and ends with the last. So the socket on which it is
// tried stays open for good; nil when no stamp came.
var stamping = sync.OnceValue(func() *socket {
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
	s, err := detach(near, 0, &dialer{stamps: StampsKernel, clocks: newClocks()})
	if err != nil {
		near.Close()
		return nil
	}
	buf := make([]byte, 1)
	for range 500 {
		if _, err := far.Write(buf); err != nil {
			break
		}
		n, from, err := s.read(buf)
		if n > 0 && from.at != Unstamped {
			return s
		}
		if err != nil && err != errAgain {
			break
		}
		time.Sleep(time.Millisecond)
	}
	s.Close()
	return nil
})
