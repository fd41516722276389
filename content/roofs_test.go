// Package content tests that the articles state what the programs compute.
package content

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rowproof/data"
	"rowproof/internal/catalog"
	"rowproof/internal/roofline"
)

// Each worked line of the page is
//
//	> **symbol**, words = formula\
//	= the same with its numbers\
//	= result
//
// The formula's symbols are the rows of the table before it and the lines before it. Three
// things must agree: the formula, computed here and to the last digit; its numbers, which
// must be the symbols' own; and what the package roofline answers, as it would print it.
func TestRoofsPageIsWhatIsComputed(t *testing.T) {
	text, err := os.ReadFile("roofs.md")
	if err != nil {
		t.Fatal(err)
	}
	known, problems := catalog.Load(data.FS)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var x, first *example
	section := ""
	seen := map[string]bool{}
	for i, line := range joined(string(text)) {
		fail := func(format string, args ...any) {
			t.Helper()
			t.Errorf("roofs.md:%d: "+format, append([]any{i + 1}, args...)...)
		}
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			section = heading
		}
		worked, isWorked := strings.CutPrefix(line, "> ")
		source, isItem := strings.CutPrefix(line, "- ")
		cells := rowOf(line)
		switch {
		case isWorked && x == nil:
			fail("a worked line before any example")
		case isWorked:
			x.work(fail, worked)
			seen[x.id+" "+nameOf(worked)] = true
		case len(cells) == 3 && cells[0] == "model":
			x = newExample(fail, known, strings.Trim(cells[2], "`"))
			if first == nil {
				first = x
			}
		case len(cells) == 3 && strings.HasPrefix(cells[0], "`"):
			of := weightFormat
			if section == "Keys and values" {
				of = cacheFormat
			}
			checkFormat(fail, cells, of)
			seen[section+" "+cells[0]] = true
		case len(cells) == 3 && x != nil:
			x.given(fail, known, cells[0], cells[2])
		case section == "Sources" && isItem:
			if !slices.Contains(first.answer().Sources, source) {
				fail("no source of the first example: %s; there are:\n%s", source, strings.Join(first.answer().Sources, "\n"))
			}
			seen[source] = true
		default:
			if found := unchecked(known, line); found != "" {
				fail("%q: no worked line says so", found)
			}
		}
	}
	missing := func(what string) { t.Errorf("roofs.md: %s stands nowhere", what) }
	for id, list := range figures {
		for name := range list {
			if !seen[id+" "+name] {
				missing(name + " of " + id)
			}
		}
	}
	for _, dtype := range roofline.WeightDtypes() {
		if !seen["Bytes of a weight `"+dtype+"`"] {
			missing("the format " + dtype)
		}
	}
	for _, dtype := range roofline.KVDtypes() {
		if dtype != roofline.MLAFP8 && !seen["Keys and values `"+dtype+"`"] {
			missing("the cache " + dtype)
		}
	}
	for _, source := range first.answer().Sources {
		if !seen[source] {
			missing("the source " + source)
		}
	}
}

// joined are the lines of a text, those that a backslash breaks joined to their first.
func joined(text string) []string {
	lines := strings.Split(text, "\n")
	for i := len(lines) - 1; i > 0; i-- {
		if before, broken := strings.CutSuffix(lines[i-1], `\`); broken {
			lines[i-1], lines[i] = before+" "+strings.TrimPrefix(lines[i], "> "), ""
		}
	}
	return lines
}

// checkFormat checks a row of a table of formats: format, bytes, and the types in which it
// computes, each alone where a device has no peak for the others.
func checkFormat(fail failure, cells []string, of func(format string, t *roofline.Target) (bytes, peak float64)) {
	format := strings.Trim(cells[0], "`")
	expr, result, worked := strings.Cut(cells[1], " = ")
	if !worked {
		result = expr
	}
	list, err := tokens(expr, nil)
	if err != nil {
		fail("%v", err)
		return
	}
	v, err := evaluate(list)
	if err != nil {
		fail("%v", err)
		return
	}
	if want := printed(v, result); want != result {
		fail("%s is %s, not %s", format, want, result)
	}
	peaks := map[string]roofline.Decimal{"bf16": "1", "fp16": "2", "fp8": "3", "fp4": "5", "int8": "2.5"}
	for i, name := range code.FindAllString(cells[2], -1) {
		name = strings.Trim(name, "`")
		bytes, peak := of(format, &roofline.Target{PeakTFLOPs: peaks})
		if i == 0 && v != bytes {
			fail("%s: %v bytes, and the program has %v", format, v, bytes)
		}
		if peak != decimal(peaks[name])*1e12 {
			fail("%s does not compute at %s", format, name)
		}
		delete(peaks, name)
	}
	if _, peak := of(format, &roofline.Target{PeakTFLOPs: peaks}); !math.IsNaN(peak) {
		fail("%s computes at more than %s", format, cells[2])
	}
}

// weightFormat is bytes and peak of a weight in a format, of square matrices.
func weightFormat(format string, t *roofline.Target) (bytes, peak float64) {
	const side = 4096
	m := &roofline.Model{Architecture: roofline.Architecture{Hidden: side, Vocabulary: 1, Layers: []roofline.Layer{{
		Count: 1, Attention: roofline.Attention{Kind: roofline.None},
		FFN: roofline.FFN{Kind: roofline.MoE, Width: side, Experts: 2, TopK: 1},
	}}}}
	in := roofline.Pack(roofline.Query{Model: m, Target: t, WeightDtype: format})
	kind := in[roofline.HeadSlots:]
	return kind[roofline.KindExpertBytes] / kind[roofline.KindExpertParams], in[roofline.SlotPeakLayers]
}

// cacheFormat is bytes and peak of an element of a cache in a format.
func cacheFormat(format string, t *roofline.Target) (bytes, peak float64) {
	m := &roofline.Model{Architecture: roofline.Architecture{Hidden: 64, Vocabulary: 1, Layers: []roofline.Layer{{
		Count: 1, Attention: roofline.Attention{Kind: roofline.GQA, Heads: 1, KVHeads: 1, HeadDim: 64}, FFN: roofline.FFN{Kind: roofline.None},
	}}}}
	in := roofline.Pack(roofline.Query{Model: m, Target: t, KVDtype: format})
	return in[roofline.HeadSlots+roofline.KindKV] / 128, in[roofline.SlotPeakAttention]
}

var code = regexp.MustCompile("`[^`]*`")

// rowOf are the cells of a table's row of three, nil where the line is none.
func rowOf(line string) []string {
	inner, ok := strings.CutPrefix(line, "| ")
	if !ok || strings.HasPrefix(inner, "---") || strings.HasPrefix(inner, "Symbol ") || strings.HasPrefix(inner, "Format ") || strings.HasPrefix(inner, "Cache ") {
		return nil
	}
	cells := strings.Split(strings.TrimSuffix(inner, " |"), " | ")
	if len(cells) != 3 {
		return nil
	}
	return cells
}

// nameOf is the symbol that a worked line defines.
func nameOf(worked string) string {
	name, _, _ := strings.Cut(worked, "**,")
	return strings.TrimPrefix(name, "**")
}

// example is one model on one target under one load, as a table of the page gives it.
type example struct {
	id      string
	q       roofline.Query
	gamma   int64 // drafts, where they are asked for
	dealt   int64 // devices over which a cache is dealt out, where that is asked for
	symbols map[string]float64
}

type failure func(format string, args ...any)

func newExample(fail failure, known *catalog.Catalog, id string) *example {
	x := &example{id: id, symbols: map[string]float64{}}
	if x.q.Model = known.Models[id]; x.q.Model == nil {
		fail("no model %s", id)
		x.q.Model = &roofline.Model{Architecture: roofline.Architecture{Layers: make([]roofline.Layer, 1)}}
	}
	return x
}

// given takes one row of the table: what is asked, or a figure of model or target, which
// must be theirs.
func (x *example) given(fail failure, known *catalog.Catalog, symbol, text string) {
	switch text := strings.Trim(text, "`"); symbol {
	case "target":
		var ok bool
		if x.q.Target, ok = known.Target(text); !ok {
			fail("no target %s", text)
		}
		return
	case "weights":
		x.q.WeightDtype = text
		return
	case "cache":
		x.q.KVDtype = text
		return
	}
	list, err := tokens(text, nil)
	if err != nil || len(list) != 1 {
		fail("%s: %q is not a number: %v", symbol, text, err)
		return
	}
	v := list[0].value
	x.symbols[symbol] = v
	if set := ask[symbol]; set != nil {
		set(x, int64(v))
	} else if of := published[symbol]; of == nil {
		if symbol != "α" {
			fail("%s: nothing says where it stands", symbol)
		}
	} else if want := of(x); v != want {
		fail("%s is %s, and the catalogue has %v", symbol, text, want)
	}
}

// work checks one worked line.
func (x *example) work(fail failure, worked string) {
	parts := strings.Split(worked, " = ")
	name := nameOf(worked)
	if len(parts) != 4 {
		fail("%s: want **symbol**, words = formula = numbers = result", worked)
		return
	}
	formula, err := tokens(parts[1], x.symbols)
	if err != nil {
		fail("%v", err)
		return
	}
	v, err := evaluate(formula)
	if err != nil {
		fail("%s: %v", parts[1], err)
		return
	}
	x.symbols[name] = v
	numbers, err := tokens(parts[2], nil)
	if err != nil {
		fail("%v", err)
		return
	}
	if len(numbers) != len(formula) {
		fail("%s has %d parts, %s has %d", parts[1], len(formula), parts[2], len(numbers))
		return
	}
	for i := range formula {
		if a, b := formula[i], numbers[i]; a.sign != b.sign || printed(a.value, b.text) != b.text && a.sign == "" {
			fail("%s: %s is %s, not %s", parts[2], a.text, printed(a.value, b.text), b.text)
		}
	}
	if want := printed(v, parts[3]); want != parts[3] {
		fail("%s is %s, not %s", name, want, parts[3])
	}
	of := figures[x.id][name]
	if of == nil {
		fail("%s of %s is held against nothing", name, x.id)
		return
	}
	if want := of(x); !(math.Abs(v-want) <= 1e-12*math.Abs(want)) {
		fail("%s is %v by the page's formula, and the program answers %v", name, v, want)
	}
}

// printed is a value as the programs print it, in the unit that a text has.
func printed(v float64, like string) string {
	digits := number.FindString(like)
	unit := strings.TrimSpace(like[len(digits):])
	if unit != "" {
		v /= units[unit]
		unit = " " + unit
	}
	if stated, err := strconv.ParseFloat(strings.ReplaceAll(digits, ",", ""), 64); err == nil && stated == v {
		return like
	}
	// A fraction that is written out is held to its last digit.
	if _, fraction, _ := strings.Cut(digits, "."); len(fraction) >= 4 {
		return strconv.FormatFloat(v, 'f', len(fraction), 64) + unit
	}
	return roofline.Number(v) + unit
}

// digit is what no text outside worked lines may hold, and names are where it may.
var (
	digit = regexp.MustCompile(`\S*[0-9]\S*`)
	names = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)|10⁹|16 bits|in 8 bits|DeepSeek-V3(\\.[0-9])?")
)

// unchecked is the first number of a line that nothing checks, "" when there is none.
func unchecked(known *catalog.Catalog, line string) string {
	line = names.ReplaceAllString(line, "")
	for _, m := range known.Models {
		line = strings.ReplaceAll(line, m.Name, "")
	}
	for _, t := range known.Targets {
		line = strings.ReplaceAll(line, t.Name, "")
		for _, source := range t.Sources {
			line = strings.ReplaceAll(line, source, "")
		}
	}
	return digit.FindString(line)
}
