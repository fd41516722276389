package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// Form is one form of file, with a value of its Go type.
type Form struct {
	Name  string // of the schema's file: NAME.json
	About string
	Value any
}

// Forms are all forms that have a schema.
var Forms = []Form{
	{"index", "What the API holds", Index{}},
	{"models", "Every model", Models{}},
	{"targets", "Every device and count", Targets{}},
	{"recipes", "Every recipe, measured or not", Recipes{}},
	{"rows", "Every published row", Rows{}},
	{"row", "One row with each gate's reason", RowFile{}},
	{"gaps", "What is not measured, ranked", Gaps{}},
	{"withdrawn", "Rows that are out of every ranking", WithdrawnRows{}},
	{"report", "One run, as measure writes it", row.Report{}},
	{"sample", "One request: a line of a samples file", row.Sample{}},
}

// dialect of the schemas.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// Schema describes a form: every field, which are always there, which may be null, and
// no others. id is where the schema stands.
func Schema(f Form, id string) ([]byte, error) {
	w := &writer{defs: map[string]*object{}, types: map[string]reflect.Type{}}
	root, err := w.of(reflect.TypeOf(f.Value))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	all := &object{}
	all.set("$schema", dialect)
	all.set("$id", id)
	all.set("title", f.About)
	for _, m := range root.members {
		all.set(m.name, m.value)
	}
	defs := &object{}
	for _, name := range w.order {
		defs.set(name, w.defs[name])
	}
	all.set("$defs", defs)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err = e.Encode(all)
	return b.Bytes(), err
}

// object is a JSON object whose members keep their order: that of the struct.
type object struct{ members []member }

type member struct {
	name  string
	value any
}

func (o *object) set(name string, value any) { o.members = append(o.members, member{name, value}) }

func (o *object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o.members {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, v := range []any{m.name, m.value} {
			if j > 0 {
				b.WriteByte(':')
			}
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			if err := e.Encode(v); err != nil {
				return nil, err
			}
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// writer gathers the structs that a form is made of.
type writer struct {
	defs  map[string]*object
	types map[string]reflect.Type
	order []string
}

// Types that write themselves.
var written = map[reflect.Type]func() *object{
	// An integer up to 2^53 is a number; any other number is its source's text.
	reflect.TypeFor[roofline.Decimal](): func() *object {
		return just("type", []string{"integer", "string"}, "pattern", `^(-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?)?$`)
	},
	reflect.TypeFor[row.Gaps](): func() *object {
		return just("type", "array", "items", just("type", []string{"integer", "null"}, "minimum", 0))
	},
}

// just is an object of a few members.
func just(pairs ...any) *object {
	o := &object{}
	for i := 0; i < len(pairs); i += 2 {
		o.set(pairs[i].(string), pairs[i+1])
	}
	return o
}

// of describes a type as its value is encoded when it is not nil.
func (w *writer) of(t reflect.Type) (*object, error) {
	if made := written[t]; made != nil {
		return made(), nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.of(t.Elem())
	case reflect.Bool:
		return just("type", "boolean"), nil
	case reflect.String:
		return just("type", "string"), nil
	case reflect.Int, reflect.Int64:
		return just("type", "integer"), nil
	case reflect.Float64:
		return just("type", "number"), nil
	case reflect.Slice, reflect.Array:
		items, err := w.nullable(t.Elem())
		if err != nil {
			return nil, err
		}
		o := just("type", "array", "items", items)
		if t.Kind() == reflect.Array {
			o.set("minItems", t.Len())
			o.set("maxItems", t.Len())
		}
		return o, nil
	case reflect.Map:
		values, err := w.nullable(t.Elem())
		if err != nil {
			return nil, err
		}
		return just("type", "object", "additionalProperties", values), nil
	case reflect.Struct:
		return w.structure(t)
	}
	return nil, fmt.Errorf("type %v has no place in a schema", t)
}

// nullable describes a type whose nil is encoded as null.
func (w *writer) nullable(t reflect.Type) (*object, error) {
	o, err := w.of(t)
	if err != nil {
		return nil, err
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
	default:
		return o, nil
	}
	for i, m := range o.members {
		if name, ok := m.value.(string); ok && m.name == "type" {
			o.members[i].value = []string{name, "null"}
			return o, nil
		}
	}
	return just("anyOf", []any{o, just("type", "null")}), nil
}

// structure describes a struct once, under its name, and refers to it.
func (w *writer) structure(t reflect.Type) (*object, error) {
	name := t.Name()
	if known := w.types[name]; known != nil && known != t {
		name = strings.ReplaceAll(t.String(), ".", "_")
	}
	ref := just("$ref", "#/$defs/"+name)
	if w.types[name] == t {
		return ref, nil
	}
	w.types[name] = t
	w.order = append(w.order, name)
	properties := &object{}
	required := []string{}
	if err := w.fields(t, properties, &required); err != nil {
		return nil, err
	}
	def := &object{}
	if about := docOf(t, ""); about != "" {
		def.set("description", about)
	}
	for _, m := range just("type", "object", "properties", properties, "required", required, "additionalProperties", false).members {
		def.set(m.name, m.value)
	}
	w.defs[name] = def
	return ref, nil
}

// fields adds a struct's fields, and those of what it embeds as encoding/json does.
func (w *writer) fields(t reflect.Type, properties *object, required *[]string) error {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if err := w.fields(inner, properties, required); err != nil {
				return err
			}
			continue
		}
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			return fmt.Errorf("%v.%s has no name in JSON", t, f.Name)
		}
		describe := w.nullable
		if strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") {
			describe = w.of // left out where nil
		} else {
			*required = append(*required, name)
		}
		o, err := describe(f.Type)
		if err != nil {
			return fmt.Errorf("%v.%s: %w", t, f.Name, err)
		}
		if about := docOf(t, f.Name); about != "" {
			o.set("description", about)
		}
		properties.set(name, o)
	}
	return nil
}
