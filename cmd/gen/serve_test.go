package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// lines gathers output and hands out each line as it comes.
type lines struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	seen chan string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Write(p)
	for {
		line, err := l.buf.ReadString('\n')
		if err != nil {
			l.buf.WriteString(line)
			return len(p), nil
		}
		l.seen <- strings.TrimSpace(line)
	}
}

// next waits for a line that holds text.
func (l *lines) next(t *testing.T, text string) string {
	t.Helper()
	timeout := time.After(60 * time.Second)
	for {
		select {
		case line := <-l.seen:
			if strings.Contains(line, text) {
				return line
			}
		case <-timeout:
			t.Fatalf("no line with %q", text)
		}
	}
}

// With --serve a changed file is on the page after the next build; a defect leaves the
// last good site in place.
func TestServeRebuildsOnChange(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"data/models", "data/targets", "data/strategies", "data/cells", "content", "site"} {
		if err := os.CopyFS(filepath.Join(root, dir), os.DirFS(filepath.Join("../..", dir))); err != nil {
			t.Fatal(err)
		}
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("bin/lean.wasm", "\x00asm")
	put("bin/full.wasm", "\x00asm")
	put("content/glossary.md", "# Glossary\n\nThe first text.\n")
	ctx, stop := context.WithCancel(context.Background())
	out, said := &lines{seen: make(chan string, 100)}, &lines{seen: make(chan string, 100)}
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"--root", root, "--out", filepath.Join(root, "out"), "--base", "/x/", "--serve", "127.0.0.1:0"}, nil, out, said)
	}()
	said.next(t, "page") // the first build
	address := out.next(t, "http://127.0.0.1:")
	page := func() string {
		t.Helper()
		r, err := http.Get(address + "glossary/")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if !strings.Contains(page(), "The first text.") {
		t.Fatal("the page is not served")
	}
	put("content/glossary.md", "# Glossary\n\nThe second text.\n")
	said.next(t, "page")
	if !strings.Contains(page(), "The second text.") {
		t.Error("the change is not on the page")
	}
	put("content/glossary.md", "No title.\n")
	said.next(t, "refused")
	if !strings.Contains(page(), "The second text.") {
		t.Error("a refused build took the last good page away")
	}
	stop()
	if c := <-code; c != exitOK {
		t.Errorf("exit code %d", c)
	}
}
