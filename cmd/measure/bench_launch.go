package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"rowproof/internal/launch"
	"rowproof/internal/row"
)

const (
	lastLines     = 30 // of a log, where a server ended before it answered
	logTail       = 64 << 10
	healthTimeout = 5 * time.Second
	healthPause   = 500 * time.Millisecond
	launchNews    = 15 * time.Second // between two lines of how far a start is
)

var launchMeans = append([]string{launch.Process}, launch.Containers...)

// launching is what a call of bench asks of the server that it starts itself.
type launching struct {
	wanted bool
	port   uint16
	means  string // "" chooses
	within time.Duration
}

func (o *benchOptions) declareLaunch(c collector) {
	o.launch.within = 15 * time.Minute
	c.BoolVar(&o.launch.wanted, "launch", false, "start the recipe's server as --recipe writes it, measure it, and end it with all that it started; its log goes to PREFIX.server.log")
	c.port(&o.launch.port, defaultPort, 1, "with --launch: port that the server is to listen on")
	c.choice("runtime", &o.launch.means, "", launchMeans, "with --launch: what runs it: "+strings.Join(launchMeans, ", ")+"; without it a process, or for an image the first of the others that is here")
	c.span("launch-timeout", &o.launch.within, "15m", "with --launch: how long the server may take until it answers", true)
}

// finishLaunch checks what launching needs, and puts the server where it will be.
func (o *benchOptions) finishLaunch(given func(string) bool, wrong func(string, ...any)) {
	if !o.launch.wanted {
		for _, name := range []string{"port", "runtime", "launch-timeout"} {
			if given(name) {
				wrong("--%s without --launch: want --launch, which starts the server that it is of", name)
			}
		}
		return
	}
	if given("base-url") {
		wrong("--launch with --base-url: want one of them: a server that runs already, or a recipe to start")
	}
	if o.recipe == "" && !given("recipe") {
		wrong("--launch without --recipe: want --recipe MODEL/TARGET/STRATEGY/ENGINE; measure launch --list prints every recipe")
	}
	o.base = &url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", fmt.Sprint(o.launch.port))}
}

// launched is the server that a run started.
type launched struct {
	*launch.Server
	log  *serverLog
	once sync.Once
	err  error
}

// stop ends the server, once; the error says what of it could not be ended.
func (l *launched) stop() error {
	l.once.Do(func() {
		l.err = l.Stop()
		l.log.close()
	})
	return l.err
}

// start runs the recipe's command and returns once the server answers.
func (o *benchOptions) start(ctx context.Context, recipe *row.Recipe, w io.Writer) (*launched, error) {
	model, _, _ := strings.Cut(o.recipe, "/")
	opts, err := o.launchOptions(model, recipe)
	if err != nil {
		return nil, err
	}
	if holder, err := net.Listen("tcp", o.base.Host); err != nil {
		return nil, refuse(exitUsage, "--launch: port %d cannot be listened on (%v); end what holds it, or want --port of a free one", o.launch.port, err)
	} else {
		holder.Close()
	}
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); isSecretName(name) {
			o.secrets.add(value)
		}
	}
	log, err := openServerLog(o)
	if err != nil {
		return nil, err
	}
	command := launch.For(model, recipe, opts)
	fmt.Fprintf(w, "%s\n  its log: %s\n", log.masked(command.Line()), log.name)
	began := time.Now()
	s, err := launch.Start(command, opts, log)
	if err != nil {
		log.file.Close()
		text := err.Error()
		if errors.Is(err, exec.ErrNotFound) {
			text += "; " + install(recipe)
		}
		return nil, refuse(exitFailed, "--launch %s: %s", o.recipe, text)
	}
	l := &launched{Server: s, log: log}
	if err := o.untilHealthy(ctx, l, began, w); err != nil {
		return nil, errors.Join(err, l.stop())
	}
	fmt.Fprintf(w, "%s answers after %s\n", o.recipe, time.Since(began).Round(time.Second))
	return l, nil
}

// install says how to get a recipe's program.
func install(r *row.Recipe) string {
	var words []string
	for _, name := range sortedKeys(r.Runtime.Packages) {
		words = append(words, launch.Quote(name+"=="+r.Runtime.Packages[name]))
	}
	if words == nil {
		return "install it, or start the server yourself and name it with --base-url"
	}
	return "the recipe pins: pip install " + strings.Join(words, " ")
}

// launchOptions chooses what runs the recipe.
func (o *benchOptions) launchOptions(model string, r *row.Recipe) (launch.Options, error) {
	opts := launch.Options{Means: o.launch.means, Port: o.launch.port}
	image := r.Runtime.Image != ""
	switch {
	case opts.Means == "" && !image, opts.Means == launch.Process:
		opts.Means = launch.Process
		return opts, nil
	case !image:
		return opts, refuse(exitUsage, "--runtime %s: recipe %s names packages and no image; want --runtime process", opts.Means, o.recipe)
	case opts.Means == "":
		i := slices.IndexFunc(launch.Containers, func(name string) bool { _, err := exec.LookPath(name); return err == nil })
		if i < 0 {
			return opts, refuse(exitFailed, "--launch %s: it runs from the image %s, and none of %s is here; install one of them, or start the server yourself and name it with --base-url",
				o.recipe, r.Runtime.Image, strings.Join(launch.Containers, ", "))
		}
		opts.Means = launch.Containers[i]
	}
	opts.Name = fmt.Sprintf("rowproof-%d-%d", o.launch.port, os.Getpid()) // no other run's, which would be removed with ours
	opts.Cache = hubCache()
	if r.Weights.Repository == launch.Random && isDir(model) {
		if dir, err := os.Getwd(); err == nil {
			opts.Folder = dir
		}
	}
	return opts, nil
}

// hubCache is this host's folder of what was fetched from the Hub; "" where there is none.
func hubCache() string {
	dir := os.Getenv("HF_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".cache", "huggingface")
	}
	if !isDir(dir) {
		return ""
	}
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// untilHealthy waits until the server answers, ends, or takes too long.
func (o *benchOptions) untilHealthy(ctx context.Context, l *launched, began time.Time, w io.Writer) error {
	client := &http.Client{Timeout: healthTimeout, Transport: &http.Transport{
		Proxy: nil, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: o.insecure},
	}}
	defer client.CloseIdleConnections()
	told := began
	pause := time.NewTicker(healthPause)
	defer pause.Stop()
	for {
		if healthy(ctx, client, o.base, o.header) {
			return nil
		}
		if time.Since(began) > o.launch.within {
			return refuse(exitFailed, "--launch %s: no answer at %s within %s; allow more with --launch-timeout. The end of its log, %s:\n%s",
				o.recipe, o.base, o.launch.within, l.log.name, l.log.end())
		}
		if time.Since(told) > launchNews {
			told = time.Now()
			fmt.Fprintf(w, "starting for %s: %s\n", time.Since(began).Round(time.Second), oneLine(l.log.last()))
		}
		select {
		case <-ctx.Done():
			return refuse(exitInterrupted, "interrupted while the server started")
		case <-l.Ended():
			how := "by itself"
			if err := l.Err(); err != nil {
				how = "with " + err.Error()
			}
			return refuse(exitFailed, "--launch %s: the server ended %s before it answered. The end of its log, %s:\n%s", o.recipe, how, l.log.name, l.log.end())
		case <-pause.C:
		}
	}
}

// healthy asks an engine's own route for health, or of one that has none the list of its
// models, with the header that carries a key.
func healthy(ctx context.Context, client *http.Client, base *url.URL, header http.Header) bool {
	for _, route := range []string{"/health", "/v1/models", "/api/tags"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath(route).String(), nil)
		if err != nil {
			return false
		}
		req.Header = header.Clone()
		resp, err := client.Do(req)
		if err != nil {
			return false
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			return resp.StatusCode == http.StatusOK
		}
	}
	return false
}

// serverLog is a server's output, in a file as it comes and cleaned of secrets by the
// line, with its end at hand.
type serverLog struct {
	name    string
	file    *os.File
	mu      sync.Mutex
	secrets secrets // its own: the log teaches it more
	part    []byte  // of a line
	tail    string
	written int64
}

const mostLog = 64 << 20 // bytes of the file

// What in a server's own words may be a secret, whoever set it: values under such names,
// quoted or behind a flag, and tokens by their form.
var (
	quotedValue = regexp.MustCompile(`([A-Za-z_][\w.-]*)['"]?\s*[:=]\s*['"]([^'"]{4,})['"]`)
	flagValue   = regexp.MustCompile(`--?([A-Za-z][\w-]*)[ =]([^\s'",]{4,})`)
	tokenForm   = regexp.MustCompile(`\b(hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{12,}|AKIA[A-Z0-9]{16})`)
)

// masked is a text of the server's as it may be kept.
func (l *serverLog) masked(text string) string {
	l.secrets.find(text)
	for _, form := range []*regexp.Regexp{quotedValue, flagValue} {
		for _, m := range form.FindAllStringSubmatch(text, -1) {
			if isSecretName(m[1]) {
				l.secrets.add(m[2])
			}
		}
	}
	return spelled(tokenForm.ReplaceAllString(l.secrets.scrub(text), masked))
}

// openServerLog makes the file beside the run's others, or in a folder for such.
func openServerLog(o *benchOptions) (*serverLog, error) {
	var f *os.File
	var err error
	if o.output != "" {
		f, err = os.OpenFile(o.output+".server.log", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	} else {
		f, err = os.CreateTemp("", "rowproof-server-*.log")
	}
	if err != nil {
		return nil, refuse(exitUsage, "the server's log: %v", err)
	}
	own := secrets{texts: slices.Clone(o.secrets.texts), forms: slices.Clone(o.secrets.forms)}
	return &serverLog{name: f.Name(), file: f, secrets: own}, nil
}

func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, p...)
	end := len(l.part)
	if end < logTail { // a line that never ends goes out in pieces
		end = strings.LastIndexAny(string(l.part), "\n\r") + 1
	}
	if end == 0 {
		return len(p), nil
	}
	text := l.masked(string(l.part[:end]))
	l.part = append([]byte(nil), l.part[end:]...)
	l.tail += text
	if n := len(l.tail) - logTail; n > 0 {
		l.tail = l.tail[n:]
	}
	switch before := l.written; {
	case before >= mostLog:
		return len(p), nil // its end is still at hand
	case before+int64(len(text)) >= mostLog:
		text += fmt.Sprintf("\n(no more of it is kept: it is above %d MB)\n", mostLog>>20)
	}
	l.written += int64(len(text))
	if _, err := io.WriteString(l.file, text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// close writes what is left of the last line, too.
func (l *serverLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written < mostLog {
		_, _ = io.WriteString(l.file, l.masked(string(l.part)))
	}
	l.part = nil
	l.file.Close()
}

// lines of the end of the log that hold anything.
func (l *serverLog) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for line := range strings.Lines(l.tail + l.masked(string(l.part))) {
		if line = plain(strings.TrimSpace(line)); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// end is the last of what the server said.
func (l *serverLog) end() string {
	lines := l.lines()
	if len(lines) == 0 {
		return "  (it said nothing)"
	}
	return "  " + strings.Join(lines[max(0, len(lines)-lastLines):], "\n  ")
}

// last is the last line of it.
func (l *serverLog) last() string {
	if lines := l.lines(); len(lines) > 0 {
		return lines[len(lines)-1]
	}
	return "it has said nothing yet"
}
