package engine

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"time"

	"rowproof/internal/row"
)

// Server is what a server says of itself.
type Server struct {
	Engine   string // one of Engines but OpenAI, or "unknown: " and why
	Version  string // letter for letter, but for what can't be shown; "" when the server does not say
	Models   []ServedModel
	Info     json.RawMessage // its settings as they came; nil where it shows none
	InfoFrom string          // the path of Info
	Metrics  string          // the path of its metrics, or of llama.cpp's slots; "" when it has neither
	Pool     *row.MemoryPool // what it says of the memory that it set aside; nil when it does not
	Healthy  bool            // /health answers 200
	Unread   map[string]string
}

// ServedModel is one entry of /v1/models.
type ServedModel struct {
	ID      string
	Root    string // where the weights came from, as the server says
	OwnedBy string
	MaxLen  *int64 // tokens; nil when the server does not say
}

// NoServerError says that nothing answers there.
type NoServerError struct {
	URL string
	Err error
}

func (e *NoServerError) Error() string {
	return "no server at " + e.URL + ": " + inWords(e.Err)
}

func (e *NoServerError) Unwrap() error { return e.Err }

// SilentError says that something accepted the connection and then said nothing.
type SilentError struct {
	URL  string
	Wait time.Duration
}

func (e *SilentError) Error() string {
	return e.URL + " accepted the connection and did not answer within " + seconds(e.Wait)
}

// NotOpenAIError says that what answers there lists no models as OpenAI's API does.
type NotOpenAIError struct {
	URL    string // that was asked
	Status int
	Said   string // how the answer begins
}

func (e *NotOpenAIError) Error() string {
	s := "GET " + e.URL + " answers " + strings.TrimSpace(strconv.Itoa(e.Status)+" "+http.StatusText(e.Status)) + ": " + e.Said
	switch {
	case e.Status == http.StatusNotFound:
		s += "; that is no OpenAI-compatible server at this address"
	case e.Status == http.StatusOK:
		s += "; that is no list of models, {\"data\": [{\"id\": …}]}, so no OpenAI-compatible server"
	}
	return s
}

// RedirectError says that the server sends its callers elsewhere.
type RedirectError struct {
	URL  string // that was asked
	Said string // where to, in words
}

func (e *RedirectError) Error() string { return "GET " + e.URL + " " + e.Said }

func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
}

// AccessError says that the server wants a key that it was not given.
type AccessError struct {
	URL    string
	Status int
	Sent   bool // an Authorization header was sent
}

func (e *AccessError) Error() string {
	s := e.URL + " answers " + strconv.Itoa(e.Status) + " " + http.StatusText(e.Status) + ": "
	if e.Sent {
		return s + "the key in OPENAI_API_KEY (or --api-key-file) is not accepted"
	}
	return s + "set OPENAI_API_KEY, or give --api-key-file"
}

// prober asks one server.
type prober struct {
	base   *url.URL
	header http.Header
	client *http.Client
	wait   time.Duration
}

// longestProbe is how long an answer to a question about the server may take at most.
const longestProbe = 15 * time.Second

// longestAnswer is how many bytes of an answer about the server are read.
const longestAnswer = 8 << 20

func newProber(base *url.URL, header http.Header, insecure bool, timeout time.Duration) *prober {
	wait := min(timeout, longestProbe)
	return &prober{base: base, header: header, wait: wait, client: &http.Client{
		Timeout:       wait,
		CheckRedirect: stay,
		Transport: &http.Transport{
			Proxy:           nil, // what is asked is the server, not a proxy
			TLSClientConfig: &tls.Config{InsecureSkipVerify: insecure},
		},
	}}
}

// Probe asks the server at base what it is; each answer may take timeout, and no longer
// than 15 s. The errors *NoServerError, *SilentError, *AccessError, *RedirectError and
// *NotOpenAIError tell what a user can do about it; anything else that is missing is in
// Unread. With a *NotOpenAIError of status 404 the Server is filled in all the same: who
// knows the model's name can load a server that lists none.
func Probe(ctx context.Context, base *url.URL, header http.Header, insecure bool, timeout time.Duration) (Server, error) {
	p := newProber(base, header, insecure, timeout)
	defer p.client.CloseIdleConnections()
	s := Server{Unread: map[string]string{}}

	body, status, location, err := p.get(ctx, pathModels)
	var silent *SilentError
	switch {
	case errors.As(err, &silent):
		return s, silent
	case err != nil:
		return s, &NoServerError{URL: base.Redacted(), Err: err}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return s, &AccessError{URL: p.url(pathModels), Status: status, Sent: header.Get("Authorization") != ""}
	case redirects(status):
		return s, &RedirectError{URL: p.url(pathModels), Said: redirected(status, location)}
	}
	listed := status == http.StatusOK && s.models(body)
	other := &NotOpenAIError{URL: p.url(pathModels), Status: status, Said: saidBy(body)}
	if !listed && status != http.StatusNotFound {
		return s, other
	}
	said := answers{owner: s.owner()}
	for _, path := range []string{pathVersion, pathServerInfo, pathMetrics, pathHealth} {
		said.keep(path, p.ask(ctx, &s, path))
	}
	if said.of[pathServerInfo] == nil {
		said.keep(pathServerInfoOld, p.ask(ctx, &s, pathServerInfoOld))
	}
	s.Healthy = said.of[pathHealth] != nil
	if !said.named() {
		for _, path := range []string{pathProps, pathSlots, pathOllamaVersion, pathInfo, pathOwnMetrics} {
			said.keep(path, p.ask(ctx, &s, path))
		}
		if said.of[pathOllamaVersion] != nil && !listed {
			said.keep(pathTags, p.ask(ctx, &s, pathTags))
		}
	}
	s.take(&said)
	if len(s.Models) == 0 && !listed {
		return s, cmp.Or[error](ctx.Err(), other)
	}
	return s, ctx.Err()
}

// What a server is asked.
const (
	pathModels        = "/v1/models"
	pathVersion       = "/version"
	pathServerInfo    = "/server_info"
	pathServerInfoOld = "/get_server_info" // of older SGLang
	pathMetrics       = "/metrics"
	pathOwnMetrics    = "/prometheus/metrics" // of trtllm-serve
	pathHealth        = "/health"
	pathProps         = "/props"       // of llama.cpp
	pathSlots         = "/slots"       // of llama.cpp: what its slots do, where it was started without metrics
	pathOllamaVersion = "/api/version" // of Ollama
	pathTags          = "/api/tags"    // of Ollama: its models
	pathInfo          = "/info"        // of TGI
)

// Questions are the paths at which servers of all engines are asked about themselves.
func Questions() []string {
	return []string{
		pathModels, pathVersion, pathServerInfo, pathServerInfoOld, pathMetrics, pathOwnMetrics, pathHealth,
		pathProps, pathSlots, pathOllamaVersion, pathTags, pathInfo,
	}
}

// models reads the list of models, and says whether it is one.
func (s *Server) models(body []byte) bool {
	var list struct {
		Data *[]struct {
			ID      string `json:"id"`
			Root    string `json:"root"`
			OwnedBy string `json:"owned_by"`
			MaxLen  *int64 `json:"max_model_len"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil || list.Data == nil {
		return false
	}
	for _, m := range *list.Data {
		if m.ID == "" {
			continue // it can't be asked for
		}
		s.Models = append(s.Models, ServedModel{ID: m.ID, Root: m.Root, OwnedBy: m.OwnedBy, MaxLen: m.MaxLen})
	}
	return true
}

// owner is who the models belong to, as the server says.
func (s *Server) owner() string {
	if len(s.Models) == 0 {
		return ""
	}
	return s.Models[len(s.Models)-1].OwnedBy
}

func versionIn(body []byte) string {
	var v struct {
		Version string `json:"version"`
	}
	if json.Unmarshal(body, &v) != nil {
		return ""
	}
	return visible([]byte(v.Version), 100)
}

func (p *prober) url(path string) string {
	u := *p.base
	u.User = nil
	u.Path = strings.TrimRight(u.Path, "/") + path
	return u.String()
}

// ask gets a path that need not exist; nil when it does not answer 200.
func (p *prober) ask(ctx context.Context, s *Server, path string) []byte {
	body, status, location, err := p.get(ctx, path)
	switch {
	case err != nil:
		s.Unread[path] = inWords(err)
		return nil
	case redirects(status):
		s.Unread[path] = redirected(status, location)
		return nil
	case status != http.StatusOK:
		s.Unread[path] = "HTTP " + strconv.Itoa(status)
		return nil
	}
	if body == nil {
		body = []byte{}
	}
	return body
}

func (p *prober) get(ctx context.Context, path string) (body []byte, status int, location string, err error) {
	return p.send(ctx, http.MethodGet, path, nil)
}

func (p *prober) send(ctx context.Context, method, path string, content io.Reader) (body []byte, status int, location string, err error) {
	accepted := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { accepted = true }})
	req, err := http.NewRequestWithContext(ctx, method, p.url(path), content)
	if err != nil {
		return nil, 0, "", err
	}
	if content != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range p.header {
		req.Header[http.CanonicalHeaderKey(k)] = v
	}
	if u := p.base.User; u != nil {
		pass, _ := u.Password()
		req.SetBasicAuth(u.Username(), pass)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, 0, "", p.late(ctx, err, accepted)
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, longestAnswer))
	return body, resp.StatusCode, resp.Header.Get("Location"), p.late(ctx, err, accepted)
}

// late puts the passing of the probe's own time into words.
func (p *prober) late(ctx context.Context, err error, accepted bool) error {
	var timed net.Error
	switch {
	case ctx.Err() != nil || !errors.As(err, &timed) || !timed.Timeout():
		return err
	case accepted:
		return &SilentError{URL: p.base.Redacted(), Wait: p.wait}
	}
	return errors.New("no connection within " + seconds(p.wait))
}

// inWords takes the addresses and the URL out of a network error.
func inWords(err error) string {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return strings.TrimPrefix(op.Err.Error(), "connect: ")
	}
	return err.Error()
}
