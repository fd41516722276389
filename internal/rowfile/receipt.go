package rowfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"rowproof/internal/row"
)

// LargestReceipt is how many bytes a receipt's file may hold.
const LargestReceipt = 16 << 20

// besideRow is how far from a row, in µs, a reading of a watch may lie to tell of the state
// before or after it.
const besideRow = 60_000_000

// EncodeReceipt writes a receipt's file.
func EncodeReceipt(f *row.ReceiptFile) ([]byte, error) {
	data, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	return append(data, '\n'), nil
}

// DecodeReceipt reads one, strictly. The error tells all that is wrong with it.
func DecodeReceipt(data []byte) (*row.ReceiptFile, error) {
	root, err := readJSON(data)
	if err != nil {
		return nil, fmt.Errorf("%w; want the file that measure receipt --output wrote", err)
	}
	if schema := root.member("schema"); schema == nil || schema.text != row.ReceiptSchema {
		found := "none"
		if schema != nil {
			found = fmt.Sprintf("%q", clip(schema.text))
		}
		return nil, fmt.Errorf("schema: found %s; want a file of measure receipt, whose schema is %q", found, row.ReceiptSchema)
	}
	var s strict
	s.check(root, reflect.TypeFor[row.ReceiptFile](), "")
	s.require(root, "", "at", "until", "host", "receipt", "evidence")
	for _, name := range []string{"at", "until"} {
		s.text(root, "", name, "a time such as 2026-11-30T18:20:00Z, in UTC", validTime)
	}
	s.text(root.member("evidence"), "evidence", "zero", "a time such as 2026-11-30T18:20:00Z, in UTC", validTime)
	f := new(row.ReceiptFile)
	if err := json.Unmarshal(data, f); err != nil && len(s.problems) == 0 {
		s.tell(err.Error())
	}
	if s.told(); len(s.problems) > 0 {
		return nil, errors.New(strings.Join(s.problems, "; "))
	}
	return f, nil
}

// Taken is the receipt of a file as a run holds it; sum is the SHA-256 of the file.
func Taken(f *row.ReceiptFile, sum string) row.Receipt {
	r := f.Receipt
	r.Unread = maps.Clone(r.Unread)
	if r.Unread == nil {
		r.Unread = map[string]string{}
	}
	r.EvidenceSHA256 = ""
	r.Taken = &row.Taken{At: f.At, Until: f.Until, Host: f.Host, SHA256: sum}
	return r
}

// TakenEvidence is the run's own line of evidence of a report with such a receipt: what
// stood when it was taken, without the readings of its watch.
func TakenEvidence(f *row.ReceiptFile) row.Evidence {
	ev := f.Evidence
	ev.Row = -1
	first := func(when string) bool { return when == row.Before }
	ev.Devices, ev.Apps, ev.Metrics = nil, nil, nil
	for _, d := range f.Evidence.Devices {
		if first(d.When) {
			ev.Devices = append(ev.Devices, d)
		}
	}
	for _, a := range f.Evidence.Apps {
		if first(a.When) {
			ev.Apps = append(ev.Apps, a)
		}
	}
	for _, m := range f.Evidence.Metrics {
		if first(m.When) {
			ev.Metrics = append(ev.Metrics, m)
		}
	}
	return ev
}

// Watched puts the readings of a receipt's file that fall into a row beside the row's own
// evidence: devices and the processes on them before, during and after it, and the server's
// metrics as they were read beside it. By the wall clocks of both hosts; the row lasted for
// so many µs from its zero. What the file does not hold is told in Unread.
func Watched(f *row.ReceiptFile, ev *row.Evidence, lasted int64) {
	ev.Devices, ev.Apps, ev.Watched = nil, nil, nil
	if ev.Unread == nil {
		ev.Unread = map[string]string{}
	}
	for _, name := range []string{"devices", "apps"} {
		delete(ev.Unread, name)
	}
	for name, why := range f.Evidence.Unread {
		if name == "apps" || name == "devices" || name == "devices.during" || strings.HasPrefix(name, "devices[") {
			ev.Unread[name] = why
		}
	}
	theirs, err := time.Parse(time.RFC3339Nano, f.Evidence.Zero)
	ours, err2 := time.Parse(time.RFC3339Nano, ev.Zero)
	if err != nil || err2 != nil {
		ev.Unread["devices"] = "when the receipt or the row was begun is not known"
		return
	}
	shift := theirs.Sub(ours).Microseconds()
	place := func(at int64) (int64, string) {
		switch at += shift; {
		case at < 0:
			return at, row.Before
		case at > lasted:
			return at, row.After
		default:
			return at, row.During
		}
	}
	near := func(at int64, most int64) bool { return at >= -most && at <= lasted+most }

	edge := map[string]int{} // device and side → its reading in ev.Devices
	for _, d := range f.Evidence.Devices {
		if d.At, d.When = place(d.At); !near(d.At, besideRow) {
			continue
		}
		key := fmt.Sprint(d.Index, d.When)
		switch i, there := edge[key]; {
		case d.When == row.During || !there:
			edge[key] = len(ev.Devices)
			ev.Devices = append(ev.Devices, d)
		case d.When == row.Before:
			ev.Devices[i] = d // nearer
		}
	}
	before, after := int64(-besideRow-1), lasted+besideRow+1 // of the tables of processes that are nearest
	for _, a := range f.Evidence.Apps {
		switch at, when := place(a.At); when {
		case row.Before:
			before = max(before, at)
		case row.After:
			after = min(after, at)
		}
	}
	for _, a := range f.Evidence.Apps {
		a.At, a.When = place(a.At)
		if a.At >= before && a.At <= after && near(a.At, besideRow) {
			ev.Apps = append(ev.Apps, a)
		}
	}
	ev.Watched = metricsAround(f.Evidence.Metrics, place, lasted)
	why := "the receipt was read once and not watched"
	if f.Watch {
		why = "the receipt's watch has none from then: it goes from " + f.At + " to " + f.Until
		if f.Ended != "" {
			why += " (" + f.Ended + ")"
		}
	}
	if len(ev.Devices) == 0 && ev.Unread["devices"] == "" {
		ev.Unread["devices"] = why
	}
	if len(ev.Apps) == 0 && ev.Unread["apps"] == "" {
		ev.Unread["apps"] = why
	}
}

// metricsAround are the readings in a row, with the last that lies clearly before it and
// the first that lies clearly after, however the two clocks differ.
func metricsAround(readings []row.MetricSample, place func(int64) (int64, string), lasted int64) []row.MetricSample {
	all := make([]row.MetricSample, len(readings))
	for i, m := range readings {
		m.At, m.When = place(m.At)
		all[i] = m
	}
	slices.SortStableFunc(all, func(a, b row.MetricSample) int { return cmp.Compare(a.At, b.At) })
	from, to := 0, len(all)
	for i := range all {
		if all[i].At <= -row.ClocksApart {
			from = i
		}
		if all[i].At >= lasted+row.ClocksApart {
			to = i + 1
			break
		}
	}
	return all[from:to]
}

// WithReceipt is a report with the receipt of a file in the place of its own, and its
// evidence, the run's own line first, with what the file's watch read during each row. The
// figures that follow from evidence are computed anew. Hashes and ids are not: Seal makes
// them. The error says why the two do not fit.
func (b *Bundle) WithReceipt(f *row.ReceiptFile, sum string) (*row.Report, []row.Evidence, error) {
	own := &b.Report.Receipt
	switch {
	case own.Taken != nil:
		return nil, nil, fmt.Errorf("the report has a receipt already, taken on %s at %s", own.Taken.Host, own.Taken.At)
	case own.Engine.StartedAt != "" || own.Engine.CommandLine != nil:
		return nil, nil, errors.New("the run itself saw the server's process: its own receipt is nearer than any file")
	case own.Engine.Name != "" && f.Receipt.Engine.Name != "" && own.Engine.Name != f.Receipt.Engine.Name:
		return nil, nil, fmt.Errorf("the run measured %s, and the receipt is of %s", own.Engine.Name, f.Receipt.Engine.Name)
	}
	r := *b.Report
	r.Receipt = Taken(f, sum)
	r.Receipt.Engine.Model = cmp.Or(own.Engine.Model, r.Receipt.Engine.Model)
	r.Rows = slices.Clone(r.Rows)
	evidence := []row.Evidence{TakenEvidence(f)}
	for i := range r.Rows {
		d, n := &b.Rows[i], &r.Rows[i]
		if d.Evidence == nil {
			if n.Proof.Source == nil {
				return nil, nil, fmt.Errorf("row %d: no evidence of when it was measured", i)
			}
			continue // an import has none, and its requests' times are no wall clock's
		}
		ev := *d.Evidence
		ev.Unread = maps.Clone(ev.Unread)
		Watched(f, &ev, row.Lasted(d.Samples))
		evidence = append(evidence, ev)
		if d.Samples == nil {
			continue
		}
		var gpus int64
		if r.AsItWas != nil {
			gpus = r.AsItWas.Recipe.GPUs()
		}
		c := row.Compute(&n.Workload, gpus, d.Samples, &ev)
		n.Figures, n.Missing, n.Server = c.Figures, c.Missing, c.Server
		if r.Schema == row.Schema && n.Import == nil {
			n.Notes = append(row.Notes(n, row.Seed(&n.Workload, d.Samples), r.Client.Stamps), ev.Notes...)
		}
	}
	return &r, evidence, nil
}

// Seal gives a report the hashes of its evidence and each row the id that follows, and
// returns the evidence as it is stored.
func Seal(r *row.Report, evidence []row.Evidence) ([]byte, error) {
	packed, sums, err := EncodeEvidence(evidence)
	if err != nil {
		return nil, err
	}
	for i, ev := range evidence {
		switch {
		case ev.Row < 0:
			r.Receipt.EvidenceSHA256 = sums[i]
		default:
			r.Rows[ev.Row].Proof.Evidence = &sums[i]
		}
	}
	for i := range r.Rows {
		if r.Rows[i].ID, err = ID(r, i); err != nil {
			return nil, err
		}
	}
	return packed, nil
}
