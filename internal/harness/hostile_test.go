package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"rowproof/internal/harness/hostile"
	"rowproof/internal/row"
)

// Whatever a file holds, reading it ends, in an error that says what is wrong or in a
// result that holds nothing of it, and within the memory that one file may have.
func TestHostileFilesEndWithinTheirMemory(t *testing.T) {
	for _, f := range hostile.Files() {
		file := f.Open()
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := Parse("file", file)
		runtime.ReadMemStats(&after)
		switch {
		case f.Want != "":
			if err == nil || !strings.Contains(err.Error(), f.Want) {
				t.Errorf("%s: %v, want %q", f.Name, err, f.Want)
			}
			if err != nil && len(err.Error()) > 8<<10 {
				t.Errorf("%s: an error of %d bytes", f.Name, len(err.Error()))
			}
		case err != nil:
			t.Errorf("%s: %v", f.Name, err)
		default:
			harmless(t, f.Name, r)
		}
		if grown := int64(after.Sys) - int64(before.Sys); grown > 3*mostMemory {
			t.Errorf("%s took %d MB", f.Name, grown>>20)
		}
	}
}

// harmless fails where a result holds what no reader of it expects.
func harmless(t *testing.T, name string, r *Result) {
	t.Helper()
	if text := fmt.Sprintf("%+v", r); strings.Contains(text, hostile.Secret) || !utf8.ValidString(text) {
		t.Errorf("%s: the result holds a secret, or what is no UTF-8", name)
	}
	if len(r.Runs) == 0 || r.Format == "" || r.Tool == "" {
		t.Errorf("%s: neither runs nor an error", name)
	}
	short := func(what, text string) {
		if len(text) > 4<<10 || strings.ContainsAny(text, "\n\r\x07\u202e\u2066") {
			t.Errorf("%s: %s is %q", name, what, cut(text, 80))
		}
	}
	for _, text := range r.Left {
		short("what was left", text)
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		short("the model", run.Model)
		short("the engine", run.Engine)
		short("the reason", run.Reason)
		for k, v := range run.Server {
			short("a setting", k+v)
		}
		for k, v := range run.Labels {
			short("a label", k+v)
		}
		for _, d := range run.Figures.Dists() {
			if d.Dist == nil {
				continue
			}
			for _, p := range []*float64{d.Dist.Mean, d.Dist.P50, d.Dist.P90, d.Dist.P95, d.Dist.P99} {
				if p != nil && !(*p > 0 && *p <= math.MaxFloat64) {
					t.Errorf("%s: %s is %v", name, d.Name, *p)
				}
			}
		}
		for _, s := range run.Figures.Scalars() {
			if s.Value != nil && !(*s.Value > 0 && *s.Value <= math.MaxFloat64) {
				t.Errorf("%s: %s is %v", name, s.Name, *s.Value)
			}
		}
		for j := range run.Samples {
			s := &run.Samples[j]
			short("a request's reason", s.Reason)
			if s.Sent < 0 || s.ISL != nil && *s.ISL < 0 || s.OSL != nil && *s.OSL <= 0 || !s.OK() && s.Reason == "" {
				t.Errorf("%s: request %d is %+v", name, j, s)
			}
			for _, g := range s.T {
				if g < 0 {
					t.Errorf("%s: request %d has a gap of %d µs", name, j, g)
				}
			}
			if s.First != nil && (*s.First < 0 || *s.Last < *s.First || *s.Chunks > *s.OSL && len(s.T) > 0) {
				t.Errorf("%s: request %d goes from %d to %d", name, j, *s.First, *s.Last)
			}
		}
		if _, ok := run.DurationS.Float(); run.DurationS != "" && !ok {
			t.Errorf("%s: its duration is %s", name, run.DurationS)
		}
		row.Compute(&run.Workload, 0, run.Samples, nil) // no panic
	}
}

// Of every format, what breaks off after any byte is an error or holds what was whole.
func TestEveryBeginningOfAFileEnds(t *testing.T) {
	for name, data := range hostile.Seeds() {
		if _, err := Parse(name, bytes.NewReader(data)); err != nil {
			t.Errorf("%s whole: %v", name, err)
		}
		for n := range data {
			r, err := Parse(name, bytes.NewReader(data[:n]))
			var torn *Torn
			switch {
			case err != nil && !errors.As(err, &torn):
			case r == nil:
				t.Errorf("%s cut at %d gives neither a result nor an error", name, n)
			default:
				harmless(t, fmt.Sprintf("%s cut at %d", name, n), r)
			}
		}
	}
}

// Of every format, any value in any field's place is an error that names its line, or no
// figure.
func TestWrongTypesInEveryField(t *testing.T) {
	wrong := []string{`null`, `{}`, `[]`, `"\u202e\n"`, `true`, `-1`, `0`, `1e999`, `NaN`, `99999999999999999999`, `[null,{}]`}
	for name, data := range hostile.Seeds() {
		if strings.HasSuffix(name, ".csv") {
			continue
		}
		first, rest, _ := bytes.Cut(data, []byte("\n"))
		if !strings.HasSuffix(name, ".jsonl") {
			first, rest = data, nil
		}
		var doc any
		d := json.NewDecoder(bytes.NewReader(bytes.ReplaceAll(first, []byte("Infinity"), []byte("1e9"))))
		d.UseNumber()
		if err := d.Decode(&doc); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		places(doc, func(put func(any)) {
			for _, w := range wrong {
				put(json.RawMessage(`"@@"`))
				text, err := json.Marshal(doc)
				if err != nil {
					t.Fatal(err)
				}
				text = append(bytes.Replace(text, []byte(`"@@"`), []byte(w), 1), '\n')
				r, err := Parse(name, bytes.NewReader(append(text, rest...)))
				switch {
				case err == nil:
					harmless(t, name+" with "+w, r)
				case !strings.Contains(err.Error(), "line ") && r == nil:
					t.Errorf("%s with %s: %v says no line", name, w, err)
				}
			}
		})
	}
}

// places calls f for every place in a document, with what puts a value there, and then puts
// back what was.
func places(doc any, f func(put func(any))) {
	switch doc := doc.(type) {
	case map[string]any:
		for key, old := range doc {
			f(func(v any) { doc[key] = v })
			doc[key] = old
			places(old, f)
		}
	case []any:
		for i, old := range doc {
			f(func(v any) { doc[i] = v })
			doc[i] = old
			places(old, f)
		}
	}
}

// A server's own settings are taken without what may be secret among them.
func TestSecretsOfAServerAreNotTaken(t *testing.T) {
	for _, f := range hostile.Files() {
		if f.Name != "secrets among a server's settings" {
			continue
		}
		r, err := Parse("x", f.Open())
		if err != nil {
			t.Fatal(err)
		}
		got := r.Runs[0].Server
		for _, name := range []string{"api_key", "hf_token", "launch_command", "note", "proxy"} {
			if got[name] != masked {
				t.Errorf("%s is %q", name, got[name])
			}
		}
		if got["version"] != "0.5.16" || got["max_total_num_tokens"] != "905811" {
			t.Errorf("%v", got)
		}
		return
	}
	t.Fatal("no file has secrets")
}

// What a real server says of itself is not masked for its names alone.
func TestSettingsThatAreNoSecretStay(t *testing.T) {
	run := &read(t, "sglang-0.5.16/sglang-bench-serving.jsonl").Runs[0]
	hidden := []string{}
	for name, text := range run.Server {
		if text == masked {
			hidden = append(hidden, name)
		}
	}
	if len(run.Server) < 100 || len(hidden) > 2 {
		t.Errorf("of %d settings these are masked: %q", len(run.Server), hidden)
	}
}

func FuzzParse(f *testing.F) {
	for _, data := range hostile.Seeds() {
		f.Add(data)
	}
	for _, seed := range []string{`[{"build_commit":"a","n_prompt":1,"n_gen":0,"avg_ts":2}]`, "build_commit,n_prompt,n_gen,avg_ts\na,1,0,2\n", "isl,osl,concurrency,ttft_ms\n1,2,3,4\n",
		`{"hw":"h","conc":1,"framework":"vllm","tput_per_gpu":1}`, `{"avg_latency":1,"latencies":[1],"percentiles":{}}`, `{"run_name":"a","batch_size":1,"last_ttft":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse("f", bytes.NewReader(data))
		switch {
		case r == nil && err == nil:
			t.Error("neither a result nor an error")
		case r != nil:
			harmless(t, "f", r)
		}
	})
}

// Rates that are divided by no time would be held against nothing.
func TestADurationIsATime(t *testing.T) {
	for _, d := range []string{"0", "-3.0", "NaN", "Infinity", `"2"`} {
		text := `{"backend":"sglang","dataset_name":"random","total_throughput":1,"median_ttft_ms":1,"max_concurrency":4,"completed":2,"duration":` + d + `}`
		if r, err := Parse("x", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "duration is ") {
			t.Errorf("a duration of %s: %+v, %v", d, r, err)
		}
	}
}
