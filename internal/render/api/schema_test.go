package api

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"rowproof/internal/row"
)

// Every figure has its unit, and no unit stands for a figure that there is not.
func TestUnitsAreThoseOfTheFigures(t *testing.T) {
	want := []string{"roof_share", "tok_s_per_user"}
	for f := range reflect.TypeFor[row.Figures]().Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "intervals" {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(Units)); !slices.Equal(got, want) {
		t.Errorf("units stand for %q; the figures are %q", got, want)
	}
}

// A small struct of every kind of field is described as encoding/json writes it.
func TestSchemaOfEveryKindOfField(t *testing.T) {
	type inner struct {
		N int64 `json:"n"`
	}
	type Embedded struct {
		Deep string `json:"deep"`
	}
	type outer struct {
		Text   string             `json:"text"`
		Maybe  *float64           `json:"maybe"`
		Out    *inner             `json:"out,omitempty"`
		In     *inner             `json:"in"`
		List   []inner            `json:"list"`
		Left   []bool             `json:"left,omitempty"`
		Map    map[string]*string `json:"map"`
		Pair   [2]float64         `json:"pair"`
		Hidden int                `json:"-"`
		*Embedded
	}
	text, err := Schema(Form{"outer", "Outer", outer{}}, "urn:outer")
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	var want any
	if err := json.Unmarshal([]byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:outer", "title": "Outer", "$ref": "#/$defs/outer",
		"$defs": {
			"outer": {"type": "object", "additionalProperties": false,
				"required": ["text", "maybe", "in", "list", "map", "pair", "deep"],
				"properties": {
					"text": {"type": "string"},
					"maybe": {"type": ["number", "null"]},
					"out": {"$ref": "#/$defs/inner"},
					"in": {"anyOf": [{"$ref": "#/$defs/inner"}, {"type": "null"}]},
					"list": {"type": ["array", "null"], "items": {"$ref": "#/$defs/inner"}},
					"left": {"type": "array", "items": {"type": "boolean"}},
					"map": {"type": ["object", "null"], "additionalProperties": {"type": ["string", "null"]}},
					"pair": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
					"deep": {"type": "string"}}},
			"inner": {"type": "object", "additionalProperties": false, "required": ["n"], "properties": {"n": {"type": "integer"}}}
		}}`), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("described as\n%s", text)
	}
}

// A type that JSON cannot hold, and a field without a name, are refused by name.
func TestSchemaRefuses(t *testing.T) {
	type unnamed struct{ Field int64 }
	type channel struct {
		C chan int `json:"c"`
	}
	for want, value := range map[string]any{"unnamed.Field": unnamed{}, "channel.C": channel{}} {
		if _, err := Schema(Form{"x", "X", value}, "urn:x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v; want a refusal that names %s", value, err, want)
		}
	}
}
