package browsertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"rowproof/internal/catalog"
	"rowproof/internal/roofline"
)

const calculatorPage = "roofline/index.html"

// calculator is the calculator's page as it stands.
type calculator struct {
	Answer, Formula, Note string
	Problems              []string
	Exact                 map[string]string // "out 6" → the figure as written in full
	Search                string
}

func (p *tab) calculator() calculator {
	p.t.Helper()
	p.answered()
	return eval[calculator](p, `({
		Answer: document.querySelector("#ceiling-answer").textContent,
		Formula: document.querySelector("#ceiling-formula").textContent,
		Note: document.querySelector("#ceiling-note").textContent,
		Problems: [...document.querySelectorAll(".problem")].map(e => e.textContent).filter(t => t),
		Exact: Object.fromEntries([...document.querySelectorAll("[data-exact]")].map(e => [e.dataset.exact, e.textContent])),
		Search: location.search,
	})`)
}

// answered waits until no line of the page is busy working out its answer.
func (p *tab) answered() {
	p.t.Helper()
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

func (p *tab) options(name string) []string {
	p.t.Helper()
	return eval[[]string](p, fmt.Sprintf(`[...document.getElementById(%q).options].map(o => o.value)`, name))
}

func anyOf(r *rand.Rand, values []string) string { return values[r.IntN(len(values))] }

// The page answers questions whose numbers stand nowhere in it, and answers them as
// measure does: to the last digit.
func TestCalculatorEqualsNative(t *testing.T) {
	s := theSite(t)
	r := random(t)
	c, problems := catalog.Load(os.DirFS(filepath.Join(root, "data")))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	source, err := os.ReadFile(filepath.Join(s.dir, calculatorPage))
	if err != nil {
		t.Fatal(err)
	}
	unseen := func(most int64) int64 {
		for {
			n := 2 + r.Int64N(most-2)
			if !strings.Contains(string(source), strconv.FormatInt(n, 10)) {
				return n
			}
		}
	}
	p := newTab(t, s.origin)
	p.visit(s.url(calculatorPage))
	for range 8 {
		p.choose("model", anyOf(r, p.options("model")))
		p.choose("target", anyOf(r, p.options("target")))
		for _, name := range []string{"weights", "kv", "tp"} {
			p.choose(name, anyOf(r, p.options(name)))
		}
		value := func(name string) string {
			return eval[string](p, fmt.Sprintf(`document.getElementById(%q).value`, name))
		}
		q := roofline.Query{Model: c.Models[value("model")], Target: c.Targets[value("target")],
			WeightDtype: value("weights"), KVDtype: value("kv"), Batch: unseen(9000)}
		q.Context = unseen(min(q.Model.Architecture.MaxContext, 100_000))
		q.TP, _ = strconv.ParseInt(value("tp"), 10, 64)
		p.enter("batch", strconv.FormatInt(q.Batch, 10))
		p.enter("context", strconv.FormatInt(q.Context, 10))

		page := p.calculator()
		asked := fmt.Sprintf("%s on %d× %s, %s weights, %s KV, %d sequences of %d",
			value("model"), q.TP, value("target"), q.WeightDtype, q.KVDtype, q.Batch, q.Context)
		in := roofline.Pack(q)
		out := roofline.CeilingPacked(in)
		if len(page.Exact) < 8 {
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
		measured := askMeasure(t, s, q, value("model"), value("target"))
		for slot, want := range map[int]json.Number{
			roofline.OutDecodeStepHardMS:    measured.DecodeStepMS.Hard,
			roofline.OutDecodeStepSerialMS:  measured.DecodeStepMS.Serial,
			roofline.OutDecodeTokPerSecHard: measured.DecodeTokPerSec.Hard,
			roofline.OutReadBytesPerStep:    measured.ReadBytesPerStep,
		} {
			shown, ok := page.Exact["out "+strconv.Itoa(slot)]
			if !ok || measured.DecodeStepMS.Hard == "" && shown != "not known" || measured.DecodeStepMS.Hard != "" && shown != want.String() {
				t.Errorf("%s: slot %d: the page shows %q; measure ceiling --json says %q", asked, slot, shown, want)
			}
		}
		if measured.DecodeStepMS.Hard != "" && page.Formula != measured.Formula {
			t.Errorf("%s: formula\n%s\nof measure ceiling\n%s", asked, page.Formula, measured.Formula)
		}
		if want := roofline.Formula(in); page.Formula != want && want != "" {
			t.Errorf("%s: formula\n%s\nnatively\n%s", asked, page.Formula, want)
		}
		if word := roofline.BindingName(out[roofline.OutBinding]); !strings.HasPrefix(strings.ToLower(page.Answer), word) {
			t.Errorf("%s: %s binds natively; the page says %s", asked, word, page.Answer)
		}
		if !strings.Contains(page.Answer, q.Model.Name) {
			t.Errorf("%s: the answer names another model: %s", asked, page.Answer)
		}
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}

// answer is what measure ceiling --json says, its numbers as printed.
type answer struct {
	DecodeStepMS     struct{ Hard, Serial json.Number } `json:"decode_step_ms"`
	DecodeTokPerSec  struct{ Hard json.Number }         `json:"decode_tok_s"`
	ReadBytesPerStep json.Number                        `json:"read_bytes_per_step"`
	Formula          string                             `json:"formula"`
}

func askMeasure(t *testing.T, s *site, q roofline.Query, model, target string) answer {
	t.Helper()
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	if q.TP > 1 {
		target += "-x" + number(q.TP) // the page chooses a device, and how many apart
	}
	out, err := exec.Command(s.measure, "ceiling", "--model", model, "--target", target,
		"--weights-dtype", q.WeightDtype, "--kv-dtype", q.KVDtype, "--tp", number(q.TP),
		"--batch", number(q.Batch), "--context", number(q.Context), "--json").Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("measure ceiling: %v: %s", err, exit.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// Loading the script changes nothing of what gen wrote, and the address carries the
// question.
func TestCalculatorState(t *testing.T) {
	s := theSite(t)
	still := newTab(t, s.origin)
	withoutScripts(still)
	do(still, chromedp.Navigate(s.url(calculatorPage)))
	built := eval[string](still, `document.querySelector("main").innerText`)

	p := newTab(t, s.origin)
	p.visit(s.url(calculatorPage))
	first := p.calculator()
	if !strings.Contains(built, first.Answer) || !strings.Contains(built, first.Formula) {
		t.Errorf("the script changed the worked example to\n%s\n%s", first.Answer, first.Formula)
	}
	if first.Search != "" {
		t.Errorf("an unchanged form put %q into the address", first.Search)
	}

	p.enter("batch", "77")
	p.enter("context", "3333")
	asked := p.calculator()
	if q, _ := url.ParseQuery(strings.TrimPrefix(asked.Search, "?")); q.Get("batch") != "77" || q.Get("context") != "3333" || len(q) != 2 {
		t.Errorf("the address holds %q; want batch 77 and context 3333", asked.Search)
	}
	p.visit(s.url(calculatorPage) + asked.Search)
	if again := p.calculator(); again.Answer != asked.Answer || again.Formula != asked.Formula {
		t.Errorf("the address gives another answer:\n%s\n%s", again.Answer, asked.Answer)
	}

	p.enter("batch", "3O")
	wrong := p.calculator()
	if want := []string{"Batch: “3O” is not a whole number; write sequences, such as 32"}; !slices.Equal(wrong.Problems, want) {
		t.Errorf("for the batch 3O the page says %q; want %q", wrong.Problems, want)
	}

	p.visit(s.url(calculatorPage) + "?weights=fp6&tp=2")
	if dropped := p.calculator().Note; dropped != "Weights fp6 is not on offer and was left out." {
		t.Errorf("for weights fp6 in the address the page says %q", dropped)
	}
	if tp := eval[string](p, `document.getElementById("tp").value`); tp != "2" {
		t.Errorf("the rest of the address was dropped too: tp is %s", tp)
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
	if roof := eval[string](p, `document.querySelector("#ceiling-plot .wide .peak").textContent`); !regexp.MustCompile(`^bf16 [\d,]+ TFLOP/s$`).MatchString(roof) {
		t.Errorf("the arithmetic roof is named %q", roof)
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}
