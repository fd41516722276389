package rowfile

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// strict collects every difference between a JSON tree and the Go type it should fill.
// Of more than mostProblems it keeps the first and how many there were.
type strict struct {
	problems []string
	more     int
}

const mostProblems = 50

func (s *strict) tell(text string) {
	if len(s.problems) == mostProblems {
		s.more++
		return
	}
	s.problems = append(s.problems, text)
}

// told ends the list with what it leaves out.
func (s *strict) told() {
	if s.more > 0 {
		s.problems, s.more = append(s.problems, "and "+strconv.Itoa(s.more)+" more"), 0
	}
}

func (s *strict) add(n *node, path, text string) {
	if path == "" {
		path = "the top"
	}
	s.tell("line " + strconv.Itoa(n.line) + ": " + path + ": " + text)
}

var (
	decimalType = reflect.TypeFor[roofline.Decimal]()
	gapsType    = reflect.TypeFor[row.Gaps]()
)

// check holds a value against a type: unknown fields, duplicate keys, kinds.
func (s *strict) check(n *node, t reflect.Type, path string) {
	switch t {
	case decimalType:
		if n.kind != '"' && n.kind != '0' {
			s.add(n, path, "expected a number or its text, found "+n.kindName())
			return
		}
		written, _ := roofline.Decimal(n.text).MarshalJSON()
		if number := written[0] != '"'; number != (n.kind == '0') {
			s.add(n, path, "a number in another form than it is written in: write "+string(written))
		}
		return
	case gapsType:
		s.gaps(n, path)
		return
	}
	if t.Kind() == reflect.Pointer {
		if n.kind != 'n' {
			s.check(n, t.Elem(), path)
		}
		return
	}
	if n.kind == 'n' && (t.Kind() == reflect.Map || t.Kind() == reflect.Slice) {
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		if s.kind(n, '{', "an object", path) {
			s.object(n, t, path)
		}
	case reflect.Map:
		if s.kind(n, '{', "an object", path) {
			s.duplicates(n, path)
			for i, k := range n.keys {
				s.check(n.values[i], t.Elem(), join(path, k.name))
			}
		}
	case reflect.Slice, reflect.Array:
		if !s.kind(n, '[', "an array", path) {
			return
		}
		if t.Kind() == reflect.Array && len(n.values) != t.Len() {
			s.add(n, path, "expected "+strconv.Itoa(t.Len())+" entries, found "+strconv.Itoa(len(n.values)))
		}
		for i, v := range n.values {
			s.check(v, t.Elem(), path+"["+strconv.Itoa(i)+"]")
		}
	case reflect.String:
		s.kind(n, '"', "a string", path)
	case reflect.Bool:
		if n.kind != 't' && n.kind != 'f' {
			s.add(n, path, "expected true or false, found "+n.kindName())
		}
	case reflect.Int64:
		if s.kind(n, '0', "a whole number", path) {
			if v, err := strconv.ParseInt(n.text, 10, 64); err != nil {
				s.add(n, path, "expected a whole number in plain digits, found "+n.text)
			} else {
				s.spelled(n, path, strconv.FormatInt(v, 10))
			}
		}
	case reflect.Float64:
		if s.kind(n, '0', "a number", path) {
			if v, err := strconv.ParseFloat(n.text, 64); err != nil {
				s.add(n, path, "a number that no float64 holds: "+n.text)
			} else {
				written, _ := json.Marshal(v + 0) // -0 is no figure
				s.spelled(n, path, string(written))
			}
		}
	}
}

// spelled asks for the one text that Encode gives a number: digits that say the same
// value in another way would pass every recomputation and yet read differently.
func (s *strict) spelled(n *node, path, written string) {
	if n.text != written {
		s.add(n, path, "a number in another form than it is written in: "+n.text+" for "+written)
	}
}

func (s *strict) kind(n *node, want byte, name, path string) bool {
	if n.kind == want {
		return true
	}
	s.add(n, path, "expected "+name+", found "+n.kindName())
	return false
}

func (s *strict) duplicates(n *node, path string) {
	seen := make(map[string]int, len(n.keys))
	for _, k := range n.keys {
		if first, ok := seen[k.name]; ok {
			s.tell(fmt.Sprintf("line %d: %s: key %q stands twice, first at line %d", k.line, orTop(path), k.name, first))
			continue
		}
		seen[k.name] = k.line
	}
}

func orTop(path string) string {
	if path == "" {
		return "the top"
	}
	return path
}

func (s *strict) object(n *node, t reflect.Type, path string) {
	s.duplicates(n, path)
	fields := fieldsOf(t)
	for i, k := range n.keys {
		f, ok := fields[k.name]
		if !ok {
			names := make([]string, 0, len(fields))
			for name := range fields {
				names = append(names, name)
			}
			slices.Sort(names)
			s.tell(fmt.Sprintf("line %d: %s: unknown field %q; there are: %s", k.line, orTop(path), k.name, strings.Join(names, ", ")))
			continue
		}
		s.check(n.values[i], f, join(path, k.name))
	}
}

// fieldsOf maps JSON names to the types of a struct's fields.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	out := make(map[string]reflect.Type, t.NumField())
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out[name] = t.Field(i).Type
		}
	}
	return out
}

func (s *strict) gaps(n *node, path string) {
	if !s.kind(n, '[', "an array of whole µs or null", path) {
		return
	}
	for i, v := range n.values {
		if v.kind == 'n' {
			continue
		}
		if us, err := strconv.ParseInt(v.text, 10, 64); v.kind != '0' || err != nil || us < 0 || v.text[0] == '-' {
			s.add(v, path+"["+strconv.Itoa(i)+"]", "expected whole µs of at least 0, or null, found "+shown(v))
			return
		}
	}
}

func shown(n *node) string {
	if n.kind == '0' {
		return n.text
	}
	return n.kindName()
}

// require asks for keys that nothing can be judged without.
func (s *strict) require(n *node, path string, names ...string) {
	if n == nil || n.kind != '{' {
		return
	}
	for _, name := range names {
		if n.member(name) == nil {
			s.add(n, path, "field "+strconv.Quote(name)+" is missing")
		}
	}
}

// Decode reads a report. The problems list everything that is not as our own writer
// writes it, with line and path; the report then holds what could be read. An error
// means that the text is not JSON, and nothing was read.
func Decode(data []byte) (*row.Report, []string, error) {
	_, r, problems, err := decode(data)
	return r, problems, err
}

func decode(data []byte) (*node, *row.Report, []string, error) {
	root, err := readJSON(data)
	if err != nil {
		return nil, nil, nil, err
	}
	if root.kind != '{' {
		return nil, nil, nil, fmt.Errorf("line %d: expected a report, an object with %q, found %s", root.line, "schema", root.kindName())
	}
	var s strict
	s.check(root, reflect.TypeFor[row.Report](), "")
	s.require(root, "", append(slices.Clone(hashed), "rows")...)
	if rows := root.member("rows"); rows != nil && rows.kind == '[' {
		for i, v := range rows.values {
			s.require(v, "rows["+strconv.Itoa(i)+"]", "id", "workload", "status", "figures", "missing", "counts", "samples", "proof")
		}
	}
	s.values(root)
	r := new(row.Report)
	// What does not fit is already told, with its line; the rest is read.
	if err := json.Unmarshal(data, r); err != nil && len(s.problems) == 0 {
		s.tell(err.Error())
	}
	s.told()
	return root, r, s.problems, nil
}
