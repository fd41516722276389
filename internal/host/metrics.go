package host

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	metricsTimeout = 2 * time.Second
	metricsBytes   = 16 << 20 // of one answer
	metricsSeries  = 20000    // of one answer
	metricsName    = 1 << 10  // of a series with its labels; longer ones are left out
	metricsHeld    = 64 << 20 // of all that is kept of one row
)

// scraper reads a server's metrics over a connection of its own.
type scraper struct {
	path   string
	url    string
	header http.Header
	client *http.Client
}

func newScraper(ref ServerRef) *scraper {
	path := cmp.Or(ref.Metrics, "/metrics")
	return &scraper{
		path:   path,
		url:    metricsURL(ref.Base, path),
		header: ref.Header,
		client: &http.Client{Timeout: metricsTimeout, CheckRedirect: stay, Transport: &http.Transport{
			Proxy:           nil, // the server itself is asked
			TLSClientConfig: &tls.Config{InsecureSkipVerify: ref.Insecure},
		}},
	}
}

// stay keeps the scraper at the server it was given: a redirect would carry the key to
// wherever an answer says.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func metricsURL(base *url.URL, path string) string {
	u := *base
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1") + path
	u.RawPath, u.RawQuery, u.Fragment = "", "", ""
	return u.String()
}

// scrape returns the series that keep says to keep.
func (s *scraper) scrape(ctx context.Context, keep func(name string) bool) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, err
	}
	for name, values := range s.header {
		req.Header[name] = values
	}
	resp, err := s.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // the URL may hold a password
		}
		return nil, fmt.Errorf("GET %s: %w", s.path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, metricsBytes))
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", s.path, err)
	}
	if to, err := resp.Location(); err == nil && resp.StatusCode/100 == 3 {
		return nil, fmt.Errorf("GET %s answered %d to %s; redirects are not followed, name the server itself", s.path, resp.StatusCode, strconv.QuoteToASCII(to.Scheme+"://"+to.Host))
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s answered %d %s", s.path, resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	values := parseMetrics(string(body), keep)
	if s.path == slotsPath {
		values = parseSlots(body)
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("GET %s answered no series that we know how to read", s.path)
	}
	return values, nil
}

// slotsPath is where llama.cpp says what its slots do, in JSON, when it was started
// without metrics; busySlots is the series that is made of it.
const (
	slotsPath = "/slots"
	busySlots = "slots:is_processing"
)

// parseSlots counts the slots that are at work.
func parseSlots(body []byte) map[string]float64 {
	var slots []struct {
		Busy *bool `json:"is_processing"`
	}
	if json.Unmarshal(body, &slots) != nil || len(slots) == 0 {
		return nil
	}
	busy := 0.0
	for _, s := range slots {
		switch {
		case s.Busy == nil:
			return nil
		case *s.Busy:
			busy++
		}
	}
	return map[string]float64{busySlots: busy}
}

// parseMetrics reads the Prometheus text form: series as exposed, with their labels.
// Values that are no numbers, and lines of another form, are left out.
func parseMetrics(text string, keep func(name string) bool) map[string]float64 {
	out := map[string]float64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		end := strings.IndexAny(line, "{ \t")
		if end < 0 || !keep(line[:end]) {
			continue
		}
		if line[end] == '{' {
			n := labelsEnd(line[end:])
			if n < 0 {
				continue
			}
			end += n
		}
		if end > metricsName {
			continue
		}
		f := strings.Fields(line[end:])
		if len(f) == 0 || len(f) > 2 { // a time may follow the value
			continue
		}
		v, err := strconv.ParseFloat(f[0], 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		out[strings.Clone(line[:end])] = v // a part would keep the whole answer
		if len(out) == metricsSeries {
			break
		}
	}
	return out
}

// labelsEnd is the length of a label set in braces, whose values may hold any sign.
func labelsEnd(s string) int {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == '}' && !quoted:
			return i + 1
		}
	}
	return -1
}

// kept says whether a series is evidence: not a histogram's buckets, an interpreter's
// statistics, or the time a series was made.
func kept(name string) bool {
	switch {
	case name == "process_start_time_seconds":
		return true
	case strings.HasPrefix(name, "python_"), strings.HasPrefix(name, "process_"), strings.HasPrefix(name, "go_"),
		strings.HasSuffix(name, "_bucket"), strings.HasSuffix(name, "_created"):
		return false
	}
	return true
}

// watched are parts of the names of series that are read each second during a row:
// what runs and waits, what memory is in use, and what the caches did.
var watched = []string{
	"running", "waiting", "num_queue_reqs", "queue_size", "batch_current_size", "requests_processing", "requests_deferred",
	"cache_usage", "cache_utilization", "token_usage", "kv_used_tokens", "num_used_tokens", "active_bytes",
	"preemptions", "retracted", "prefix_cache", "cached_tokens", "cache_hit_rate", "admitted_tokens",
	"prompt_tokens_total", "generation_tokens_total", "tokens_predicted_total", "spec_decode", "spec_accept",
	"num_allocs", "park_waits", "process_start_time_seconds",
}

// keptDuring is kept, for the readings during a row.
func keptDuring(name string) bool {
	if !kept(name) || strings.HasSuffix(name, "_sum") || strings.HasSuffix(name, "_count") {
		return false
	}
	for _, part := range watched {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
