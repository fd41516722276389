package loadgen

import (
	"errors"
	"io"
)

// A connection has three layers, none of which ever waits. One thread, the loop, owns
// all connections and drives them.
//
//	transport  moves bytes: a socket, or TLS over one
//	framing    speaks one protocol, one request at a time: HTTP/1.1, or HTTP/2
//	answer     keeps the body and which raw byte each stretch of it ended with
//
// Raw offsets count what the socket brought since it was connected, the handshake of
// TLS included: the stamps of a packet ring are joined on them.

// transport moves one connection's bytes.
type transport interface {
	// read takes what is there, and says how it came; of TLS at most one record a call.
	// errAgain says that nothing is there now, io.EOF that the other side has ended.
	read(p []byte) (n int, from arrival, err error)
	// write takes as many bytes as there is room for, errAgain when there is none; what it
	// did not take is to be offered again, and more may follow it.
	write(p []byte) (n int, err error)
	io.Closer
}

// arrival says how bytes came that a framing is fed with.
type arrival struct {
	end    int64 // the raw offset that the last of them ended at
	sealed bool  // a record of TLS: none of them could be read before its last raw byte came
	at     int64 // the read's own stamp, in ns of CLOCK_MONOTONIC, or Unstamped
	behind bool  // the read brought more, maybe in a later segment: at may be late for these
}

// errAgain is of a transport that has nothing or no room now. It is temporary, so that a
// crypto/tls connection over one can be read again after it.
var errAgain error = again{}

type again struct{}

func (again) Error() string   { return "nothing more now" }
func (again) Timeout() bool   { return true }
func (again) Temporary() bool { return true }

// framing speaks one protocol on one connection. It does no I/O.
type framing interface {
	// begin starts a request and returns what is to be written; the answer goes to a. The
	// one before it has ended, and the connection is not spent.
	begin(q *request, a *answer) []byte
	// feed takes bytes that came, in order, also while no request is under way, and
	// returns what is to be written in turn (an acknowledgement, room in a window, more of
	// the request). An error ends the request and the connection, in words for the outcome.
	feed(p []byte, from arrival) (reply []byte, err error)
	// whole says whether the answer is.
	whole() bool
	// ended says what the end of the connection means at this point: "" where it made
	// the answer whole.
	ended() string
	// spent says whether the connection can carry no further request.
	spent() bool
}

var errUnasked = errors.New("the server sent bytes that nobody asked for")
