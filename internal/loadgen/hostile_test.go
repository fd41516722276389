package loadgen

import (
	"bufio"
	"compress/gzip"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"rowproof/internal/row"
)

// What a broken or hostile server may do over a socket ends in words, in bounded time and
// memory, and the request behind it is none the worse for it.
func TestHostileServers(t *testing.T) {
	repeat := func(first, part string) func(net.Conn) {
		return func(c net.Conn) {
			for _, err := io.WriteString(c, first); err == nil; _, err = io.WriteString(c, part) {
			}
		}
	}
	say := func(s string) func(net.Conn) {
		return func(c net.Conn) { io.WriteString(c, s) }
	}
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, c := range []struct {
		name  string
		serve func(c net.Conn)
		want  string // of the failure; "" is a success with body hi
	}{
		{"a head that never ends", repeat(ok, "X-A: b\r\n"), "64 KiB"},
		{"a head line that never ends", repeat(ok, "aaaaaaaaaaaaaaaaaaaaaa"), "64 KiB"},
		{"interim heads without end", repeat("", "HTTP/1.1 100 Continue\r\n\r\n"), "64 KiB"},
		{"blank lines without end", repeat("", "\r\n"), "64 KiB"},
		{"a trailer without end", repeat(ok+"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n", "X: y\r\n"), "64 KiB"},
		{"a chunk extension without end", repeat(ok+"Transfer-Encoding: chunked\r\n\r\n2;", "x=y;"), "64 KiB"},
		{"a body without end", repeat(ok+"\r\n", strings.Repeat("x", 1<<20)), "passed 64 MiB"},
		{"a head in crumbs", func(c net.Conn) {
			for _, b := range []byte(ok + strings.Repeat("X-A: b\r\n", 100)) {
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}, "not whole after 300ms"},
		{"a bomb", func(c net.Conn) {
			io.WriteString(c, ok+"Content-Encoding: gzip\r\n\r\n")
			z := gzip.NewWriter(c)
			for range 1 << 10 {
				if _, err := z.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		}, "content coding"},
		{"another protocol", say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x02hi"), "switches protocols"},
		{"TLS", say("\x15\x03\x01\x00\x02\x02\x16"), "closed the connection inside the response's head"},
		{"garbage in chunks", say(ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n\x00\xff\r\n"), "chunk size"},
		{"an end inside a chunk", say(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhi"), "before the response was whole, after 2 bytes"},
		{"an end before the end mark", say(ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"), "before the response was whole, after 2 bytes"},
		{"a body that is too short", say(ok + "Content-Length: 3\r\n\r\nhi"), "before the response was whole, after 2 bytes"},
		{"nothing", say(""), "without an answer"},
		{"a body and more", say(ok + "Content-Length: 2\r\n\r\nhi" + ok + "Content-Length: 4\r\n\r\nevil"), ""},
		{"a body up to the end", say(ok + "\r\nhi"), ""},
		{"a close that was announced", say(ok + "Connection: Close\r\nContent-Length: 2\r\n\r\nhi"), ""},
		{"of old", say("HTTP/1.0 200 OK\r\n\r\nhi"), ""},
		{"bare line feeds", say("HTTP/1.1 200 OK\nConnection: close\nTransfer-Encoding: chunked\n\n2\nhi\n0\n\n"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			base := script(t, func(n int, conn net.Conn, in *bufio.Reader) {
				if n == 0 {
					if take(in) {
						c.serve(conn)
						conn.(*net.TCPConn).CloseWrite()
						io.Copy(io.Discard, in)
					}
					return
				}
				for take(in) {
					io.WriteString(conn, good)
				}
			})
			spec := load(base, row.Sustained, 1, 0)
			spec.Requests = 2
			if strings.Contains(c.want, "300ms") {
				spec.Timeout = 300 * time.Millisecond
			}
			got, err := Run(context.Background(), spec)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Outcomes) < 2 {
				t.Fatalf("%d requests", len(got.Outcomes))
			}
			o := got.Outcomes[0]
			if c.want == "" && (o.Err != "" || string(o.Body) != "hi") || c.want != "" && !strings.Contains(o.Err, c.want) {
				t.Errorf("%q with %d bytes, want %q", o.Err, len(o.Body), c.want)
			}
			if next := got.Outcomes[1]; next.Err != "" || next.HTTPStatus != 200 || len(next.Body) != 14 {
				t.Errorf("the next request: %d, %s, %q", next.HTTPStatus, next.Err, next.Body)
			}
		})
	}
}
