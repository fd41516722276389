package harness

import (
	"encoding/csv"
	"errors"
	"io"
	"strconv"
	"strings"
)

// aiperfHead begins the table of aiperf's profile_export_aiperf.csv.
const aiperfHead = "Metric,avg,"

// aiperfTable reads aiperf's CSV: a table of distributions, an empty line, a table of single
// values, and one of the GPUs, which is left.
func (t *taker) aiperfTable(in io.Reader) (*Result, error) {
	limit := &rowLimit{r: in}
	c := csv.NewReader(limit)
	c.FieldsPerRecord = -1
	var columns []string
	v := &value{kind: '{', line: 1}
	for {
		limit.n = 0
		fields, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch {
		case fields[0] == "Metric":
			columns = fields
			continue
		case fields[0] == "Endpoint":
			columns = nil
			t.left("what the table says of the GPUs")
		}
		if columns == nil {
			continue
		}
		at, _ := c.FieldPos(0)
		if len(v.keys) == mostMetrics {
			return nil, &SyntaxError{at, 1, "more than " + strconv.Itoa(mostMetrics) + " metrics; the tool writes about a hundred"}
		}
		if len(fields) != len(columns) {
			return nil, &SyntaxError{at, 1, "found " + strconv.Itoa(len(fields)) + " fields where the table has " + strconv.Itoa(len(columns)) + " columns"}
		}
		name, unit, _ := strings.Cut(strings.TrimSuffix(fields[0], ")"), " (")
		key := strings.ReplaceAll(strings.ToLower(name), " ", "_")
		if v.get(key) != nil {
			return nil, &SyntaxError{at, 1, "the metric " + strconv.QuoteToASCII(cut(name, 60)) + " stands twice"}
		}
		m := &value{kind: '{', line: at, keys: []string{"unit"}, vals: []*value{{kind: '"', text: unit, line: at}}}
		for i, text := range fields[1:] {
			if text == "" {
				continue
			}
			column := columns[1+i]
			if column == "Value" {
				column = "avg"
			}
			e := &value{kind: '"', text: text, line: at}
			if n, err := strconv.ParseFloat(text, 64); err == nil {
				e.kind, e.num = '0', n
			}
			m.keys, m.vals = append(m.keys, column), append(m.vals, e)
		}
		v.keys, v.vals = append(v.keys, key), append(v.vals, m)
	}
	if !v.has("request_count", "request_latency") {
		return nil, errors.New("the table has no Request Count or no Request Latency; the whole of profile_export_aiperf.csv is accepted")
	}
	t.result.Format, t.result.Tool, t.result.Clock = "aiperf-csv", "aiperf", aiperfClock
	run := Run{Place: 1, Workload: closed(), NoSamples: aiperfAlone}
	t.aiperfFigures(&run, v, false)
	finish(&run)
	t.result.Runs = append(t.result.Runs, run)
	if err := t.err(); err != nil {
		return nil, err
	}
	return t.result, nil
}

const (
	mostMetrics = 1000
	mostRow     = 1 << 20
)

// rowLimit ends a table of which one row is longer than any result's; n is set to 0 before
// each.
type rowLimit struct {
	r io.Reader
	n int
}

func (l *rowLimit) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.n += n; l.n > mostRow {
		return 0, errors.New("a row of more than 1 MB, which no result holds")
	}
	return n, err
}
