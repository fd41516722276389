package rowfile

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"rowproof/internal/row"
)

var (
	idForm     = regexp.MustCompile(`^[0-9a-f]{12}$`)
	partForm   = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)
	fileForm   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*\.samples\.jsonl\.gz$`)
	sumForm    = regexp.MustCompile(`^[0-9a-f]{64}$`)
	schemaForm = regexp.MustCompile(`^rowproof/[1-9][0-9]*$`)
)

// ValidRecipe says whether a text names a recipe, MODEL/TARGET/STRATEGY/ENGINE, and can
// stand in a path.
func ValidRecipe(s string) bool {
	parts := strings.Split(s, "/")
	if len(parts) != 4 {
		return false
	}
	for _, p := range parts {
		if !partForm.MatchString(p) || strings.Contains(p, "..") {
			return false
		}
	}
	return true
}

// values checks what a type cannot: ids, names that become paths, dates, words of a
// fixed list.
func (s *strict) values(root *node) {
	s.text(root, "", "schema", "rowproof/N", schemaForm.MatchString)
	s.text(root, "", "recipe", "MODEL/TARGET/STRATEGY/ENGINE in lower case, or nothing", func(t string) bool { return t == "" || ValidRecipe(t) })
	s.text(root, "", "measured_at", "a time such as 2026-11-30T18:20:00Z, in UTC", validTime)
	rows := root.member("rows")
	if rows == nil || rows.kind != '[' {
		return
	}
	if len(rows.values) == 0 {
		s.add(rows, "rows", "a report without rows")
	}
	seen := map[string]int{}
	for i, n := range rows.values {
		path := "rows[" + strconv.Itoa(i) + "]"
		s.text(n, path, "id", "12 hex digits", idForm.MatchString)
		s.text(n, path, "status", "ok or error", oneOf(row.StatusOK, row.StatusError))
		s.text(n.member("workload"), path+".workload", "protocol", "passes or sustained", oneOf(row.Passes, row.Sustained))
		samples := n.member("samples")
		s.text(samples, path+".samples", "file", "a file name beside the report that ends in .samples.jsonl.gz", fileForm.MatchString)
		s.text(samples, path+".samples", "sha256", "64 hex digits", sumForm.MatchString)
		for _, name := range []string{"samples", "evidence"} {
			s.text(n.member("proof"), path+".proof", name, "64 hex digits, or null", sumForm.MatchString)
		}
		if id := n.member("id"); id != nil && id.kind == '"' && id.text != "" {
			if first, ok := seen[id.text]; ok {
				s.add(id, path+".id", "the id of rows["+strconv.Itoa(first)+"] again: "+strconv.Quote(id.text))
			}
			seen[id.text] = i
		}
	}
}

// text checks the string under a key, where there is one.
func (s *strict) text(n *node, path, name, accepted string, ok func(string) bool) {
	v := n.member(name)
	if v != nil && v.kind == '"' && !ok(v.text) {
		s.add(v, join(path, name), "expected "+accepted+", found "+strconv.Quote(clip(v.text)))
	}
}

func oneOf(words ...string) func(string) bool {
	return func(t string) bool {
		for _, w := range words {
			if t == w {
				return true
			}
		}
		return false
	}
}

func validTime(t string) bool {
	at, err := time.Parse(time.RFC3339Nano, t)
	return err == nil && strings.HasSuffix(t, "Z") && at.Year() >= 2020
}

func clip(t string) string {
	if r := []rune(t); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return t
}
