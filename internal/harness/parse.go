package harness

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"rowproof/internal/row"
)

// Known is one format that is read.
type Known struct {
	Name string // as Result.Format has it
	What string // the tool and its file
	is   func(*value) bool
	take func(*taker, *value)
}

// Formats are those that are read, in the order in which they are tried.
var Formats = []Known{
	{"sglang-serving", "sglang.bench_serving: the JSONL of --output-file", isSGLangServing, sglangServing},
	{"sglang-one-batch", "sglang.bench_one_batch: the JSONL of --result-filename", isSGLangOneBatch, sglangOneBatch},
	{"sglang-one-batch-server", "sglang.bench_one_batch_server: the JSONL of --result-filename", isSGLangServerBatch, sglangServerBatch},
	{"vllm-serve", "vllm bench serve: the JSON of --save-result", isVLLMServe, vllmServe},
	{"vllm-latency", "vllm bench latency: the JSON of --output-json", isVLLMLatency, vllmLatency},
	{"guidellm", "guidellm: benchmarks.json", isGuideLLM, guideLLM},
	{"aiperf", "aiperf: profile_export_aiperf.json, or its .csv", isAIPerf, aiperf},
	{"aiperf-requests", "aiperf: profile_export.jsonl", isAIPerfRequest, nil},
	{"genai-bench", "genai-bench: the JSON of one scenario and concurrency", isGenAIBench, genAIBench},
	{"genai-bench-experiment", "genai-bench: experiment_metadata.json, beside a scenario's JSON", isGenAIExperiment, genAIExperiment},
	{"inference-perf", "inference-perf: summary_lifecycle_metrics.json or one stage's", isInferencePerf, inferencePerf},
	{"inference-perf-requests", "inference-perf: per_request_lifecycle_metrics.json", isInferencePerfRequest, nil},
	{"llama-bench", "llama-bench: -o json, jsonl or csv", isLlamaBench, llamaBench},
	{"inferencex", "InferenceX: a processed result", isInferenceX, inferenceX},
}

// ErrOurs is a report of our own, which package rowfile reads.
var ErrOurs = errors.New("a report of measure itself")

// Torn is the error of a file that breaks off: Result holds what was whole of it.
type Torn struct{ Err error }

func (t *Torn) Error() string { return t.Err.Error() }
func (t *Torn) Unwrap() error { return t.Err }

// taker gathers what a format's functions take from a file.
type taker struct {
	result   *Result
	problems []string
	more     int      // beyond those
	told     []*value // of which problems tell: once is enough
}

// wrong tells of a value that is not what it should be.
func (t *taker) wrong(v *value, what, want string) {
	switch {
	case v != nil && slices.Contains(t.told, v):
		return
	case len(t.problems) == mostProblems:
		t.more++
		return
	}
	t.told = append(t.told, v)
	line := 0
	if v != nil {
		line = v.line
	}
	t.problems = append(t.problems, fmt.Sprintf("line %d: %s is %s; %s is accepted", line, what, v.kindName(), want))
}

const mostProblems = 20

func (t *taker) err() error {
	if len(t.problems) == 0 {
		return nil
	}
	text := strings.Join(t.problems, "\n")
	if t.more > 0 {
		text += fmt.Sprintf("\nand %d more", t.more)
	}
	return errors.New(text)
}

func parse(_ string, in io.Reader) (*Result, error) {
	r, err := open(in)
	if err != nil {
		return nil, err
	}
	t := &taker{result: &Result{}}
	if err := t.toJSON(r); err != nil {
		return nil, err
	}
	if c, err := r.space(); errors.Is(err, io.EOF) {
		return nil, r.fail("the file is empty")
	} else if err != nil {
		return nil, err
	} else if c != '{' && c != '[' {
		return t.table(r)
	}
	var format *Known
	var requests []*value
	var torn error
	taken := 0
	for place := int64(1); ; place++ {
		if _, err := r.space(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		before := r.memory
		v, err := r.read(0)
		var syntax *SyntaxError
		if err != nil {
			// Of a list or a file of lines that breaks off, what was whole before stays.
			if !errors.As(err, &syntax) || (v.elements() == nil && place == 1) {
				return nil, err
			}
			torn = err
			if v.elements() == nil {
				break
			}
		}
		list := v.elements()
		if list == nil || format != nil && format.take == nil {
			list = []*value{v}
		}
		for i, one := range list {
			k := find(one)
			switch {
			case k == nil:
				return nil, unknown(one)
			case format == nil:
				format = k
			case format != k:
				return nil, fmt.Errorf("line %d: a record of %s among those of %s", one.line, k.Name, format.Name)
			}
			if k.take == nil {
				requests = append(requests, one)
				continue
			}
			n := len(t.result.Runs)
			k.take(t, one)
			for j := n; j < len(t.result.Runs); j++ {
				if t.result.Runs[j].Place == 0 {
					t.result.Runs[j].Place = place + int64(i)
				}
			}
		}
		if format.take != nil {
			// What was taken of it is smaller, and the rest is let go.
			r.memory = before
			for i := taken; i < len(t.result.Runs); i++ {
				if err := r.charge(t.result.Runs[i].weight()); err != nil {
					return nil, err
				}
			}
			if taken = len(t.result.Runs); taken > mostRuns {
				return nil, tooManyRuns()
			}
		}
		if torn != nil {
			break
		}
	}
	switch {
	case format == nil:
		return nil, torn
	case format.Name == "aiperf-requests":
		aiperfRequests(t, requests)
	case format.Name == "inference-perf-requests":
		inferencePerfRequests(t, requests)
	}
	if err := t.err(); err != nil {
		return nil, err
	}
	t.result.Format = format.Name
	for i := range t.result.Runs {
		finish(&t.result.Runs[i])
	}
	if torn != nil {
		return t.result, &Torn{torn}
	}
	return t.result, nil
}

const mostRuns = 20_000

func tooManyRuns() error {
	return fmt.Errorf("more than %d runs; a part of the file is accepted", mostRuns)
}

// weight is about the memory that a run keeps, in bytes.
func (run *Run) weight() int64 {
	n := int64(2048)
	for i := range run.Stated {
		n += 256 + int64(len(run.Stated[i].Name)+len(run.Stated[i].Text))
	}
	for i := range run.Samples {
		s := &run.Samples[i]
		n += 512 + 8*int64(cap(s.T)+cap(s.N)) + int64(len(s.Reason))
	}
	for key, text := range run.Server {
		n += 64 + int64(len(key)+len(text))
	}
	return n
}

// find is the format of a record; nil unknown.
func find(v *value) *Known {
	for i := range Formats {
		if Formats[i].is(v) {
			return &Formats[i]
		}
	}
	return nil
}

// unknown says what was found in place of a record of a format.
func unknown(v *value) error {
	if s := v.get("schema"); s != nil && strings.HasPrefix(s.text, "rowproof/") {
		return ErrOurs
	}
	what := v.kindName()
	if v.kind == '{' {
		keys := v.keys[:min(len(v.keys), 8)]
		for i, k := range keys {
			keys[i] = cut(strings.ToValidUTF8(k, ""), 40)
		}
		what = fmt.Sprintf("an object with %q", keys)
	}
	var names []string
	for _, k := range Formats {
		names = append(names, k.What)
	}
	return fmt.Errorf("line %d: found %s, which is no result that is known; accepted are:\n  %s", v.line, what, strings.Join(append(names, tableFormats), "\n  "))
}

// toJSON passes over what a program printed before its JSON, such as a driver's lines.
func (t *taker) toJSON(r *reader) error {
	passed := 0
	first := ""
	for {
		c, err := r.space()
		if err != nil || c == '{' || c == '[' {
			break
		}
		line, err := r.r.Peek(4 << 10)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		text, _, whole := strings.Cut(string(line), "\n")
		if isTable(text) {
			break
		}
		if !whole || passed == mostLogLines {
			break
		}
		if passed++; passed == 1 {
			first = cut(strings.TrimSpace(text), 60)
		}
		for {
			c, err := r.byte()
			if err != nil {
				return err
			}
			if c == '\n' {
				break
			}
		}
	}
	if passed > 0 {
		t.result.Left = append(t.result.Left, fmt.Sprintf("%d lines before the JSON, which begin with %q", passed, first))
	}
	return nil
}

// finish fills in what every run has.
func finish(run *Run) {
	if run.Status == "" {
		run.Status = row.StatusOK
	}
	if run.Missing == nil {
		run.Missing = map[string]string{}
	}
	if run.Samples == nil && run.NoSamples == "" {
		run.NoSamples = "the file holds no requests, only figures over them"
	}
	run.unmade()
	run.few()
}
