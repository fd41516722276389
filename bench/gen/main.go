// Gen's benchmark builds a site of synthetic healthy rows with gen and the same row and
// recipe pages with Hugo, one after another on the same host, and prints time and peak
// memory of both. Hugo is given each page's contents ready made, graphics and all, as
// front matter, and our own templates in its dialect; it reads no sample, judges no row,
// draws nothing and checks no link. That both make the same pages is checked first.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-gen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	fs := pflag.NewFlagSet("bench-gen", pflag.ContinueOnError)
	pages := fs.IntSlice("pages", []int{1_000, 10_000}, "how many rows' pages")
	dir := fs.String("dir", ".cache/bench-gen", "a folder for what is made; replaced")
	gen := fs.String("gen", "bin/gen", "the generator")
	if err := fs.Parse(args); err != nil {
		return err
	}
	program, err := filepath.Abs(*gen)
	if err != nil {
		return err
	}
	hugo, err := installHugo(ctx, ".cache/hugo")
	if err != nil {
		return err
	}
	for _, n := range *pages {
		work, err := filepath.Abs(filepath.Join(*dir, fmt.Sprint(n)))
		if err != nil {
			return err
		}
		if err := compare(ctx, n, work, program, hugo); err != nil {
			return fmt.Errorf("%d pages: %w", n, err)
		}
	}
	return nil
}

// compare has both build n rows' pages and prints what that took.
func compare(ctx context.Context, n int, work, gen, hugo string) error {
	if err := os.RemoveAll(work); err != nil {
		return err
	}
	root, site, out := filepath.Join(work, "root"), filepath.Join(work, "hugo"), filepath.Join(work, "out")
	for _, dir := range []string{root, site} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := makeRoot(".", root, n); err != nil {
		return err
	}
	made, err := makeHugo(ctx, root, site)
	if err != nil {
		return err
	}
	fmt.Printf("%d row and recipe pages of %d rows\n%-44s %9s %9s %9s\n", made, n, "", "time", "CPU", "memory")
	theirs := filepath.Join(site, "public")
	h, err := measured(ctx, "Hugo "+hugoVersion+", contents ready made", hugo, "--source", site, "--quiet", "--noBuildLock", "--destination", theirs)
	if err != nil {
		return err
	}
	if err := samePages(filepath.Join(work, "first"), theirs); err != nil {
		return err
	}
	build := func(what, out string) (cost, error) {
		return measured(ctx, what, gen, "--root", root, "--out", out)
	}
	if err := os.RemoveAll(filepath.Join(root, ".cache")); err != nil {
		return err
	}
	cold, err := build("gen, cold: judges rows, draws, checks links", out)
	if err != nil {
		return err
	}
	same, err := build("gen, unchanged", out)
	if err != nil {
		return err
	}
	if err := withdrawOne(root, out); err != nil {
		return err
	}
	if _, err := build("gen, one row withdrawn", out); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(root, ".cache", "charts")); err != nil {
		return err
	}
	drawn, err := build("gen, rows judged before, all drawn cold", out+"-2")
	if err != nil {
		return err
	}
	ratio := func(name string, c cost) {
		fmt.Printf("%-44s %8.2f× %8.2f× %8.2f×\n", name, c.wall.Seconds()/h.wall.Seconds(), c.cpu.Seconds()/h.cpu.Seconds(), float64(c.peak)/float64(h.peak))
	}
	ratio("gen, cold, beside Hugo", cold)
	ratio("gen, judged before, beside Hugo", drawn)
	fmt.Printf("wanted: time ≤ 0.33×, memory ≤ 0.10×, unchanged ≤ 0.10 s (here %.3f s)\n\n", same.wall.Seconds())
	return nil
}

// withdrawOne takes the first row out of the rankings.
func withdrawOne(root, out string) error {
	rows, err := filepath.Glob(filepath.Join(out, "r", "*"))
	if err != nil || len(rows) == 0 {
		return errors.Join(err, errors.New("gen built no row's page"))
	}
	line := fmt.Sprintf("- {id: %q, date: \"2026-11-30\", reason: for a benchmark}\n", filepath.Base(rows[0]))
	return os.WriteFile(filepath.Join(root, "data", "withdrawn.yaml"), []byte(line), 0o644)
}

// samePages holds every page of Hugo's to the one of gen.
func samePages(ours, theirs string) error {
	pages, err := filepath.Glob(filepath.Join(theirs, "r", "*", "index.html"))
	if err != nil {
		return err
	}
	more, err := filepath.Glob(filepath.Join(theirs, "recipes", "*", "index.html"))
	if err != nil {
		return err
	}
	if pages = append(pages, more...); len(pages) == 0 {
		return fmt.Errorf("%s: Hugo built no page", theirs)
	}
	for _, page := range pages {
		rel, err := filepath.Rel(theirs, page)
		if err != nil {
			return err
		}
		a, errA := os.ReadFile(filepath.Join(ours, rel))
		b, errB := os.ReadFile(page)
		if err := errors.Join(errA, errB); err != nil {
			return err
		}
		if err := sameText(a, b); err != nil {
			return fmt.Errorf("%s: Hugo makes another page: %w", rel, err)
		}
	}
	return nil
}

// cost of one run.
type cost struct {
	wall, cpu time.Duration
	peak      int64 // bytes
}

// measured runs a program and prints what it took. Its peak is the kernel's own mark,
// VmHWM, looked at until it ends.
func measured(ctx context.Context, what, program string, args ...string) (cost, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return cost{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var c cost
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.peak = max(c.peak, highWater(cmd.Process.Pid))
			continue
		case err := <-ended:
			c.wall = time.Since(start)
			if err != nil {
				text := said.String()
				return cost{}, fmt.Errorf("%s: %w\n%s", what, err, text[max(0, len(text)-2000):])
			}
		}
		break
	}
	c.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	fmt.Printf("%-44s %7.2f s %7.2f s %6.0f MB\n", what, c.wall.Seconds(), c.cpu.Seconds(), float64(c.peak)/1e6)
	return c, nil
}

// highWater is a process's peak of resident memory; 0 once it has ended.
func highWater(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, after, ok := strings.Cut(string(status), "VmHWM:")
	if !ok {
		return 0
	}
	var kb int64
	fmt.Sscan(after, &kb)
	return kb * 1024
}
