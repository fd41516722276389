package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"rowproof/internal/catalog"
	"rowproof/internal/engine"
	"rowproof/internal/host"
	"rowproof/internal/loadgen"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// server is what a run measures, as far as it said what it is, and how to ask it.
type server struct {
	base      *url.URL
	header    http.Header
	insecure  bool
	model     string          // its id in requests
	root      string          // where its weights came from, as it says; "" when it does not
	known     *roofline.Model // the catalogue's entry; nil when it has none
	engine    string          // "" unknown
	unknown   string          // why it is
	version   string
	arguments map[string]string // what it reports of its settings
	settings  string            // the path of those
	metrics   string            // the path of its counters; "" when it exposes none
	pool      *row.MemoryPool
	extra     map[string]json.RawMessage
	form      form
	listed    bool // it lists its models
	// without are members of requests that the server refuses.
	without []string
	// completionLimit says that the limit of the output is called max_completion_tokens.
	completionLimit bool
	own             bool // the embedded engine that this run started
	embedded        bool // it is the embedded engine, whatever engine it is treated as
}

func (s *server) simulated() bool { return s.embedded }

// ref is the server as the host's readings need it.
func (s *server) ref() host.ServerRef {
	r := host.ServerRef{
		Base: s.base, Header: s.header, Insecure: s.insecure,
		Engine: s.engine, Version: s.version, Model: oneLine(s.model), Arguments: s.arguments,
		Metrics: s.metrics, Pool: s.pool,
	}
	if s.arguments != nil {
		r.ArgumentsFrom = "GET " + s.settings
	}
	return r
}

// findServer asks the server what it is and which model to load.
func findServer(ctx context.Context, o *benchOptions, cat *catalog.Catalog) (*server, error) {
	said, err := engine.Probe(ctx, o.base, o.header, o.insecure, o.timeout)
	var gone *engine.NoServerError
	var other *engine.NotOpenAIError
	var silent *engine.SilentError
	switch {
	case o.model != "" && errors.As(err, &other) && other.Status == http.StatusNotFound:
		// It lists no models, and the one to load was named.
	case errors.As(err, &gone) && loadgen.TLSTrouble(gone.Err) != "":
		return nil, refuse(exitNoServer, "%s: %s", o.base.Redacted(), loadgen.TLSTrouble(gone.Err))
	case (gone != nil || errors.As(err, &other)) && o.base.Scheme == "http" && speaksTLS(ctx, o.base):
		secure := *o.base
		secure.Scheme = "https"
		return nil, refuse(exitNoServer, "%s: the server speaks TLS there; want --base-url %s", o.base.Redacted(), secure.Redacted())
	case gone != nil:
		return nil, refuse(exitNoServer, "%v; start one or name another with --base-url", gone)
	case errors.As(err, &other), errors.As(err, &silent):
		return nil, refuse(exitNoServer, "%v; name another server with --base-url", err)
	case err != nil:
		return nil, refuse(exitNoServer, "%v", err)
	}
	s := &server{
		base: o.base, header: o.header, insecure: o.insecure,
		engine: said.Engine, version: said.Version, arguments: settings(said.Info), settings: said.InfoFrom,
		metrics: said.Metrics, pool: said.Pool, listed: len(said.Models) > 0, extra: map[string]json.RawMessage{},
	}
	if why, unknown := strings.CutPrefix(s.engine, "unknown: "); unknown {
		s.engine, s.unknown = "", why
	}
	s.embedded = s.engine == engine.Embedded
	if err := s.take(o.engine); err != nil {
		return nil, err
	}
	if err := s.route(o); err != nil {
		return nil, err
	}
	var served []string
	for _, m := range said.Models {
		served = append(served, m.ID)
	}
	if s.model = o.model; !s.listed && o.model != "" {
		// Taken at its word.
	} else if s.model, err = chooseModel(cat, o.model, served); err != nil {
		return nil, refuse(exitUsage, "%s: %v", o.base.Redacted(), err)
	}
	for _, m := range said.Models {
		if m.ID != s.model {
			continue
		}
		s.root = m.Root
		if err := o.fits(s.model, m.MaxLen); err != nil {
			return nil, err
		}
	}
	if s.known = knownModel(cat, s.model); s.known == nil && o.model != "" {
		s.known = knownModel(cat, o.model)
	}
	for key, text := range o.extraBody {
		s.extra[key] = json.RawMessage(text)
	}
	return s, nil
}

// speaksTLS says whether a server answers a TLS handshake, if only by refusing it.
func speaksTLS(ctx context.Context, base *url.URL) bool {
	ctx, cancel := context.WithTimeout(ctx, goneWithin)
	defer cancel()
	port := base.Port()
	if port == "" {
		port = base.Scheme
	}
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // nothing is sent to it
	c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(base.Hostname(), port))
	if err == nil {
		c.Close()
		return true
	}
	var said *net.OpError
	return errors.As(err, &said) && said.Op == "remote error"
}

// take treats the server as the engine that a user names, as far as what it says of
// itself allows it.
func (s *server) take(asked string) error {
	switch {
	case asked == "" || asked == s.engine:
	case asked == engine.OpenAI:
		s.engine, s.unknown = asked, ""
	case asked == engine.Embedded && s.engine == "":
		return refuse(exitUsage, "--engine %s: the server does not say that it is the embedded engine (%s); want one of %s, or none", asked, s.unknown, strings.Join(slices.DeleteFunc(slices.Clone(engine.Engines), func(e string) bool { return e == engine.Embedded }), ", "))
	case s.engine == "":
		s.engine, s.unknown = asked, ""
	default:
		return refuse(exitUsage, "--engine %s: the server says that it is %s; want --engine %s, or %s for none of its extensions, or none", asked, s.engine, s.engine, engine.OpenAI)
	}
	return nil
}

// route settles which route is loaded: the one asked for, else the best of the engine.
func (s *server) route(o *benchOptions) error {
	there := engine.RoutesOf(s.engine)
	if o.endpoint == "" {
		o.endpoint = there[0]
		if s.engine == "" {
			o.endpoint = engine.PathCompletions
		}
	}
	if !slices.Contains(there, o.endpoint) {
		return refuse(exitUsage, "--endpoint %s: %s has no such route; want one of %s", o.endpoint, row.EngineName(s.engine), strings.Join(there, ", "))
	}
	return nil
}

// fits refuses what is longer than the server takes, before any of it is measured. How
// long a dataset's prompts are only the server can say.
func (o *benchOptions) fits(model string, limit *int64) error {
	switch {
	case limit == nil || o.dataset != nil:
		return nil
	case o.trace != nil:
		return o.fitsTrace(model, *limit)
	}
	var long []string
	for _, x := range o.shapes {
		if x.isl+x.osl > *limit {
			long = append(long, fmt.Sprintf("%s (%d tokens)", x, x.isl+x.osl))
		}
	}
	if long == nil {
		return nil
	}
	return refuse(exitUsage, "--cells: longer than the server takes of %s: %s; want prompt and output together of at most %d tokens (its max_model_len)",
		oneLine(model), strings.Join(long, ", "), *limit)
}

// Bounds on what is kept of a server's settings: their number, and bytes of each.
const (
	mostSettings  = 2000
	mostOfSetting = 8 << 10
)

// settings flattens what a server reports of itself to one text a name. Values that
// may be secrets are masked.
func settings(info json.RawMessage) map[string]string {
	var members map[string]json.RawMessage // not read any further: it may be large
	if info == nil || json.Unmarshal(info, &members) != nil {
		return nil
	}
	out := map[string]string{}
	for name, v := range members {
		text := string(v)
		switch v[0] {
		case '{', '[', 'n':
			continue // nested state is no setting, and null is none
		case '"':
			if json.Unmarshal(v, &text) != nil {
				continue
			}
		}
		if len(text) > mostOfSetting || len(name) > mostOfName {
			continue // no engine has such
		}
		out[name] = text
		if isSecretName(name) {
			out[name] = masked
		}
		if len(out) == mostSettings {
			break
		}
	}
	return out
}

// options are what each request asks beside its prompt.
func (s *server) options(w *row.Workload) engine.Options {
	return engine.Options{
		Engine: s.engine, IgnoreEOS: w.Sampling.IgnoreEOS, Temperature: string(w.Sampling.Temperature),
		CompletionLimit: s.completionLimit, Without: s.without, Extra: s.extra,
	}
}
