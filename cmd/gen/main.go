// Gen checks the catalogue and every published row and compiles them into a static
// site. It refuses to build from a row that a gate fails, that was changed after it was
// written, or that came from the embedded engine.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"rowproof/internal/render"
	"rowproof/internal/render/format"
)

// Exit codes.
const (
	exitOK      = 0
	exitRefused = 1
	exitUsage   = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	var opts render.Options
	var base, serve string
	fs := pflag.NewFlagSet("gen", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.SortFlags = false
	fs.StringVar(&opts.Root, "root", ".", "the folder that holds data/, content/ and site/")
	fs.StringVar(&opts.Out, "out", "public", "the folder to write; replaced whole")
	fs.StringVar(&base, "base", "/", "the path that the site is served under, such as /name/, or its whole address")
	fs.BoolVar(&opts.Demo, "demo", false, "admit rows of the embedded engine; every page then says that nothing was measured")
	fs.StringVar(&serve, "serve", "", "serve the site at ADDR, such as 127.0.0.1:8080, and rebuild it on change")
	fs.Usage = func() {
		fmt.Fprintf(fs.Output(), "Usage: gen [flags]\n\nChecks the catalogue and every published row, and compiles them into a static site.\n\nExample:\n  gen --out public --base /name/\n\nFlags:\n%s", fs.FlagUsages())
	}
	wrong := func(err error) int {
		fmt.Fprintf(stderr, "gen: %v\nSee: gen --help\n", err)
		return exitUsage
	}
	if err := fs.Parse(args); errors.Is(err, pflag.ErrHelp) {
		fs.SetOutput(stdout)
		fs.Usage()
		return exitOK
	} else if err != nil {
		return wrong(err)
	}
	if fs.NArg() > 0 {
		return wrong(fmt.Errorf("unexpected argument %q; everything is given by flags", fs.Arg(0)))
	}
	var err error
	if opts.Origin, opts.Base, err = splitBase(base); err != nil {
		return wrong(err)
	}
	if info, err := os.Stat(opts.Root); err != nil || !info.IsDir() {
		return wrong(fmt.Errorf("--root %s: expected a folder that holds data/, content/ and site/", opts.Root))
	}
	if serve != "" {
		return server(ctx, opts, serve, stdout, stderr)
	}
	return build(ctx, opts, stdout, stderr)
}

// build builds once and says what came of it.
func build(ctx context.Context, opts render.Options, stdout, stderr io.Writer) int {
	start := time.Now()
	opts.Now = start.UTC().Format(time.RFC3339)
	opts.Cache = filepath.Join(opts.Root, ".cache", "gen")
	result, err := render.Build(ctx, opts)
	var refused *render.Refused
	switch {
	case errors.As(err, &refused):
		for _, r := range refused.Reasons {
			fmt.Fprintln(stderr, r)
		}
		fmt.Fprintf(stderr, "gen: refused, %s; %s is as it was\n", format.Plural(len(refused.Reasons), "reason", "reasons"), opts.Out)
		return exitRefused
	case err != nil:
		fmt.Fprintf(stderr, "gen: %v\n", err)
		return exitRefused
	}
	unchanged := ""
	if result.Unchanged {
		unchanged = ", unchanged,"
	}
	fmt.Fprintf(stderr, "gen: %s, %s, %s%s in %.2f s\n", format.Plural(result.Pages, "page", "pages"),
		format.Plural(result.Rows, "row", "rows"), format.Bytes(float64(result.Bytes)), unchanged, time.Since(start).Seconds())
	if result.Bytes > render.WarnBytes {
		fmt.Fprintf(stderr, "gen: warning: GitHub Pages refuses a site above 1 GB\n")
	}
	if result.Rows > render.MostRows {
		fmt.Fprintf(stderr, "gen: warning: %s rows; a site is made for up to %s: move the oldest reports into a root of their own and build it under a base of its own, where their ids stay\n", format.Count(int64(result.Rows)), format.Count(render.MostRows))
	}
	fmt.Fprintln(stdout, result.Dir)
	return exitOK
}

// splitBase takes "/name/" or "https://host/name/" apart.
func splitBase(s string) (origin, base string, err error) {
	u, err := url.Parse(s)
	if err != nil || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", "", fmt.Errorf("--base %q: expected a path such as /name/, or an address such as https://owner.github.io/name/", s)
	}
	if u.Host != "" {
		if u.Scheme != "https" && u.Scheme != "http" {
			return "", "", fmt.Errorf("--base %q: expected https:// or http://", s)
		}
		origin = u.Scheme + "://" + u.Host
	} else if u.Scheme != "" {
		return "", "", fmt.Errorf("--base %q: expected a path such as /name/", s)
	}
	base = "/" + strings.Trim(u.Path, "/") + "/"
	if base == "//" {
		base = "/"
	}
	if strings.Trim(base, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/") != "" || strings.Contains(base, "//") {
		return "", "", fmt.Errorf("--base %q: letters, digits and -._~ are accepted between slashes", s)
	}
	return origin, base, nil
}
