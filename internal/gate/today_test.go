package gate_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
	"rowproof/internal/rowtest"
)

// ceilingToday is what gate ceiling says of a report's first row where a catalogue has
// another target.
func ceilingToday(t *testing.T, m *made, today *gate.Today) gate.Result {
	t.Helper()
	m.seal()
	b, err := rowfile.LoadFS(m.files(t), "r.json")
	if err != nil {
		t.Fatal(err)
	}
	b.Now, b.Today = now, today
	return answer(b.Judge(nil)[0], "ceiling")
}

// What explains a figure above its roof is looked up in the catalogue where the row's copy
// of its target is older, and is not said to be unknown of the device where it is only
// not stated in the copy.
func TestCausesFromTheCatalogue(t *testing.T) {
	was := rowtest.Llama8B()
	m := makeOf(was, rowtest.Options{})
	was.Target.BandwidthGBs, was.Target.CacheBytes, was.Target.MemoryBusBits = "2400", 0, 0
	target := was.Target
	target.CacheBytes, target.MemoryBusBits, target.MaxMemoryClockMHz = 52_428_800, 6144, 3201
	today := rowfile.Today(was, nil, nil, &target)
	if len(today.Differ) > 0 {
		t.Fatalf("what bounds nothing differs: %s", today.Words())
	}
	for _, c := range []struct {
		today *gate.Today
		want  []string
	}{
		{today, []string{"weights in cache: 52.43 MB on each device", "boost clock: 3,201 MHz × 6,144 bits"}},
		{nil, []string{"weights in cache: not tried, the row's copy of the target does not state the size", "boost clock: not tried, the row's copy of the target does not state"}},
	} {
		r := ceilingToday(t, m, c.today)
		for _, want := range c.want {
			if r.Answer != gate.Fail || !strings.Contains(r.Reason, want) {
				t.Errorf("%v, want %q in %s", r.Answer, want, r.Reason)
			}
		}
	}
}

// A row whose own copies put the roof lower than the catalogue is held by them as ever,
// and one that the catalogue holds higher passes by both.
func TestTheLowerOfTwoRoofsHolds(t *testing.T) {
	was := rowtest.Llama8B()
	m := makeOf(was, rowtest.Options{})
	for bandwidth, want := range map[roofline.Decimal]gate.Answer{"9600": gate.Pass, "4000": gate.Pass, "1200": gate.Fail} {
		target := was.Target
		target.BandwidthGBs = bandwidth
		r := ceilingToday(t, m, rowfile.Today(was, nil, nil, &target))
		told := strings.HasPrefix(r.Reason, "target.bandwidth_gb_s is 4800 in the row's copy and "+string(bandwidth)+" in the catalogue. By the catalogue ")
		if r.Answer != want || told != (want == gate.Fail) {
			t.Errorf("%s GB/s: %v %s", bandwidth, r.Answer, r.Reason)
		}
	}
	// What the copy leaves open the catalogue does not make up for.
	target := was.Target
	open := *was
	open.Recipe.KVDtype = ""
	if got := rowfile.Today(&open, &was.Recipe, nil, &target).Words(); got != "recipe.kv_dtype is not stated in the row's copy and bf16 in the catalogue" {
		t.Error(got)
	}
}

// A figure just above its roof is not told as equal to it.
func TestFiguresAndRoofsAreToldApart(t *testing.T) {
	was := rowtest.Llama8B()
	m := makeOf(was, rowtest.Options{})
	step, why := was.Step(&m.report.Rows[0])
	if why != "" {
		t.Fatal(why)
	}
	roof := roofline.Ceiling(step.Query).DecodeStepMS.Hard
	bandwidth, _ := was.Target.BandwidthGBs.Float()
	was.Target.BandwidthGBs = roofline.Decimal(strconv.FormatFloat(bandwidth*roof/step.TPOT/1.000001, 'f', 9, 64))
	r := ceilingOf(t, m)
	same := regexp.MustCompile(`TPOT p50 ([0-9.,]+) ms is below the hard roof ([0-9.,]+) ms .*?: ([0-9.,]+)% of the roof`).FindStringSubmatch(r.Reason)
	if r.Answer != gate.Fail || same == nil || same[1] == same[2] || same[3] == "100" {
		t.Errorf("%v %q: %s", r.Answer, same, r.Reason)
	}
	for _, c := range []struct{ a, b float64 }{{1235.1, 1235.2}, {0.00123456, 0.00123457}, {7, 7}, {99.9999, 100}} {
		x, y := roofline.NumbersApart(c.a, c.b)
		if (x == y) != (c.a == c.b) {
			t.Errorf("%v and %v are %s and %s", c.a, c.b, x, y)
		}
	}
	var none *gate.Today
	if none.Words() != "" || rowfile.Today(was, nil, nil, nil) != nil || rowfile.Today(nil, &row.Recipe{}, nil, nil) != nil {
		t.Error("a catalogue that is not there differs")
	}
}
