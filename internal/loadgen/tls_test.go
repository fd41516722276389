package loadgen

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// waiting is a transport over a real socket that waits for what it is asked for, unless
// it is told to take at most so many bytes a call and to have nothing every other time.
type waiting struct {
	net.Conn
	most  int
	empty bool
}

func (w *waiting) crumb(p []byte) ([]byte, error) {
	if w.most == 0 {
		return p, nil
	}
	if w.empty = !w.empty; w.empty {
		return nil, errAgain
	}
	return p[:min(len(p), w.most)], nil
}

func (w *waiting) read(p []byte) (int, arrival, error) {
	p, err := w.crumb(p)
	if err != nil {
		return 0, arrival{}, err
	}
	n, err := w.Conn.Read(p)
	return n, arrival{at: Now()}, err
}

func (w *waiting) write(p []byte) (int, error) {
	p, err := w.crumb(p)
	if err != nil {
		return 0, err
	}
	return w.Conn.Write(p)
}

// counted counts the raw bytes that a server wrote.
type counted struct {
	net.Conn
	wrote int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.wrote += int64(n)
	return n, err
}

// testCertificates are a server's certificate, good for 127.0.0.1, ::1 and example.com,
// and what trusts it.
func testCertificates(t testing.TB) (server, client *tls.Config) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates}, &tls.Config{RootCAs: pool, ServerName: "example.com"}
}

// tcp is a connection over loopback, both ends.
func tcp(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if near, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

// sealedPair is TLS over loopback: our end, the server's, and its count of raw bytes.
func sealedPair(t *testing.T, version uint16) (*sealed, *tls.Conn, *counted) {
	t.Helper()
	ours, theirs := testCertificates(t)
	near, far := tcp(t)
	raw := &counted{Conn: far}
	ours.MaxVersion = version
	server := tls.Server(raw, ours)
	shaken := make(chan error, 1)
	go func() { shaken <- server.Handshake() }()
	s, err := shakeHands(context.Background(), near, theirs, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-shaken; err != nil {
		t.Fatal(err)
	}
	s.over(&waiting{Conn: near})
	return s, server, raw
}

// Each read is of one record and tells where it ended, however the raw bytes come.
func TestEachRecordKnowsWhereItEnded(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, most := range []int{0, 1, 7, 100} {
			s, server, raw := sealedPair(t, version)
			type sent struct {
				text string
				end  int64
			}
			var all []sent
			for _, text := range []string{"a", "token 2", strings.Repeat("x", 9000), "token 4"} {
				server.SetWriteDeadline(time.Now().Add(10 * time.Second))
				if _, err := io.WriteString(server, text); err != nil {
					t.Fatal(err)
				}
				all = append(all, sent{text, raw.wrote})
			}
			raw.Conn.(*net.TCPConn).CloseWrite()
			s.under.lower.(*waiting).most = most
			p := make([]byte, 4<<10)
			came, ends := "", []int64{}
			var last arrival
			for {
				n, from, err := s.read(p)
				if err == errAgain {
					continue
				}
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if !from.sealed || from.end < last.end || from.at == Unstamped {
					t.Fatalf("%+v after %+v", from, last)
				}
				last = from
				came += string(p[:n])
				ends = append(ends, from.end)
				if len(came) == len(all[0].text) && from.end != all[0].end {
					t.Errorf("%d a read: the first record ended at %d, want %d", most, from.end, all[0].end)
				}
			}
			want := ""
			for _, a := range all {
				want += a.text
			}
			if came != want {
				t.Fatalf("%d bytes came, want %d", len(came), len(want))
			}
			if last.end != all[3].end || last.behind || ends[len(ends)-1] == ends[len(ends)-2] {
				t.Errorf("version %x, %d a read: records ended at %v, the last at %d, want %d", version, most, ends, last.end, all[3].end)
			}
			if s.got() != raw.wrote {
				t.Errorf("%d raw bytes counted of %d", s.got(), raw.wrote)
			}
		}
	}
}

// What came behind a record in the same read may have come later.
func TestRecordsInOneReadSayThatMoreCame(t *testing.T) {
	s, server, raw := sealedPair(t, tls.VersionTLS13)
	for range 3 {
		io.WriteString(server, "x")
	}
	s.under.lower = &gathered{raw.wrote - s.got(), s.under.lower.(*waiting).Conn}
	p := make([]byte, 16<<10)
	for i := range 3 {
		n, from, err := s.read(p)
		if n != 1 || err != nil || from.behind != (i < 2) {
			t.Errorf("record %d: %d bytes, %+v, %v", i, n, from, err)
		}
	}
}

// gathered is a transport that waits for so many bytes, and gives them in one read.
type gathered struct {
	n int64
	net.Conn
}

func (g *gathered) read(p []byte) (int, arrival, error) {
	n, err := io.ReadFull(g.Conn, p[:g.n])
	return n, arrival{at: Now()}, err
}

func (g *gathered) write(p []byte) (int, error) { return g.Conn.Write(p) }

// A record whose segments come apart has the stamp of the last.
func TestRecordInTwoSegmentsIsStampedByTheSecond(t *testing.T) {
	s, server, raw := sealedPair(t, tls.VersionTLS13)
	socket := raw.Conn
	var held bytes.Buffer
	raw.Conn = writeTo{socket, &held}
	io.WriteString(server, "a token")
	half := held.Len() / 2
	socket.Write(held.Next(half))
	near := &waiting{Conn: s.under.lower.(*waiting).Conn}
	p := make([]byte, 16<<10)
	s.under.lower = once{near, half}
	if n, _, err := s.read(p); n != 0 || err != errAgain {
		t.Fatalf("half a record gave %d bytes, %v", n, err)
	}
	before := Now()
	socket.Write(held.Bytes())
	s.under.lower = near
	n, from, err := s.read(p)
	if string(p[:n]) != "a token" || err != nil || from.at < before || from.end != raw.wrote {
		t.Errorf("%q, %+v, %v; the second half left after %d", p[:n], from, err, before)
	}
}

type writeTo struct {
	net.Conn
	w io.Writer
}

func (w writeTo) Write(p []byte) (int, error) { return w.w.Write(p) }

// once is a transport that gives n bytes and then nothing.
type once struct {
	*waiting
	n int
}

func (o once) read(p []byte) (int, arrival, error) {
	if o.Conn == nil || o.empty {
		return 0, arrival{}, errAgain
	}
	o.empty = true
	n, err := io.ReadFull(o.Conn, p[:o.n])
	return n, arrival{at: Now()}, err
}

// Writing goes on where there was no room, and loses nothing.
func TestSealedWritesThroughANarrowSocket(t *testing.T) {
	s, server, _ := sealedPair(t, tls.VersionTLS13)
	s.under.lower.(*waiting).most = 1000
	want := bytes.Repeat([]byte("request "), 8<<10)
	came := make(chan []byte)
	go func() {
		b := make([]byte, len(want))
		io.ReadFull(server, b)
		came <- b
	}()
	again := 0
	for p := want; len(p) > 0; {
		n, err := s.write(p)
		if err != nil && err != errAgain {
			t.Fatal(err)
		}
		if err == errAgain {
			again++
		}
		p = p[n:]
	}
	if !bytes.Equal(<-came, want) || again == 0 {
		t.Errorf("something was lost, or there was room always (%d)", again)
	}
}

func TestEndsOfTLS(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(server *tls.Conn, raw *counted)
		want string
	}{
		"with its word":    {func(s *tls.Conn, _ *counted) { s.Close() }, "EOF"},
		"without":          {func(_ *tls.Conn, r *counted) { r.Close() }, "EOF"},
		"inside a record":  {func(_ *tls.Conn, r *counted) { r.Write([]byte{23, 3, 3, 0, 100, 1}); r.Close() }, "inside a TLS record"},
		"in no record":     {func(_ *tls.Conn, r *counted) { r.Write([]byte("HTTP/1.1 400 Bad Request\r\n")) }, "TLS: "},
		"an endless one":   {func(_ *tls.Conn, r *counted) { r.Write([]byte{23, 3, 3, 255, 255, 1}) }, "oversized record"},
		"a forged one":     {func(_ *tls.Conn, r *counted) { r.Write([]byte{23, 3, 3, 0, 20, 19: 1, 24: 1}) }, "bad record MAC"},
		"an alert of ours": {func(_ *tls.Conn, r *counted) { r.Write([]byte{21, 3, 3, 0, 2, 2, 40}) }, "TLS: "},
	} {
		s, server, raw := sealedPair(t, tls.VersionTLS13)
		c.end(server, raw)
		n, _, err := s.read(make([]byte, 16<<10))
		if n != 0 || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d bytes, %v, want %q", name, n, err, c.want)
		}
	}
}

func TestHandshakesThatFailSayWhy(t *testing.T) {
	server, trusting := testCertificates(t)
	serve := func(c net.Conn) { tls.Server(c, server).Handshake() }
	later := trusting.Clone()
	later.Time = func() time.Time { return time.Now().AddDate(200, 0, 0) }
	other := trusting.Clone()
	other.ServerName = "other.example"
	for name, c := range map[string]struct {
		serve  func(net.Conn)
		config *tls.Config
		want   []string
	}{
		"an unknown authority": {serve, &tls.Config{ServerName: "example.com"}, []string{"authority that this host does not know", "--insecure", "SSL_CERT_FILE"}},
		"another name":         {serve, other, []string{"another name", "other.example", "--insecure"}},
		"expired":              {serve, later, []string{"not valid now", "--insecure"}},
		"plain HTTP": {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }, trusting,
			[]string{"does not speak TLS at this port", "http://"}},
		"silence": {func(c net.Conn) { io.Copy(io.Discard, c) }, trusting, []string{"no handshake within 200ms"}},
		"hung up": {func(c net.Conn) { c.Close() }, trusting, []string{"closed the connection inside the handshake"}},
	} {
		near, far := tcp(t)
		go c.serve(far)
		limit := 10 * time.Second
		if name == "silence" {
			limit = 200 * time.Millisecond
		}
		_, err := shakeHands(context.Background(), near, c.config, limit)
		if err == nil {
			t.Errorf("%s was accepted", name)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, err, want)
			}
		}
	}
}
