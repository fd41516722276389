package prompts

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// talk is a trace of two users of one system prompt, in blocks of 4 tokens.
const talk = `{"timestamp": 1000, "input_length": 10, "output_length": 3, "hash_ids": [7, 8, 9]}
{"timestamp": 1000.0, "input_length": 9, "output_length": 1, "hash_ids": [7, 20, 21]}

{"timestamp": 1250.5, "input_length": 14, "output_length": 2, "hash_ids": [7, 8, 9, 30]}
{"timestamp": 2000, "input_length": 5, "output_length": 4}
`

func traceOf(t *testing.T, text string, block int64) *Trace {
	t.Helper()
	tr, err := ReadTrace(strings.NewReader(text), block)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestReadTrace(t *testing.T) {
	if tr := traceOf(t, "\ufeff"+talk, 4); len(tr.Requests) != 4 {
		t.Errorf("%d requests behind a byte order mark", len(tr.Requests))
	}
	tr := traceOf(t, talk, 4)
	type line struct {
		line                    int
		at                      time.Duration
		input, output, reusable int64
		blocks                  string
	}
	var got []line
	for _, q := range tr.Requests {
		got = append(got, line{q.Line, q.At, q.Input, q.Output, q.Reusable, fmt.Sprint(q.Blocks)})
	}
	want := []line{
		{1, 0, 10, 3, 0, "[0 1 2]"},
		{2, 0, 9, 1, 4, "[0 3 4]"},
		// Its third block is whole where the first request's was cut at two tokens.
		{4, 250500 * time.Microsecond, 14, 2, 10, "[0 1 2 5]"},
		{5, time.Second, 5, 4, 0, "[6]"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("read\n%v, want\n%v", got, want)
	}
	if tr.Blocks != 7 || tr.Sessions != 0 || tr.SHA256 != "516989b6efedd9f2a38f4412111c35fb1f30647ddae84d01e7f8dd83402c60cb" {
		t.Errorf("%d blocks, %d sessions, hash %s", tr.Blocks, tr.Sessions, tr.SHA256)
	}
}

func TestReadTraceOfSessions(t *testing.T) {
	tr := traceOf(t, `{"timestamp": 0, "session_id": "a", "input_length": 4, "output_length": 1}
{"session_id": "a", "delay": 1500, "input_length": 8, "output_length": 1}
{"timestamp": 100, "session_id": 7, "input_length": 4, "output_length": 1}
{"timestamp": 50, "session_id": "a", "input_length": 12, "output_length": 1}
`, 4)
	var got []string
	for _, q := range tr.Requests {
		got = append(got, fmt.Sprint(q.Session, q.Turn, q.At, q.Delay))
	}
	if want := []string{"1 0 0s 0s", "1 1 0s 1.5s", "2 0 100ms 0s", "1 2 50ms 0s"}; !slices.Equal(got, want) || tr.Sessions != 2 {
		t.Errorf("read %q in %d sessions, want %q", got, tr.Sessions, want)
	}
}

func TestReadTraceTellsEveryWrongLine(t *testing.T) {
	_, err := ReadTrace(strings.NewReader(`{"timestamp": 5, "input_length": 4, "output_length": 1}
not json
{"timestamp": 4, "input_length": 4, "output_length": 1}
{"timestamp": -1, "input_length": 0, "output_length": 1.5}
{"timestamp": 6, "input_length": 9, "output_length": 1, "hash_ids": [1, 2]}
{"timestamp": 6, "input_length": 4, "output_length": 1, "hash_ids": "1"}
{"timestamp": 6, "input_length": 4, "output_length": 1, "text_input": "hello"}
{"timestamp": 6, "input_length": 4, "input_length": 5, "output_length": 1}
{"timestamp": 6, "input_length": 4, "output_length": 1} {"timestamp": 6}
{"input_length": 4, "delay": 3, "session_id": {}}
{"timestamp": 1e999, "input_length": null, "output_length": 1}
`), 4)
	want := strings.Split(`line 2: found "not json"; want a JSON object
line 3: timestamp 4 is before that of line 1; want requests in the order in which they came
line 4: input_length "0"; want tokens from 1 to 16777216
line 4: output_length "1.5"; want tokens from 1 to 16777216
line 4: timestamp "-1"; want ms from 0
line 5: 2 hash_ids for an input_length of 9; want 3, one for each started 4 tokens
line 6: hash_ids "\"1\""; want a list of whole numbers
line 7: unknown field "text_input"; want timestamp, input_length, output_length, hash_ids, session_id, delay
line 8: "input_length" stands twice
line 9: found "{\"timestamp\": 6}" after the object; want one object a line
line 10: no output_length; want tokens from 1 to 16777216
line 10: session_id "{}"; want a text or a whole number
line 10: delay on what follows nothing; want it on a later turn of a session_id
line 11: no input_length; want tokens from 1 to 16777216
line 11: timestamp "1e999"; want ms from 0`, "\n")
	if err == nil {
		t.Fatal("accepted")
	}
	if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, want) {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestReadTraceIsBounded(t *testing.T) {
	_, err := ReadTrace(strings.NewReader(strings.Repeat("x\n", 50)), 512)
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 6 || lines[5] != "and 45 more" {
		t.Errorf("50 wrong lines were told in %d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	endless := func() io.Reader { return strings.NewReader(strings.Repeat("x\n", 1_000_000)) }
	const stopped = "the file: read no further: it is wrong throughout\nand 995 more"
	if _, err := ReadTrace(endless(), 512); err == nil || !strings.HasSuffix(err.Error(), stopped) {
		t.Errorf("a million wrong lines: %v", err)
	}
	if _, err := ReadDataset(endless(), 512); err == nil || !strings.HasSuffix(err.Error(), stopped) {
		t.Errorf("a million wrong lines of a dataset: %v", err)
	}
	many := `{"messages": [` + strings.Repeat("0,", 4_000_000) + "0]}"
	if _, err := ReadDataset(strings.NewReader(many), 512); err == nil || err.Error() != "line 1: 4000001 messages; want at most 10000" {
		t.Errorf("an entry of four million messages: %v", err)
	}
	_, err = ReadTrace(strings.NewReader(strings.Repeat(" ", LongestLine+1)), 512)
	if err == nil || err.Error() != "the file: line 1: more than 16 MiB; want one request a line" {
		t.Errorf("a line without end: %v", err)
	}
	if _, err := ReadTrace(strings.NewReader(""), 512); err == nil || !strings.HasPrefix(err.Error(), "the file: no request; want lines such as ") {
		t.Errorf("an empty file: %v", err)
	}
}

func TestTheExampleOfATraceReads(t *testing.T) {
	f, err := os.Open("testdata/trace.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tr, err := ReadTrace(f, 64)
	if err != nil || len(tr.Requests) != 12 || tr.Sessions != 1 {
		t.Errorf("%v: %+v", err, tr)
	}
}

// many is a trace whose prompts share heads of all lengths, in blocks of 8.
func many(r *rand.Rand, n int) string {
	var b strings.Builder
	fresh := int64(100)
	var heads [][]int64
	for i := range n {
		var ids []int64
		if len(heads) > 0 && r.IntN(3) > 0 {
			from := heads[r.IntN(len(heads))]
			ids = append(ids, from[:r.IntN(len(from)+1)]...)
		}
		for len(ids) == 0 || r.IntN(3) > 0 {
			fresh++
			ids = append(ids, fresh*1_000_003)
		}
		heads = append(heads, ids)
		fmt.Fprintf(&b, `{"timestamp": %d, "input_length": %d, "output_length": 1, "hash_ids": %s}`+"\n",
			i, 8*len(ids)-r.IntN(8), strings.ReplaceAll(fmt.Sprint(ids), " ", ", "))
	}
	return b.String()
}

// What a request may find cached is what its prompt, as it is written, has in common with
// the head of an earlier one: token against token.
func TestReusableIsTheSharedHeadOfThePrompts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, units := range []Units{IDs(nil), {0, 300}} {
		tr := traceOf(t, many(r, 60), 8)
		replay := NewReplay(tr, 5, 0, 0, units, nil)
		var before [][]int
		shared := false
		for seq := range tr.Requests {
			q, _ := replay.Request(seq)
			prompt := replay.Prompt(q, 8, q.Input)
			longest := 0
			for _, other := range before {
				n := 0
				for n < min(len(prompt), len(other)) && prompt[n] == other[n] {
					n++
				}
				longest = max(longest, n)
			}
			if want := int64(min(longest, len(prompt)-1)); q.Reusable != want || int64(len(prompt)) != q.Input {
				t.Fatalf("line %d: %d of %d tokens reusable, and the prompts share %d", seq+1, q.Reusable, q.Input, want)
			}
			shared = shared || q.Reusable > 8
			before = append(before, prompt)
		}
		if !shared {
			t.Fatal("the trace shares nothing: it shows nothing")
		}
	}
}

func TestBlocksOfTwoNumbersDifferFromTheStart(t *testing.T) {
	for _, units := range []Units{IDs(nil), {0, 330}, {5, 12}} {
		b := Blocks{units, 99}
		seen := map[string]int64{}
		for number := range int64(3000) {
			block := b.Append(nil, number, 20)
			if !slices.Equal(block, b.Append(nil, number, 20)) || !slices.Equal(block[:3], b.Append(nil, number, 3)) {
				t.Fatalf("block %d is not the same when it is written again or cut short", number)
			}
			if slices.Min(block) < int(units.Lo) || slices.Max(block) >= int(units.Hi) {
				t.Fatalf("block %d leaves the units: %v", number, block)
			}
			head := fmt.Sprint(block[:b.Lead()])
			if other, ok := seen[head]; ok {
				t.Fatalf("blocks %d and %d begin alike", other, number)
			}
			seen[head] = number
		}
	}
}

// No block recurs over the rows, the repeats and their warm-up but where the trace says so.
func TestRepeatsAndRowsShareNoBlock(t *testing.T) {
	tr := traceOf(t, talk, 4)
	seen := map[string]string{}
	for _, seed := range []uint64{1, 2} {
		for repeat := range 3 {
			replay := NewReplay(tr, seed, repeat, 10, IDs(nil), nil)
			own := map[string]bool{} // of this part of this repeat
			for seq := range 14 {
				part := fmt.Sprint(seed, repeat, seq >= 10, min(seq, 9)/4)
				if seq%4 == 0 || seq == 10 {
					clear(own)
				}
				q, _ := replay.Request(seq)
				prompt := replay.Prompt(q, 4, q.Input)
				for from := 0; from < len(prompt); from += 4 {
					block := fmt.Sprint(prompt[from:min(from+2, len(prompt))])
					if other, ok := seen[block]; ok && other != part && from+2 <= len(prompt) {
						t.Fatalf("a block of %s stands in %s too", part, other)
					}
					seen[block] = part
				}
			}
		}
	}
}

func TestReplayKeepsTheTracesTimes(t *testing.T) {
	tr := traceOf(t, talk, 4)
	at := func(warm int, times *Arrivals) (out []time.Duration) {
		replay := NewReplay(tr, 1, 0, warm, IDs(nil), times)
		for seq := 0; ; seq++ {
			q, ok := replay.Request(seq)
			if !ok {
				return out
			}
			out = append(out, q.At)
		}
	}
	const ms = time.Millisecond
	first := 250*ms + 500*time.Microsecond
	if got, want := at(0, nil), []time.Duration{0, 0, first, 1000 * ms}; !slices.Equal(got, want) {
		t.Errorf("times %v, want %v", got, want)
	}
	// Two untimed requests come as the first two do, and the trace begins with the third.
	if got, want := at(2, nil), []time.Duration{0, 0, first, first, 2 * first, first + 1000*ms}; !slices.Equal(got, want) {
		t.Errorf("times %v, want %v", got, want)
	}
	// More of them than lines: the trace over again, a mean gap after its end.
	if got := at(5, nil); got[4] != 1250*ms || got[5] != 1250*ms {
		t.Errorf("times %v", got)
	}
	times := NewArrivals(1, 0, 10, 1)
	if got := at(1, times); got[0] != 0 || got[1] != times.At(1) || got[4] != times.At(4) || len(got) != 5 {
		t.Errorf("times %v at a rate", got)
	}
}

func TestReplayOfSessionsAtARate(t *testing.T) {
	tr := traceOf(t, `{"timestamp": 0, "session_id": "a", "input_length": 4, "output_length": 1}
{"session_id": "a", "delay": 1500, "input_length": 8, "output_length": 1}
{"timestamp": 90000, "input_length": 4, "output_length": 1}
`, 4)
	times := NewArrivals(1, 0, 10, 1)
	replay := NewReplay(tr, 1, 0, 1, IDs(nil), times)
	var got []string
	for seq := range 4 {
		q, _ := replay.Request(seq)
		got = append(got, fmt.Sprint(q.Session, q.At, q.Delay))
	}
	want := []string{"0 0s 0s", "1 " + times.At(1).String() + " 0s", "1 0s 1.5s", "0 " + times.At(2).String() + " 0s"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q: a later turn takes no arrival", got, want)
	}
}

// replays fails where a trace is not laid out in order, its prompts as long as they are.
func replays(t *testing.T, tr *Trace, block int64) {
	const warm = 3
	for _, times := range []*Arrivals{nil, NewArrivals(1, 0, 100, 1)} {
		replay := NewReplay(tr, 1, 0, warm, IDs(nil), times)
		latest := time.Duration(0)
		for seq := 0; ; seq++ {
			q, ok := replay.Request(seq)
			if !ok {
				if seq != warm+len(tr.Requests) {
					t.Fatalf("%d requests of %d", seq, warm+len(tr.Requests))
				}
				break
			}
			if q.Session == 0 {
				if q.At < latest {
					t.Fatalf("request %d comes at %v, after one at %v", seq, q.At, latest)
				}
				latest = q.At
			}
			if q.Input < 1_000 && int64(len(replay.Prompt(q, block, q.Input))) != q.Input {
				t.Fatalf("a prompt of %d tokens where %d are asked", len(replay.Prompt(q, block, q.Input)), q.Input)
			}
		}
	}
}

func FuzzReadTrace(f *testing.F) {
	f.Add(talk, int64(4))
	f.Fuzz(func(t *testing.T, text string, block int64) {
		tr, err := ReadTrace(strings.NewReader(text), block)
		if err != nil {
			if strings.Count(err.Error(), "\n") > mostProblems {
				t.Errorf("problems without bounds: %d bytes", len(err.Error()))
			}
			return
		}
		latest, turns, blocks := time.Duration(0), map[int]int{}, map[int64]bool{}
		for _, q := range tr.Requests {
			for _, b := range q.Blocks {
				blocks[b] = true
			}
			switch {
			case q.Input < 1 || q.Output < 1 || q.At < 0 || q.Delay < 0 || q.Reusable < 0 || q.Reusable >= q.Input:
				t.Fatalf("%+v", q)
			case int64(len(q.Blocks)) != (q.Input+block-1)/block && len(q.Blocks) != 1:
				t.Fatalf("%d blocks for %d tokens", len(q.Blocks), q.Input)
			case q.Turn == 0 && q.At < latest:
				t.Fatalf("line %d came before an earlier one", q.Line)
			case q.Session != 0 && q.Turn != turns[q.Session], q.Session == 0 && q.Turn != 0:
				t.Fatalf("turn %d of session %d after %d", q.Turn, q.Session, turns[q.Session])
			}
			if q.Turn == 0 {
				latest = q.At
			}
			turns[q.Session]++
		}
		if int64(len(blocks)) != tr.Blocks {
			t.Fatalf("%d blocks in use, %d said", len(blocks), tr.Blocks)
		}
		if len(tr.Requests) < 20 {
			replays(t, tr, block)
		}
	})
}
