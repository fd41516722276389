package checkpoint

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// object is a JSON object while it is read: it remembers which of its keys were asked
// for, so that the rest can be told. A null is a key that is not there.
type object struct {
	p    *problems
	path string
	v    *value
	used map[string]bool
}

func (p *problems) object(path string, v *value) *object {
	return &object{p, path, v, map[string]bool{}}
}

func (o *object) key(k string) string { return join(o.path, k) }

func (o *object) wrong(k, text string) { o.p.add(o.key(k), text) }

// get is the value under a key, or nil where there is none.
func (o *object) get(k string) *value {
	o.used[k] = true
	if i := slices.Index(o.v.keys, k); i >= 0 && o.v.values[i].kind != 'n' {
		return &o.v.values[i]
	}
	return nil
}

func (o *object) has(k string) bool { return o.get(k) != nil }

// Bounds of single values, far above any model's. They keep products within int64, since
// a model of more than mostParams is refused besides.
const (
	mostLayers  = 1 << 12
	mostCount   = 1 << 16 // heads, experts
	mostWidth   = 1 << 24 // hidden sizes, vocabularies
	mostContext = 1 << 32
)

// count reads a whole number of at least 1 that must be there.
func (o *object) count(k string, most int64) int64 {
	if !o.has(k) {
		o.wrong(k, "is missing; a whole number of at least 1 is needed")
		return 0
	}
	return o.number(k, 1, most)
}

// countOr reads a whole number of at least 1, or takes the default of its type.
func (o *object) countOr(k string, most, otherwise int64) int64 {
	if !o.has(k) {
		return otherwise
	}
	return o.number(k, 1, most)
}

// number reads a whole number that is there.
func (o *object) number(k string, least, most int64) int64 {
	return o.p.whole(o.key(k), o.get(k), least, most)
}

// numberOr reads a whole number of at least 0, or takes the default of its type.
func (o *object) numberOr(k string, most, otherwise int64) int64 {
	if !o.has(k) {
		return otherwise
	}
	return o.number(k, 0, most)
}

func (p *problems) whole(where string, v *value, least, most int64) int64 {
	n, err := strconv.ParseInt(v.text, 10, 64)
	if v.kind != '0' || err != nil || n < least || n > most {
		found := "is " + v.kindName()
		if f, err := strconv.ParseFloat(v.text, 64); v.kind == '0' && err == nil && f == math.Trunc(f) && f >= float64(least) && f <= float64(most) {
			found += ", with a fraction or an exponent, where JSON has " + strconv.FormatFloat(f, 'f', -1, 64)
		}
		p.add(where, found+"; a whole number of "+strconv.FormatInt(least, 10)+" to "+strconv.FormatInt(most, 10)+" is accepted")
		return 0
	}
	return n
}

func (o *object) flagOr(k string, otherwise bool) bool {
	v := o.get(k)
	switch {
	case v == nil:
		return otherwise
	case v.kind == 't':
		return true
	case v.kind != 'f':
		o.wrong(k, "is "+v.kindName()+"; true or false is accepted")
	}
	return false
}

// text reads a string, "" where there is none.
func (o *object) text(k string) string {
	v := o.get(k)
	if v == nil {
		return ""
	}
	if v.kind != '"' {
		o.wrong(k, "is "+v.kindName()+"; a string is accepted")
		return ""
	}
	return v.text
}

// oneOf reads a word of a closed list, or takes the first where there is none.
func (o *object) oneOf(k string, accepted ...string) string {
	if !o.has(k) {
		return accepted[0]
	}
	s := o.text(k)
	if !slices.Contains(accepted, s) && o.get(k).kind == '"' {
		o.wrong(k, "is "+shown(s)+"; accepted: "+strings.Join(accepted, ", "))
	}
	return s
}

// list reads an array, nil where there is none. A length of 0 or more is asked for;
// -1 takes any.
func (o *object) list(k string, length int64, of string) []value {
	v := o.get(k)
	if v == nil {
		return nil
	}
	if v.kind != '[' {
		o.wrong(k, "is "+v.kindName()+"; an array is accepted")
		return nil
	}
	if length >= 0 && int64(len(v.values)) != length {
		o.wrong(k, "has "+strconv.Itoa(len(v.values))+" entries; one for each of the "+strconv.FormatInt(length, 10)+" "+of+" is accepted")
		return nil
	}
	return v.values
}

// words reads one word a layer, nil where there are none or they are wrong.
func (o *object) words(k string, layers int64, accepted ...string) []string {
	list := o.list(k, layers, "layers")
	if list == nil {
		return nil
	}
	words := make([]string, len(list))
	for i := range list {
		if list[i].kind != '"' || !slices.Contains(accepted, list[i].text) {
			o.wrong(k+"["+strconv.Itoa(i)+"]", "is "+list[i].kindName()+"; accepted: "+strings.Join(accepted, ", "))
			return nil
		}
		words[i] = list[i].text
	}
	return words
}

// numbers reads an array of whole numbers.
func (o *object) numbers(k string, length, most int64, of string) []int64 {
	list := o.list(k, length, of)
	if list == nil {
		return nil
	}
	numbers := make([]int64, len(list))
	for i := range list {
		numbers[i] = o.p.whole(o.key(k)+"["+strconv.Itoa(i)+"]", &list[i], 0, most)
	}
	return numbers
}

// under is the object below a key, or nil where there is none.
func (o *object) under(k string) *object {
	v := o.get(k)
	if v == nil {
		return nil
	}
	if v.kind != '{' {
		o.wrong(k, "is "+v.kindName()+"; an object is accepted")
		return nil
	}
	return o.p.object(o.key(k), v)
}

// must asks a key that changes the cost for the one value that is understood, where it is
// given.
func (o *object) must(k, accepted string) {
	v := o.get(k)
	if v == nil {
		return
	}
	if found := v.plain(); found != accepted {
		o.wrong(k, "is "+v.kindName()+", whose cost is not known; accepted: "+accepted)
	}
}

// plain is the value as JSON would write it, where it is a scalar.
func (v *value) plain() string {
	switch v.kind {
	case '"', '0':
		return v.text
	case 't':
		return "true"
	case 'f':
		return "false"
	}
	return v.kindName()
}

// stated says whether a key is there, be it null.
func (o *object) stated(k string) bool { return slices.Contains(o.v.keys, k) }

// rest tells each key that was not asked for, unless it leaves the cost unchanged.
func (o *object) rest() {
	for i, k := range o.v.keys {
		if o.used[k] || o.v.values[i].kind == 'n' || neutral[k] {
			continue
		}
		if accepted, ok := neutralWhere[k]; ok {
			if found := o.v.values[i].plain(); !slices.Contains(accepted, found) {
				o.wrong(k, "is "+o.v.values[i].kindName()+", whose cost is not known; accepted: "+strings.Join(accepted, ", "))
			}
			continue
		}
		o.wrong(k, "is not known: it may change the cost, so nothing is computed without it")
	}
}
