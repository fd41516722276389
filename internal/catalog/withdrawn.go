package catalog

import (
	"errors"
	"io/fs"
	"regexp"

	"go.yaml.in/yaml/v4"
)

// Withdrawal says when and why a row left every ranking.
type Withdrawal struct {
	Date   string // YYYY-MM-DD
	Reason string
}

var (
	rowID = regexp.MustCompile(`^[0-9a-f]{12}$`)
	day   = regexp.MustCompile(`^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$`)
)

// Withdrawn reads withdrawn.yaml, a list of id, date and reason, by row id. No file is
// no withdrawals.
func Withdrawn(fsys fs.FS) (map[string]Withdrawal, []Problem) {
	list := map[string]Withdrawal{}
	var problems []Problem
	f := &file{name: "data/withdrawn.yaml", problems: &problems}
	data, err := fs.ReadFile(fsys, "withdrawn.yaml")
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		f.problem(nil, "cannot be read: %v", err)
		return list, problems
	}
	n := f.parse(data)
	if n == nil {
		return list, problems
	}
	if n.Kind != yaml.SequenceNode {
		f.problem(n, "the file is %s; a list of id, date and reason is accepted", kind(n))
		return list, problems
	}
	for _, e := range n.Content {
		o := f.object(e, "[]", "id", "date", "reason")
		id, date := o.text("id"), o.text("date")
		if id != "" && !rowID.MatchString(id) {
			o.problem(o.at("id"), "id is %q; the 12 hex digits of a row's id are accepted", id)
		}
		if date != "" && !day.MatchString(date) {
			o.problem(o.at("date"), "date is %q; a day such as 2026-11-30 is accepted", date)
		}
		if _, twice := list[id]; twice {
			o.problem(o.at("id"), "id %s stands twice", id)
		}
		reason := ""
		if _, ok := o.need("reason"); ok {
			reason = o.prose("reason")
		}
		list[id] = Withdrawal{date, reason}
	}
	return list, problems
}
