package browsertest

import (
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"testing"

	"rowproof/internal/roofline"
	"rowproof/internal/rooftest"
)

// theModule runs the module that the page names on questions and gives its answers and
// formulas; numbers go in and out as bytes, so that no text stands between them.
const theModule = `(async () => {
	const from64 = text => Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer;
	const to64 = bytes => btoa(Array.from(bytes, b => String.fromCharCode(b)).join(""));
	const response = await fetch(document.querySelector('meta[name="lean-wasm"]').content);
	let go;
	const host = {
		clock_time_get: (id, precision, at) => (new DataView(go.memory.buffer).setBigUint64(at, 1n, true), 0),
		random_get: (at, n) => (crypto.getRandomValues(new Uint8Array(go.memory.buffer, at, n)), 0),
	};
	const {instance} = await WebAssembly.instantiate(await response.arrayBuffer(),
		{wasi_snapshot_preview1: new Proxy({}, {get: (_, name) => host[name] ?? (() => 0)})});
	go = instance.exports;
	go._initialize();
	const answer = go.buffer(%d);
	return [%s].map(asked => {
		const query = new Float64Array(from64(asked));
		const at = go.buffer(query.length);
		new Float64Array(go.memory.buffer, at, query.length).set(query);
		const slots = go.ceiling(at, query.length, answer);
		const out = to64(new Uint8Array(go.memory.buffer, answer, 8 * slots));
		const length = go.formula(at, query.length);
		return {Out: out, Formula: new TextDecoder().decode(new Uint8Array(go.memory.buffer, go.text(), length))};
	});
})()`

// What Chromium makes of the published module is what this machine makes of the same
// code, to the last bit: on every case that is known from outside, and at random.
func TestCeilingsInChromium(t *testing.T) {
	s := theSite(t)
	p := newTab(t, s.origin)
	p.visit(s.url(calculatorPage))
	random := random(t)
	r := rooftest.NewRandom(random.Uint64())
	var asked []string
	var queries [][]float64
	var names []string
	add := func(name string, q roofline.Query) {
		in := roofline.Pack(q)
		names, queries = append(names, name), append(queries, in)
		asked = append(asked, `"`+base64.StdEncoding.EncodeToString(rooftest.Bytes(in))+`"`)
	}
	for _, c := range rooftest.Cases(t) {
		add(c.ID, c.Query)
	}
	for range 500 {
		add("at random", r.Query())
	}
	type answer struct{ Out, Formula string }
	answers := eval[[]answer](p, fmt.Sprintf(theModule, roofline.OutSlots, strings.Join(asked, ",")))
	if len(answers) != len(queries) {
		t.Fatalf("%d answers to %d questions", len(answers), len(queries))
	}
	for i, a := range answers {
		b, err := base64.StdEncoding.DecodeString(a.Out)
		if err != nil {
			t.Fatal(err)
		}
		got, want := rooftest.Floats(b), roofline.CeilingPacked(queries[i])
		if len(got) != len(want) {
			t.Fatalf("%s: %d slots, natively %d", names[i], len(got), len(want))
		}
		for slot := range want {
			if math.Float64bits(got[slot]) != math.Float64bits(want[slot]) && !(math.IsNaN(got[slot]) && math.IsNaN(want[slot])) {
				t.Errorf("%s, slot %d: %v in Chromium, %v natively", names[i], slot, got[slot], want[slot])
			}
		}
		if want := roofline.Formula(queries[i]); a.Formula != want {
			t.Errorf("%s: formula\n%s\nnatively\n%s", names[i], a.Formula, want)
		}
	}
	for _, trouble := range p.noted() {
		t.Error(trouble)
	}
}
