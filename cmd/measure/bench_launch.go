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
	"strings"
	"sync"
	"time"

	"rowproof/internal/host"
	"rowproof/internal/launch"
	"rowproof/internal/row"
)

const (
	healthTimeout = 5 * time.Second
	healthPause   = 500 * time.Millisecond
	deathWithin   = 10 * time.Second // from when a server answers no more until its process is seen to have ended
	launchNews    = 15 * time.Second // between two lines of how far a start is
)

var launchMeans = append([]string{launch.Process}, launch.Containers...)

// launching is what a call of bench asks of the server that it starts itself.
type launching struct {
	wanted bool
	port   uint16
	means  string // "" chooses
	within time.Duration
	server *launched // once started
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
	log   *serverLog
	means string
	once  sync.Once
	err   error
}

// stop ends the server, once; the error says what of it could not be ended, and what of
// its log could not be written.
func (l *launched) stop() error {
	l.once.Do(func() { l.err = errors.Join(l.Stop(), l.log.close()) })
	return l.err
}

// died says how the server ended by itself; "" while it runs.
func (l *launched) died() string {
	select {
	case <-l.Ended():
	default:
		return ""
	}
	if err := l.Err(); err != nil {
		return "the server ended with " + err.Error()
	}
	return "the server ended by itself"
}

// soonDied is died of a server that no longer answers, whose end may be a moment away.
func (l *launched) soonDied() string {
	select {
	case <-l.Ended():
	case <-time.After(deathWithin):
	}
	return l.died()
}

// finish ends the server and tells what went wrong with it since it answered.
func (l *launched) finish(w io.Writer) {
	if how := l.died(); how != "" {
		fmt.Fprintf(w, "measure bench: %s while it was measured. %s\n", how, l.log.tells())
	}
	if err := l.stop(); err != nil {
		fmt.Fprintf(w, "measure bench: %v\n", err)
	}
}

// start runs the recipe's command and returns once the server answers.
func (o *benchOptions) start(ctx context.Context, recipe *row.Recipe, w io.Writer) (*launched, error) {
	model, _, _ := strings.Cut(o.recipe, "/")
	opts, err := o.launchOptions(ctx, model, recipe)
	if err != nil {
		return nil, err
	}
	if holder, err := net.Listen("tcp", o.base.Host); err != nil {
		by := err.Error()
		if pid, command, err := host.Serving(ctx, o.base); err == nil {
			by = fmt.Sprintf("process %d holds it: %s", pid, command)
		}
		return nil, refuse(exitUsage, "--launch: port %d cannot be listened on (%s); end what holds it, or want --port of a free one", o.launch.port, by)
	} else {
		holder.Close()
	}
	o.before = host.Freed(ctx)
	for _, d := range o.before.Devices {
		if d.MemoryUsed != nil && *d.MemoryUsed > row.IdleBytes {
			fmt.Fprintf(w, "device %d: %.1f GiB of its memory are another's before the server starts\n", d.Index, float64(*d.MemoryUsed)/(1<<30))
		}
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
		log.forget()
		text := err.Error()
		if errors.Is(err, exec.ErrNotFound) {
			text += "; " + install(recipe)
		}
		return nil, refuse(exitFailed, "--launch %s: %s", o.recipe, text)
	}
	l := &launched{Server: s, log: log, means: opts.Means}
	o.launch.server = l
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
func (o *benchOptions) launchOptions(ctx context.Context, model string, r *row.Recipe) (launch.Options, error) {
	opts := launch.Options{Means: o.launch.means, Port: o.launch.port}
	image := r.Runtime.Image != ""
	switch {
	case opts.Means == "" && !image, opts.Means == launch.Process:
		opts.Means = launch.Process
		return opts, nil
	case !image:
		return opts, refuse(exitUsage, "--runtime %s: recipe %s names packages and no image; want --runtime process", opts.Means, o.recipe)
	}
	among := launch.Containers
	if opts.Means != "" {
		among = []string{opts.Means}
	}
	opts.Means = ""
	var why []string
	for _, program := range among {
		err := launch.Usable(ctx, program)
		if err == nil {
			opts.Means = program
			break
		}
		why = append(why, "  "+err.Error())
	}
	if opts.Means == "" {
		return opts, refuse(exitFailed, "--launch %s: it runs from the image %s, and nothing here can run it:\n%s\nMend or install one of %s, or start the server yourself and name it with --base-url",
			o.recipe, r.Runtime.Image, strings.Join(why, "\n"), strings.Join(launch.Containers, ", "))
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
	told, last := began, ""
	pause := time.NewTicker(healthPause)
	defer pause.Stop()
	for {
		if healthy(ctx, client, o.base, o.header) && l.died() == "" {
			return o.ours(ctx, l)
		}
		if time.Since(began) > o.launch.within {
			return refuse(exitFailed, "--launch %s: no answer at %s within %s; allow more with --launch-timeout. %s", o.recipe, o.base, o.launch.within, l.log.tells())
		}
		if time.Since(told) > launchNews {
			told = time.Now()
			news := oneLine(l.log.last())
			if news == last {
				news = "nothing new"
			} else {
				last = news
			}
			fmt.Fprintf(w, "starting for %s: %s\n", time.Since(began).Round(time.Second), news)
		}
		select {
		case <-ctx.Done():
			return refuse(exitInterrupted, "interrupted while the server started")
		case <-l.Ended():
			return refuse(exitFailed, "--launch %s: %s before it answered. %s", o.recipe, l.died(), l.log.tells())
		case <-pause.C:
		}
	}
}

// ours refuses a server that answers and is not the one that was started. Whose a port in a
// container is, not every user can see.
func (o *benchOptions) ours(ctx context.Context, l *launched) error {
	pid, command, err := host.Serving(ctx, o.base)
	if err != nil || l.Owns(int(pid)) || l.means == launch.Docker || l.means == launch.Podman {
		return nil
	}
	return refuse(exitFailed, "--launch %s: at %s answers process %d, which this run did not start: %s; end it, or want --port of a free one", o.recipe, o.base, pid, command)
}

// healthy asks an engine's own route for health and the list of its models, of which each
// engine has one at least, with the header that carries a key. Some answer for health before
// they can answer for a model.
func healthy(ctx context.Context, client *http.Client, base *url.URL, header http.Header) bool {
	well := 0
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
		switch resp.StatusCode {
		case http.StatusOK, http.StatusUnauthorized, http.StatusForbidden: // who may ask is for later
			well++
		case http.StatusNotFound: // not of this engine
		default:
			return false
		}
	}
	return well > 0
}
