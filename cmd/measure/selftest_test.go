package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rowproof/internal/row"
)

func TestSelftestFindsTheClientsError(t *testing.T) {
	s, err := selftest(t.Context(), 16, "")
	if err != nil {
		t.Fatal(err)
	}
	if s.Streams != 16 || s.Gaps < 16*8 || s.Gaps > 16*9 || s.chunks != 16*10 {
		t.Errorf("%d gaps and %d chunks of %d streams", s.Gaps, s.chunks, s.Streams)
	}
	if s.ITLErrorNS.P50 > 1e6 || s.TTFTErrorNS.P50 > 1e6 || s.ITLErrorNS.P50 > s.ITLErrorNS.P99 || s.ITLErrorNS.P99 > s.ITLErrorNS.Max {
		t.Errorf("errors %+v and %+v", s.ITLErrorNS, s.TTFTErrorNS)
	}
}

// An engine that wrote late is named as the cause; the client is not.
func TestSelftestDoesNotBlameTheClientForALateEngine(t *testing.T) {
	defer func(d time.Duration) { paceKept = d }(paceKept)
	paceKept = 5 * time.Millisecond
	s := tested{late: row.ErrorDist{P99: int64(paceKept)}}
	s.ITLErrorNS.P99 = int64(littleError) + 1
	if !s.kept() {
		t.Error("late by as much as is allowed, and off pace")
	}
	s.Streams, s.late.P99 = 64, int64(paceKept)+1
	if s.kept() || !strings.HasPrefix(s.offPace(), "with 64 streams the embedded engine wrote its tokens late (p99 5.000 ms): ") {
		t.Errorf("kept pace: %v; %s", s.kept(), s.offPace())
	}
	if s.ITLErrorNS.P99 = int64(littleError); !s.kept() {
		t.Error("an error too small to be spoilt, and not told")
	}
}

// calibrate runs the verb and returns what it printed as JSON.
func calibrate(t *testing.T, args ...string) selftestReport {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), append([]string{"selftest", "--json"}, args...), nil, &out, &errs)
	var r selftestReport
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || code != exitOK {
		t.Fatalf("exit %d, %v: %s%s", code, err, out.String(), errs.String())
	}
	return r
}

// What selftest measured is what a run's rows cite, until the host boots or the program
// changes, for as many streams as it saw and for its own source of stamps.
func TestBenchCitesTheCalibrationOfItsHost(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	r := calibrate(t, "--streams", "12,9", "--stamps", "read")
	file := filepath.Join(os.Getenv("XDG_CACHE_HOME"), "rowproof", "selftest.json")
	if len(r.Levels) != 2 || r.Levels[0].Streams != 9 || r.Levels[1].Gaps != 12*9 || !r.Levels[0].OnPace || r.Stamps != "read" || r.Kept == nil || *r.Kept != file {
		t.Fatalf("%+v", r)
	}
	calibrate(t, "--streams", "3", "--stamps", "ktime") // stands beside it
	cited := func(concurrency string) *row.Selftest {
		t.Helper()
		prefix := filepath.Join(t.TempDir(), "run")
		f := &fake{models: []string{"m"}}
		if code, _, stderr := quick(t, "--base-url", f.start(t).URL, "--cells", "8:2", "--concurrency", concurrency, "--output", prefix); code != exitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		return loaded(t, prefix).Report.Client.Selftest
	}
	if s := cited("2,10"); s.Streams != 12 || len(s.Levels) != 2 || s.Levels[0] != r.Levels[0].SelftestLevel || s.MeasuredAt != r.MeasuredAt || s.Boot != bootID() || s.Stamps != "read" ||
		s.ITLErrorNS != r.Levels[1].ITLErrorNS || s.TTFTErrorNS != r.Levels[1].TTFTErrorNS || s.Gaps != r.Levels[1].Gaps {
		t.Errorf("cited %+v of %+v", s, r)
	}
	if s := cited("9"); s.Streams != 9 {
		t.Errorf("cited the level of %d streams for 9", s.Streams)
	}
	fresh := func(name string, s *row.Selftest) {
		t.Helper()
		if s == nil || s.Boot != "" || s.Levels != nil || s.Gaps == 0 {
			t.Errorf("%s: %+v, want a selftest of the run's own", name, s)
		}
	}
	fresh("more streams than were calibrated", cited("13"))
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, changed := range map[string]string{
		"another boot":    strings.ReplaceAll(string(kept), bootID(), "24872781-0000-40df-8f18-1e213aff0e9e"),
		"another program": strings.ReplaceAll(string(kept), thisBuild(), "0123456789abcdef0123456789abcdef01234567"),
		"other stamps":    strings.ReplaceAll(string(kept), `"read"`, `"ring"`),
		"cut short":       string(kept[:len(kept)/2]),
		"of something":    `{"levels": 3}`,
		"negative errors": regexp.MustCompile(`"p50": \d+`).ReplaceAllString(string(kept), `"p50": -1`),
		"falling errors":  regexp.MustCompile(`"max": \d+`).ReplaceAllString(string(kept), `"max": 0`),
		"doubled levels":  strings.ReplaceAll(string(kept), `"streams": 9,`, `"streams": 12,`),
		"control marks":   strings.ReplaceAll(string(kept), r.MeasuredAt, `\u001b[2J`),
		"too large":       string(kept) + strings.Repeat(" ", largestCalibration),
	} {
		if changed == string(kept) {
			t.Fatalf("%s: nothing changed", name)
		}
		if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		fresh(name, cited("2"))
	}
	if err := errors.Join(os.Remove(file), os.Symlink("/dev/zero", file)); err != nil {
		t.Fatal(err)
	}
	fresh("a device", cited("2"))
	if all, why := calibrations(); all != nil || !strings.Contains(why, file+" is ignored, and measure selftest writes it anew: not a regular file") {
		t.Errorf("a device: %v, %q", all, why)
	}
	if r := calibrate(t, "--streams", "2", "--stamps", "read"); r.Kept == nil {
		t.Error("a broken file was not replaced")
	}
	if s := cited("2"); s.Streams != 2 {
		t.Errorf("cited %+v", s)
	}
}
