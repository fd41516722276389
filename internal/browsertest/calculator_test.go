package browsertest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"rowproof/internal/catalog"
	"rowproof/internal/render"
	"rowproof/internal/render/roofplot"
	"rowproof/internal/roofline"
)

const calculatorPage = "roofline/index.html"

// calculator is the calculator's page as it stands.
type calculator struct {
	Answer, Load, Experts, Note string
	Decode, Prefill, Links      string // formulas
	Command                     string
	Problems                    []string
	Exact                       map[string]string // "out 6" → the figure as written in full
	Marks                       map[string]int    // of the plot, by class
	Search                      string
}

func (p *tab) calculator() calculator {
	p.t.Helper()
	p.answered()
	return eval[calculator](p, `(text => ({
		Answer: text("ceiling-answer"), Load: text("ceiling-load"), Experts: text("ceiling-experts"), Note: text("ceiling-note"),
		Decode: text("formula-decode"), Prefill: text("formula-prefill"), Links: text("formula-links"), Command: text("command"),
		Problems: [...document.querySelectorAll(".problem")].map(e => e.textContent).filter(t => t),
		Exact: Object.fromEntries([...document.querySelectorAll("[data-exact]")].map(e => [e.dataset.exact, e.textContent])),
		Marks: Object.fromEntries(["asked", "expected", "prefill"].map(c => [c, document.querySelectorAll("#ceiling-plot svg.wide ." + c).length])),
		Search: location.search,
	}))(id => document.getElementById(id).textContent)`)
}

// answered waits until no line of the page is busy working out its answer. It asks for a
// frame first: after a key whose work was done at once Chromium has no idle moment until
// something asks for the next one.
func (p *tab) answered() {
	p.t.Helper()
	eval[chromedp.Void](p, `new Promise(done => requestAnimationFrame(() => done()))`)
	p.settle()
	eval[chromedp.Void](p, `new Promise(done => {
		const look = () => document.querySelector("[aria-busy=true]") || done();
		new MutationObserver(look).observe(document.body, {attributes: true, subtree: true, attributeFilter: ["aria-busy"]});
		look();
	})`)
}

// choose picks an option of a select as a reader does.
func (p *tab) choose(name, value string) {
	p.t.Helper()
	if !eval[bool](p, fmt.Sprintf(`(() => {
		const e = document.getElementById(%q);
		if (![...e.options].some(o => o.value === %q)) return false;
		e.value = %[2]q;
		return e.dispatchEvent(new Event("input", {bubbles: true}));
	})()`, name, value)) {
		p.t.Fatalf("%s does not offer %q", name, value)
	}
}

// enter replaces a field's text, key by key.
func (p *tab) enter(name, text string) {
	p.t.Helper()
	eval[chromedp.Void](p, fmt.Sprintf(`document.getElementById(%q).select()`, name))
	do(p, chromedp.SendKeys("#"+name, text))
}

// paste replaces a field's text at once.
func (p *tab) paste(name, text string) {
	p.t.Helper()
	eval[chromedp.Void](p, fmt.Sprintf(`(e => {
		e.value = %q;
		e.dispatchEvent(new Event("input", {bubbles: true}));
	})(document.getElementById(%q))`, text, name))
}

func (p *tab) options(name string) []string {
	p.t.Helper()
	return eval[[]string](p, fmt.Sprintf(`[...document.getElementById(%q).options].map(o => o.value).filter(v => v !== "own")`, name))
}

func (p *tab) value(name string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf(`document.getElementById(%q).value`, name))
}

func anyOf(r *rand.Rand, values []string) string { return values[r.IntN(len(values))] }

func theCatalogue(t *testing.T) *catalog.Catalog {
	t.Helper()
	c, problems := catalog.Load(os.DirFS(filepath.Join(root, "data")))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

// compareExact holds every figure of the page against the native answer, to the last digit.
func compareExact(t *testing.T, asked string, page calculator, in, out []float64) {
	t.Helper()
	if len(page.Exact) < 20 {
		t.Fatalf("%s: the page shows %d figures", asked, len(page.Exact))
	}
	for place, shown := range page.Exact {
		from, index, _ := strings.Cut(place, " ")
		i, err := strconv.Atoi(index)
		if err != nil {
			t.Fatal(err)
		}
		native := out
		if from == "in" {
			native = in
		}
		want := "not known"
		if !math.IsNaN(native[i]) {
			b, _ := json.Marshal(native[i])
			want = string(b)
		}
		if shown != want {
			t.Errorf("%s: slot %s: the page shows %s; natively %s", asked, place, shown, want)
		}
	}
}

// The page answers questions at random, and answers them as measure does: to the last
// digit, in the sentence that gen writes, with the command that gives the same answer.
func TestCalculatorEqualsNative(t *testing.T) {
	s := theSite(t)
	r := random(t)
	c := theCatalogue(t)
	p := newTab(t, s.origin)
	p.visit(s.url(calculatorPage))
	p.answered()
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	for range 10 {
		p.choose("model", anyOf(r, p.options("model")))
		p.choose("target", anyOf(r, p.options("target")))
		for _, name := range []string{"weights", "kv", "tp", "pp", "dp", "ep"} {
			p.choose(name, anyOf(r, p.options(name)))
		}
		whole := func(name string) int64 {
			n, err := strconv.ParseInt(p.value(name), 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return n
		}
		q := roofline.Query{Model: c.Models[p.value("model")], WeightDtype: p.value("weights"), KVDtype: p.value("kv"),
			TP: whole("tp"), PP: whole("pp"), DP: whole("dp"), EP: whole("ep"), Batch: 1 + r.Int64N(9000)}
		end := min(q.Model.Architecture.MaxContext, 100_000)
		q.Context, q.ISL = r.Int64N(end), 1+r.Int64N(end/2)
		q.OSL, q.Concurrency, q.Cached, q.Chunk = r.Int64N(end/2), r.Int64N(500), r.Int64N(q.ISL), r.Int64N(9000)
		if q.Gamma = r.Int64N(4); q.Gamma > 0 {
			q.Acceptance = float64(1+r.IntN(99)) / 100
			q.MTPDrafts = q.Model.Architecture.MTP != nil && r.IntN(2) == 0
		}
		for name, n := range map[string]int64{"batch": q.Batch, "context": q.Context, "osl": q.OSL, "isl": q.ISL, "concurrency": q.Concurrency, "cached": q.Cached, "chunk": q.Chunk, "gamma": q.Gamma} {
			p.paste(name, number(n))
		}
		p.paste("acceptance", strconv.FormatFloat(q.Acceptance, 'g', -1, 64))
		eval[chromedp.Void](p, fmt.Sprintf(`(e => { if (e.checked !== %v && !e.closest("[hidden]")) e.click(); })(document.getElementById("mtp"))`, q.MTPDrafts))
		target := p.value("target")
		if n := q.TP * q.PP * q.DP; n > 1 {
			target += "-x" + number(n)
		}
		var ok bool
		if q.Target, ok = c.Target(target); !ok {
			t.Fatalf("the catalogue has no %s", target)
		}
		page := p.calculator()
		asked := page.Command
		if len(page.Problems) > 0 {
			t.Fatalf("%s: the page refuses: %q", asked, page.Problems)
		}
		in := roofline.Pack(q)
		out := roofline.CeilingPacked(in)
		compareExact(t, asked, page, in, out)
		answer, load, experts := render.CeilingSentences(q)
		for name, f := range map[string][2]string{
			"answer": {page.Answer, answer}, "load": {page.Load, load}, "experts": {page.Experts, experts},
			"formula": {page.Decode, roofline.Formula(in)}, "prefill formula": {page.Prefill, roofline.PrefillFormula(in)},
			"links": {page.Links, roofline.LinkFormula(in, float64(q.Batch*(q.Gamma+1)))},
		} {
			if f[0] != f[1] {
				t.Errorf("%s: %s\n%s\nnatively\n%s", asked, name, f[0], f[1])
			}
		}
		drawn := 0
		if roofplot.Draw(in, roofplot.Wide, "", "", nil) != "" {
			drawn = 1
		}
		if page.Marks["asked"] != drawn {
			t.Errorf("%s: %d plots drawn; natively %d", asked, page.Marks["asked"], drawn)
		}
		compareCommand(t, s, page)
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}

// compareCommand runs the page's own command and holds its answer against the page.
func compareCommand(t *testing.T, s *site, page calculator) {
	t.Helper()
	words := strings.Fields(page.Command)
	out, err := exec.Command(s.measure, append(words[1:], "--json")...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Errorf("%s: %s", page.Command, exit.Stderr)
		return
	} else if err != nil {
		t.Fatal(err)
	}
	var a struct {
		Step    *struct{ Hard, Expected, Serial json.Number } `json:"decode_step_ms"`
		Rate    *struct{ Hard, Expected json.Number }         `json:"decode_tok_s"`
		Prefill *struct{ Hard, Expected json.Number }         `json:"prefill_ms"`
		Read    *json.Number                                  `json:"read_bytes_per_step"`
		Most    *json.Number                                  `json:"max_concurrency"`
		Formula string
		Serving *struct {
			Rate json.Number `json:"output_tok_s"`
		}
	}
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatal(err)
	}
	same := func(slot int, want json.Number) {
		t.Helper()
		if shown := page.Exact["out "+strconv.Itoa(slot)]; shown != want.String() {
			t.Errorf("%s: slot %d: the page shows %q; the command says %q", page.Command, slot, shown, want)
		}
	}
	if a.Step != nil {
		same(roofline.OutDecodeStepHardMS, a.Step.Hard)
		same(roofline.OutDecodeStepExpectedMS, a.Step.Expected)
		same(roofline.OutDecodeStepSerialMS, a.Step.Serial)
		same(roofline.OutDecodeTokPerSecHard, a.Rate.Hard)
		if a.Formula != page.Decode {
			t.Errorf("%s: formula\n%s\nof the command\n%s", page.Command, page.Decode, a.Formula)
		}
	}
	if a.Prefill != nil {
		same(roofline.OutPrefillHardMS, a.Prefill.Hard)
	}
	if a.Serving != nil {
		same(roofline.OutServingTokPerSec, a.Serving.Rate)
	}
	if a.Read != nil {
		same(roofline.OutReadBytesPerStep, *a.Read)
	}
	if a.Most != nil {
		same(roofline.OutMaxConcurrency, *a.Most)
	}
}

// Loading the script changes nothing of what gen wrote, and without it the page is whole.
func TestCalculatorWithoutScript(t *testing.T) {
	s := theSite(t)
	const all = `[...document.querySelectorAll("main section, .answer")].map(e => e.innerText).join("\n")`
	still := newTab(t, s.origin)
	withoutScripts(still)
	do(still, chromedp.Navigate(s.url(calculatorPage)))
	built := eval[string](still, all)
	for _, want := range []string{"Memory binds: Llama 3.1 8B on H200 SXM decodes at most ", "on every device", "measure ceiling --model llama-3.1-8b", "GB/s ÷"} {
		if !strings.Contains(plain(built), want) {
			t.Errorf("without JavaScript the page does not say %q", want)
		}
	}
	if eval[bool](still, `document.getElementById("model").checkVisibility()`) {
		t.Error("without JavaScript a form is shown that does nothing")
	}
	still.show(1280, "light")
	if width := eval[float64](still, `document.querySelector("#ceiling-answer").parentElement.clientWidth / document.querySelector(".calculator").clientWidth`); width < 1 {
		t.Errorf("without the form what is said takes %.2f of the width", width)
	}
	p := newTab(t, s.origin)
	p.visit(s.url(calculatorPage))
	p.answered()
	lines := func(text string) []string {
		return slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" || strings.TrimSpace(l) == "Copy" })
	}
	before, after := lines(built), lines(eval[string](p, all))
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] {
			t.Fatalf("the script changed %q to %q", before[i], after[i])
		}
	}
	if len(before) != len(after) {
		t.Errorf("the script made %d lines of %d", len(after), len(before))
	}
	if search := p.calculator().Search; search != "" {
		t.Errorf("an unchanged form put %q into the address", search)
	}
}

// The address carries the question, and what it holds that nobody knows is told.
func TestCalculatorAddress(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url(calculatorPage))
	p.answered()
	p.enter("batch", "77")
	p.enter("context", "3333")
	asked := p.calculator()
	want := url.Values{"model": {"llama-3.1-8b"}, "target": {"h200-sxm"}, "batch": {"77"}, "context": {"3333"}}
	if q, _ := url.ParseQuery(strings.TrimPrefix(asked.Search, "?")); q.Encode() != want.Encode() {
		t.Errorf("the address holds %q; want %q", asked.Search, want.Encode())
	}
	p.choose("model", "deepseek-v3")
	p.choose("weights", "int4")
	p.choose("tp", "4")
	p.choose("dp", "8")
	p.choose("ep", "32")
	p.paste("gamma", "1")
	asked = p.calculator()
	other := newTab(t, s.origin) // another reader
	other.visit(s.url(calculatorPage) + asked.Search)
	if again := other.calculator(); again.Answer != asked.Answer || again.Decode != asked.Decode || again.Command != asked.Command || again.Load != asked.Load {
		t.Errorf("the address %s gives another answer:\n%s\n%s", asked.Search, again.Command, asked.Command)
	}

	p.visit(s.url(calculatorPage) + "?weights=fp6&tp=2")
	if dropped := p.calculator().Note; dropped != "Weights fp6 is not on offer and was left out." {
		t.Errorf("for weights fp6 in the address the page says %q", dropped)
	}
	if tp := p.value("tp"); tp != "2" {
		t.Errorf("the rest of the address was dropped too: tp is %s", tp)
	}
	p.visit(s.url(calculatorPage) + "?acceptance=1.5&batch=0&context=1,024")
	wrong := p.calculator()
	for _, want := range []string{"Acceptance: at most 1. What the address says there was left out.", "Batch: at least 1. What the address says there was left out."} {
		if !strings.Contains(wrong.Note, want) {
			t.Errorf("for a batch of 0 and an acceptance of 1.5 in the address the page says %q", wrong.Note)
		}
	}
	if len(wrong.Problems) > 0 || !strings.Contains(plain(wrong.Answer), "over 32 sequences of 1,024 tokens") {
		t.Errorf("the rest of the address is not answered: %q, %s", wrong.Problems, wrong.Answer)
	}
	p.visit(s.url(calculatorPage) + "?model=foo&tp=4&gpu=h100&context=1")
	known := p.calculator()
	if known.Note != "Model foo is not known and was left out. “gpu” is not known and was left out." {
		t.Errorf("for a model and a name that nobody knows the page says %q", known.Note)
	}
	for _, want := range []string{" sharing each matrix (tp 4) decodes", " sequences of 1 token, "} {
		if !strings.Contains(plain(known.Answer), want) {
			t.Errorf("the answer lacks %q: %s", want, known.Answer)
		}
	}
	for _, trouble := range slices.Concat(p.noted(), other.noted()) {
		t.Error(trouble)
	}
}

// What a field does not accept stands beside it with what it would; the last good answer
// stays, and no layout is offered that the model does not divide into.
func TestCalculatorRefuses(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url(calculatorPage))
	good := p.calculator()
	for _, c := range []struct{ field, text, says string }{
		{"batch", "3O", "Batch: “3O” is not a whole number; write sequences, such as 32"},
		{"batch", "0", "Batch: at least 1"},
		{"context", "131073", "Context: at most 131,072"},
		{"osl", "131000", "Output: at most 129,024: with the prompt the model ends at 131,072"},
		{"cached", "2048", "Cached prefix: at most 2,047: at least one token of the prompt is computed"},
		{"gamma", "65", "Drafted a step: at most 64"},
		{"isl", "-1", "Prompt: “-1” is not a whole number; write tokens, such as 2048"},
	} {
		was := p.value(c.field)
		p.paste(c.field, c.text)
		page := p.calculator()
		if !slices.Contains(page.Problems, c.says) || page.Answer != good.Answer {
			t.Errorf("%s %s: the page says %q and answers %s", c.field, c.text, page.Problems, page.Answer)
		}
		if invalid := eval[string](p, fmt.Sprintf(`document.getElementById(%q).ariaInvalid`, c.field)); invalid != "true" {
			t.Errorf("%s %s: the field is not marked", c.field, c.text)
		}
		p.paste(c.field, was)
		if page := p.calculator(); len(page.Problems) > 0 || page.Answer != good.Answer {
			t.Errorf("%s put right: %q, %s", c.field, page.Problems, page.Answer)
		}
	}
	p.paste("gamma", "2")
	p.paste("acceptance", "1.5")
	if got := p.calculator().Problems; !slices.Equal(got, []string{"Acceptance: at most 1"}) {
		t.Errorf("for an acceptance of 1.5 the page says %q", got)
	}
	p.paste("gamma", "0")
	p.paste("acceptance", "0,8")
	if got := p.calculator().Problems; !slices.Equal(got, []string{"Acceptance: “0,8” is not a number above 0; write a chance of at most 1, such as 0.8"}) {
		t.Errorf("for an acceptance of 0,8 with nothing drafted the page says %q", got)
	}
	p.paste("acceptance", "0.8")
	if got := p.options("dp"); !slices.Equal(got, []string{"1"}) {
		t.Errorf("a model without experts is offered dp %q", got)
	}
	if got := p.options("tp"); !slices.Equal(got, []string{"1", "2", "4", "8", "16"}) {
		t.Errorf("32 heads are offered tp %q", got)
	}
	p.choose("model", "gpt-oss-120b")
	p.choose("tp", "2")
	p.choose("dp", "4")
	if got := p.options("ep"); !slices.Equal(got, []string{"0", "2", "4", "8"}) {
		t.Errorf("128 experts on 2 × 4 devices are offered ep %q", got)
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}

// A reader's own device is asked like one of the catalogue with the same figures, also
// after its address was shared; what is not known is said.
func TestCalculatorOwnDevice(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url(calculatorPage))
	p.answered()
	p.choose("target", "mi300x")
	theirs := p.calculator()
	p.choose("target", "own")
	mine := p.calculator()
	if got := p.value("gbs"); got != "5300" {
		t.Errorf("the form begins with %q GB/s; want those of the device chosen last", got)
	}
	if want := strings.Replace(plain(theirs.Answer), "MI300X", "your device", 1); plain(mine.Answer) != want {
		t.Errorf("with the same figures:\n%s\nwant\n%s", mine.Answer, want)
	}
	p.paste("gbs", "4000")
	p.paste("bf16", "")
	p.choose("tp", "2")
	changed := p.calculator()
	target := &roofline.Target{Name: "your device", Count: 2, MemoryGB: roofline.Decimal(p.value("gb")), BandwidthGBs: "4000", LinkGBs: roofline.Decimal(p.value("link")),
		PeakTFLOPs: map[string]roofline.Decimal{"fp8": roofline.Decimal(p.value("fp8")), "int8": roofline.Decimal(p.value("int8"))}}
	q := roofline.Query{Model: theCatalogue(t).Models["llama-3.1-8b"], Target: target, Batch: 32, Context: 2048, ISL: 2048, OSL: 256, Concurrency: 32, TP: 2}
	in := roofline.Pack(q)
	compareExact(t, "own device", changed, in, roofline.CeilingPacked(in))
	other := newTab(t, s.origin)
	other.visit(s.url(calculatorPage) + changed.Search)
	again := other.calculator()
	if again.Answer != changed.Answer || again.Load != changed.Load || !maps.Equal(again.Exact, changed.Exact) {
		t.Errorf("the address %s gives\n%s\n%s\nwant\n%s\n%s", changed.Search, again.Answer, again.Load, changed.Answer, changed.Load)
	}
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte(eval[string](p, `document.getElementById("own-yaml").textContent`)), 0o644); err != nil {
		t.Fatal(err)
	}
	changed.Command = strings.Replace(changed.Command, "mine.yaml", file, 1)
	compareCommand(t, s, changed)
	p.paste("gbs", "fast")
	if got := p.calculator().Problems; !slices.Equal(got, []string{"Bandwidth: “fast” is not a number above 0; write gigabytes a second, such as 4800"}) {
		t.Errorf("for a bandwidth of “fast” the page says %q", got)
	}
	for _, trouble := range slices.Concat(p.noted(), other.noted()) {
		t.Error(trouble)
	}
}

// The table of every device asks the question of each, on the fewest devices that hold it.
func TestCalculatorOnEveryDevice(t *testing.T) {
	s := theSite(t)
	r := random(t)
	c := theCatalogue(t)
	p := newTab(t, s.origin)
	p.visit(s.url(calculatorPage))
	p.answered()
	for range 3 {
		p.choose("model", anyOf(r, p.options("model")))
		p.choose("weights", anyOf(r, p.options("weights")))
		batch, context := 1+r.Int64N(200), r.Int64N(8000)
		p.paste("batch", strconv.FormatInt(batch, 10))
		p.paste("context", strconv.FormatInt(context, 10))
		page := p.calculator()
		if len(page.Problems) > 0 {
			t.Fatalf("%s: %q", page.Command, page.Problems)
		}
		q := roofline.Query{Model: c.Models[p.value("model")], WeightDtype: p.value("weights"), KVDtype: p.value("kv"), Batch: batch, Context: context}
		rows := eval[map[string][]*float64](p, `Object.fromEntries([...document.querySelectorAll("#everywhere tbody tr")].map(tr =>
			[tr.dataset.device, [...tr.cells].slice(1, 6).map(c => c.dataset.value ? Number(c.dataset.value) : null)]))`)
		if len(rows) < 20 {
			t.Fatalf("the table has %d devices", len(rows))
		}
		for id, got := range rows {
			want := make([]*float64, 5)
			for _, n := range []int64{1, 2, 4, 8, 16} {
				target := id
				if n > 1 {
					target += "-x" + strconv.FormatInt(n, 10)
				}
				q.Target, _ = c.Target(target)
				q.TP = n
				if len(q.Wrong()) > 0 {
					continue
				}
				out := roofline.CeilingPacked(roofline.Pack(q))
				if out[roofline.OutFits] == 0 {
					continue
				}
				devices := float64(n)
				want[0] = &devices
				if hard := out[roofline.OutDecodeTokPerSecHard]; !math.IsNaN(hard) && !math.IsNaN(out[roofline.OutComputeMS]) { // without a peak it is no figure to sort by
					each, one, expected := hard/float64(batch), hard/devices, out[roofline.OutDecodeTokPerSecExpected]
					want = []*float64{&devices, &each, &hard, &expected, &one}
				}
				break
			}
			if !slices.EqualFunc(got, want, func(a, b *float64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }) {
				t.Errorf("%s on %s: the table has %s; natively %s", page.Command, id, written(got), written(want))
			}
		}
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}

func written(values []*float64) string {
	b, _ := json.Marshal(values)
	return string(b)
}

// The plot's marks are the table's rows: those of the question's layout and types stand
// out, and change with it.
func TestCalculatorShowsMeasuredRows(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url(calculatorPage))
	for _, types := range [][2]string{{"bf16", "bf16"}, {"fp8-tensor", "fp8"}} {
		p.choose("weights", types[0])
		p.choose("kv", types[1])
		p.answered()
		marks := eval[map[string]int](p, `[...document.querySelectorAll("#ceiling-plot svg.wide [data-row]")].reduce((n, m) => ({...n, [m.getAttribute("fill")]: (n[m.getAttribute("fill")] ?? 0) + 1}), {})`)
		rows := eval[[]string](p, `[...document.querySelectorAll("#measured-rows tr")].map(tr => tr.cells[2].textContent + " " + tr.cells[3].textContent)`)
		alike := 0
		for _, row := range rows {
			if plain(row) == types[0]+"/"+types[1]+" H200 SXM" {
				alike++
			}
		}
		if alike == 0 || marks["var(--c2)"] != alike || marks["var(--c2)"]+marks["var(--rest)"]+marks["var(--bad)"] != len(rows) {
			t.Errorf("%s: %d rows in the table, %d of these types on one device; marks: %v", types, len(rows), alike, marks)
		}
	}
	p.choose("model", "deepseek-v3")
	p.answered()
	if !eval[bool](p, `document.querySelector("#measured-none").checkVisibility() && !document.querySelector("#measured-table").checkVisibility()`) {
		t.Error("of a model without rows the page does not say that there are none")
	}
}

// What the page loads before its module is small.
func TestCalculatorIsSmall(t *testing.T) {
	const most = 150_000 // bytes as sent
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url(calculatorPage))
	p.answered()
	sum := 0
	for _, u := range p.requests() {
		name := strings.TrimPrefix(strings.TrimPrefix(u, s.origin), base)
		if strings.HasSuffix(name, ".wasm") {
			continue
		}
		if strings.HasSuffix(name, "/") {
			name += "index.html"
		}
		file, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(file); err != nil {
			t.Fatal(err)
		}
		w.Close()
		t.Logf("%s: %d bytes, %d as sent", name, len(file), b.Len())
		sum += b.Len()
	}
	if sum > most {
		t.Errorf("%d bytes before the module; at most %d", sum, most)
	}
}

// drop drops a file onto the page.
func (p *tab) drop(name, text string) {
	p.t.Helper()
	eval[chromedp.Void](p, fmt.Sprintf(`(() => {
		const data = new DataTransfer();
		data.items.add(new File([%q], %q, {type: "application/json"}));
		for (const type of ["dragover", "drop"]) document.querySelector("main").dispatchEvent(new DragEvent(type, {bubbles: true, cancelable: true, dataTransfer: data}));
	})()`, text, name))
	p.answered()
}

// A config.json is read on the page: the model is the catalogue's, nothing is sent, the
// module that reads it loads then and not before, and the address does not hold it.
func TestCalculatorReadsAConfig(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url(calculatorPage))
	theirs := p.calculator()
	text, err := os.ReadFile(filepath.Join(root, "internal/checkpoint/testdata/models/llama-3.1-8b.json"))
	if err != nil {
		t.Fatal(err)
	}
	config := string(text)
	before := p.requests()
	if i := slices.IndexFunc(before, func(u string) bool { return strings.Contains(u, "/full-") }); i >= 0 {
		t.Errorf("the full module loads with the page: %s", before[i])
	}
	p.drop("config.json", config)
	mine := p.calculator()
	if want := strings.Replace(theirs.Answer, "Llama 3.1 8B", "llama", 1); mine.Answer != want {
		t.Errorf("of its config.json the page says\n%s\nwant\n%s", mine.Answer, want)
	}
	for place, want := range theirs.Exact {
		if mine.Exact[place] != want {
			t.Errorf("slot %s: %s of the config.json, %s of the catalogue", place, mine.Exact[place], want)
		}
	}
	after := p.requests()
	if len(after) != len(before)+1 || !strings.Contains(after[len(after)-1], "/full-") {
		t.Errorf("to read a file the page asked for %q; want the module alone", after[len(before):])
	}
	if !strings.Contains(mine.Note, "the address does not hold it") || strings.Contains(mine.Search, "own") {
		t.Errorf("the page says %q and its address is %q", mine.Note, mine.Search)
	}
	if mine.Command != strings.Replace(theirs.Command, "--model llama-3.1-8b", "--config config.json", 1) {
		t.Errorf("the command is %s", mine.Command)
	}

	p.drop("broken.json", strings.Replace(strings.Replace(config, `"hidden_size": 4096`, `"hidden_size": "wide"`, 1), `"model_type"`, `"attention_sinkhole": 7, "model_type"`, 1))
	broken := p.calculator()
	if broken.Answer != mine.Answer {
		t.Errorf("a broken file changed the answer to %s", broken.Answer)
	}
	said := strings.Join(broken.Problems, "\n")
	for _, want := range []string{"broken.json was not taken", "hidden_size", "attention_sinkhole"} {
		if !strings.Contains(said, want) {
			t.Errorf("of a broken file the page does not say %q: %s", want, said)
		}
	}
	p.drop("notes.txt", "Llama, 8 billion")
	if said := strings.Join(p.calculator().Problems, "\n"); !strings.Contains(said, "notes.txt was not taken") {
		t.Errorf("of a text the page says %q", said)
	}
	if last := p.requests(); len(last) != len(after) {
		t.Errorf("further files asked for %q", last[len(after):])
	}
	p.choose("target", "h100-sxm")
	if got := p.calculator().Answer; !strings.Contains(plain(got), "llama on H100 SXM") {
		t.Errorf("on another device the model is lost: %s", got)
	}
	for _, f := range append(p.axe(), p.noted()...) {
		t.Error(f)
	}
}

// A module that is not the one that was built is not run: the page says so, and what stood
// in it stays.
func TestCalculatorRefusesAnotherModule(t *testing.T) {
	s := theSite(t)
	server, origin := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/full-") {
			s.handler().ServeHTTP(w, r)
			return
		}
		code, _ := os.ReadFile(filepath.Join(s.dir, strings.TrimPrefix(r.URL.Path, base)))
		_, _ = w.Write(append(code, 0, 1, 0)) // an empty section more: still a module
	}), base)
	defer server.Close()
	p := newTab(t, origin)
	p.visit(origin + base + "roofline/")
	before := p.calculator()
	p.drop("config.json", "{}")
	after := p.calculator()
	if after.Answer != before.Answer || len(after.Problems) != 1 || !strings.Contains(after.Problems[0], "is not the module that this page was built with") {
		t.Errorf("with another module the page says %q and answers %s", after.Problems, after.Answer)
	}
}

// requests are the addresses asked for so far, data: and the icon aside.
func (p *tab) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.asked), func(u string) bool { return strings.HasPrefix(u, "data:") || strings.Contains(u, "/favicon-") })
}

// Keys alone reach and change everything: a slider moves by arrows and its field follows,
// a mark tells its row and leads to it, and a device of the table is chosen by Enter.
func TestCalculatorByKeyboard(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.show(1280, "light")
	p.visit(s.url(calculatorPage))
	first := p.calculator()
	focus := func(selector string) {
		t.Helper()
		if !eval[bool](p, fmt.Sprintf(`(e => { e.focus(); return document.activeElement === e; })(document.querySelector(%q))`, selector)) {
			t.Fatalf("%s takes no focus", selector)
		}
	}
	focus("#batch-slider")
	do(p, chromedp.KeyEvent(kb.ArrowRight))
	if got := p.calculator(); p.value("batch") != "48" || got.Answer == first.Answer {
		t.Errorf("one step right of 32 is %s: %s", p.value("batch"), got.Answer)
	}
	do(p, chromedp.KeyEvent(kb.Home))
	if got := p.calculator(); !strings.Contains(got.Answer, "over one sequence of") {
		t.Errorf("the slider's beginning is %s: %s", p.value("batch"), got.Answer)
	}
	p.enter("batch", "50")
	if at := eval[string](p, `document.getElementById("batch-slider").ariaValueText ?? document.getElementById("batch-slider").getAttribute("aria-valuetext")`); plain(at) != "50 sequences" {
		t.Errorf("after 50 in the field the slider says %q", at)
	}
	focus(`#ceiling-plot svg.wide [data-row][tabindex="0"]`)
	tip := func() string {
		return eval[string](p, `(t => t && !t.hidden ? t.textContent : "")(document.querySelector("#ceiling-plot .tip"))`)
	}
	do(p, chromedp.KeyEvent(kb.ArrowRight))
	if got := tip(); !strings.Contains(got, "TPOT p50") || !strings.Contains(got, "hard roof") {
		t.Errorf("a mark tells %q", got)
	}
	row := eval[string](p, `document.querySelector("#ceiling-plot .tip a").getAttribute("href")`)
	if !eval[bool](p, fmt.Sprintf(`[...document.querySelectorAll("#measured-rows a")].some(a => a.getAttribute("href") === %q)`, row)) {
		t.Errorf("the row %s of a mark is not in the table", row)
	}
	do(p, chromedp.KeyEvent(kb.Escape))
	if got := tip(); got != "" {
		t.Errorf("after Escape the tooltip still says %q", got)
	}
	focus(`#everywhere [data-device="h100-sxm"] button`)
	do(p, chromedp.KeyEvent(kb.Enter))
	if got := p.calculator(); !strings.Contains(plain(got.Answer), "on H100 SXM") || p.value("target") != "h100-sxm" {
		t.Errorf("Enter on a device of the table answers %s", got.Answer)
	}
	if on := eval[string](p, `document.activeElement.textContent`); on != "H100 SXM" {
		t.Errorf("choosing a device moved the focus to %q", on)
	}
	if !eval[bool](p, `(r => r.top >= 0 && r.bottom <= innerHeight)(document.querySelector("#ceiling-answer").getBoundingClientRect())`) {
		t.Error("choosing a device leaves its answer out of sight")
	}
	for _, f := range append(p.axe(), p.noted()...) {
		t.Error(f)
	}
}

// Where its data do not load, the built page stays, and says why.
func TestCalculatorWithoutItsData(t *testing.T) {
	s := theSite(t)
	server, origin := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/ceilings-") {
			http.NotFound(w, r)
			return
		}
		s.handler().ServeHTTP(w, r)
	}), base)
	defer server.Close()
	p := newTab(t, origin)
	p.visit(origin + base + "roofline/")
	page := p.calculator()
	if !strings.HasPrefix(page.Note, "Recomputing is off: its data did not load (") || !strings.Contains(page.Note, "404") {
		t.Errorf("without its data the page says %q", page.Note)
	}
	if !strings.Contains(plain(page.Answer), "Llama 3.1 8B on H200 SXM") {
		t.Errorf("without its data the built answer is gone: %s", page.Answer)
	}
}

// Where nobody publishes what a figure needs, the page says so first, names nothing else,
// sorts by no such figure, and gives a reason in place of a drawing.
func TestCalculatorSaysWhatIsNotPublished(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.show(1280, "light")
	p.visit(s.url(calculatorPage) + "?model=llama-3.1-8b&target=m2-ultra&batch=4096&context=16")
	if got := p.calculator().Answer; !strings.HasPrefix(plain(got), "No dense peak of M2 Ultra is published for these types: memory alone bounds this. ") {
		t.Errorf("of a device without peaks the page says %q", got)
	}
	binds := eval[map[string]string](p, `Object.fromEntries([...document.querySelectorAll("#everywhere tbody tr")].map(tr => [tr.dataset.device, tr.cells[6].textContent]))`)
	if !strings.Contains(binds["m2-ultra"], "No dense peak") || binds["h100-sxm"] != "memory" && binds["h100-sxm"] != "compute" {
		t.Errorf("in the table M2 Ultra is bound by %q and H100 SXM by %q", binds["m2-ultra"], binds["h100-sxm"])
	}
	eval[chromedp.Void](p, `document.querySelectorAll("#everywhere thead button")[2].click()`)
	if last := eval[[]string](p, `[...document.querySelectorAll("#everywhere tbody tr")].slice(-3).map(tr => tr.dataset.device).sort()`); !slices.Contains(last, "m2-ultra") {
		t.Errorf("sorted by its rate the table ends with %q", last)
	}
	p.visit(s.url(calculatorPage) + "?model=mixtral-8x7b&target=m2-ultra&weights=fp8&tp=8")
	got := p.calculator()
	if !strings.HasSuffix(got.Answer, " needs what is not published: link bandwidth.") {
		t.Errorf("without a link the page says %q", got.Answer)
	}
	if none := eval[string](p, `document.querySelector(".plot-keys").checkVisibility() ? "" : document.querySelector("#plot-none").innerText`); none != "Nothing to draw: the step has no ceiling without link bandwidth." {
		t.Errorf("where nothing is drawn the page says %q", none)
	}
	p.choose("tp", "1")
	p.answered()
	if !eval[bool](p, `document.querySelector(".plot-keys").checkVisibility() && !document.querySelector("#plot-none").checkVisibility()`) {
		t.Error("the key of the next drawing is missing")
	}
	p.choose("target", "own")
	for _, peak := range []string{"bf16", "fp8", "fp4", "int8"} {
		p.paste(peak, "")
	}
	if got := p.calculator().Answer; !strings.HasPrefix(plain(got), "No dense peak of your device is given for these types: ") {
		t.Errorf("of the reader's own device without peaks the page says %q", got)
	}
	for _, f := range append(p.axe(), p.noted()...) {
		t.Error(f)
	}
}

// What is expected stands where it differs from the hard figure, and nowhere else, nor are
// experts spoken of where there are none. The row nearest to its roof is named.
func TestCalculatorTellsExpectedWhereItDiffers(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url(calculatorPage))
	p.answered()
	shown := func() string {
		return eval[string](p, `["figures", "bytes", "flops"].map(id => document.getElementById(id).parentElement.querySelector("table").innerText).join("\n")`)
	}
	heads := func() bool {
		return eval[bool](p, `document.querySelector("#everywhere thead th:nth-child(5)").checkVisibility()`)
	}
	if got := shown(); strings.Contains(got, "Expected") || strings.Contains(got, "xperts") || heads() {
		t.Errorf("of a dense model the page says\n%s", got)
	}
	best := eval[string](p, `document.querySelector("#ceiling-best").innerText`)
	most := eval[string](p, `[...document.querySelectorAll("#measured-rows tr")].map(tr => tr.cells[8].textContent).filter(t => !t.includes("↑")).sort((a, b) => parseFloat(b) - parseFloat(a))[0]`)
	if !strings.HasPrefix(best, "Measured so far: at best "+most+" of its hard roof (") {
		t.Errorf("the best row is at %s; the page says %q", most, best)
	}
	p.choose("model", "gpt-oss-120b")
	p.answered()
	if got := shown(); strings.Count(got, "Expected") < 3 || !strings.Contains(got, "routed experts are counted below") || !heads() {
		t.Errorf("of a model with experts the page says\n%s", got)
	}
	if eval[bool](p, `document.querySelector("#ceiling-best").checkVisibility()`) {
		t.Error("a row is named best of a model without rows")
	}
}

// While a slider moves, sentence and figures follow at once; tables and address wait until
// the browser has nothing better to do.
func TestCalculatorWhileASliderMoves(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.show(360, "light")
	p.visit(s.url(calculatorPage))
	p.answered()
	got := eval[struct{ Rate, Answer, Table, Search [2]string }](p, `(() => {
		const look = () => [...["#step-rate", "#ceiling-answer", "#everywhere tbody"].map(q => document.querySelector(q).innerText), location.search];
		const before = look();
		const slider = document.getElementById("batch-slider");
		slider.value = String(Number(slider.value) + 3);
		slider.dispatchEvent(new Event("input", {bubbles: true}));
		const [Rate, Answer, Table, Search] = look().map((now, i) => [before[i], now]);
		return {Rate, Answer, Table, Search};
	})()`)
	if got.Rate[0] == got.Rate[1] || got.Answer[0] == got.Answer[1] || got.Table[0] != got.Table[1] || got.Search[0] != got.Search[1] {
		t.Errorf("a slider's step made of the page, before and after:\n%q", got)
	}
	eval[chromedp.Void](p, `document.getElementById("batch-slider").dispatchEvent(new Event("change", {bubbles: true}))`)
	p.answered()
	if after := eval[string](p, `document.querySelector("#everywhere tbody").innerText + location.search`); strings.HasPrefix(after, got.Table[0]) || !strings.HasSuffix(after, "&batch=96") {
		t.Error("the table of every device or the address never follows")
	}
	if !eval[bool](p, `document.querySelector("#step-rate").getBoundingClientRect().top - document.querySelector("#batch-slider").getBoundingClientRect().top < 250`) {
		t.Error("at 360 px the rate does not stand by the sliders")
	}
}

// A shared link on a slow net: the page says what it works out in place of the worked
// example, moves nothing when the answer comes, and says so when it cannot come.
func TestCalculatorOnASlowNet(t *testing.T) {
	s := theSite(t)
	const asked = "?model=deepseek-v3&target=b200&tp=8"
	for _, width := range []int{360, 768, 1280} {
		let, fails := make(chan bool), false
		server, origin := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/ceilings-") {
				if fails = !<-let; fails {
					http.NotFound(w, r)
					return
				}
			}
			s.handler().ServeHTTP(w, r)
		}), base)
		for _, comes := range []bool{true, false} {
			p := newTab(t, origin)
			p.show(width, "light")
			do(p, chromedp.Navigate(origin+base+"roofline/"+asked))
			said := eval[string](p, `new Promise(done => {
				const line = document.getElementById("ceiling-answer");
				const look = () => line.textContent.startsWith("Computing") && done(line.textContent);
				new MutationObserver(look).observe(line, {childList: true});
				look();
			})`)
			if plain(said) != "Computing DeepSeek V3 on 8× B200…" {
				t.Errorf("%d px: meanwhile the page says %q", width, said)
			}
			let <- comes
			page := p.calculator()
			if !comes {
				if !strings.HasPrefix(page.Note, "The question in the address was not answered: its data did not load (") || !strings.Contains(plain(page.Answer), "Llama 3.1 8B on H200 SXM") {
					t.Errorf("%d px: without its data the page says %q and answers %q", width, page.Note, page.Answer)
				}
				continue
			}
			if !strings.Contains(plain(page.Answer), "DeepSeek V3 on 8× B200") {
				t.Errorf("%d px: the answer is %q", width, page.Answer)
			}
			shift := eval[float64](p, `new Promise(done => {
				let sum = 0;
				new PerformanceObserver(list => list.getEntries().forEach(e => sum += e.value)).observe({type: "layout-shift", buffered: true});
				requestAnimationFrame(() => setTimeout(() => done(sum)));
			})`)
			if shift >= 0.02 {
				t.Errorf("%d px: what stood on the page moved by %.3f; less than 0.02 is asked", width, shift)
			}
		}
		server.Close()
	}
}

// A long list of what a file may say is folded behind the nearest.
func TestCalculatorFoldsLongLists(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url(calculatorPage))
	p.answered()
	p.drop("mine.json", `{"model_type": "qwen3_mo"}`)
	seen := eval[string](p, `document.getElementById("config-problem").innerText`)
	if !strings.Contains(seen, "qwen3_moe") || len(strings.Split(seen, ", ")) > 7 {
		t.Errorf("of an unknown kind of model the page says %q", seen)
	}
	if all := eval[string](p, `document.querySelector("#config-problem details").textContent`); !strings.Contains(all, "deepseek_v3") {
		t.Errorf("all that are accepted are %q", all)
	}
}

// A part's bar stands level with its figure.
func TestCalculatorBarsStandByTheirFigures(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.show(1280, "light")
	p.visit(s.url(calculatorPage))
	p.answered()
	off := eval[[]float64](p, `[...document.querySelectorAll("table.parts tbody tr:not([hidden])")].map(tr => {
		const digits = document.createRange();
		digits.selectNodeContents(tr.cells[1]);
		const [a, b] = [digits, tr.querySelector("rect")].map(e => e.getBoundingClientRect()).map(r => (r.top + r.bottom) / 2);
		return Math.abs(a - b);
	})`)
	if len(off) < 6 || slices.Max(off) > 2 {
		t.Errorf("bars stand %.1f px from the middle of their figures", off)
	}
}
