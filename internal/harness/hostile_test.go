package harness

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// endless repeats a text until n bytes of it were read.
type endless struct {
	text string
	n    int64
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.n <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) && e.n > 0 {
		k := copy(p[n:], e.text[e.at:])
		n, e.at, e.n = n+k, (e.at+k)%len(e.text), e.n-int64(k)
	}
	return n, nil
}

func bomb(t *testing.T, head string, zeros int64) io.Reader {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(z, io.MultiReader(strings.NewReader(head), &endless{text: strings.Repeat(" ", 4096), n: zeros})); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

const serving = `{"backend":"sglang","dataset_name":"random","total_throughput":1,"median_ttft_ms":1,"max_concurrency":4,"completed":2`

// Whatever a file holds, reading it ends, in an error that says where, and within the
// memory that one file may have.
func TestHostileFilesEndWithinTheirMemory(t *testing.T) {
	for name, c := range map[string]struct {
		file io.Reader
		want string
	}{
		"a line of 100 MB that is no JSON":    {&endless{text: "x", n: 100 << 20}, "neither JSON nor a table"},
		"a text of 100 MB":                    {io.MultiReader(strings.NewReader(`{"backend":"`), &endless{text: "y", n: 100 << 20}), "a text of more than 16 MB"},
		"a million brackets":                  {&endless{text: "[", n: 1 << 20}, "nested deeper than 64"},
		"a million objects in one another":    {&endless{text: `{"a":`, n: 5 << 20}, "nested deeper than 64"},
		"a gigabyte of tiny lists":            {io.MultiReader(strings.NewReader(serving+`,"itls":[`), &endless{text: "[],", n: 1 << 30}), "are to be kept by here"},
		"a gigabyte of numbers":               {io.MultiReader(strings.NewReader(serving+`,"ttfts":[1`), &endless{text: strings.Repeat(",1", 2048), n: 1 << 30}), "are to be kept by here"},
		"more than half a gigabyte of spaces": {&endless{text: strings.Repeat(" ", 4096), n: mostBytes + 1<<20}, "more than 512 MB"},
		"100 MB of spaces in a few kB":        {bomb(t, "", 100<<20), "unpack to more than 400 times as many"},
		"a key that stands twice":             {strings.NewReader(serving + `,"backend":"vllm"}`), `line 1, column 128: the key "backend" stands twice`},
		"a text in place of a count":          {strings.NewReader(serving[:len(serving)-1] + "\"eight\"}\n"), `line 1: completed is "eight"; a whole number from 0 is accepted`},
		"lists of unequal length":             {strings.NewReader(serving + `,"ttfts":[0.1,0.2],"itls":[[0.1]],"input_lens":[1,1],"output_lens":[2,2]}`), "ttfts has 2 elements and itls 1"},
		"a list of texts":                     {strings.NewReader(serving + `,"ttfts":["a","b"],"itls":[],"input_lens":[],"output_lens":[]}`), "an element of ttfts is"},
		"an object where a rate should be":    {strings.NewReader(strings.Replace(serving, `"total_throughput":1`, `"total_throughput":{}`, 1) + "}"), "total_throughput is an object"},
		"a negative concurrency":              {strings.NewReader(strings.Replace(serving, `"max_concurrency":4`, `"max_concurrency":-4`, 1) + "}"), "max_concurrency is -4"},
		"a record of another tool among it":   {strings.NewReader(serving + "}\n" + `{"run_name":"a","batch_size":1,"prefill_latency":1}`), "line 2: a record of sglang-one-batch among those of sglang-serving"},
		"an unknown object":                   {strings.NewReader(`{"hello":1}`), `found an object with ["hello"], which is no result that is known`},
		"nothing":                             {strings.NewReader(""), "the file is empty"},
		"gzip that breaks off":                {bytes.NewReader([]byte{0x1f, 0x8b, 8, 0, 0}), "gzip"},
		"a control character":                 {strings.NewReader("{\"a\":\"\x00\"}"), "a control character (0x00)"},
	} {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := Parse("file", c.file)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v and %v, want %q", name, r, err, c.want)
		}
		if grown := int64(after.Sys) - int64(before.Sys); grown > 3*mostMemory {
			t.Errorf("%s took %d MB", name, grown>>20)
		}
	}
}

// A number too large to hold, and what breaks off after any byte, are no panic and no
// figure.
func TestEveryBeginningOfAFileEnds(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.json*")
	if err != nil || len(files) < 12 {
		t.Fatal(err, len(files))
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(data); n += 1 + len(data)/200 {
			if r, err := Parse(name, bytes.NewReader(data[:n])); err == nil && r == nil {
				t.Errorf("%s cut at %d gives neither a result nor an error", name, n)
			}
		}
	}
	r, err := Parse("x", strings.NewReader(strings.Replace(serving, `"median_ttft_ms":1`, `"median_ttft_ms":1e999`, 1)+"}"))
	if err != nil || r.Runs[0].Figures.TTFT != nil || r.Runs[0].Missing["ttft_ms.p50"] == "" {
		t.Errorf("1e999: %+v, %v", r, err)
	}
}

// A server's own settings are taken without what may be secret among them.
func TestSecretsOfAServerAreNotTaken(t *testing.T) {
	const secret = "sk-planted-0123456789"
	text := serving + fmt.Sprintf(`,"server_info":{"api_key":%q,"admin_api_key":%q,"hf_token":%q,"tokenizer_path":"m","version":"0.5.16","max_total_num_tokens":"905811"}}`, secret, secret, secret)
	r, err := Parse("x", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprintf("%+v", r); strings.Contains(s, secret) {
		t.Errorf("a secret was taken: %s", s)
	}
	if got := r.Runs[0].Server; got["tokenizer_path"] != "m" || got["api_key"] != masked || got["max_total_num_tokens"] != "905811" {
		t.Errorf("%v", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{serving + "}", `[{"build_commit":"a","n_prompt":1,"n_gen":0,"avg_ts":2}]`, "isl,osl,concurrency,ttft_ms\n1,2,3,4\n", `{"benchmarks":[{}],"metadata":{}}`,
		`{"aggregated_metrics":{"scenario":"D(1,2)"},"_time_unit":"s","individual_request_metrics":[{"ttft":1}]}`,
		`{"aiperf_version":"1","request_count":{"avg":1}}`, `{"metadata":{"request_start_ns":1},"metrics":{}}`, `{"load_summary":{},"successes":{},"failures":{}}`,
		`[{"start_time":1,"end_time":2,"request":"","info":{}}]`, `{"hw":"h","conc":1,"framework":"vllm","tput_per_gpu":1}`, `{"avg_latency":1,"latencies":[1],"percentiles":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := Parse("f", bytes.NewReader(data)); r == nil && err == nil {
			t.Error("neither a result nor an error")
		}
	})
}
