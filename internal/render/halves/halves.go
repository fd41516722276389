// Package halves parts a packed question into what a model gives and what a device
// gives, so that a page can hold every model and every device once and join any two of
// them. What a format changes of a half is held as a difference: the twenty slots that
// int4 moves instead of the hundred that stay. gen writes the halves of the catalogue,
// and the full module those of a reader's own config.json, with the same code.
package halves

import (
	"encoding/json"
	"math"
	"slices"

	"rowproof/internal/roofline"
)

// Values are slots of a packed question or answer. JSON has null for what is not known.
type Values []float64

// MarshalJSON writes each number in the shortest form that reads back.
func (v Values) MarshalJSON() ([]byte, error) {
	out := make([]*float64, len(v))
	for i := range v {
		if !math.IsNaN(v[i]) {
			out[i] = &v[i]
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads them back.
func (v *Values) UnmarshalJSON(b []byte) error {
	var in []*float64
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*v = make(Values, len(in))
	for i, p := range in {
		(*v)[i] = math.NaN()
		if p != nil {
			(*v)[i] = *p
		}
	}
	return nil
}

// Half is one side of a packed question in every format. To read it in two of them, take
// Base and put in what Weights, then KV, then Both say: slot, value, slot, value …
type Half struct {
	Base    Values            `json:"base"`
	Weights map[string]Values `json:"weights,omitempty"` // by weight format; absent: nothing changes
	KV      map[string]Values `json:"kv,omitempty"`      // by format of keys and values
	Both    map[string]Values `json:"both,omitempty"`    // by "WEIGHTS/KV": what the two together do beyond each
}

// OfModel is a model's half in the given formats.
func OfModel(m *roofline.Model, weights, kv []string) Half {
	return newHalf(weights, kv, func(w, k string) []float64 {
		return roofline.Pack(roofline.Query{Model: m, WeightDtype: w, KVDtype: k})
	})
}

// OfTarget is a device's half in the given formats.
func OfTarget(t *roofline.Target, weights, kv []string) Half {
	return newHalf(weights, kv, func(w, k string) []float64 {
		return roofline.Pack(roofline.Query{Target: t, WeightDtype: w, KVDtype: k, TP: 1})
	})
}

func newHalf(weights, kv []string, pack func(weights, kv string) []float64) Half {
	h := Half{Base: pack(weights[0], kv[0]), Weights: map[string]Values{}, KV: map[string]Values{}, Both: map[string]Values{}}
	keep := func(in map[string]Values, name string, changes Values) {
		if len(changes) > 0 {
			in[name] = changes
		}
	}
	for _, w := range weights {
		keep(h.Weights, w, changes(h.Base, pack(w, kv[0])))
	}
	for _, k := range kv {
		keep(h.KV, k, changes(h.Base, pack(weights[0], k)))
	}
	for _, w := range weights {
		for _, k := range kv {
			keep(h.Both, w+"/"+k, changes(h.In(w, k), pack(w, k)))
		}
	}
	return h
}

// In is the half in two formats.
func (h Half) In(weights, kv string) Values {
	v := slices.Clone(h.Base)
	for _, changes := range []Values{h.Weights[weights], h.KV[kv], h.Both[weights+"/"+kv]} {
		for i := 0; i+1 < len(changes); i += 2 {
			v[int(changes[i])] = changes[i+1]
		}
	}
	return v
}

// changes lists what turns one packed half into another: slot, value, slot, value …
func changes(from, to []float64) Values {
	var out Values
	for i, v := range to {
		if from[i] != v && !(math.IsNaN(from[i]) && math.IsNaN(v)) {
			out = append(out, float64(i), v)
		}
	}
	return out
}
