package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"rowproof/internal/render"
)

// poll is how often the input is looked at for a change.
const poll = 500 * time.Millisecond

// server builds, serves the folder under its base, and builds again when a file of the
// input changes. A refused build leaves the last good one in place.
func server(ctx context.Context, opts render.Options, addr string, stdout, stderr io.Writer) int {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Fprintf(stderr, "gen: --serve %s: %v; name another HOST:PORT, such as 127.0.0.1:8081 (with make: ADDR=127.0.0.1:8081)\n", addr, err)
		return exitUsage
	}
	if code := build(ctx, opts, io.Discard, stderr); code != exitOK {
		listener.Close()
		return code
	}
	mux := http.NewServeMux()
	files := http.FileServer(http.Dir(opts.Out))
	mux.Handle(opts.Base, http.StripPrefix(strings.TrimSuffix(opts.Base, "/"), noCache(files)))
	if opts.Base != "/" {
		mux.Handle("/{$}", http.RedirectHandler(opts.Base, http.StatusFound))
	}
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintf(stdout, "http://%s%s\n", listener.Addr(), opts.Base)
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	last := stamp(opts.Root)
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			s.Close()
			<-done
			return exitOK
		case err := <-done:
			fmt.Fprintf(stderr, "gen: %v\n", err)
			return exitRefused
		case <-tick.C:
			if now := stamp(opts.Root); now != last {
				last = now
				build(ctx, opts, io.Discard, stderr)
			}
		}
	}
}

// noCache lets a reload show the last build.
func noCache(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		h.ServeHTTP(w, r)
	})
}

// stamp sums up names, sizes and times of the input's files: a change of any changes it.
func stamp(root string) string {
	var files, size, newest int64
	for _, dir := range []string{"data", "content", "site", "bin/lean.wasm", "bin/full.wasm"} {
		filepath.WalkDir(filepath.Join(root, dir), func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil
			}
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			} else if err != nil {
				return nil
			}
			files++
			size += info.Size()
			newest = max(newest, info.ModTime().UnixNano())
			return nil
		})
	}
	return fmt.Sprint(files, size, newest)
}
