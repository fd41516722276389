package loadgen

import (
	"reflect"
	"strings"
	"testing"
)

// fed is a response with its answer.
type fed struct {
	http1
	answer
}

func newFed() *fed {
	r := new(fed)
	r.begin(&request{}, &r.answer)
	return r
}

func (r *fed) begin(q *request, a *answer) { r.http1.begin(q, a) }

func (r *fed) stamps() []Stamp { return stampsOf(pieces(r.marks.packed)) }

// feedAll feeds raw in reads of n bytes, the i-th of them stamped i.
func feedAll(t *testing.T, raw string, n int) (*fed, error) {
	t.Helper()
	r := newFed()
	got := int64(0)
	for i := int64(0); len(raw) > 0 && !r.whole(); i++ {
		k := min(n, len(raw))
		got += int64(k)
		if _, err := r.feed([]byte(raw[:k]), arrival{end: got, at: i}); err != nil {
			return r, err
		}
		raw = raw[k:]
	}
	return r, nil
}

var responses = []struct{ name, raw, body string }{
	{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\n\r\n", "hello!"},
	{"chunked with a trailer", "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n", "0123456789"},
	{"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello"},
	{"line feeds alone", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", "hi"},
	{"an interim response first", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi"},
	{"two interim responses first", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi"},
	{"a length said twice", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi", "hi"},
	{"chunks with line feeds alone", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2 ; a=\"b\"\nhi\n0\n\n", "hi"},
	{"chunks and a length", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", "hi"},
	{"empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""},
}

func TestResponsesInReadsOfAnySize(t *testing.T) {
	for _, c := range responses {
		for n := 1; n <= len(c.raw); n++ {
			r, err := feedAll(t, c.raw, n)
			if err != nil || string(r.body) != c.body || !r.whole() || r.status != 200 {
				t.Fatalf("%s in reads of %d: %q, state %d, status %d, %v", c.name, n, r.body, r.state, r.status, err)
			}
		}
	}
}

// Every body byte lies under the stamp of the read that carried it.
func TestStampsAreOfTheReadThatCarriedTheByte(t *testing.T) {
	raw := responses[0].raw
	for n := 1; n <= len(raw); n++ {
		r, err := feedAll(t, raw, n)
		if err != nil {
			t.Fatal(err)
		}
		at := func(off int) int64 {
			for _, s := range r.stamps() {
				if s.Off > int64(off) {
					return s.At
				}
			}
			t.Fatalf("body byte %d has no stamp", off)
			return 0
		}
		data := strings.Index(raw, "hello")
		for i := range 5 {
			if got, want := at(i), int64((data+i)/n); got != want {
				t.Errorf("reads of %d: byte %d is stamped %d, was in read %d", n, i, got, want)
			}
		}
		if got, want := at(5), int64(strings.LastIndex(raw, "!")/n); got != want {
			t.Errorf("reads of %d: the last byte is stamped %d, was in read %d", n, got, want)
		}
	}
}

func TestTwoChunksInOneReadShareItsStamp(t *testing.T) {
	r, err := feedAll(t, responses[0].raw, 1000)
	if err != nil {
		t.Fatal(err)
	}
	want := []Stamp{{Off: 5, At: 0, Shared: true}, {Off: 6, At: 0}}
	if !reflect.DeepEqual(r.stamps(), want) {
		t.Errorf("%+v, want %+v", r.stamps(), want)
	}
}

func TestResponsesThatAreNone(t *testing.T) {
	for raw, want := range map[string]string{
		"SSH-2.0\r\n\r\n":                                                                                    "status line",
		"SSH-2.0-OpenSSH_9.6\r\n":                                                                            "the answer begins with \"SSH-2.0-OpenSSH_9.6\", not with an HTTP/1 status line",
		"\r\nSSH-2.0-" + strings.Repeat("x", maxHead/2):                                                      "the answer begins with \"SSH-2.0-xx",
		"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n":                                                                "no colon",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n":                                                      "Content-Length",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n":                             "content coding",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n":                                        "transfer coding",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n":                   "transfer coding \"chunked, gzip\"",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi":                                "Content-Length is \"2, 3\"",
		"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nhi":                                                    "Content-Length is \"+2\"",
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n":                                           "switches protocols",
		strings.Repeat("\r\n", maxHead):                                                                      "64 KiB",
		strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", maxHead/20):                                        "64 KiB",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("X: y\r\n", maxHead/5): "64 KiB",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", maxHead) + "\r\n":    "64 KiB",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;"+strings.Repeat("x", 1000)+"\r\na\r\n", 70) + "0\r\n\r\n": "64 KiB",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n":                                                                    "chunk size",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n\r\n":                                                                  "chunk size",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n":                                                                          "chunk size",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n":                                                                     "longer than it said",
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", maxHead) + "\r\n\r\n":                                                                   "64 KiB",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n":                                                                          "chunk size",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n":                                                            "chunk size",
	} {
		for _, n := range []int{1, 7, len(raw)} {
			_, err := feedAll(t, raw, n)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q in reads of %d: %v, want %q", clip(raw, 80), n, err, want)
			}
		}
	}
}

func FuzzResponse(f *testing.F) {
	for _, c := range responses {
		f.Add(c.raw, 3)
	}
	f.Fuzz(func(t *testing.T, raw string, n int) {
		if n < 1 {
			return
		}
		a, errA := feedAll(t, raw, n)
		b, errB := feedAll(t, raw, len(raw)+1)
		if (errA == nil) != (errB == nil) {
			t.Fatalf("reads of %d: %v; one read: %v", n, errA, errB)
		}
		if errA == nil && (string(a.body) != string(b.body) || a.state != b.state || a.status != b.status) {
			t.Fatalf("reads of %d: %q; one read: %q", n, a.body, b.body)
		}
		last := int64(0)
		for _, s := range a.stamps() {
			if s.Off <= last {
				t.Fatalf("stamps %v do not grow", a.stamps())
			}
			last = s.Off
		}
		if last != int64(len(a.body)) {
			t.Fatalf("stamps reach %d of %d bytes", last, len(a.body))
		}
	})
}
