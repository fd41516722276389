package loadgen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// connect opens a connection to an address, and says in words what kept it from that.
func connect(ctx context.Context, address string, limit time.Duration, prepare func(network, address string, rc syscall.RawConn) error) (net.Conn, error) {
	d := net.Dialer{Timeout: limit, Control: prepare}
	c, err := d.DialContext(ctx, "tcp", address)
	if err == nil {
		return c, nil
	}
	host, _, _ := net.SplitHostPort(address)
	var unresolved *net.DNSError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &unresolved) && unresolved.IsNotFound:
		return nil, errors.New("connect: no address is known for " + host)
	case errors.As(err, &unresolved):
		return nil, errors.New("connect: the address of " + host + " could not be found out: " + unresolved.Err)
	}
	said := words(err)
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		said = "connect: no connection within " + limit.String()
	}
	if all := addressesOf(ctx, host); len(all) > 1 {
		said += fmt.Sprintf(" (%s has %d addresses, and none takes one: %s)", host, len(all), strings.Join(all, " "))
	}
	return nil, errors.New(said)
}

// addressesOf are those that a name resolves to; none where it is no name.
func addressesOf(ctx context.Context, host string) []string {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	var text []string
	for _, a := range all {
		text = append(text, a.Unmap().String())
	}
	slices.Sort(text)
	return slices.Compact(text)
}

// settled has every further connection go to where the first went.
func (d *dialer) settled(ctx context.Context, first *conn) {
	host, _, _ := net.SplitHostPort(d.address)
	if all := addressesOf(ctx, host); len(all) > 1 && !loopback(first.address) {
		d.others = len(all) - 1
	}
	d.address, d.speaks = first.address, first.named()
}

// loopback says whether an address is of this host alone.
func loopback(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err == nil && a.Addr().Unmap().IsLoopback()
}

// secure begins TLS on a connection, and the protocol that both ends agree on.
func (d *dialer) secure(ctx context.Context, c net.Conn) (*sealed, framing, error) {
	s, err := shakeHands(ctx, c, d.tls, d.timeout)
	if err != nil {
		return nil, nil, err
	}
	if s.speaks() != "h2" {
		return s, new(http1), nil
	}
	c.SetDeadline(time.Now().Add(d.timeout))
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	h, err := greet(s)
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		err = errors.New("HTTP/2: no SETTINGS of the server within " + d.timeout.String())
	}
	return s, h, err
}

// named is what a row's notes call what a connection speaks; "" where it is the plain
// HTTP/1.1 that is always spoken.
func (c *conn) named() string {
	s, ok := c.transport.(*sealed)
	if !ok {
		return ""
	}
	version := "HTTP/1.1"
	if _, ok := c.framing.(*h2); ok {
		version = "HTTP/2"
	}
	return version + " over TLS " + s.version()
}

// hostOf is how requests and certificates name the server: without the zone of an IPv6
// address, which means something on this host alone.
func hostOf(base *url.URL) string {
	host, _, _ := strings.Cut(base.Hostname(), "%")
	return host
}

// authorityOf is the same with the port where there is one, IPv6 in brackets.
func authorityOf(base *url.URL) string {
	host := hostOf(base)
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if p := base.Port(); p != "" {
		host += ":" + p
	}
	return host
}
