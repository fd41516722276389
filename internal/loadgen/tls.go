package loadgen

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// sealed is TLS as a transport over another. Each read is of one record, and says at
// which raw offset that record ended: what it carries can be read once it is whole, so
// all of it came when its last byte did.
type sealed struct {
	tls   *tls.Conn
	under *records
	taken int // bytes offered to write that are on their way below
}

// shakeHands begins TLS on a connection, and waits for it.
func shakeHands(ctx context.Context, c net.Conn, config *tls.Config, limit time.Duration) (*sealed, error) {
	under := &records{Conn: c, at: Unstamped}
	s := &sealed{tls: tls.Client(under, config), under: under}
	hctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := s.tls.HandshakeContext(hctx); err != nil {
		if ctx.Err() == nil && hctx.Err() != nil {
			return nil, errors.New("TLS: no handshake within " + limit.String())
		}
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
			return nil, errors.New("TLS: the server closed the connection inside the handshake")
		}
		said := TLSTrouble(err)
		if said == "" {
			said = words(err)
		}
		return nil, errors.New("TLS: " + said)
	}
	return s, nil
}

// over says that from now on t moves the raw bytes, and nothing waits any more.
func (s *sealed) over(t transport) { s.under.lower = t }

// got is how many raw bytes came so far.
func (s *sealed) got() int64 { return s.under.base + int64(len(s.under.buf)) }

// speaks names the protocol that both ends agreed on, "" where they did not.
func (s *sealed) speaks() string { return s.tls.ConnectionState().NegotiatedProtocol }

// version is that of TLS.
func (s *sealed) version() string {
	if s.tls.ConnectionState().Version == tls.VersionTLS13 {
		return "1.3"
	}
	return "1.2"
}

func (s *sealed) read(p []byte) (int, arrival, error) {
	if err := s.flush(); err != nil && err != errAgain {
		return 0, arrival{}, err
	}
	s.under.scratch = p // nothing is put there before a record is whole
	n, err := s.tls.Read(p)
	s.under.scratch = nil
	switch {
	case n > 0:
		return n, s.under.arrival(), nil
	case err == nil || err == errAgain || err == io.EOF:
		return 0, arrival{}, err
	case s.under.failed != nil:
		return 0, arrival{}, s.under.failed
	}
	return 0, arrival{}, errors.New("TLS: " + words(err))
}

// write seals a record's worth and says that it was taken when all of it was.
func (s *sealed) write(p []byte) (int, error) {
	if err := s.flush(); err != nil {
		return 0, err
	}
	if s.taken == 0 {
		n := min(len(p), 16<<10)
		if _, err := s.tls.Write(p[:n]); err != nil {
			return 0, errors.New("TLS: " + words(err))
		}
		s.taken = n
		if err := s.flush(); err != nil {
			return 0, err
		}
	}
	n := s.taken
	s.taken = 0
	return n, nil
}

// flush moves sealed bytes down.
func (s *sealed) flush() error {
	r := s.under
	for len(r.out) > 0 {
		n, err := r.lower.write(r.out)
		r.out = r.out[n:]
		if err != nil {
			return err
		}
	}
	r.out = r.out[:0]
	return nil
}

func (s *sealed) Close() error { return s.under.Close() }

// records hands crypto/tls whole records, and never a byte of the one behind, so that
// what it decrypts is always of the record that was handed over last.
type records struct {
	net.Conn           // during the handshake
	lower    transport // after it
	scratch  []byte
	buf      []byte // raw bytes, from offset base of the connection
	base     int64
	given    int   // bytes of buf that were handed over
	whole    int   // end in buf of the record that is being handed over
	at       int64 // the stamp of the read that buf ends with
	failed   error // what the transport failed with
	out      []byte
}

const (
	recordHead = 5
	maxRecord  = recordHead + 16384 + 2048
)

// arrival says how the last record came.
func (r *records) arrival() arrival {
	return arrival{end: r.base + int64(r.whole), sealed: true, at: r.at, behind: len(r.buf) > r.whole}
}

// Read is called by crypto/tls alone.
func (r *records) Read(p []byte) (int, error) {
	for r.given == r.whole && !r.nextRecord() {
		if err := r.more(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.buf[r.given:r.whole])
	r.given += n
	return n, nil
}

// nextRecord looks for a whole record behind what was handed over.
func (r *records) nextRecord() bool {
	rest := r.buf[r.given:]
	if len(rest) < recordHead {
		return false
	}
	n := recordHead + int(binary.BigEndian.Uint16(rest[3:]))
	if n > maxRecord {
		n = recordHead // no TLS: its head is enough to be refused by
	}
	if len(rest) < n {
		return false
	}
	r.whole = r.given + n
	return true
}

// more takes in what the connection brings, and lets go of what was handed over.
func (r *records) more() error {
	if r.given > 0 {
		n := copy(r.buf, r.buf[r.given:])
		r.buf = r.buf[:n]
		r.base += int64(r.given)
		r.whole, r.given = 0, 0
	}
	var n int
	var err error
	from := arrival{at: Unstamped}
	p := r.scratch
	if r.lower == nil {
		p = make([]byte, 4<<10)
		n, err = r.Conn.Read(p)
	} else {
		n, from, err = r.lower.read(p)
	}
	if n > 0 {
		r.buf = append(r.buf, p[:n]...)
		r.at = from.at
	}
	switch {
	case err == io.EOF && len(r.buf) > 0:
		err = errors.New("the server closed the connection inside a TLS record")
		r.failed = err
	case err != nil && err != errAgain && err != io.EOF:
		r.failed = err
	}
	return err
}

// Write is called by crypto/tls alone. After the handshake it only gathers: TLS could
// not go on after half a record.
func (r *records) Write(p []byte) (int, error) {
	if r.lower == nil {
		return r.Conn.Write(p)
	}
	r.out = append(r.out, p...)
	return len(p), nil
}

func (r *records) Close() error {
	if r.lower != nil {
		return r.lower.Close()
	}
	return r.Conn.Close()
}

// TLSTrouble says what is wrong with a server's certificate, or with its TLS, and what
// would help; "" where that is not what err is about.
func TLSTrouble(err error) string {
	const unchecked = "; --insecure measures without checking it"
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var head tls.RecordHeaderError
	switch {
	case errors.As(err, &authority):
		return "the server's certificate is of an authority that this host does not know; SSL_CERT_FILE names a file of authorities, --insecure measures without checking"
	case errors.As(err, &name):
		return "the server's certificate is for another name: " + clip(name.Error(), 200) + unchecked
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the server's certificate is not valid now (" + clip(invalid.Detail, 120) + ")" + unchecked
	case errors.As(err, &invalid):
		return "the server's certificate is not good: " + clip(invalid.Error(), 200) + unchecked
	case errors.As(err, &head):
		return "the server does not speak TLS at this port: it began with " + strconv.QuoteToASCII(string(head.RecordHeader[:])) + "; an http:// base URL speaks without"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "the server does not speak TLS at this port; an http:// base URL speaks without"
	}
	return ""
}
