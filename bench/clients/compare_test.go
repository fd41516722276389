package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rowproof/internal/engine/simulator"
)

// Files that the tools wrote, each beside the log of the server that they measured. The
// errors were computed from both by a program of its own.
func TestReportsAgainstTheLog(t *testing.T) {
	for _, c := range []struct {
		client           string
		read             func(dir string) ([]reported, error)
		first, gap, mean spread
	}{
		{"ours", readOurs,
			spread{4, 15_759, 50_242, 50_242}, spread{28, 4_946, 51_993, 51_993}, spread{}},
		{"aiperf", func(dir string) ([]reported, error) { return readAIPerf(filepath.Join(dir, "profile_export.jsonl")) },
			spread{3, 2_707_926, 11_910_571, 11_910_571}, spread{93, 25_478, 1_981_289, 1_981_289}, spread{}},
		{"guidellm", func(dir string) ([]reported, error) { return readGuideLLM(filepath.Join(dir, "g.json")) },
			spread{3, 778_933, 6_420_911, 6_420_911}, spread{}, spread{3, 2_552, 5_864, 5_864}},
		{"vllm", func(dir string) ([]reported, error) { return readLists(filepath.Join(dir, "v.json")) },
			spread{3, 3_460_754, 4_048_554, 4_048_554}, spread{93, 24_195, 590_761, 590_761}, spread{}},
		{"sglang", func(dir string) ([]reported, error) { return readLists(filepath.Join(dir, "s.jsonl")) },
			spread{3, 2_763_159, 3_497_046, 3_497_046}, spread{93, 40_815, 497_897, 497_897}, spread{}},
		{"sglang-rust", func(dir string) ([]reported, error) { return readLists(filepath.Join(dir, "s.jsonl")) },
			spread{3, 322_869, 794_439, 794_439}, spread{93, 11_377, 624_542, 624_542}, spread{}},
	} {
		t.Run(c.client, func(t *testing.T) {
			dir := filepath.Join("testdata", c.client)
			all, err := c.read(dir)
			if err != nil {
				t.Fatal(err)
			}
			log, err := readTruth(filepath.Join(dir, "truth.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := compare(all, log)
			if err != nil {
				t.Fatal(err)
			}
			want := errorsOf{First: c.first, Gap: c.gap, Mean: c.mean, Joined: c.first.N}
			if got != want {
				t.Errorf("errors\n%+v, want\n%+v", got, want)
			}
		})
	}
}

// logOf is a log of requests that were received at 1 s and answered each 10 ms from
// 1.1 s on, named a, b and so on.
func logOf(t *testing.T, tokens ...int) truthLog {
	t.Helper()
	var text strings.Builder
	for i, n := range tokens {
		text.WriteString(`{"id":"` + string(rune('a'+i)) + `","n":` + string(rune('1'+i)) + `,"prompt":"p` + string(rune('a'+i)) +
			`","osl":3,"received_ns":1000000000,"status":"ok","scheduled_ns":[1100000000,1110000000,1120000000],"sent_ns":[`)
		for j := range n {
			if j > 0 {
				text.WriteByte(',')
			}
			text.WriteString("11" + string(rune('0'+j)) + "0000500")
		}
		text.WriteString("]}\n")
	}
	path := filepath.Join(t.TempDir(), "truth.jsonl")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := readTruth(path)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func TestWhatAClientMayGetWrong(t *testing.T) {
	const first, gap = 100_000_500, 10_000_000
	for _, c := range []struct {
		name string
		r    reported
		want errorsOf
	}{
		{"exact", reported{first: first, gaps: []int64{gap, gap}, tokens: 3},
			errorsOf{First: spread{N: 1}, Gap: spread{N: 2}, Joined: 1}},
		{"a gap moved to the next one", reported{first: first + 7, gaps: []int64{gap + 5, gap - 5}, tokens: 3},
			errorsOf{First: spread{1, 7, 7, 7}, Gap: spread{2, 5, 5, 5}, Joined: 1}},
		{"nothing known of a token", reported{first: lost, gaps: []int64{lost, gap}, tokens: 3},
			errorsOf{Gap: spread{N: 1}, Joined: 1, Lost: 2}},
		{"two tokens taken for one", reported{first: first, gaps: []int64{2 * gap}, tokens: 3},
			errorsOf{First: spread{N: 1}, Joined: 1, Uneven: 1}},
		{"a token too many", reported{first: first, gaps: []int64{gap, gap}, tokens: 4},
			errorsOf{First: spread{N: 1}, Gap: spread{N: 2}, Joined: 1, Wrong: 1}},
		{"only a mean", reported{first: first, mean: gap - 3, tokens: 3},
			errorsOf{First: spread{N: 1}, Mean: spread{1, 3, 3, 3}, Joined: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, k := range []key{{id: "b"}, {answer: 2}, {prompt: "pb"}} {
				c.r.key = k
				got, err := compare([]reported{c.r}, logOf(t, 1, 3))
				if err != nil {
					t.Fatal(err)
				}
				if got != c.want {
					t.Errorf("by %+v: %+v, want %+v", k, got, c.want)
				}
			}
		})
	}
}

func TestAJoinThatCannotBe(t *testing.T) {
	whole := reported{first: 100_000_500, gaps: []int64{10_000_000, 10_000_000}, tokens: 3}
	with := func(k key) reported { r := whole; r.key = k; return r }
	for _, c := range []struct {
		name, says string
		all        []reported
		tokens     []int
	}{
		{"nobody", "does not know the request {id:z", []reported{with(key{id: "z"})}, []int{3}},
		{"no key", "does not know the request {id:", []reported{whole}, []int{3}},
		{"twice", "answer 1 is reported twice", []reported{with(key{id: "a"}), with(key{answer: 1})}, []int{3}},
		{"a success that was none", "reported as a success and ended as \"ok\" after 0 tokens", []reported{with(key{id: "a"})}, []int{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := compare(c.all, logOf(t, c.tokens...)); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
	same := logOf(t, 3, 3)
	same.byPrompt["pa"] = []int{0, 1}
	if _, err := compare([]reported{with(key{prompt: "pa"})}, same); err == nil || !strings.Contains(err.Error(), "came 2 times") {
		t.Errorf("%v", err)
	}
}

// Of a log: who was held at once, and by how much the server was late. Probes of other
// lengths are no load.
func TestTheLoadOfALog(t *testing.T) {
	at := func(received int64, osl int, late int64, sent ...int64) simulator.Truth {
		t := simulator.Truth{OSL: osl, Received: received, Sent: sent}
		for _, s := range sent {
			t.Scheduled = append(t.Scheduled, s-late)
		}
		return t
	}
	l := truthLog{lines: []simulator.Truth{
		at(5, 1, 1000, 6),
		at(10, 2, 1, 20, 30),
		at(15, 2, 2, 25, 35),
		at(30, 2, 3, 40, 50), // begins as the first ends: at no time three
		at(60, 2, 0),
	}}
	from, to, tokens, held, late := l.loaded(2)
	if from != 10 || to != 50 || tokens != 6 || held != 2 || late != 3 {
		t.Errorf("from %d to %d, %d tokens, %d held, late by %d", from, to, tokens, held, late)
	}
}

func TestPercentilesAreErrorsThatOccurred(t *testing.T) {
	v := make([]int64, 200)
	for i := range v {
		v[i] = int64(200 - i)
	}
	if got, want := spreadOf(v), (spread{200, 100, 198, 200}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestCPUWithinTheLoad(t *testing.T) {
	u := usage{CPU: 9, Samples: []sample{{100, 1}, {200, 3}, {300, 7}}}
	for _, c := range []struct {
		from, to int64
		want     float64
	}{{100, 300, 6}, {150, 250, 3}, {50, 400, 8}} {
		if got := u.during(c.from, c.to); got != c.want {
			t.Errorf("from %d to %d: %v s, want %v", c.from, c.to, got, c.want)
		}
	}
}
