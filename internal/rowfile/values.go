package rowfile

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"rowproof/internal/row"
)

var (
	idForm   = regexp.MustCompile(`^[0-9a-f]{12}$`)
	partForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)
	fileForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*\.samples\.jsonl\.gz$`)
	sumForm  = regexp.MustCompile(`^[0-9a-f]{64}$`)

	sourceForm = regexp.MustCompile(`^[0-9a-f]{64}#[1-9][0-9]{0,15}$`)
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
	s.text(root, "", "schema", strings.Join(row.Schemas, " or "), oneOf(row.Schemas...))
	s.text(root.member("receipt"), "receipt", "evidence_sha256", "64 hex digits", sumForm.MatchString)
	for _, name := range []string{"at", "until"} {
		s.text(root.member("receipt").member("taken"), "receipt.taken", name, "a time such as 2026-11-30T18:20:00Z, in UTC", validTime)
	}
	s.text(root.member("receipt").member("taken"), "receipt.taken", "sha256", "64 hex digits", sumForm.MatchString)
	s.text(root.member("receipt").member("before_launch"), "receipt.before_launch", "at", "a time such as 2026-11-30T18:20:00Z, in UTC", validTime)
	s.pools(root.member("as_it_was").member("recipe").member("pools"))
	s.selftest(root.member("client").member("selftest"))
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
		w := n.member("workload")
		s.text(w, path+".workload", "protocol", "passes or sustained", oneOf(row.Passes, row.Sustained))
		s.text(w.member("prompts"), path+".workload.prompts", "kind", "random, dataset or trace", oneOf(row.PromptsRandom, row.PromptsDataset, row.PromptsTrace))
		s.text(w.member("prompts"), path+".workload.prompts", "sha256", "64 hex digits, or null", sumForm.MatchString)
		s.text(w.member("load"), path+".workload.load", "request_rate", "requests a second above 0, inf, trace, or null", func(t string) bool { return t == row.OwnTimes || isRate(t) })
		s.text(w.member("load"), path+".workload.load", "burstiness", "a number above 0, inf, or null", isRate)
		s.least(w.member("load"), path+".workload.load", "concurrency", 1)
		s.least(w, path+".workload", "block", 1)
		for _, name := range []string{"isl_p50", "isl_p99", "osl_p50", "osl_p99"} {
			s.least(w.member("lengths"), path+".workload.lengths", name, 0)
		}
		s.text(w.member("prompts"), path+".workload.prompts", "state", "cold or warm", oneOf(row.Cold, row.Warm))
		if v := w.member("sampling").member("temperature"); v != nil && !isNumber(v.text) {
			s.add(v, path+".workload.sampling.temperature", "expected a number of at least 0, found "+strconv.Quote(clip(v.text)))
		}
		samples := n.member("samples")
		s.text(samples, path+".samples", "file", "a file name beside the report that ends in .samples.jsonl.gz, or nothing of an import without requests", func(t string) bool { return fileForm.MatchString(t) || t == "" && imported(n) })
		s.text(samples, path+".samples", "sha256", "64 hex digits, or nothing of an import without requests", func(t string) bool { return sumForm.MatchString(t) || t == "" && imported(n) })
		s.text(n.member("proof"), path+".proof", "source", "the SHA-256 of the tool's file and the row's place in it, HASH#3, or null", sourceForm.MatchString)
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

// imported says whether a row is of another tool.
func imported(n *node) bool {
	source := n.member("proof").member("source")
	return source != nil && source.kind == '"'
}

// text checks the string under a key, where there is one.
func (s *strict) text(n *node, path, name, accepted string, ok func(string) bool) {
	v := n.member(name)
	if v != nil && v.kind == '"' && !ok(v.text) {
		s.add(v, join(path, name), "expected "+accepted+", found "+strconv.Quote(clip(v.text)))
	}
}

// least checks the whole number under a key, where there is one.
func (s *strict) least(n *node, path, name string, least int64) {
	v := n.member(name)
	if v == nil || v.kind != '0' {
		return
	}
	if k, err := strconv.ParseInt(v.text, 10, 64); err == nil && k < least {
		s.add(v, join(path, name), "expected at least "+strconv.FormatInt(least, 10)+", found "+v.text)
	}
}

func (s *strict) pools(pools *node) {
	if pools == nil || pools.kind != '[' {
		return
	}
	for i, p := range pools.values {
		for _, name := range []string{"count", "tp", "pp", "dp", "ep"} {
			s.least(p, "as_it_was.recipe.pools["+strconv.Itoa(i)+"]", name, 1)
		}
	}
}

// selftest asks for gaps that were measured and for errors that are distances, at each
// of its levels.
func (s *strict) selftest(n *node) {
	s.selftestLevel(n, "client.selftest")
	s.text(n, "client.selftest", "measured_at", "a time such as 2026-11-30T18:20:00Z, in UTC", validTime)
	levels := n.member("levels")
	if levels == nil || levels.kind != '[' {
		return
	}
	for i, l := range levels.values {
		s.selftestLevel(l, "client.selftest.levels["+strconv.Itoa(i)+"]")
	}
}

func (s *strict) selftestLevel(n *node, path string) {
	s.least(n, path, "streams", 1)
	s.least(n, path, "gaps", 1)
	for _, name := range []string{"itl_error_ns", "ttft_error_ns"} {
		for _, p := range []string{"p50", "p99", "max"} {
			s.least(n.member(name), path+"."+name, p, 0)
		}
	}
}

// isRate takes a rate as it was written.
func isRate(t string) bool {
	v, err := strconv.ParseFloat(t, 64)
	return err == nil && v > 0 && t != "Inf" && t != "Infinity"
}

func isNumber(t string) bool {
	v, err := strconv.ParseFloat(t, 64)
	return err == nil && v >= 0 && v <= 1e6
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
