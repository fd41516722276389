package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// result is one run of one client, as kept in results.jsonl.
type result struct {
	At       time.Time `json:"at"`
	Client   string    `json:"client"`
	Version  string    `json:"version,omitempty"`
	Build    string    `json:"build"` // of this project's program, and so of the truth server
	Streams  int       `json:"streams"`
	Load     string    `json:"load"`
	Cores    int       `json:"cores"`
	Asked    int       `json:"asked"` // requests
	Failed   string    `json:"failed,omitempty"`
	Tokens   int       `json:"tokens"` // that the server sent
	Held     int       `json:"held"`   // the most requests under way at once
	LateP99  int64     `json:"server_late_p99_ns"`
	CPU      float64   `json:"cpu_s"`      // of the client and all that it started, from start to end
	CPULoad  float64   `json:"cpu_load_s"` // of these, while the load ran
	Memory   int64     `json:"memory_bytes"`
	Wall     float64   `json:"wall_s"`
	errorsOf           // zero where the run failed
}

// kept says whether the server kept pace: the errors are against what it sent, but a
// load that fell behind its timetable is not the load that was asked for.
func (r *result) kept() bool { return r.LateP99 <= gapMS*1e6 }

// perChunk is µs of CPU a token.
func (r *result) perChunk(cpu float64) float64 {
	if r.Tokens == 0 {
		return 0
	}
	return cpu * 1e6 / float64(r.Tokens)
}

// bench gathers the runs of one call.
type bench struct {
	*options
	build     string
	tokenizer string
	log       io.Writer
	results   io.Writer
	rows      []result
}

// one runs a client once. Only what no further run could get around is an error.
func (b *bench) one(ctx context.Context, c *client, streams int, load string) error {
	r := result{At: time.Now().UTC().Truncate(time.Second), Client: c.name, Version: c.version, Build: b.build, Streams: streams, Load: load,
		Cores: runtime.NumCPU(), Asked: asked(streams)}
	fmt.Fprintf(b.log, "%s: %d streams, %s\n", c, streams, load)
	if err := b.measureOne(ctx, c, &r); ctx.Err() != nil {
		return context.Cause(ctx)
	} else if err != nil {
		r.Failed = err.Error()
		fmt.Fprintf(b.log, "%s: %d streams, %s: %v\n", c, streams, load, err)
	}
	b.rows = append(b.rows, r)
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = b.results.Write(append(line, '\n'))
	return err
}

func (b *bench) measureOne(ctx context.Context, c *client, r *result) (err error) {
	dir := filepath.Join(b.cache, "runs", fmt.Sprintf("%s-%d-%s", c.name, r.Streams, r.Load))
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return err
	}
	srv, err := b.serve(ctx, filepath.Join(dir, "truth.jsonl"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	if r.Load == starved {
		stop, err := starve()
		if err != nil {
			return err
		}
		defer stop()
	}
	what := &call{options: b.options, tokenizer: b.tokenizer, url: srv.url, streams: r.Streams, dir: dir}
	args, env := c.command(what)
	beside := func(context.Context, *os.Process) {}
	if r.Load == stopped {
		beside = func(ctx context.Context, supervisor *os.Process) { standStill(ctx, srv.url, r.Streams, supervisor) }
	}
	used, err := b.supervised(ctx, dir, args, env, beside)
	r.CPU, r.Memory, r.Wall = used.CPU, used.Memory, used.Wall
	if err != nil {
		return err
	}
	if err := srv.stop(); err != nil {
		return err
	}
	log, err := readTruth(srv.truth)
	if err != nil {
		return err
	}
	var from, to int64
	from, to, r.Tokens, r.Held, r.LateP99 = log.loaded(answerLen)
	r.CPULoad = used.during(from, to)
	all, err := c.read(what)
	if err != nil {
		return err
	}
	if r.errorsOf, err = compare(all, log); err != nil {
		return err
	}
	if r.Joined == 0 {
		return errors.New("it reported no request as a success")
	}
	return nil
}

// server is one truth server.
type server struct {
	url, truth string
	cmd        *exec.Cmd
	stdin      io.Closer
	stopped    bool
}

func (b *bench) serve(ctx context.Context, truth string) (*server, error) {
	cmd := exec.CommandContext(ctx, b.measure, "simulate", "--port", "0", "--model", model, "--truth", truth, "--name-answers", "--until-stdin-closes",
		"--prefill", fmt.Sprintf("%dms", firstMS), "--prefill-each", "0", "--prefills", "16384",
		"--gap", fmt.Sprintf("%dms", gapMS), "--gap-per-stream", "0", "--max-running", "16384", "--cache-blocks", "1048576", "--max-model-len", fmt.Sprint(contextSize))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w; make measure builds it", b.measure, err)
	}
	s := &server{truth: truth, cmd: cmd, stdin: stdin}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the truth server did not start: %w", err), s.stop(), errors.New(said.String()))
	}
	s.url = strings.TrimSpace(line)
	return s, nil
}

// stop ends the server; its log is then complete.
func (s *server) stop() error {
	if s.stopped {
		return nil
	}
	s.stopped = true
	s.stdin.Close()
	kill := time.AfterFunc(20*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("the truth server: %w", err)
	}
	return nil
}

// starve starts a busy loop on each core; stop ends them.
func starve() (stop func(), err error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var running []*exec.Cmd
	var pipes []io.Closer
	stop = func() {
		for _, p := range pipes {
			p.Close()
		}
		for _, cmd := range running {
			_ = cmd.Wait()
		}
	}
	for range runtime.NumCPU() {
		cmd := exec.Command(exe, "spin")
		in, err := cmd.StdinPipe()
		if err == nil {
			pipes = append(pipes, in)
			err = cmd.Start()
		}
		if err != nil {
			stop()
			return nil, err
		}
		running = append(running, cmd)
	}
	return stop, nil
}

// spin takes what it gets of one core until standard input ends.
func spin() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for turns := uint(1); turns > 0; turns += 2 { // an odd number is never 0
	}
}

// usage is what a client and all that it started took.
type usage struct {
	CPU     float64  `json:"cpu_s"`
	Memory  int64    `json:"memory_bytes"`
	Wall    float64  `json:"wall_s"`
	Samples []sample `json:"samples"` // in order of time
	Failed  string   `json:"failed,omitempty"`
}

// sample is the CPU taken up to a moment of CLOCK_MONOTONIC in ns.
type sample struct {
	At  int64   `json:"at"`
	CPU float64 `json:"cpu_s"`
}

// during is the CPU taken between two moments.
func (u *usage) during(from, to int64) float64 { return u.upTo(to) - u.upTo(from) }

func (u *usage) upTo(at int64) float64 {
	for i, s := range u.Samples {
		if s.At < at {
			continue
		}
		if i == 0 {
			return s.CPU
		}
		before := u.Samples[i-1]
		return before.CPU + (s.CPU-before.CPU)*float64(at-before.At)/float64(s.At-before.At)
	}
	return u.CPU
}

// standStill waits until a server holds half of the streams, for not every client ever holds
// all, and has the client stopped a second later.
func standStill(ctx context.Context, url string, streams int, supervisor *os.Process) {
	for running(ctx, url) < (streams+1)/2 {
		select {
		case <-ctx.Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
		_ = supervisor.Signal(syscall.SIGUSR1)
	}
}

// running is how many streams a server holds; 0 when it does not answer.
func running(ctx context.Context, url string) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", nil)
	if err != nil {
		return 0
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), "rowproof:num_requests_running "); ok {
			n, _ := strconv.Atoi(v)
			return n
		}
	}
	return 0
}

// supervised runs a client in its folder below a process that tells what it took; beside
// is called with that process, and its context ends with it.
func (b *bench) supervised(ctx context.Context, dir string, args, env []string, beside func(context.Context, *os.Process)) (usage, error) {
	var u usage
	exe, err := os.Executable()
	if err != nil {
		return u, err
	}
	out, err := os.Create(filepath.Join(dir, "output.txt"))
	if err != nil {
		return u, err
	}
	defer out.Close()
	told := filepath.Join(dir, "usage.json")
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, append([]string{"supervise", told}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1", "HF_HOME="+filepath.Join(b.cache, "hub"))
	cmd.Env = append(cmd.Env, env...)
	// Asked to end, it ends all below it.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	if err = cmd.Start(); err == nil {
		running, ended := context.WithCancel(ctx)
		var done sync.WaitGroup
		done.Go(func() { beside(running, cmd.Process) })
		err = cmd.Wait()
		ended()
		done.Wait()
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("not done within %v", b.timeout)
	}
	if err == nil {
		var text []byte
		if text, err = os.ReadFile(told); err == nil {
			err = json.Unmarshal(text, &u)
		}
	}
	if err == nil && u.Failed != "" {
		err = errors.New(u.Failed)
	}
	if err != nil {
		if text, rerr := os.ReadFile(out.Name()); rerr == nil {
			err = fmt.Errorf("%w: %s", err, tail(text))
		}
	}
	return u, err
}
