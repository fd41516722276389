package main

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// peer is what a client of another project needs.
type peer struct {
	folder string   // below the cache
	pins   string   // every package that it runs with, each at one version
	stubs  []string // files of ours that stand for what it imports and does not use
	wheel  string   // a package of which only parts are taken: the rest needs a GPU's libraries
	parts  []string // patterns of the files that are taken
}

// install puts a peer into its folder of the cache, unless it stands there.
func install(ctx context.Context, cache string, p peer) error {
	pins, err := files.ReadFile("pins/" + p.pins)
	if err != nil {
		return err
	}
	dir := filepath.Join(cache, p.folder)
	for _, name := range p.stubs {
		text, err := files.ReadFile("stubs/" + name)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(dir, "stubs", name), text); err != nil {
			return err
		}
	}
	want := fmt.Sprintf("%x\n", sha256.Sum256(fmt.Appendf(pins, "%s %q", p.wheel, p.parts)))
	done := filepath.Join(dir, "installed")
	if have, err := os.ReadFile(done); err == nil && string(have) == want {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, old := range []string{"venv", "wheel", "installed"} {
		if err := os.RemoveAll(filepath.Join(dir, old)); err != nil {
			return err
		}
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		return errors.New("python3 is not there; 3.11 or newer with venv is needed")
	}
	if err := quietly(ctx, dir, python, "-m", "venv", "venv"); err != nil {
		return err
	}
	list := filepath.Join(dir, "pins.txt")
	if err := write(list, pins); err != nil {
		return err
	}
	// The list is complete: what it does not name is not wanted.
	pip := filepath.Join(dir, "venv/bin/pip")
	if err := quietly(ctx, dir, pip, "install", "--no-deps", "--disable-pip-version-check", "-r", list); err != nil {
		return err
	}
	if p.wheel != "" {
		if err := p.unpack(ctx, dir, pip); err != nil {
			return err
		}
	}
	return write(done, []byte(want))
}

// unpack takes the wheel's parts and lets the wheel go.
func (p peer) unpack(ctx context.Context, dir, pip string) (err error) {
	tmp, err := os.MkdirTemp(dir, "wheel-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if err := quietly(ctx, dir, pip, "download", "--no-deps", "--disable-pip-version-check", "-d", tmp, p.wheel); err != nil {
		return err
	}
	wheels, err := filepath.Glob(filepath.Join(tmp, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return fmt.Errorf("%s: %d wheels came, want one (%v)", p.wheel, len(wheels), err)
	}
	return p.take(wheels[0], filepath.Join(dir, "wheel"))
}

// take unpacks the wheel's parts below a folder.
func (p peer) take(wheel, dir string) error {
	r, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer r.Close()
	taken := make([]int, len(p.parts))
	for _, f := range r.File {
		for i, part := range p.parts {
			if ok, err := path.Match(part, f.Name); err != nil {
				return err
			} else if !ok || !filepath.IsLocal(f.Name) {
				continue
			}
			taken[i]++
			in, err := f.Open()
			if err != nil {
				return err
			}
			text, err := io.ReadAll(in)
			if err = errors.Join(err, in.Close()); err != nil {
				return fmt.Errorf("%s: %s: %w", p.wheel, f.Name, err)
			}
			if err := write(filepath.Join(dir, f.Name), text); err != nil {
				return err
			}
		}
	}
	for i, n := range taken {
		if n == 0 {
			return fmt.Errorf("%s holds no %s", p.wheel, p.parts[i])
		}
	}
	return nil
}

// quietly runs a command; its output is told only when it fails.
func quietly(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args[:min(len(args), 3)], " "), err, tail(out))
	}
	return nil
}

// tail is the end of a program's output, where it says what went wrong.
func tail(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-4):], " | ")
}

func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
