package data

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rowproof/internal/catalog"
	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

// reports lists the published reports; an empty list would make every test here pass.
func reports(t *testing.T) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(os.DirFS("."), "rows", func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".json") {
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatal("no report under data/rows")
	}
	return found
}

// Every published row is verified by its own evidence, alone and beside all the others, and
// by today's roof as well as by that of its own copies.
func TestPublishedRowsAreVerified(t *testing.T) {
	corpus := gate.NewCorpus()
	bundles := map[string]*rowfile.Bundle{}
	rows := 0
	for _, name := range reports(t) {
		b, err := rowfile.LoadFS(os.DirFS("."), name)
		if err != nil {
			t.Fatal(err)
		}
		bundles[name] = b
		for i := range b.Report.Rows {
			rows++
			corpus.Add(b.Report, &b.Report.Rows[i], b.Rows[i].Samples)
		}
	}
	c, _ := catalog.Load(FS)
	for name, b := range bundles {
		t.Run(name, func(t *testing.T) {
			b.Today = today(t, c, b.Report)
			b.Today.Differ = append(b.Today.Differ, gate.Compared{Name: "asked", Found: "all the same", Against: "all the same"})
			for i, results := range b.Judge(corpus) {
				if verdict := gate.Verdict(results); verdict != gate.Verified {
					t.Errorf("row %d is %s", i, verdict)
				}
				for _, r := range results {
					if r.Answer.Blocks() {
						t.Errorf("row %d: %s %s: %s", i, r.Gate, r.Answer, r.Reason)
					}
				}
			}
		})
	}
	if rows < 20 {
		t.Errorf("%d published rows; at least 20 stand here since the first publication", rows)
	}
}

// Samples that were all made faster by the same share are contradicted by the server's own
// sum of its requests' times, which stands in the evidence of every row.
func TestSamplesMadeFasterAreSeen(t *testing.T) {
	for _, name := range reports(t) {
		b, err := rowfile.LoadFS(os.DirFS("."), name)
		if err != nil {
			t.Fatal(err)
		}
		in := b.Input(0, nil)
		for i := range in.Samples {
			s := &in.Samples[i]
			s.Sent, s.Enqueued = s.Sent*95/100, s.Enqueued*95/100
			for j, d := range s.T {
				if d != row.NoStamp {
					s.T[j] = d * 95 / 100
				}
			}
		}
		for _, r := range gate.Judge(in) {
			if r.Gate == "counted" && (r.Answer != gate.Fail || !strings.Contains(r.Reason, "no answer is seen before it was made")) {
				t.Errorf("%s: %v %s", name, r.Answer, r.Reason)
			}
		}
	}
}

// A changed digit, wherever it stands in a report, makes some gate refuse a row of it:
// each tenth of the file has some of the digits, and so have notes and reasons.
func TestAChangedDigitIsSeen(t *testing.T) {
	const tenths, each = 10, 4
	for _, name := range reports(t) {
		t.Run(name, func(t *testing.T) {
			whole, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			p := newPublished(t, name)
			if p.seen(whole) {
				t.Fatal("refused as it is")
			}
			random := rand.New(rand.NewPCG(1, uint64(len(whole))))
			var places []int
			for tenth := range tenths {
				places = append(places, someDigits(whole, tenth*len(whole)/tenths, (tenth+1)*len(whole)/tenths, each, random)...)
			}
			for _, begin := range []string{`"notes": [`, `"missing": {`} {
				from := 0
				for range p.bundle.Rows {
					at := bytes.Index(whole[from:], []byte(begin))
					if at < 0 {
						break
					}
					from += at + len(begin)
					end := from + bytes.IndexAny(whole[from:], "]}")
					places = append(places, someDigits(whole, from, end, 1, random)...)
				}
			}
			if len(places) < tenths*each {
				t.Fatalf("%d digits", len(places))
			}
			for _, at := range places {
				changed := bytes.Clone(whole)
				changed[at] = '0' + (changed[at]-'0'+1+byte(random.IntN(9)))%10
				if !p.seen(changed) {
					line := 1 + bytes.Count(whole[:at], []byte("\n"))
					t.Errorf("line %d: %q became %q and every row is still verified", line, whole[at], changed[at])
				}
			}
		})
	}
}

// What reads the same to a machine and not to a reader is seen too.
func TestAnotherSpellingIsSeen(t *testing.T) {
	name := reports(t)[0]
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p := newPublished(t, name)
	number := regexp.MustCompile(`[0-9]+\.[0-9]{8,}`)
	for k, at := range number.FindAllIndex(whole, 20) {
		for _, more := range []string{"0", "1", "e0", "00000000001"} {
			changed := slices.Concat(whole[:at[1]], []byte(more), whole[at[1]:])
			if !p.seen(changed) {
				t.Errorf("number %d: %s%s and every row is still verified", k, whole[at[0]:at[1]], more)
			}
		}
	}
}

// someDigits are places of digits between from and to, n of them where there are so many.
func someDigits(text []byte, from, to, n int, random *rand.Rand) []int {
	var digits []int
	for i := from; i < to; i++ {
		if text[i] >= '0' && text[i] <= '9' {
			digits = append(digits, i)
		}
	}
	random.Shuffle(len(digits), func(i, j int) { digits[i], digits[j] = digits[j], digits[i] })
	return digits[:min(n, len(digits))]
}

// published is a report with what follows from the files beside it, computed once.
type published struct {
	bundle   *rowfile.Bundle
	computed []row.Computed
}

func newPublished(t *testing.T, name string) *published {
	t.Helper()
	b, err := rowfile.LoadFS(os.DirFS("."), name)
	if err != nil {
		t.Fatal(err)
	}
	p := &published{bundle: b}
	for _, d := range b.Rows {
		p.computed = append(p.computed, row.Compute(&d.Row.Workload, b.Report.AsItWas.Recipe.GPUs(), d.Samples, d.Evidence))
	}
	return p
}

// seen says whether another text of the report has a row that is not verified. A row as
// it was, under a report as it was, is judged once for all.
func (p *published) seen(report []byte) bool {
	b, err := p.bundle.With(report)
	if err != nil || len(b.Problems) > 0 || len(b.Rows) != len(p.bundle.Rows) {
		return true
	}
	for i := range b.Rows {
		if b.Rows[i].ComputedID != b.Rows[i].Row.ID {
			return true
		}
	}
	head, was := *b.Report, *p.bundle.Report
	head.Rows, was.Rows = nil, nil
	same := reflect.DeepEqual(head, was)
	for i := range b.Rows {
		if same && reflect.DeepEqual(b.Rows[i].Row, p.bundle.Rows[i].Row) {
			continue
		}
		in := b.Input(i, nil)
		if reflect.DeepEqual(in.Row.Workload, p.bundle.Rows[i].Row.Workload) {
			in.Computed = &p.computed[i]
		}
		if gate.Verdict(gate.Judge(in)) != gate.Verified {
			return true
		}
	}
	return false
}
