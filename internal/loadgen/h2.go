package loadgen

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2 is HTTP/2 as a framing: one connection, one stream at a time. The payload of DATA
// goes into the body as it comes, other frames are read once they are whole.
//
// The server may send without ever waiting for us: all windows are as large as they get
// and are opened again long before they close. Ours it opens as it likes; what does not
// fit yet of a request's body is sent as it does.
type h2 struct {
	framer *http2.Framer // reads in, writes out
	in     bytes.Buffer  // frames that are being read
	out    bytes.Buffer  // frames that are to be written
	enc    *hpack.Encoder
	block  bytes.Buffer

	// The frame under way.
	head   [frameHead]byte
	had    int // bytes of its head
	kind   http2.FrameType
	flags  http2.Flags
	stream uint32
	left   int  // bytes of its payload still to come
	pad    int  // of those, padding at the end
	padded bool // the length of the padding comes first
	inHead bool // a block of headers has not ended

	// What the server allows.
	settled  bool // it has said so
	maxFrame int
	initial  int64 // window of a new stream
	window   int64 // of the connection
	sendable int64 // of the stream

	answer   *answer // of the stream under way; nil when none is
	began    bool    // its head came
	id       uint32  // of that stream, or of the last
	body     []byte  // of its request, not sent yet
	length   int64   // of its answer's body so far
	received int64   // since the connection's window was opened again
	replies  int64   // that the server called for since the request began, beside it
	beside   int64   // bytes since then that are nothing of the answer's body
	over     bool    // the connection can carry no further stream
	broken   error   // what ended it

	fields []hpack.HeaderField // of the last head, and what they make: a server hardly varies it
	header http.Header
}

const (
	frameHead  = 9
	ourFrame   = 16 << 10 // the most that a frame to us may hold
	fullWindow = math.MaxInt32
	reopenAt   = 16 << 20
	// An answer may call for so many replies, and one more for each chunk: each costs us
	// memory while the server does not read them.
	mostReplies = 1024
	// Beside its body an answer may bring so many bytes, and so many more for each chunk,
	// padding among them: the loop reads until nothing more is there.
	mostBeside     = 1 << 20
	besidePerChunk = 512
)

// newH2 begins HTTP/2 on a connection, with the bytes to be written first.
func newH2() (h *h2, hello []byte) {
	h = &h2{maxFrame: 16 << 10, initial: 65535, window: 65535}
	h.framer = http2.NewFramer(&h.out, &h.in)
	h.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	h.framer.MaxHeaderListSize = maxHead
	h.enc = hpack.NewEncoder(&h.block)
	h.out.WriteString(http2.ClientPreface)
	h.framer.WriteSettings(
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: fullWindow},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: maxHead},
	)
	h.framer.WriteWindowUpdate(0, fullWindow-65535)
	return h, h.written()
}

// written hands over what is to be written.
func (h *h2) written() []byte {
	if h.out.Len() == 0 {
		return nil
	}
	b := h.out.Bytes()
	h.out = bytes.Buffer{}
	return b
}

// begin opens a stream.
func (h *h2) begin(q *request, a *answer) []byte {
	head, body, _ := bytes.Cut(q.wire, []byte("\r\n\r\n"))
	h.block.Reset()
	h.encode(string(head))
	if h.id == 0 {
		h.id = 1
	} else {
		h.id += 2
	}
	h.answer, h.began, h.body, h.length, h.replies, h.beside, h.sendable = a, false, body, 0, 0, 0, h.initial
	block := h.block.Bytes()
	first := block[:min(len(block), h.maxFrame)]
	rest := block[len(first):]
	h.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: h.id, BlockFragment: first, EndStream: len(body) == 0, EndHeaders: len(rest) == 0,
	})
	for len(rest) > 0 {
		n := min(len(rest), h.maxFrame)
		h.framer.WriteContinuation(h.id, n == len(rest), rest[:n])
		rest = rest[n:]
	}
	h.pump()
	return h.written()
}

// encode writes a request's head into block.
func (h *h2) encode(head string) {
	lines := strings.Split(head, "\r\n")
	method, target, _ := strings.Cut(lines[0], " ")
	path, _, _ := strings.Cut(target, " ")
	authority := ""
	for _, l := range lines[1:] {
		if k, v, _ := strings.Cut(l, ": "); strings.EqualFold(k, "Host") {
			authority = v
		}
	}
	put := func(k, v string) { h.enc.WriteField(hpack.HeaderField{Name: k, Value: v}) }
	put(":method", method)
	put(":scheme", "https")
	put(":authority", authority)
	put(":path", path)
	for _, l := range lines[1:] {
		k, v, _ := strings.Cut(l, ": ")
		switch k = strings.ToLower(k); k {
		case "host", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
			// of HTTP/1.1 alone
		default:
			put(k, v)
		}
	}
}

// pump frames as much of the request's body as the server's windows allow.
func (h *h2) pump() {
	for len(h.body) > 0 {
		n := int(min(int64(len(h.body)), int64(h.maxFrame), h.window, h.sendable))
		if n <= 0 {
			return
		}
		h.framer.WriteData(h.id, n == len(h.body), h.body[:n])
		h.body = h.body[n:]
		h.window -= int64(n)
		h.sendable -= int64(n)
	}
}

func (h *h2) feed(p []byte, from arrival) ([]byte, error) {
	if h.broken != nil {
		return nil, h.broken
	}
	awaited := h.answer != nil
	if h.broken = h.parse(p, from); h.broken != nil {
		h.over = true
		if awaited && h.answer == nil {
			return nil, nil // what follows a whole answer can't spoil it
		}
	}
	return h.written(), h.broken
}

func (h *h2) whole() bool { return h.answer == nil }

func (h *h2) spent() bool { return h.over }

func (h *h2) ended() string {
	switch {
	case h.answer == nil:
		return ""
	case !h.began:
		return "the server closed the connection without an answer"
	default:
		return "the server closed the connection before the response was whole, after " + strconv.FormatInt(h.length, 10) + " bytes of body"
	}
}

func (h *h2) parse(p []byte, from arrival) error {
	for len(p) > 0 {
		if h.had < frameHead {
			n := copy(h.head[h.had:], p)
			h.had += n
			p = p[n:]
			if h.had < frameHead {
				return nil
			}
			if err := h.frame(); err != nil {
				return err
			}
		} else {
			n := min(h.left, len(p))
			if h.streamed() {
				end := from.end
				if !from.sealed {
					end -= int64(len(p) - n)
				}
				if err := h.data(p[:n], end, from); err != nil {
					return err
				}
			} else {
				h.in.Write(p[:n])
				h.left -= n
			}
			p = p[n:]
		}
		if h.had == frameHead && h.left == 0 {
			h.had = 0
			if err := h.end(); err != nil {
				return err
			}
		}
	}
	return nil
}

// streamed says whether the frame under way is taken as it comes.
func (h *h2) streamed() bool { return h.kind == http2.FrameData && !h.inHead }

// frame looks at a frame's head.
func (h *h2) frame() error {
	h.left = int(h.head[0])<<16 | int(h.head[1])<<8 | int(h.head[2])
	h.kind, h.flags = http2.FrameType(h.head[3]), http2.Flags(h.head[4])
	h.stream = binary.BigEndian.Uint32(h.head[5:]) & math.MaxInt32
	switch {
	case !h.settled && string(h.head[:5]) == "HTTP/":
		return errors.New("HTTP/2 was agreed on, and the server answers in HTTP/1")
	case h.left > ourFrame:
		return errors.New("HTTP/2: a frame of " + strconv.Itoa(h.left) + " bytes came; " + strconv.Itoa(ourFrame) + " were allowed")
	case !h.settled && h.kind != http2.FrameSettings:
		return errors.New("HTTP/2: the server began with " + frameName(h.kind) + ", not with SETTINGS")
	}
	h.beside += frameHead
	if !h.streamed() {
		h.beside += int64(h.left)
	}
	if h.beside > mostBeside+besidePerChunk*h.chunks() {
		return errors.New("HTTP/2: the server sends frames without end that bring nothing of an answer")
	}
	if !h.streamed() {
		if h.in.Len()+frameHead+h.left > maxHead+ourFrame {
			return errors.New("the head of the response passes 64 KiB")
		}
		h.in.Write(h.head[:])
		return nil
	}
	h.padded, h.pad = h.flags.Has(http2.FlagDataPadded), 0
	switch {
	case h.answer == nil || h.stream != h.id:
		return errors.New("HTTP/2: DATA came for stream " + strconv.Itoa(int(h.stream)) + ", on which no answer is awaited")
	case !h.began:
		return errors.New("HTTP/2: DATA came before the answer's headers")
	case h.padded && h.left == 0:
		return errors.New("HTTP/2: DATA says that it is padded, and is empty")
	}
	h.received += int64(h.left)
	if h.received >= reopenAt {
		h.framer.WriteWindowUpdate(0, uint32(h.received))
		h.received = 0
	}
	if !h.padded && h.left > 0 {
		h.answer.chunk(int64(h.left))
	}
	return nil
}

// data takes a part of the payload of DATA, which ended at the raw offset end.
func (h *h2) data(p []byte, end int64, from arrival) error {
	if h.padded && len(p) > 0 {
		h.pad = int(p[0])
		h.beside += int64(1 + h.pad)
		p = p[1:]
		h.left--
		h.padded = false
		if h.pad > h.left {
			return errors.New("HTTP/2: DATA says that it holds more padding than it holds bytes")
		}
		if n := h.left - h.pad; n > 0 {
			h.answer.chunk(int64(n))
		}
	}
	n := min(len(p), max(0, h.left-h.pad))
	h.left -= len(p)
	if n == 0 {
		return nil
	}
	h.length += int64(n)
	if !from.sealed {
		end -= int64(len(p) - n)
	}
	return h.answer.take(p[:n], end, from, true)
}

// end acts on a frame that is whole.
func (h *h2) end() error {
	if h.streamed() {
		if h.flags.Has(http2.FlagDataEndStream) {
			return h.finish()
		}
		return nil
	}
	switch h.kind {
	case http2.FrameHeaders, http2.FrameContinuation:
		h.inHead = !h.flags.Has(http2.FlagHeadersEndHeaders)
		if h.inHead {
			return nil // the rest of the block follows
		}
	}
	// The reader is asked for one frame: a block of headers counts as one.
	f, err := h.framer.ReadFrame()
	h.in.Reset()
	if err != nil {
		return h.unreadable(err)
	}
	return h.act(f)
}

func (h *h2) unreadable(err error) error {
	if d := h.framer.ErrorDetail(); d != nil {
		err = d
	}
	said := strings.TrimPrefix(err.Error(), "connection error: ")
	return errors.New("HTTP/2: " + frameName(h.kind) + " could not be read: " + quoted(said, 120))
}

func (h *h2) act(f http2.Frame) error {
	switch f := f.(type) {
	case *http2.SettingsFrame:
		return h.settings(f)
	case *http2.PingFrame:
		if !f.IsAck() {
			h.framer.WritePing(true, f.Data)
			return h.replied()
		}
	case *http2.WindowUpdateFrame:
		w := &h.window
		if f.StreamID != 0 {
			if w = &h.sendable; f.StreamID != h.id {
				return nil
			}
		}
		if *w += int64(f.Increment); *w > fullWindow {
			return errors.New("HTTP/2: the server opened a window beyond 2147483647 bytes")
		}
		h.pump()
	case *http2.MetaHeadersFrame:
		return h.headers(f)
	case *http2.RSTStreamFrame:
		if h.answer != nil && f.StreamID == h.id {
			return errors.New("the server reset the stream: " + codeWords(f.ErrCode))
		}
	case *http2.GoAwayFrame:
		return h.goAway(f)
	case *http2.PushPromiseFrame:
		return errors.New("HTTP/2: the server pushes, which it was told not to")
	}
	return nil
}

func (h *h2) settings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		if !h.settled {
			return errors.New("HTTP/2: the server began with an acknowledgement, not with its SETTINGS")
		}
		return nil
	}
	err := f.ForeachSetting(func(s http2.Setting) error {
		if s.Valid() != nil {
			return errors.New("HTTP/2: the server sets " + s.String() + ", which is not allowed")
		}
		switch s.ID {
		case http2.SettingHeaderTableSize:
			h.enc.SetMaxDynamicTableSizeLimit(min(s.Val, 4096))
		case http2.SettingMaxFrameSize:
			h.maxFrame = int(min(s.Val, 1<<20))
		case http2.SettingInitialWindowSize:
			h.sendable += int64(s.Val) - h.initial
			h.initial = int64(s.Val)
			if h.sendable > fullWindow {
				return errors.New("HTTP/2: the server opened a window beyond 2147483647 bytes")
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	h.settled = true
	h.framer.WriteSettingsAck()
	h.pump()
	return h.replied()
}

// chunks are those of the answer under way.
func (h *h2) chunks() int64 {
	if h.answer == nil {
		return 0
	}
	return h.answer.chunks
}

// replied counts a reply.
func (h *h2) replied() error {
	if h.replies++; h.replies > mostReplies+h.chunks() {
		return errors.New("HTTP/2: the server asks for replies without end: " + strconv.FormatInt(h.replies, 10) + " so far")
	}
	return nil
}

// headers takes the head of the answer, of an interim one, or its trailer.
func (h *h2) headers(f *http2.MetaHeadersFrame) error {
	switch {
	case h.answer == nil || f.StreamID != h.id:
		return errors.New("HTTP/2: HEADERS came for stream " + strconv.Itoa(int(f.StreamID)) + ", on which no answer is awaited")
	case f.Truncated:
		return errors.New("the head of the response passes 64 KiB")
	case h.began:
		if !f.StreamEnded() {
			return errors.New("HTTP/2: a second head came inside the answer")
		}
		return h.finish()
	}
	status, err := strconv.Atoi(f.PseudoValue("status"))
	if err != nil || status < 100 || status > 999 || status == 101 {
		return errors.New("HTTP/2: the answer's status is " + quoted(f.PseudoValue("status"), 40))
	}
	if status < 200 {
		if f.StreamEnded() {
			return errors.New("HTTP/2: the answer ended with an interim status, " + strconv.Itoa(status))
		}
		return h.replied() // costs nothing, and must end as well
	}
	size := 0
	for _, field := range f.Fields {
		size += len(field.Name) + len(field.Value) + 4
	}
	if !slices.Equal(f.Fields, h.fields) {
		h.fields, h.header = f.Fields, make(http.Header, len(f.Fields))
		for _, field := range f.RegularFields() {
			h.header.Add(field.Name, field.Value)
		}
	}
	h.answer.begin(status, h.header, size)
	h.began = true
	if err := identity(h.header); err != nil {
		return err
	}
	if f.StreamEnded() {
		return h.finish()
	}
	return nil
}

// finish says that the answer is whole.
func (h *h2) finish() error {
	a := h.answer
	if said := a.header.Get("Content-Length"); said != "" && said != strconv.FormatInt(h.length, 10) && a.status != 304 {
		return errors.New("the answer has " + strconv.FormatInt(h.length, 10) + " bytes, and said it had " + quoted(said, 40))
	}
	h.over = h.over || len(h.body) > 0 // it answered what it had not read to its end
	h.answer, h.body = nil, nil
	return nil
}

// goAway notes that the server takes no more streams.
func (h *h2) goAway(f *http2.GoAwayFrame) error {
	h.over = true
	said := ""
	if d := f.DebugData(); len(d) > 0 {
		said = ", saying " + quoted(string(d), 80)
	}
	switch {
	case h.answer == nil:
		return nil
	case f.LastStreamID < h.id:
		return notBegun{"the server ended the connection before it began the request: " + codeWords(f.ErrCode) + said}
	case f.ErrCode != http2.ErrCodeNo:
		return errors.New("the server ended the connection inside the answer: " + codeWords(f.ErrCode) + said)
	}
	return nil
}

// notBegun is the server's word that it did nothing about a request.
type notBegun struct{ said string }

func (e notBegun) Error() string { return e.said }

func frameName(k http2.FrameType) string {
	if k > http2.FrameContinuation {
		return "a frame of unknown type " + strconv.Itoa(int(k))
	}
	return k.String()
}

// codeWords puts an HTTP/2 error code in words.
func codeWords(c http2.ErrCode) string {
	var means string
	switch c {
	case http2.ErrCodeNo:
		means = "no error"
	case http2.ErrCodeInternal:
		means = "an error of its own"
	case http2.ErrCodeRefusedStream:
		means = "it did not begin the request"
	case http2.ErrCodeCancel:
		means = "it no longer wants the request"
	case http2.ErrCodeEnhanceYourCalm:
		means = "too much was asked of it"
	case http2.ErrCodeHTTP11Required:
		means = "it wants HTTP/1.1"
	case http2.ErrCodeFlowControl, http2.ErrCodeProtocol, http2.ErrCodeFrameSize, http2.ErrCodeCompression, http2.ErrCodeStreamClosed, http2.ErrCodeSettingsTimeout:
		means = "it found our HTTP/2 at fault"
	default:
		return c.String()
	}
	return means + " (" + c.String() + ")"
}

// identity refuses a content coding.
func identity(h http.Header) error {
	if c := h.Get("Content-Encoding"); c != "" && !strings.EqualFold(c, "identity") {
		return errors.New("the answer is in content coding " + quoted(c, 40) + ", which was not asked for")
	}
	return nil
}

// greet begins HTTP/2 on a connection whose other end agreed to it, and waits until that
// one has said what it allows.
func greet(s *sealed) (*h2, error) {
	h, hello := newH2()
	for p := make([]byte, 4<<10); ; {
		if _, err := s.tls.Write(hello); err != nil {
			return nil, errors.New("HTTP/2: " + words(err))
		}
		if h.settled {
			return h, nil
		}
		n, from, err := s.read(p)
		if err == io.EOF || errors.Is(err, syscall.ECONNRESET) {
			return nil, errors.New("HTTP/2: the server closed the connection before its SETTINGS")
		}
		if err != nil {
			return nil, err
		}
		if hello, err = h.feed(p[:n], from); err != nil {
			return nil, err
		}
	}
}
