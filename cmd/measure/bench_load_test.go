package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"rowproof/internal/row"
)

// fileOf writes a file of a test.
func fileOf(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// talk is a trace in blocks of 64 tokens: one document asked about three times, one
// session of two turns behind it, and a prompt that shares nothing.
const talk = `{"timestamp": 0, "input_length": 200, "output_length": 6, "hash_ids": [0, 1, 2, 3]}
{"timestamp": 400, "input_length": 150, "output_length": 4, "hash_ids": [0, 1, 4]}
{"timestamp": 800, "input_length": 192, "output_length": 5, "hash_ids": [0, 1, 5], "session_id": "a"}
{"session_id": "a", "delay": 50, "input_length": 320, "output_length": 3, "hash_ids": [0, 1, 5, 6, 7]}
{"timestamp": 1300, "input_length": 90, "output_length": 8}
`

func planOf(t *testing.T, args ...string) []planned {
	t.Helper()
	return parsed(t, args...).plan()
}

func TestBenchPlansOpenLoops(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	rows := planOf(t, "--cells", "64:8,32:4", "--request-rate", "inf,2.50,0.5", "--burstiness", "0.5", "--max-concurrency", "40", "--num-prompts", "30")
	var got []string
	for _, p := range rows {
		w := &p.workload
		got = append(got, fmt.Sprint(p, " ", w.Protocol, " ", *w.Load.RequestRate, " ", w.Load.Burstiness == nil, " ", *w.Load.Concurrency, " ", w.Warmup, " ", *w.Requests, " ", w.Iters == nil))
	}
	want := []string{
		"64:8 at 0.5 requests/s sustained 0.5 false 40 8 30 true",
		"64:8 at 2.50 requests/s sustained 2.50 false 40 8 30 true",
		"64:8 at all at once sustained inf true 40 8 30 true",
		"32:4 at 0.5 requests/s sustained 0.5 false 40 8 30 true",
		"32:4 at 2.50 requests/s sustained 2.50 false 40 8 30 true",
		"32:4 at all at once sustained inf true 40 8 30 true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("planned\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	seeds := map[uint64]bool{}
	for _, p := range rows {
		seeds[p.seed] = true
	}
	if len(seeds) != len(rows) {
		t.Errorf("%d rows share %d seeds", len(rows), len(seeds))
	}
}

func TestBenchSizesOpenLoops(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	for args, want := range map[string][3]int64{ // untimed, timed, connections
		"--request-rate 0.5":                                        {8, 100, 32},
		"--request-rate 50 --warmup 3":                              {150, 1500, 200},
		"--request-rate inf":                                        {8, 100, 108},
		"--request-rate inf --max-concurrency 64 --warmup 0":        {0, 640, 64},
		"--request-rate 2000 --num-prompts 50000":                   {4000, 50000, 1024},
		"--request-rate 10 --num-prompts auto --max-concurrency 12": {20, 300, 12},
	} {
		o := parsed(t, append(strings.Fields(args), "--cells", "8:2")...)
		p := o.plan()[0]
		if got := [3]int64{p.workload.Warmup, *p.workload.Requests, o.connections(&p)}; got != want {
			t.Errorf("%s: untimed, timed, connections %v, want %v", args, got, want)
		}
	}
	if w := planOf(t, "--request-rate", "3", "--duration", "20s")[0].workload; w.Requests != nil || *w.DurationS != 20 {
		t.Errorf("with a duration: %+v", w)
	}
}

func TestBenchPlansATrace(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	file := fileOf(t, "talk.jsonl", talk)
	p := planOf(t, "--trace", file, "--trace-block", "64", "--warmup", "1")[0]
	w := p.workload
	if p.String() != "talk.jsonl at its own times" || *w.Load.RequestRate != "trace" || w.Load.Burstiness != nil || w.Load.Concurrency != nil ||
		*w.Requests != 5 || w.Warmup != 4 || *w.Sessions != 1 || *w.Block != 64 || w.ISL != 192 || w.OSL != 5 ||
		*w.Lengths != (row.Lengths{ISLP50: 192, ISLP99: 320, OSLP50: 5, OSLP99: 8}) || w.Prompts.Kind != row.PromptsTrace || w.Prompts.State != row.Cold || len(*w.Prompts.SHA256) != 64 {
		t.Errorf("planned %v: %+v", p, w)
	}
	rows := planOf(t, "--trace", file, "--trace-block", "64", "--request-rate", "1,9", "--num-prompts", "2")
	if w := rows[1].workload; len(rows) != 2 || *w.Load.RequestRate != "9" || *w.Requests != 2 || w.Sessions != nil || w.ISL != 150 {
		t.Errorf("planned %v: %+v", rows[1], w)
	}
}

func TestBenchPlansADataset(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, `{"prompt": "question %d", "output_len": %d}`+"\n", i, 1+i)
	}
	file := fileOf(t, "asked.jsonl", text.String())
	p := planOf(t, "--dataset", file, "--concurrency", "2", "--repeats", "2")[0]
	w := p.workload
	if p.String() != "asked.jsonl at c=2" || w.Protocol != row.Sustained || *w.Requests != 20 || w.Prompts.Kind != row.PromptsDataset || w.OSL != 30 || w.Lengths.OSLP99 != 60 {
		t.Errorf("planned %v: %+v", p, w)
	}
	if w := planOf(t, "--dataset", file, "--request-rate", "1", "--num-prompts", "9")[0].workload; *w.Load.RequestRate != "1" || *w.Requests != 9 {
		t.Errorf("%+v", w)
	}
	if w := planOf(t, "--dataset", file, "--repeat-prompts")[2].workload; w.Prompts.State != row.Warm || *w.Load.Concurrency != 8 {
		t.Errorf("%+v", w)
	}
}

// What cannot stand together is refused, all of it at once, with what would be accepted.
func TestBenchRefusesLoadsThatCannotStandTogether(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	trace := fileOf(t, "talk.jsonl", talk)
	dataset := fileOf(t, "asked.jsonl", `{"prompt": "Why?"}`+"\n"+`{"messages": [{"role": "user", "content": "Hi"}]}`)
	for args, want := range map[string][]string{
		"--request-rate 1,0,x,1.0 --burstiness 0 --max-concurrency 0": {
			`--request-rate 1,0,x,1.0: want requests a second above 0 such as 1,2.5,inf, at most 1000000, none twice; "0" is no rate; "x" is no rate; 1.0 stands twice`,
			"--burstiness 0: want a number above 0 such as 0.5, or inf",
			"--max-concurrency 0: want a whole number from 1 to 1000000",
		},
		"--request-rate 1 --concurrency 2 --iters 3 --repeat-prompts": {
			"--concurrency with --request-rate: want one of them; --max-concurrency N bounds the requests under way",
			"--iters with --request-rate, --trace or --dataset: want --num-prompts or --duration; iterations belong to the protocol passes",
			"--repeat-prompts with --request-rate: want --concurrency; a set of prompts is one a stream",
		},
		"--max-concurrency 4 --burstiness 2 --trace-block 4": {
			"--trace-block without --trace: want both",
			"--max-concurrency without --request-rate or --trace: want --concurrency for streams kept full",
			"--burstiness without --request-rate: want both",
		},
		"--request-rate inf --burstiness 2":  {"--burstiness with --request-rate inf: want a rate; all at once have no gaps"},
		"--request-rate 1,inf --duration 3s": {"--duration with --request-rate inf: want --num-prompts; all at once have no end"},
		"--trace " + trace + " --trace-block 64 --cells 8:2 --shared-prefix 4 --duration 5s --concurrency 3 --dataset x": {
			"--cells with --trace: want one of them; a trace says what is asked, and --num-prompts N takes its first N lines",
			"--shared-prefix with --trace: want one of them", "--dataset with --trace: want one of them", "--duration with --trace: want one of them",
			"--concurrency with --trace: want --request-rate for its requests at a rate, or neither for its own times",
		},
		"--trace " + trace + " --num-prompts 6 --trace-block 64": {"--num-prompts 6: the trace has 5 requests; want at most as many"},
		"--trace " + trace:     {"--trace " + trace + ": line 1: 4 hash_ids for an input_length of 200; want 1, one for each started 512 tokens", "line 4: 5 hash_ids"},
		"--trace /no/such":     {"--trace /no/such: no such file or directory; want a file of JSON lines"},
		"--dataset /no/such":   {"--dataset /no/such: no such file or directory; want a file of JSON lines, or of ShareGPT's conversations"},
		"--dataset " + dataset: {"--dataset " + dataset + ": line 1: no output_len, and so in 2 of 2 items; want it there, or --osl for them"},
		"--dataset " + dataset + " --osl 5 --cells 8:8 --isl 5 --shared-prefix 2": {
			"--cells with --dataset: want one of them; its prompts are as long as they are", "--isl with --dataset: want one of them",
			"--shared-prefix with --dataset: want one of them", "messages in 1 of 2 items; want a chat's route for them, such as --endpoint /v1/chat/completions",
		},
		"--dataset " + dataset + " --osl 5 --endpoint /v1/chat/completions --concurrency 1": {
			"--dataset " + dataset + ": 2 prompts, and this run sends about 24, each once; want a larger file, fewer by --num-prompts, --concurrency or --repeats, or --repeat-prompts to send them again"},
	} {
		var stderr bytes.Buffer
		if _, code, done := parseBench(strings.Fields(args), streams{err: &stderr, out: &stderr}); !done || code != exitUsage {
			t.Fatalf("%s: accepted, exit %d", args, code)
		}
		for _, w := range want {
			if !strings.Contains(stderr.String(), w) {
				t.Errorf("%s: not told: %s\nin %s", args, w, stderr.String())
			}
		}
	}
}

func TestBenchRefusesATraceLongerThanTheServerTakes(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	o := parsed(t, "--trace", fileOf(t, "talk.jsonl", talk), "--trace-block", "64")
	limit := int64(200)
	err := o.fits("m", &limit)
	if err == nil || !strings.HasSuffix(err.Error(), "longer than the server takes of m: line 1 (206 tokens), line 4 (323 tokens); want prompt and output together of at most 200 tokens (its max_model_len)") {
		t.Errorf("%v", err)
	}
	limit = 323
	if err := o.fits("m", &limit); err != nil {
		t.Error(err)
	}
}

func TestRowSeedsAreMadeAgain(t *testing.T) {
	if rowSeed(7, 0) != 7 {
		t.Error("a run of one row under its recorded seed would send other prompts")
	}
	seeds := []uint64{rowSeed(7, 0), rowSeed(7, 1), rowSeed(7, 2), rowSeed(8, 1)}
	slices.Sort(seeds)
	if len(slices.Compact(seeds)) != 4 {
		t.Errorf("two rows share a seed: %v", seeds)
	}
}

func TestLengthsArePercentilesThatOccur(t *testing.T) {
	var w row.Workload
	stateLengths(&w, []int64{9, 1, 5}, []int64{4, 2})
	if want := (row.Lengths{ISLP50: 5, ISLP99: 9, OSLP50: 2, OSLP99: 4}); !reflect.DeepEqual(*w.Lengths, want) || w.ISL != 5 || w.OSL != 2 {
		t.Errorf("%+v %d:%d", w.Lengths, w.ISL, w.OSL)
	}
}
