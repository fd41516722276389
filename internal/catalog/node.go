package catalog

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"rowproof/internal/roofline"
)

// Most of a file, and of one text in it: a catalogue file is read by people.
const (
	maxFile = 256 << 10
	maxText = 16 << 10
)

// file is one YAML file while it is being read. Its methods never stop at the first
// problem: each notes it with its place and goes on with an empty value.
type file struct {
	name     string
	lines    []string
	runes    map[int][]rune // of lines asked for, by index
	problems *[]Problem
}

func (f *file) problem(n *yaml.Node, format string, args ...any) {
	line, col := 1, 1
	if n != nil && n.Line > 0 {
		line, col = n.Line, n.Column
	}
	*f.problems = append(*f.problems, Problem{f.name, line, col, fmt.Sprintf(format, args...)})
}

// parse reads the one document of a file, nil when it has none. Everything that YAML
// would turn into something else than what stands there is refused here: anchors,
// aliases, tags, characters that a reader does not see.
func (f *file) parse(data []byte) *yaml.Node {
	if len(data) > maxFile {
		f.problem(nil, "%d bytes; a catalogue file has at most %d", len(data), maxFile)
		return nil
	}
	if !utf8.Valid(data) {
		f.problem(nil, "not UTF-8 text")
		return nil
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	f.lines = strings.Split(text, "\n")
	clean := true
	for i, line := range f.lines {
		for j, r := range []rune(strings.TrimSuffix(line, "\r")) {
			if hidden(r) {
				*f.problems = append(*f.problems, Problem{f.name, i + 1, j + 1,
					fmt.Sprintf("character U+%04X cannot be seen; leave it out", r)})
				clean = false
			}
		}
	}
	if !clean {
		return nil
	}
	var document yaml.Node
	if err := yaml.Load([]byte(text), &document); err != nil {
		f.syntax(err)
		return nil
	}
	if len(document.Content) != 1 {
		f.problem(nil, "the file is empty")
		return nil
	}
	if !f.plain(document.Content[0]) {
		return nil
	}
	return document.Content[0]
}

// hidden says whether a character is a control character or turns the direction of the
// text around it, so that what a reader sees is not what stands there.
func hidden(r rune) bool {
	return r < 0x20 && r != '\t' || r >= 0x7f && r < 0xa0 ||
		r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 ||
		r == 0x200e || r == 0x200f || r == 0x061c || r == 0x2028 || r == 0x2029 || r == 0xfeff
}

func (f *file) syntax(err error) {
	var le *yaml.LoadError
	if !errors.As(err, &le) {
		f.problem(nil, "not YAML: %v", err)
		return
	}
	switch text := le.Message; {
	case strings.Contains(text, "no documents"):
		f.problem(nil, "the file is empty")
	case strings.Contains(text, "found multiple"):
		line := 1
		for i, l := range f.lines {
			if i > 0 && (strings.HasPrefix(l, "---") || strings.HasPrefix(l, "...")) {
				line = i + 1
				break
			}
		}
		f.problem(&yaml.Node{Line: line, Column: 1}, "a second document begins; a catalogue file holds one")
	default:
		if le.ContextMsg != "" {
			text = le.ContextMsg + ", " + text
		}
		f.problem(&yaml.Node{Line: le.Mark.Line, Column: le.Mark.Column}, "not YAML: %s", text)
	}
}

// plain refuses anchors, aliases and tags anywhere below a node.
func (f *file) plain(n *yaml.Node) bool {
	ok := true
	switch {
	case n.Kind == yaml.AliasNode:
		f.problem(n, "alias *%s; write the value itself", n.Value)
		return false
	case n.Anchor != "":
		f.problem(n, "anchor &%s; write each value where it belongs", n.Anchor)
		ok = false
	case n.Style&yaml.TaggedStyle != 0:
		f.problem(n, "tag %s; write the value without a tag, text in quotes", n.Tag)
		ok = false
	}
	for _, c := range n.Content {
		ok = f.plain(c) && ok
	}
	return ok
}

// object is a mapping whose keys are known in advance.
type object struct {
	*file
	node   *yaml.Node
	path   string // keys above, "" at the top
	values map[string]*yaml.Node
}

// object opens a mapping and notes unknown and doubled keys. It answers an empty object
// for anything else, so that reading goes on.
func (f *file) object(n *yaml.Node, path string, keys ...string) *object {
	o := &object{f, n, path, map[string]*yaml.Node{}}
	if n == nil {
		return o
	}
	if n.Kind != yaml.MappingNode {
		f.problem(n, "%s is %s; a mapping with the keys %s is accepted", o.name(), kind(n), strings.Join(keys, ", "))
		return o
	}
	first := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch before := first[k.Value]; {
		case k.Kind != yaml.ScalarNode:
			f.problem(k, "a key of %s is %s; text is accepted", o.name(), kind(k))
		case before != nil:
			f.problem(k, "key %s stands twice, first in line %d", strconv.Quote(k.Value), before.Line)
		case !slices.Contains(keys, k.Value):
			first[k.Value] = k
			f.problem(k, "key %s is not known%s; accepted here: %s", strconv.Quote(k.Value), meant(k.Value, keys), strings.Join(keys, ", "))
		default:
			first[k.Value] = k
			o.values[k.Value] = n.Content[i+1]
		}
	}
	return o
}

// variant is a kind of thing that a mapping may describe, and the keys that count in it.
type variant struct {
	kind string
	keys []string
}

// kinded is a mapping whose kind says which keys count in it.
type kinded struct {
	*object
	kind string // "" when it is not known
}

// variant opens the mapping below a key that must be there, and notes each key that
// counts in another kind alone.
func (o *object) variant(k string, variants []variant) kinded {
	var kinds, all []string
	for _, v := range variants {
		kinds = append(kinds, v.kind)
		for _, key := range v.keys {
			if !slices.Contains(all, key) {
				all = append(all, key)
			}
		}
	}
	under := o.under(k, append([]string{"kind"}, all...)...)
	if len(under.values) == 0 {
		return kinded{under, ""}
	}
	kind := under.oneOf("kind", kinds...)
	i := slices.Index(kinds, kind)
	if i < 0 {
		return kinded{under, ""}
	}
	for _, key := range all {
		if n, ok := under.values[key]; ok && !slices.Contains(variants[i].keys, key) {
			accepted := "kind alone"
			if len(variants[i].keys) > 0 {
				accepted = "kind, " + strings.Join(variants[i].keys, ", ")
			}
			o.problem(n, "%s does not count in kind %s; accepted there: %s", under.key(key), kind, accepted)
			delete(under.values, key)
		}
	}
	return kinded{under, kind}
}

// name is how messages call the object.
func (o *object) name() string {
	if o.path == "" {
		return "the file"
	}
	return o.path
}

func (o *object) key(k string) string {
	if o.path == "" {
		return k
	}
	return o.path + "." + k
}

// need notes a missing key and says whether it is there.
func (o *object) need(k string) (*yaml.Node, bool) {
	n, ok := o.values[k]
	if !ok && (o.node == nil || o.node.Kind == yaml.MappingNode) {
		o.problem(o.node, "%s is missing", o.key(k))
	}
	return n, ok
}

func (o *object) has(k string) bool { _, ok := o.values[k]; return ok }

// at is the place of a key's value, else of the object.
func (o *object) at(k string) *yaml.Node {
	if n, ok := o.values[k]; ok {
		return n
	}
	return o.node
}

// under opens the mapping below a key that must be there.
func (o *object) under(k string, keys ...string) *object {
	n, ok := o.need(k)
	if !ok {
		// Its own missing keys need no messages of their own.
		return &object{o.file, &yaml.Node{Kind: yaml.ScalarNode}, o.key(k), map[string]*yaml.Node{}}
	}
	return o.file.object(n, o.key(k), keys...)
}

// items lists the sequence below a key that must be there.
func (o *object) items(k string) []*yaml.Node {
	n, ok := o.need(k)
	if !ok {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		o.problem(n, "%s is %s; a list is accepted", o.key(k), kind(n))
		return nil
	}
	return n.Content
}

// exact reads text letter for letter as it stands in the file: unquoted 0.10, 0x1F or
// no stay what they are. What YAML has no letters for (null) or what it would join from
// several lines is refused.
func (f *file) exact(n *yaml.Node, name string) string {
	switch {
	case n.Kind != yaml.ScalarNode:
		f.problem(n, "%s is %s; text is accepted", name, kind(n))
		return ""
	case quoted(n):
		if strings.ContainsAny(n.Value, "\n\r") {
			f.problem(n, "%s runs over several lines; write it in one line", name)
			return ""
		}
	case n.Tag == "!!null":
		f.problem(n, "%s is null (%s); write it in quotes, or \"\" if it is empty", name, shown(n.Value))
		return ""
	case !f.stands(n):
		f.problem(n, "%s runs over several lines; write it in quotes, in one line", name)
		return ""
	}
	if len(n.Value) > maxText {
		f.problem(n, "%s has %d bytes; at most %d are accepted", name, len(n.Value), maxText)
		return ""
	}
	return n.Value
}

func quoted(n *yaml.Node) bool {
	return n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

func shown(value string) string {
	if value == "" {
		return "nothing stands there"
	}
	return value
}

// stands says whether an unquoted value is, letter by letter, what the file holds at
// its place.
func (f *file) stands(n *yaml.Node) bool {
	if n.Line < 1 || n.Line > len(f.lines) {
		return false
	}
	line, ok := f.runes[n.Line]
	if !ok {
		if f.runes == nil {
			f.runes = map[int][]rune{}
		}
		line = []rune(f.lines[n.Line-1])
		f.runes[n.Line] = line
	}
	value := []rune(n.Value)
	from := n.Column - 1
	return from >= 0 && from+len(value) <= len(line) && slices.Equal(line[from:from+len(value)], value)
}

// text reads a key's text, which must be there and not be empty.
func (o *object) text(k string) string {
	n, ok := o.need(k)
	if !ok {
		return ""
	}
	before := len(*o.problems)
	s := o.exact(n, o.key(k))
	if strings.TrimSpace(s) == "" && len(*o.problems) == before {
		o.problem(n, "%s is empty", o.key(k))
	}
	return s
}

// optional reads a key's text, "" when it is not there.
func (o *object) optional(k string) string {
	if !o.has(k) {
		return ""
	}
	return o.exact(o.values[k], o.key(k))
}

// prose reads sentences, which may run over lines; "" when the key is not there.
func (o *object) prose(k string) string {
	n, ok := o.values[k]
	switch {
	case !ok:
		return ""
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null" && !quoted(n):
		o.problem(n, "%s is %s; text is accepted", o.key(k), kind(n))
		return ""
	case len(n.Value) > maxText:
		o.problem(n, "%s has %d bytes; at most %d are accepted", o.key(k), len(n.Value), maxText)
		return ""
	}
	return strings.TrimSpace(n.Value)
}

// texts reads a list of text, in which "" may stand.
func (o *object) texts(k string) []string {
	list := []string{}
	for i, n := range o.items(k) {
		list = append(list, o.exact(n, fmt.Sprintf("%s[%d]", o.key(k), i)))
	}
	return list
}

// pairs reads a mapping from names to text, of which any key is accepted.
func (o *object) pairs(k string) map[string]string {
	m := map[string]string{}
	for _, p := range o.entries(k) {
		m[p.key.Value] = o.exact(p.value, o.key(k)+"."+p.key.Value)
	}
	return m
}

type entry struct{ key, value *yaml.Node }

// entries lists a mapping with free keys, without the doubled ones, which it notes.
func (o *object) entries(k string) []entry {
	n, ok := o.need(k)
	if !ok {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		o.problem(n, "%s is %s; a mapping is accepted", o.key(k), kind(n))
		return nil
	}
	var list []entry
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if o.exact(key, "a key of "+o.key(k)) == "" {
			continue
		}
		if line, twice := first[key.Value]; twice {
			o.problem(key, "key %s stands twice, first in line %d", strconv.Quote(key.Value), line)
			continue
		}
		first[key.Value] = key.Line
		list = append(list, entry{key, n.Content[i+1]})
	}
	return list
}

var (
	wholeNumber   = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)
	decimalNumber = regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]+)?$`)
)

// whole reads a whole number of at least least.
func (o *object) whole(k string, least int64) int64 {
	n, ok := o.need(k)
	if !ok {
		return 0
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || quoted(n) || !wholeNumber.MatchString(n.Value) || err != nil || v > 1<<53 {
		o.problem(n, "%s is %s; a whole number such as 4096 is accepted, without quotes, separators or leading zeros", o.key(k), kind(n))
		return 0
	}
	if v < least {
		o.problem(n, "%s is %d; at least %d is accepted", o.key(k), v, least)
		return 0
	}
	return v
}

// within reads a whole number between two bounds.
func (o *object) within(k string, least, most int64) int64 {
	v := o.whole(k, least)
	if v > most {
		o.problem(o.at(k), "%s is %d; at most %d is accepted", o.key(k), v, most)
		return 0
	}
	return v
}

// optionalWithin is within for a key that need not be there, 0 when it is not.
func (o *object) optionalWithin(k string, least, most int64) int64 {
	if !o.has(k) {
		return 0
	}
	return o.within(k, least, most)
}

// decimal reads a positive number and keeps its letters.
func (o *object) decimal(k string) roofline.Decimal {
	n, ok := o.need(k)
	if !ok {
		return ""
	}
	return o.number(n, o.key(k))
}

func (f *file) number(n *yaml.Node, name string) roofline.Decimal {
	v, ok := roofline.Decimal(n.Value).Float()
	if n.Kind != yaml.ScalarNode || !decimalNumber.MatchString(n.Value) || !ok || v <= 0 {
		f.problem(n, "%s is %s; a number above 0 such as 1307.4 is accepted", name, kind(n))
		return ""
	}
	return roofline.Decimal(n.Value)
}

// flag reads true or false.
func (o *object) flag(k string) bool {
	n, ok := o.need(k)
	if !ok {
		return false
	}
	if n.Kind != yaml.ScalarNode || quoted(n) || n.Value != "true" && n.Value != "false" {
		o.problem(n, "%s is %s; true or false is accepted", o.key(k), kind(n))
		return false
	}
	return n.Value == "true"
}

// optionalFlag is flag for a key that need not be there, false when it is not.
func (o *object) optionalFlag(k string) bool { return o.has(k) && o.flag(k) }

// kind names what a node is, with its letters.
func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if n.Tag == "!!null" && !quoted(n) {
		return "null (" + shown(n.Value) + ")"
	}
	value := n.Value
	if len(value) > 40 {
		value = value[:40] + "…"
	}
	return strconv.Quote(value)
}

// meant suggests the accepted key nearest to one that is not, when one is near.
func meant(found string, accepted []string) string {
	best, least := "", 3
	for _, a := range accepted {
		if d := distance(strings.ToLower(found), a); d < least {
			best, least = a, d
		}
	}
	if best == "" {
		return ""
	}
	return ", " + strconv.Quote(best) + " may be meant"
}

// distance counts the letters to insert, drop or change between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := before
			if a[i-1] != b[j-1] {
				cost = 1 + min(before, row[j], row[j-1])
			}
			before, row[j] = row[j], cost
		}
	}
	return row[len(b)]
}
