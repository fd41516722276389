package harness

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"rowproof/internal/row"
)

const tableFormats = "a CSV that measure bench printed, llama-bench -o csv, or aiperf's profile_export_aiperf.csv"

// isTable says whether a line is the head of a table that is read.
func isTable(head string) bool {
	return strings.HasPrefix(head, "isl,osl,concurrency,") || strings.HasPrefix(head, "build_commit,") || strings.HasPrefix(head, aiperfHead)
}

// table reads a CSV: ours, which has the seed's header, or llama-bench's.
func (t *taker) table(r *reader) (*Result, error) {
	head, _ := r.r.Peek(4 << 10)
	line, _, _ := strings.Cut(string(head), "\n")
	line = strings.TrimSpace(line)
	if !isTable(line) {
		return nil, fmt.Errorf("line %d: found %s, which is neither JSON nor a table that is known; accepted are:\n  %s", r.line, strconv.QuoteToASCII(cut(line, 60)), strings.Join(names(), "\n  "))
	}
	if strings.HasPrefix(line, aiperfHead) {
		return t.aiperfTable(r.r)
	}
	limit := &rowLimit{r: r.r}
	c := csv.NewReader(limit)
	columns, err := c.Read()
	if err != nil {
		return nil, err
	}
	bench := columns[0] == "build_commit"
	t.result.Format, t.result.Tool, t.result.Clock = "bench-csv", "measure bench, or a tool with its columns", "the file does not say"
	if bench {
		t.result.Format = "llama-bench"
	}
	var torn error
	for place := int64(1); ; place++ {
		limit.n = 0
		fields, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && place > mostRuns {
			return nil, tooManyRuns()
		}
		if err != nil {
			torn = err
			break
		}
		at, _ := c.FieldPos(0)
		v := &value{kind: '{', line: at}
		for i, name := range columns {
			e := &value{kind: '"', text: fields[i], line: at}
			if n, err := strconv.ParseFloat(fields[i], 64); err == nil {
				e.kind, e.num = '0', n
			} else if fields[i] == "" {
				e.kind = 'n'
			}
			v.keys, v.vals = append(v.keys, name), append(v.vals, e)
		}
		n := len(t.result.Runs)
		if bench {
			// What is a word may look like a number: a commit of digits.
			for _, name := range []string{"build_commit", "model_filename", "test_time"} {
				if e := v.get(name); e != nil && e.kind == '0' {
					e.kind = '"'
				}
			}
			llamaBench(t, v)
		} else {
			benchRow(t, v)
		}
		for i := n; i < len(t.result.Runs); i++ {
			t.result.Runs[i].Place = place
			finish(&t.result.Runs[i])
		}
	}
	if err := t.err(); err != nil {
		return nil, err
	}
	if len(t.result.Runs) == 0 {
		if torn == nil {
			torn = errors.New("the table has no row")
		}
		return nil, torn
	}
	if torn != nil {
		return t.result, &Torn{torn}
	}
	return t.result, nil
}

func names() []string {
	var out []string
	for _, k := range Formats {
		out = append(out, k.What)
	}
	return append(out, tableFormats)
}

// benchRow takes a line of the seed's CSV, which is ours too.
func benchRow(t *taker, v *value) {
	run := Run{Workload: closed(), NoSamples: "a CSV holds no requests; the report beside it does"}
	w := &run.Workload
	w.ISL, w.OSL = t.count(v.get("isl"), "isl"), t.count(v.get("osl"), "osl")
	c := t.count(v.get("concurrency"), "concurrency")
	w.Load.Concurrency = &c
	w.Protocol = row.Passes
	notes := v.get("notes").reason()
	if strings.Contains(notes, "protocol=sustained") {
		w.Protocol = row.Sustained
	}
	if strings.Contains(notes, "prompts=warm") {
		w.Prompts.State = row.Warm
	}
	run.Unsaid = []string{"sampling", "warmup", "requests"}
	if s := v.get("status").reason(); s != "" && s != row.StatusOK {
		run.Status, run.Reason = row.StatusError, cut(v.get("reason").reason(), 500)
	}
	for _, m := range []metric{
		{"first_call_ms", "ms", "", "", ""},
		{"ttft_ms", "ms", "ttft_ms", "", ""},
		{"prefill_tok_s", "tok/s", "prefill_tok_s", "", ""},
		{"itl_p50_ms", "ms", "", "", "gaps during which no other session stands between its sending and its first token"},
		{"itl_p99_ms", "ms", "", "", "gaps during which no other session stands between its sending and its first token"},
		{"prefill_chunk_ms_p50", "ms", "", "", "gaps during which another session stands between its sending and its first token; 0 of none"},
		{"prefill_chunk_ms_max", "ms", "", "", "the longest of those gaps; 0 of none"},
		{"decode_tok_s", "tok/s", "decode_tok_s", "", ""},
		{"speedup_vs_c1", "", "", "", "decode_tok_s over that of one stream"},
		{"batching_efficiency", "", "", "", "speedup_vs_c1 over the concurrency"},
		{"admitted_tok", "tokens", "", "", "prompt tokens admitted in whole blocks"},
		{"retires", "requests", "", "", "completed, those of the warm-up too"},
		{"peak_active_bytes", "bytes", "", "", "the most in use so far, or in this row: the file does not say which"},
		{"num_allocs", "", "", "", ""},
		{"num_inflight_park_waits", "requests", "", "", "that waited for a slot"},
	} {
		stat := ""
		if m.figure == "ttft_ms" {
			stat = row.StatMean
		}
		if e := v.get(m.name); !e.null() {
			t.state(&run, e, m.name, &m, stat)
		}
	}
	t.result.Runs = append(t.result.Runs, run)
}
