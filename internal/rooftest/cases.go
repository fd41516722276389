// Package rooftest holds what is known of rooflines from outside, for tests alone: one
// file of questions with the figures that publishers, papers and measurements give for
// them, and questions at random about architectures of every kind.
package rooftest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rowproof/data"
	"rowproof/internal/catalog"
	"rowproof/internal/roofline"
)

//go:embed cases.json
var file []byte

// Case is a question with figures that are known apart from this program.
type Case struct {
	ID      string
	Query   roofline.Query
	Figures []Figure
	Source  string
	Note    string // where the source counts otherwise than the question
}

// Figure is one figure of an answer: within a distance of a value, or on one side of it.
type Figure struct {
	Of      string   `json:"of"`     // path in the answer's JSON, or one of the names in Value
	Counts  []string `json:"counts"` // of a publisher's count: the parts besides the layers
	Is      *float64 `json:"is"`
	Within  float64  `json:"within"`
	AtLeast *float64 `json:"at_least"`
	AtMost  *float64 `json:"at_most"`
	Unit    string   `json:"unit"`
	Why     string   `json:"why"` // the reason for the tolerance, or what the bound is
}

// question is a query as the file writes it; model and target by id, the file's own first.
type question struct {
	Model      string  `json:"model"`
	Target     string  `json:"target"`
	Weights    string  `json:"weights"`
	KV         string  `json:"kv"`
	Batch      int64   `json:"batch"`
	Context    int64   `json:"context"`
	ISL        int64   `json:"isl"`
	Cached     int64   `json:"cached"`
	Chunk      int64   `json:"chunk"`
	TP         int64   `json:"tp"`
	DP         int64   `json:"dp"`
	EP         int64   `json:"ep"`
	Gamma      int64   `json:"gamma"`
	Acceptance float64 `json:"acceptance"`
	Accepted   float64 `json:"accepted"`
}

var times = regexp.MustCompile(`^(.+)-x([0-9]+)$`)

// Cases reads the file. Models that it does not describe itself are the catalogue's.
func Cases(t testing.TB) []Case {
	t.Helper()
	var all struct {
		Models  map[string]roofline.Architecture `json:"models"`
		Targets map[string]roofline.Target       `json:"targets"`
		Cases   []struct {
			ID      string   `json:"id"`
			Ask     question `json:"ask"`
			Figures []Figure `json:"figures"`
			Source  string   `json:"source"`
			Note    string   `json:"note"`
		} `json:"cases"`
	}
	d := json.NewDecoder(bytes.NewReader(file))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		t.Fatalf("cases.json: %v", err)
	}
	known := Catalogue(t)
	var list []Case
	ids := map[string]bool{}
	for _, c := range all.Cases {
		if ids[c.ID] {
			t.Errorf("%s stands twice", c.ID)
		}
		ids[c.ID] = true
		if c.Source == "" {
			t.Errorf("%s has no source", c.ID)
		}
		q := roofline.Query{
			WeightDtype: c.Ask.Weights, KVDtype: c.Ask.KV, Batch: c.Ask.Batch, Context: c.Ask.Context,
			ISL: c.Ask.ISL, Cached: c.Ask.Cached, Chunk: c.Ask.Chunk, TP: c.Ask.TP, DP: c.Ask.DP, EP: c.Ask.EP,
			Gamma: c.Ask.Gamma, Acceptance: c.Ask.Acceptance, Accepted: c.Ask.Accepted,
		}
		if a, ok := all.Models[c.Ask.Model]; ok {
			q.Model = &roofline.Model{Name: c.Ask.Model, Architecture: a, Weights: []string{"bf16"}, KV: []string{"bf16"}}
		} else if q.Model = known.Models[c.Ask.Model]; q.Model == nil {
			t.Errorf("%s: no model %q; the file describes %v, the catalogue %v", c.ID, c.Ask.Model,
				slices.Sorted(maps.Keys(all.Models)), slices.Sorted(maps.Keys(known.Models)))
			continue
		}
		if c.Ask.Target != "" {
			name, count := c.Ask.Target, int64(1)
			if part := times.FindStringSubmatch(name); part != nil {
				name = part[1]
				count, _ = strconv.ParseInt(part[2], 10, 64)
			}
			target, ok := all.Targets[name]
			if !ok {
				t.Errorf("%s: no target %q; the file describes %v", c.ID, name, slices.Sorted(maps.Keys(all.Targets)))
				continue
			}
			target.Count = count
			q.Target = &target
		}
		list = append(list, Case{c.ID, q, c.Figures, c.Source, c.Note})
	}
	return list
}

// Catalogue is what data holds.
func Catalogue(t testing.TB) *catalog.Catalog {
	t.Helper()
	c, problems := catalog.Load(data.FS)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

// units are what the file's units stand for in the answer's own.
var units = map[string]float64{"": 1, "bytes": 1, "kB": 1e3, "GB": 1e9, "parameters": 1, "billion": 1e9, "ms": 1,
	"tok/s": 1, "tokens": 1, "sequences": 1, "experts": 1, "TFLOP": 1e12}

// Value finds the figure in an answer, in the figure's unit; NaN where the answer does
// not have it.
func (f Figure) Value(t testing.TB, q roofline.Query, a roofline.Answer) float64 {
	t.Helper()
	unit, ok := units[f.Unit]
	if !ok {
		t.Errorf("%s: unit %q is not known; there are %v", f.Of, f.Unit, slices.Sorted(maps.Keys(units)))
		return math.NaN()
	}
	return f.raw(t, q, a) / unit
}

func (f Figure) raw(t testing.TB, q roofline.Query, a roofline.Answer) float64 {
	switch f.Of {
	case "counted total":
		return float64(q.Model.Counted(f.Counts, false))
	case "counted active":
		return float64(q.Model.Counted(f.Counts, true))
	case "draft params and embedding":
		return roofline.Pack(q)[roofline.SlotDraftParams] + float64(q.Model.Params().Embedding)
	case "prefill flops":
		return roofline.CeilingPacked(roofline.Pack(q))[roofline.OutPrefillFLOPs]
	case "prefill tok/s uncached":
		if a.PrefillMS == nil {
			return math.NaN()
		}
		return float64(q.ISL-q.Cached) / a.PrefillMS.Hard * 1e3
	}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Split(f.Of, ".") {
		o, _ := v.(map[string]any)
		v = o[name]
	}
	switch v := v.(type) {
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	}
	return math.NaN()
}
