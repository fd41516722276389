package halves

import (
	"slices"

	"rowproof/internal/roofline"
)

// Model is what a page holds of a model: its half, and what may be asked of it.
type Model struct {
	Name        string      `json:"name"`
	Weights     []string    `json:"weights"` // formats on offer, the published checkpoint's first; any known one may be asked
	KV          []string    `json:"kv"`      // likewise
	KVAlso      []string    `json:"kv_also"` // other formats of keys and values that may be asked of it
	MaxContext  int64       `json:"max_context"`
	MTP         bool        `json:"mtp,omitempty"` // has a module of its own that drafts
	Layouts     []Layout    `json:"layouts"`
	Half        Half        `json:"half"`
	Conventions Conventions `json:"conventions"`
	Sources     []string    `json:"sources"`
}

// Conventions are what the figures count, in words, by what they depend on.
type Conventions struct {
	All     []string            `json:"all"`
	Weights map[string][]string `json:"weights"`
	KV      map[string][]string `json:"kv"`
}

// NewModel parts a model.
func NewModel(m *roofline.Model) Model {
	v := Model{
		Name: m.Name, Weights: m.Weights, KV: m.KV,
		MaxContext: m.Architecture.MaxContext,
		MTP:        m.Architecture.MTP != nil,
		Layouts:    Layouts(m),
		Sources:    roofline.Ceiling(roofline.Query{Model: m}).Sources,
	}
	if len(v.KV) == 0 {
		v.KV = []string{"bf16"}
	}
	weights := append(slices.Clone(v.Weights), without(roofline.WeightDtypes(), v.Weights)...)
	for _, k := range without(roofline.KVDtypes(), v.KV) {
		if q := (roofline.Query{Model: m, KVDtype: k}); len(q.Wrong()) == 0 {
			v.KVAlso = append(v.KVAlso, k)
		}
	}
	kv := append(slices.Clone(v.KV), v.KVAlso...)
	v.Half = OfModel(m, weights, kv)
	v.Conventions = conventions(m, weights, kv)
	return v
}

// conventions takes apart what roofline says of a model in all its formats.
func conventions(m *roofline.Model, weights, kv []string) Conventions {
	say := func(w, k string) []string {
		return roofline.Ceiling(roofline.Query{Model: m, WeightDtype: w, KVDtype: k}).Conventions
	}
	c := Conventions{All: say(weights[0], kv[0]), Weights: map[string][]string{}, KV: map[string][]string{}}
	for _, w := range weights {
		c.All = common(c.All, say(w, kv[0]))
	}
	for _, k := range kv {
		c.All = common(c.All, say(weights[0], k))
	}
	ofFormats := without(say(weights[0], kv[0]), c.All)
	for _, w := range weights { // of what the first pair says besides, some is the cache's
		c.Weights[w] = without(say(w, kv[0]), c.All)
		if w != weights[0] {
			ofFormats = common(ofFormats, c.Weights[w])
		}
	}
	for w := range c.Weights {
		c.Weights[w] = without(c.Weights[w], ofFormats)
	}
	for _, k := range kv {
		c.KV[k] = without(without(say(weights[0], k), c.All), c.Weights[weights[0]])
	}
	return c
}

func common(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

// without is a list without what stands in another.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}
