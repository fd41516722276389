package prompts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// problems gathers what is wrong with a file, so that a reader hears of all of it at once;
// of a file that is wrong throughout, of the first few of each kind and their number.
type problems struct {
	first []string
	alike map[string]int // by what is the same in all of a kind
	count int
}

const (
	mostProblems = 20
	mostAlike    = 5
)

func (p *problems) add(place string, format string, a ...any) {
	if p.alike == nil {
		p.alike = map[string]int{}
	}
	p.count++
	if p.alike[format]++; p.alike[format] <= mostAlike && len(p.first) < mostProblems {
		p.first = append(p.first, place+": "+fmt.Sprintf(format, a...))
	}
}

// enough says that a file is wrong throughout, and nothing is learned by reading on.
func (p *problems) enough() error {
	if p.count < enoughProblems {
		return nil
	}
	return errEnough
}

const enoughProblems = 1000

var errEnough = errors.New("read no further: it is wrong throughout")

// err is nil where nothing is wrong.
func (p *problems) err() error {
	if p.count == 0 {
		return nil
	}
	lines := p.first
	if more := p.count - len(lines); more > 0 {
		lines = append(slices.Clone(lines), "and "+strconv.Itoa(more)+" more")
	}
	return errors.New(strings.Join(lines, "\n"))
}

// object is the members of one JSON object. A name that stands twice is an error: its
// two values would be two requests.
func object(b []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(b) {
		return nil, errors.New("no UTF-8; want a text in it")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("found %s; want a JSON object", shown(b))
	}
	members := map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("no JSON: %w", err)
		}
		name := t.(string) // the decoder gives a name here, or an error
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, fmt.Errorf("no JSON: %s: %w", shown([]byte(name)), err)
		}
		if _, twice := members[name]; twice {
			return nil, fmt.Errorf("%s stands twice", shown([]byte(name)))
		}
		members[name] = v
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("no JSON: the object does not end")
	}
	if rest := bytes.TrimSpace(b[d.InputOffset():]); len(rest) > 0 {
		return nil, fmt.Errorf("found %s after the object; want one object a line", shown(rest))
	}
	return members, nil
}

// isNull says whether a member is absent or null, which are the same.
func isNull(v json.RawMessage) bool { return v == nil || string(v) == "null" }

// count reads a whole number from least to most; 5 and 5.0 are both 5, as Python writes
// either.
func count(v json.RawMessage, least, most int64) (int64, bool) {
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return n, n >= least && n <= most
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f < float64(least) || f > float64(most) || f != float64(int64(f)) {
		return 0, false
	}
	return int64(f), true
}

// shown is a piece of a file as a sentence may hold it.
func shown(b []byte) string {
	const most = 60
	s := string(b)
	if len(s) > most {
		s = s[:most]
		for !utf8.ValidString(s) && len(s) > most-utf8.UTFMax {
			s = s[:len(s)-1]
		}
		return strconv.Quote(s) + "…"
	}
	return strconv.Quote(s)
}
