package loadgen

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"rowproof/internal/row"
)

// halves writes each of its writes in two, and remembers when the second began and ended.
type halves struct {
	net.Conn
	split       bool
	began, done int64
}

func (h *halves) Write(p []byte) (int, error) {
	if h.split {
		if _, err := h.Conn.Write(p[:len(p)/2]); err != nil {
			return 0, err
		}
		time.Sleep(2 * time.Millisecond)
		p = p[len(p)/2:]
	}
	h.began = Now()
	_, err := h.Conn.Write(p)
	h.done = Now()
	return len(p), err
}

const truthChunks = 12

// truthServer answers, over TLS with each chunk in a record of its own, and keeps when
// each left: from when to when the write of its last segment took, by the number it
// carries.
type truthServer struct {
	config *tls.Config // nil: plain
	split  bool
	chunks int
	pause  time.Duration // between two

	mu   sync.Mutex
	sent map[string][2]int64
	n    int
}

func (s *truthServer) start(t testing.TB) *url.URL {
	t.Helper()
	s.sent = map[string][2]int64{}
	base := script(t, func(_ int, c net.Conn, _ *bufio.Reader) {
		raw := &halves{Conn: c}
		if s.config == nil {
			s.http1(raw, raw)
			return
		}
		tc := tls.Server(raw, s.config)
		if tc.Handshake() != nil {
			return
		}
		if tc.ConnectionState().NegotiatedProtocol == "h2" {
			s.http2(tc, raw)
		} else {
			s.http1(tc, raw)
		}
	})
	if s.config != nil {
		base.Scheme = "https"
	}
	return base
}

// answer writes an answer's chunks by way of a function that frames one.
func (s *truthServer) answer(raw *halves, write func(text string)) {
	s.mu.Lock()
	s.n++
	n := s.n
	s.mu.Unlock()
	for i := range s.chunks {
		time.Sleep(s.pause)
		text := fmt.Sprintf("data: %04d.%02d\n\n", n, i)
		raw.split = s.split
		write(text)
		raw.split = false
		s.mu.Lock()
		s.sent[text] = [2]int64{raw.began, raw.done}
		s.mu.Unlock()
	}
	time.Sleep(s.pause) // what ends the answer is read apart
}

func (s *truthServer) http1(c net.Conn, raw *halves) {
	for in := bufio.NewReader(c); take(in); {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		s.answer(raw, func(text string) { fmt.Fprintf(c, "%x\r\n%s\r\n", len(text), text) })
		io.WriteString(c, "0\r\n\r\n")
	}
}

func (s *truthServer) http2(c net.Conn, raw *halves) {
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	fr := http2.NewFramer(c, c)
	fr.WriteSettings()
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return
		}
		d, ok := f.(*http2.DataFrame)
		if !ok || !d.StreamEnded() {
			continue
		}
		id := d.StreamID
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block(":status", "200"), EndHeaders: true})
		s.answer(raw, func(text string) { fr.WriteData(id, false, []byte(text)) })
		fr.WriteData(id, true, nil)
	}
}

// stampsHere are the kinds of stamps that this process may take.
func stampsHere(t *testing.T) []string {
	t.Helper()
	spec := load((&counter{}).start(t), row.Passes, 1, 0)
	spec.Iters, spec.Stamps = 1, ""
	got, err := Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{StampsRead, StampsKernel, StampsRing}
	return all[:1+slices.Index(all, got.Stats.Stamps)]
}

// Over TLS every chunk has the time of the segment that made its record whole.
func TestStampsOverTLSAreOfTheRecordsLastSegment(t *testing.T) {
	ours, _ := testCertificates(t)
	for _, stamps := range stampsHere(t) {
		for _, speaks := range []string{"http/1.1", "h2"} {
			for _, split := range []bool{false, true} {
				t.Run(fmt.Sprint(stamps, " ", speaks, " split ", split), func(t *testing.T) {
					config := ours.Clone()
					config.NextProtos = []string{speaks}
					srv := &truthServer{config: config, split: split, chunks: truthChunks, pause: 3 * time.Millisecond}
					spec := load(srv.start(t), row.Passes, 2, 0)
					spec.Iters, spec.Insecure, spec.Stamps = 2, true, stamps
					got, err := Run(context.Background(), spec)
					if err != nil {
						t.Fatal(err)
					}
					want := map[string]string{"http/1.1": "HTTP/1.1 over TLS 1.3", "h2": "HTTP/2 over TLS 1.3"}[speaks]
					if !slices.Contains(got.Notes, want) || got.Stats.Stamps != stamps || got.Stats.Connections != 2 {
						t.Errorf("notes %q, want %q; %+v", got.Notes, want, got.Stats)
					}
					for _, o := range got.Outcomes {
						if o.Err != "" || o.HTTPStatus != 200 {
							t.Fatalf("request %d: %d, %s", o.Seq, o.HTTPStatus, o.Err)
						}
						texts := bytes.SplitAfter(o.Body, []byte("\n\n"))
						if len(texts) != truthChunks+1 || len(o.Stamps) != truthChunks {
							t.Fatalf("request %d: %d chunks, %d stamps", o.Seq, len(texts)-1, len(o.Stamps))
						}
						end := int64(0)
						for i, s := range o.Stamps {
							end += int64(len(texts[i]))
							srv.mu.Lock()
							w, ok := srv.sent[string(texts[i])]
							srv.mu.Unlock()
							late := s.At - w[1]
							if stamps == StampsRead || s.Shared && stamps != StampsRing {
								late = 0 // whenever the loop came to it, and it says so
							}
							if !ok || s.Off != end || s.Shared && stamps == StampsRing || s.At < w[0]-1000 || late > 5_000_000 {
								t.Errorf("request %d, chunk %d %q: %+v; written from %d on, for %d ns", o.Seq, i, texts[i], s, w[0], w[1]-w[0])
							}
						}
					}
				})
			}
		}
	}
}

func TestCertificatesAreChecked(t *testing.T) {
	ours, _ := testCertificates(t)
	srv := &truthServer{config: ours, chunks: 1}
	spec := load(srv.start(t), row.Passes, 2, 0)
	spec.Iters = 1
	if _, err := Run(context.Background(), spec); err == nil || !strings.Contains(err.Error(), "--insecure") {
		t.Errorf("%v", err)
	}
}

// A server that takes a connection and says nothing more ends as a sentence, soon.
func TestSilenceWhereTLSOrHTTP2ShouldBegin(t *testing.T) {
	ours, _ := testCertificates(t)
	ours.NextProtos = []string{"h2"}
	for want, serve := range map[string]func(c net.Conn){
		"TLS: no handshake within 150ms":                  func(c net.Conn) { io.Copy(io.Discard, c) },
		"HTTP/2: no SETTINGS of the server within 150ms":  func(c net.Conn) { io.Copy(io.Discard, tls.Server(c, ours)) },
		"TLS: the server closed the connection":           func(c net.Conn) { c.Close() },
		"HTTP/2: the server closed the connection before": func(c net.Conn) { tls.Server(c, ours).Handshake(); c.Close() },
		"HTTP/2 was agreed on, and the server answers in ": func(c net.Conn) {
			io.WriteString(tls.Server(c, ours), "HTTP/1.1 200 OK\r\n\r\n")
			io.Copy(io.Discard, c)
		},
		"does not speak TLS at this port": func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n"); io.Copy(io.Discard, c) },
	} {
		base := script(t, func(_ int, c net.Conn, _ *bufio.Reader) { serve(c) })
		base.Scheme = "https"
		spec := load(base, row.Passes, 1, 0)
		spec.Iters, spec.Insecure = 1, true
		spec.Connect = 10 * time.Second
		if strings.Contains(want, "within") {
			spec.Connect = 150 * time.Millisecond
		}
		if _, err := Run(context.Background(), spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// An interrupt ends the opening of connections at once.
func TestInterruptWhileHTTP2Begins(t *testing.T) {
	ours, _ := testCertificates(t)
	ours.NextProtos = []string{"h2"}
	ctx, cancel := context.WithCancel(context.Background())
	base := script(t, func(_ int, c net.Conn, _ *bufio.Reader) {
		tc := tls.Server(c, ours)
		tc.Handshake()
		cancel()
		io.Copy(io.Discard, tc)
	})
	base.Scheme = "https"
	spec := load(base, row.Passes, 1, 0)
	spec.Iters, spec.Insecure, spec.Connect = 1, true, time.Hour
	if _, err := Run(ctx, spec); err == nil {
		t.Error("no error")
	}
}

func TestAddressesOfIPv6(t *testing.T) {
	for base, want := range map[string][2]string{
		"https://[fe80::1%25eth0]:8443": {"fe80::1", "[fe80::1]:8443"},
		"https://[::1]:8443":            {"::1", "[::1]:8443"},
		"http://[::1]":                  {"::1", "[::1]"},
		"http://gpu-7:8000":             {"gpu-7", "gpu-7:8000"},
		"http://gpu-7":                  {"gpu-7", "gpu-7"},
	} {
		u, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		if h, a := hostOf(u), authorityOf(u); h != want[0] || a != want[1] {
			t.Errorf("%s: %s, %s", base, h, a)
		}
	}
}

// A name may stand for several addresses; the first that answers is measured.
func TestNameOfSeveralAddresses(t *testing.T) {
	if all := addressesOf(context.Background(), "127.0.0.1"); all != nil {
		t.Errorf("an address resolves to %v", all)
	}
	if !slices.Contains(addressesOf(context.Background(), "localhost"), "127.0.0.1") {
		t.Fatal("localhost is not 127.0.0.1 here")
	}
	base := (&counter{}).start(t)
	base.Host = "localhost:" + base.Port()
	spec := load(base, row.Passes, 2, 0)
	spec.Iters = 1
	got, err := Run(context.Background(), spec)
	if err != nil || got.Outcomes[0].Err != "" || len(got.Notes) != 0 {
		t.Errorf("%v, %+v", err, got)
	}
	base.Host = "no-such-name.invalid:1"
	if _, err := Run(context.Background(), spec); err == nil || !strings.Contains(err.Error(), "no-such-name.invalid") || strings.Contains(err.Error(), "lookup") {
		t.Errorf("%v", err)
	}
}

// How far gaps are off, plain and through TLS in one run: the layers should add nothing.
func BenchmarkGapErrors(b *testing.B) {
	ours, _ := testCertificates(b)
	for _, speaks := range []string{"", "http/1.1", "h2"} {
		for _, streams := range []int{64, 256} {
			name := map[string]string{"": "plain", "http/1.1": "tls", "h2": "tls-h2"}[speaks]
			b.Run(fmt.Sprint(name, "/", streams), func(b *testing.B) {
				srv := &truthServer{chunks: 50, pause: 20 * time.Millisecond}
				if speaks != "" {
					srv.config = ours.Clone()
					srv.config.NextProtos = []string{speaks}
				}
				base := srv.start(b)
				var off []int64
				var stats row.CaptureStats
				for b.Loop() {
					spec := load(base, row.Passes, streams, 0)
					spec.Iters, spec.Insecure, spec.Stamps = 1, true, ""
					got, err := Run(context.Background(), spec)
					if err != nil {
						b.Fatal(err)
					}
					stats = got.Stats
					for _, o := range got.Outcomes {
						var sent, came int64
						for i, text := range bytes.SplitAfter(o.Body, []byte("\n\n"))[:srv.chunks] {
							srv.mu.Lock()
							w := srv.sent[string(text)][0]
							srv.mu.Unlock()
							if i > 0 {
								off = append(off, max(w-sent-(o.Stamps[i].At-came), o.Stamps[i].At-came-(w-sent)))
							}
							sent, came = w, o.Stamps[i].At
						}
					}
				}
				slices.Sort(off)
				b.ReportMetric(float64(off[len(off)/2])/1e3, "p50-µs")
				b.ReportMetric(float64(off[len(off)*99/100])/1e3, "p99-µs")
				b.ReportMetric(float64(off[len(off)-1])/1e3, "max-µs")
				b.ReportMetric(float64(stats.CPU)/float64(len(off)), "process-cpu-µs/gap")
				b.ReportMetric(float64(stats.Unstamped), "unstamped")
			})
		}
	}
}
