package rowfile_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"rowproof/internal/row"
	"rowproof/internal/rowfile"
	"rowproof/internal/rowtest"
)

func encoded(t *testing.T) string {
	t.Helper()
	r, _, _ := rowtest.Report(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 64, OSL: 4, Concurrency: 1}}})
	data, err := rowfile.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestEveryProblemIsTold(t *testing.T) {
	text := encoded(t)
	for _, e := range [][2]string{
		{`"cores": 16`, `"cores": 16.5`},
		{`"kernel": "6.12.0"`, `"kernal": "6.12.0"`},
		{`"stamps": "ktime"`, `"stamps": 4`},
		{`"protocol": "sustained"`, `"protocol": "both"`},
		{`"status": "ok"`, `"status": null`},
		{`"measured_at": "2026-11-30T12:00:00Z"`, `"measured_at": "yesterday"`},
		{`"isl": 64`, `"isl": 1e3`},
	} {
		if !strings.Contains(text, e[0]) {
			t.Fatalf("nothing to edit: %s", e[0])
		}
		text = strings.Replace(text, e[0], e[1], 1)
	}
	r, problems, err := rowfile.Decode([]byte(text))
	if err != nil || r == nil {
		t.Fatalf("report %v, error %v", r, err)
	}
	all := strings.Join(problems, "\n")
	for _, want := range []string{
		"receipt.host.cores: expected a whole number in plain digits, found 16.5",
		`receipt.host: unknown field "kernal"; there are: cores, cpu, governor, huge_pages, kernel,`,
		"client.stamps: expected a string, found a number",
		`rows[0].workload.protocol: expected passes or sustained, found "both"`,
		"rows[0].status: expected a string, found null",
		`measured_at: expected a time such as 2026-11-30T18:20:00Z, in UTC, found "yesterday"`,
		"rows[0].workload.isl: expected a whole number in plain digits, found 1e3",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("not told: %s\nin:\n%s", want, all)
		}
	}
	for _, p := range problems {
		var line int
		if _, err := fmt.Sscanf(p, "line %d:", &line); err != nil || line < 2 {
			t.Errorf("no line: %s", p)
		}
	}
	if r.Rows[0].Workload.OSL != 4 {
		t.Error("what could be read was not")
	}
}

func TestNotAReport(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "line 1, column 1: expected a value, found the end",
		"[1]":                     "line 1: expected a report",
		"{\"a\":1}\n{}":           "line 2, column 1: data after the end",
		"{\"a\":01}":              "not a JSON number",
		"{\"a\":\"\xff\"}":        "not UTF-8",
		`{"a":"\ud800x"}`:         "half of a surrogate pair",
		"{\"a\":\"x\ny\"}":        "control character",
		"{\"a\":NaN}":             "expected a value",
		"{\"a\" 1}":               "expected ':'",
		"{a:1}":                   "expected a key in quotes",
		strings.Repeat("[", 5000): "nested deeper",
	} {
		if _, _, err := rowfile.Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want %q", text, err, want)
		}
	}
}

func TestSamplesReadBack(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	samples := []row.Sample{
		{Phase: row.PhaseFirst, Status: row.StatusOK, ISL: n(8), OSL: n(3), Cached: n(0), T: row.Gaps{5, row.NoStamp, 7}, Sent: 1},
		{Phase: row.PhaseTimed, Status: row.StatusError, Reason: "it said <no> & \"left\"\n", Enqueued: 4, Sent: 6},
		{Phase: row.PhaseTimed, Status: row.StatusOK, T: row.Gaps{1, 2}, N: []int64{4, 1}, Answer: n(-1), UsageTotal: n(9), Prompt: "00ff"},
		{Phase: row.PhaseDrain, Status: row.StatusOK, First: n(1), Last: n(9), Chunks: n(4), Tokens: n(5), Repeat: 2, Pass: 1},
	}
	a, err := rowfile.EncodeSamples(samples)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := rowfile.EncodeSamples(samples)
	if !bytes.Equal(a, b) {
		t.Error("the same samples gave two files")
	}
	back, err := rowfile.DecodeSamples(a)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := rowfile.EncodeSamples(back)
	if !bytes.Equal(a, again) || back[0].T[1] != row.NoStamp || back[1].Reason != samples[1].Reason {
		t.Errorf("read back as %+v", back)
	}
	if none, err := rowfile.EncodeSamples(nil); err != nil {
		t.Error(err)
	} else if back, err := rowfile.DecodeSamples(none); err != nil || len(back) != 0 {
		t.Errorf("no samples read back as %v, %v", back, err)
	}
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestBadSamples(t *testing.T) {
	const good = `{"repeat":0,"phase":"timed","i":7,"worker":3,"enqueued":0,"sent":41,"isl":1024,"osl":2,"cached":0,"t":[33561,4823],"n":[1,1],"status":"ok"}` + "\n"
	if got, err := rowfile.DecodeSamples(zipped(t, good+good)); err != nil || len(got) != 2 || got[1].T[1] != 4823 {
		t.Fatalf("%v %v", got, err)
	}
	for text, want := range map[string]string{
		good + strings.Replace(good, "timed", "tamed", 1):                            `line 2: phase: expected first, warm, ramp, timed or drain, found "tamed"`,
		good + strings.Replace(good, `"n":[1,1]`, `"n":[1]`, 1):                      "line 2: n: 1 counts beside 2 chunks in t",
		good + strings.Replace(good, "33561", "-5", 1):                               "line 2: t[0]: expected whole µs of at least 0, or null, found -5",
		good + strings.Replace(good, "33561", "1.5", 1):                              "line 2: t[0]: expected whole µs",
		good + strings.Replace(good, `"i":7`, `"i":7,"i":8`, 1):                      `key "i" stands twice`,
		good + strings.Replace(good, `"i":7`, `"eye":7`, 1):                          `unknown field "eye"`,
		good + strings.Replace(good, `"osl":2`, `"osl":-2`, 1):                       "osl: expected 0 to 16777216, found -2",
		good + strings.Replace(good, `"osl":2`, `"osl":2,"want_cached":-1`, 1):       "want_cached: expected 0 to 16777216, found -1",
		good + strings.Replace(good, `"osl":2`, `"osl":2,"session":-1`, 1):           "session: expected 0 to 1099511627776, found -1",
		good + strings.Replace(good, `"enqueued":0`, `"enqueued":90`, 1):             "sent 41 before enqueued 90",
		good + strings.Replace(good, `"ok"`, `"fine"`, 1):                            `status: expected ok or error, found "fine"`,
		good + strings.Replace(good, `"n":[1,1]`, `"n":[1,99999999999]`, 1):          "n[1]: expected 0 to 16777216 tokens, found 99999999999",
		strings.Repeat(strings.Replace(good, `"n":[1,1]`, `"n":[1,16777216]`, 1), 5): "line 4: more than 67108864 tokens in the file",
		good + strings.Replace(good, "4823", "9223372036854775807", 1):               "line 2: t[1]: more than 1099511627776 µs",
		good + strings.Replace(good, `"sent":41`, `"sent":9223372036854775807`, 1):   "line 2: sent: expected 0 to 1099511627776",
		good + "{\n":                   "line 2: column 2: expected a key in quotes",
		good + strings.TrimSpace(good): "line 2: the file ends in the middle of a line",
	} {
		if _, err := rowfile.DecodeSamples(zipped(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	whole := zipped(t, strings.Repeat(good, 500))
	if _, err := rowfile.DecodeSamples(whole[:len(whole)-9]); err == nil || !strings.Contains(err.Error(), "truncated") {
		t.Errorf("truncated: %v", err)
	}
	if _, err := rowfile.DecodeSamples([]byte(good)); err == nil || !strings.Contains(err.Error(), "not a gzip file") {
		t.Errorf("plain text: %v", err)
	}
}

// A small file that would unpack without end is refused before memory runs out: as one
// endless line, and as lines without end.
func TestGzipBomb(t *testing.T) {
	const line = `{"repeat":0,"phase":"warm","i":0,"worker":0,"enqueued":0,"sent":0,"isl":null,"osl":null,"cached":null,"status":"ok"}`
	for name, c := range map[string]struct {
		member string // one gzip member, repeated
		times  int
		want   string
	}{
		"one line":   {strings.Repeat(" ", 11<<20), 4, "line 1: more than 32 MB in one line"},
		"many lines": {line + strings.Repeat(" ", 30<<20) + "\n", 10, "line 3: more than 64 MB unpacked"},
	} {
		bomb := bytes.Repeat(zipped(t, c.member), c.times)
		if _, err := rowfile.DecodeSamples(bomb); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEvidenceReadsBackWithItsHashes(t *testing.T) {
	_, _, evidence := rowtest.Report(1, rowtest.Options{})
	gz, sums, err := rowfile.EncodeEvidence(evidence)
	if err != nil {
		t.Fatal(err)
	}
	back, again, err := rowfile.DecodeEvidence(gz)
	if err != nil || len(back) != len(evidence) || !slices.Equal(sums, again) {
		t.Fatalf("%d records, %v, %v", len(back), again, err)
	}
	if len(sums) != 3 || sums[0] == sums[1] || len(sums[0]) != 64 {
		t.Errorf("sums %v", sums)
	}
}

func TestFilesThatAreNotThere(t *testing.T) {
	b, err := rowfile.LoadFS(fstest.MapFS{"r.json": {Data: []byte(encoded(t))}}, "r.json")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.NoEvidence, "r.evidence.jsonl.gz: not there") || !strings.Contains(b.Rows[0].NoSamples, ".0.samples.jsonl.gz: not there") {
		t.Errorf("%q, %q", b.NoEvidence, b.Rows[0].NoSamples)
	}
	if _, err := rowfile.LoadFS(fstest.MapFS{}, "r.json"); err == nil {
		t.Error("no report, no error")
	}
}

func TestCSV(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	f := func(v float64) *float64 { return &v }
	r := &row.Report{Rows: []row.Row{
		{Workload: row.Workload{ISL: 128, OSL: 128, Load: row.Load{Concurrency: n(1)}}, Status: "ok",
			Notes:  []string{"prompts=cold (a fresh prompt every iteration; prefill_tok_s prices prompt ingest)"},
			Server: row.Server{AdmittedTok: n(112), PeakActive: n(3422640128), NumAllocs: n(59180), ParkWaits: n(0)}},
		{Workload: row.Workload{ISL: 128, OSL: 128, Load: row.Load{Concurrency: n(4)}}, Status: "error",
			Reason: "it said \"no\",\nthen left", Notes: []string{"a, b", "c"}},
	}}
	// The first and the second row of the seed's own table, as far as they are measured.
	seeds := []row.SeedColumns{
		{FirstCall: f(685.7974), TTFT: f(14.375232), PrefillTokPerSec: f(8904.204), ITLP50: f(4.709812), ITLP99: f(11.978596),
			ChunkP50: f(0), ChunkMax: f(0), DecodeTokPerSec: f(194.13823), Retires: 3},
		{DecodeTokPerSec: f(552.3547), Retires: 12},
	}
	lines := strings.SplitAfter(string(rowfile.CSV(r, seeds)), "\n")
	const first = `128,128,1,685.7974,14.375232,8904.204,4.709812,11.978596,0,0,194.13823,1,1,112,3,3422640128,59180,0,ok,"",prompts=cold (a fresh prompt every iteration; prefill_tok_s prices prompt ingest)` + "\n"
	if lines[0] != rowfile.CSVHeader+"\n" || lines[1] != first {
		t.Errorf("%s%s", lines[0], lines[1])
	}
	if strings.Count(rowfile.CSVHeader, ",") != 20 {
		t.Errorf("%d columns", strings.Count(rowfile.CSVHeader, ",")+1)
	}
	const second = `128,128,4,,,,,,,,552.3547,2.845161`
	if !strings.HasPrefix(lines[2], second) || !strings.HasSuffix(lines[2], `,12,,,,error,"it said ""no"", then left","a, b; c"`+"\n") {
		t.Errorf("%s", lines[2])
	}
	table, err := csv.NewReader(strings.NewReader(strings.Join(lines, ""))).ReadAll()
	if err != nil || len(table) != 3 || table[2][19] != `it said "no", then left` || table[2][12][:9] != "0.7112904" {
		t.Errorf("%v %v", table, err)
	}
}

func FuzzDecode(f *testing.F) {
	r, _, _ := rowtest.Report(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 8, OSL: 2, Concurrency: 1}}, Repeats: 1})
	data, err := rowfile.Encode(r)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"schema":"rowproof/1","rows":[{}]}`))
	f.Add([]byte(`{"a":"\ud83d\ude00\u0000"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, problems, err := rowfile.Decode(data)
		if err != nil || len(problems) > 0 {
			return
		}
		// What is read without objection is written and read again the same.
		once, err := rowfile.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		again, problems, err := rowfile.Decode(once)
		if err != nil || len(problems) > 0 {
			t.Fatalf("%v %v", problems, err)
		}
		if twice, _ := rowfile.Encode(again); !bytes.Equal(once, twice) {
			t.Fatal("the second writing differs from the first")
		}
	})
}

func FuzzDecodeSamples(f *testing.F) {
	f.Add([]byte(`{"repeat":0,"phase":"timed","i":7,"worker":3,"enqueued":0,"sent":41,"isl":1,"osl":2,"cached":0,"t":[1,null],"status":"ok"}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		samples, err := rowfile.DecodeSamples(b.Bytes())
		if err != nil {
			return
		}
		// Whatever is accepted can be computed with.
		row.Compute(&row.Workload{Protocol: row.Sustained}, 1, samples, nil)
		row.Seed(&row.Workload{Protocol: row.Passes}, samples)
	})
}

// Digits that give the same float64 in another way would pass every recomputation.
func TestANumberHasOneSpelling(t *testing.T) {
	text := encoded(t)
	for _, c := range []struct{ old, new, want string }{
		{`"cores": 16`, `"cores": -0`, `receipt.host.cores: a number in another form than it is written in: -0 for 0`},
		{`"temperature": 0`, `"temperature": "0"`, `sampling.temperature: a number in another form than it is written in: write 0`},
		{`"temperature": 0`, `"temperature": 0.0`, `sampling.temperature: a number in another form than it is written in: write "0.0"`},
		{`"power_w": `, `"power_w": 1`, ``}, // still its shortest form: recompute's matter
		{`"decode_tok_s": `, `"decode_tok_s": -0, "x": `, `decode_tok_s: a number in another form than it is written in: -0 for 0`},
		{`"decode_tok_s": `, `"decode_tok_s": 200.61913730245452, "x": `, `200.61913730245452 for 200.61913730245453`},
		{`"decode_tok_s": `, `"decode_tok_s": 35.94300000000000001, "x": `, `35.94300000000000001 for 35.943`},
		{`"decode_tok_s": `, `"decode_tok_s": 1e2, "x": `, `1e2 for 100`},
	} {
		if !strings.Contains(text, c.old) {
			t.Fatalf("nothing to edit: %s", c.old)
		}
		_, problems, err := rowfile.Decode([]byte(strings.Replace(text, c.old, c.new, 1)))
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(problems, "\n")
		if !strings.Contains(all, c.want) || c.want == "" && all != "" {
			t.Errorf("%s: %s", c.new, all)
		}
	}
	if _, problems, _ := rowfile.Decode([]byte(text)); len(problems) > 0 {
		t.Errorf("as written: %v", problems)
	}
}

// What no run of ours can have written is refused by name and place.
func TestValuesThatNoRunWrites(t *testing.T) {
	text := encoded(t)
	for _, c := range []struct{ old, new, want string }{
		{`"schema": "rowproof/2"`, `"schema": "rowproof/3"`, `schema: expected rowproof/1 or rowproof/2, found "rowproof/3"`},
		{`"schema": "rowproof/2"`, `"schema": "rowproof/1"`, ""},
		{`"gaps": 100000`, `"gaps": -1`, "client.selftest.gaps: expected at least 1, found -1"},
		{`"p99": 12064`, `"p99": -12064`, "client.selftest.itl_error_ns.p99: expected at least 0, found -12064"},
		{`"gaps": 100000`, `"gaps": 100000, "levels": [{"streams": 0, "gaps": 9, "itl_error_ns": {"p50": 1, "p99": 1, "max": 1}, "ttft_error_ns": {"p50": 1, "p99": 1, "max": -1}}]`,
			"client.selftest.levels[0].streams: expected at least 1, found 0"},
		{`"gaps": 100000`, `"gaps": 100000, "measured_at": "yesterday"`, `client.selftest.measured_at: expected a time such as`},
		{`"request_rate": null`, `"request_rate": "0"`, `rows[0].workload.load.request_rate: expected requests a second above 0, inf, trace, or null, found "0"`},
		{`"request_rate": null`, `"request_rate": "fast"`, `rows[0].workload.load.request_rate: expected requests a second above 0`},
		{`"burstiness": null`, `"burstiness": "-1"`, `rows[0].workload.load.burstiness: expected a number above 0`},
		{`"sha256": null`, `"sha256": "abc"`, `rows[0].workload.prompts.sha256: expected 64 hex digits, or null`},
		{`"tp": 1`, `"tp": 0`, "as_it_was.recipe.pools[0].tp: expected at least 1, found 0"},
		{`"kind": "random"`, `"kind": "easy"`, `rows[0].workload.prompts.kind: expected random, dataset or trace, found "easy"`},
		{`"state": "cold"`, `"state": "hot"`, `rows[0].workload.prompts.state: expected cold or warm, found "hot"`},
		{`"temperature": 0`, `"temperature": "low"`, `rows[0].workload.sampling.temperature: expected a number of at least 0, found "low"`},
		{`"temperature": 0`, `"temperature": -1`, `rows[0].workload.sampling.temperature: expected a number of at least 0, found "-1"`},
		{`"evidence_sha256": "`, `"evidence_sha256": "x`, `receipt.evidence_sha256: expected 64 hex digits`},
	} {
		if !strings.Contains(text, c.old) {
			t.Fatalf("nothing to edit: %s", c.old)
		}
		_, problems, err := rowfile.Decode([]byte(strings.Replace(text, c.old, c.new, 1)))
		if all := strings.Join(problems, "\n"); err != nil || !strings.Contains(all, c.want) || c.want == "" && all != "" {
			t.Errorf("%s: %v %s", c.new, err, all)
		}
	}
}

// Every line of the evidence belongs to the run or to one row, and the run's own is the
// one that the receipt states.
func TestLinesOfEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		change func(ev []row.Evidence) []row.Evidence
		want   string
	}{
		"as written":    {func(ev []row.Evidence) []row.Evidence { return ev }, ""},
		"a stray line":  {func(ev []row.Evidence) []row.Evidence { return append(ev, row.Evidence{Row: 2}) }, "line 4: it is of row 2, and none of the report's 2 rows states its hash"},
		"a row twice":   {func(ev []row.Evidence) []row.Evidence { return append(ev, ev[1]) }, "line 4: it is of row 0, as line 2 is"},
		"no run":        {func(ev []row.Evidence) []row.Evidence { return ev[1:] }, "the run's own line, of row -1, is missing"},
		"the run twice": {func(ev []row.Evidence) []row.Evidence { return append(ev, ev[0]) }, "line 4: it is of row -1, as line 1 is"},
		"another run": {func(ev []row.Evidence) []row.Evidence {
			ev[0].Process.PID++
			return ev
		}, "receipt.evidence_sha256 states"},
	} {
		r, samples, ev := rowtest.Report(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 64, OSL: 4, Concurrency: 1}, {ISL: 64, OSL: 5, Concurrency: 1}}})
		fsys := fstest.MapFS{}
		put := func(name string, data []byte, err error) {
			if err != nil {
				t.Fatal(err)
			}
			fsys[name] = &fstest.MapFile{Data: data}
		}
		for i := range samples {
			data, err := rowfile.EncodeSamples(samples[i])
			put(r.Rows[i].Samples.File, data, err)
		}
		data, _, err := rowfile.EncodeEvidence(c.change(ev))
		put("r.evidence.jsonl.gz", data, err)
		data, err = rowfile.Encode(r)
		put("r.json", data, err)
		b, err := rowfile.LoadFS(fsys, "r.json")
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(b.Problems, "\n"); !strings.Contains(all, c.want) || c.want == "" && all != "" {
			t.Errorf("%s: %q", name, all)
		}
	}
}

// What is larger than any run writes is not read into memory.
func TestFilesTooLarge(t *testing.T) {
	huge := bytes.Repeat([]byte(" "), rowfile.LargestReport+1)
	if _, err := rowfile.LoadFS(fstest.MapFS{"r.json": {Data: huge}}, "r.json"); err == nil || !strings.Contains(err.Error(), "r.json: more than 16 MB") {
		t.Errorf("a report: %v", err)
	}
	huge = make([]byte, rowfile.LargestPacked+1)
	text := encoded(t)
	r, _, err := rowfile.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	name := r.Rows[0].Samples.File
	b, err := rowfile.LoadFS(fstest.MapFS{"r.json": {Data: []byte(text)}, name: {Data: huge}, "r.evidence.jsonl.gz": {Data: huge}}, "r.json")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.Rows[0].NoSamples, "more than 32 MB") || !strings.Contains(b.NoEvidence, "more than 32 MB") {
		t.Errorf("%q, %q", b.Rows[0].NoSamples, b.NoEvidence)
	}
}
