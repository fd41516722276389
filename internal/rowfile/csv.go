package rowfile

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/row"
)

// CSVHeader is the first line of the CSV, without its newline.
const CSVHeader = "isl,osl,concurrency,first_call_ms,ttft_ms,prefill_tok_s,itl_p50_ms,itl_p99_ms," +
	"prefill_chunk_ms_p50,prefill_chunk_ms_max,decode_tok_s,speedup_vs_c1,batching_efficiency," +
	"admitted_tok,retires,peak_active_bytes,num_allocs,num_inflight_park_waits,status,reason,notes"

// CSV writes the header and one line a row of the report; seeds are the rows' columns,
// one a row in the same order. An unknown value is empty, and numbers take their
// shortest form that reads back.
func CSV(r *row.Report, seeds []row.SeedColumns) []byte {
	b := []byte(CSVHeader + "\n")
	for i := range min(len(r.Rows), len(seeds)) {
		b = appendCSV(b, &r.Rows[i], &seeds[i], singleRate(r, seeds, i))
	}
	return b
}

// singleRate is the decode rate of the same load at concurrency 1, or nil.
func singleRate(r *row.Report, seeds []row.SeedColumns, i int) *float64 {
	w := r.Rows[i].Workload
	for k := range seeds {
		o := r.Rows[k].Workload
		if c := o.Load.Concurrency; c != nil && *c == 1 && alike(&o, &w) {
			return seeds[k].DecodeTokPerSec
		}
	}
	return nil
}

// alike says whether two rows differ at most in how many streams they have. Of a dataset
// the lengths are those of the prompts that each row drew.
func alike(a, b *row.Workload) bool {
	return !a.OpenLoop() && !b.OpenLoop() && a.Family() == b.Family() &&
		(a.ISL == b.ISL && a.OSL == b.OSL || a.Prompts.Kind == row.PromptsDataset)
}

func appendCSV(b []byte, r *row.Row, s *row.SeedColumns, single *float64) []byte {
	var speedup, efficiency *float64
	c := r.Workload.Load.Concurrency
	if single != nil && *single > 0 && s.DecodeTokPerSec != nil && c != nil && *c > 0 {
		up := *s.DecodeTokPerSec / *single
		each := up / float64(*c)
		speedup, efficiency = &up, &each
	}
	isl := &r.Workload.ISL
	if *isl == 0 { // of a dataset, where the server did not say
		isl = nil
	}
	fields := []string{
		whole(isl), whole(&r.Workload.OSL), whole(c),
		float(s.FirstCall), float(s.TTFT), float(s.PrefillTokPerSec),
		float(s.ITLP50), float(s.ITLP99), float(s.ChunkP50), float(s.ChunkMax),
		float(s.DecodeTokPerSec), float(speedup), float(efficiency),
		whole(r.Server.AdmittedTok), whole(&s.Retires), whole(r.Server.PeakActive),
		whole(r.Server.NumAllocs), whole(r.Server.ParkWaits), r.Status,
	}
	for _, f := range fields {
		b = append(appendField(b, f), ',')
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(oneLine(r.Reason), `"`, `""`)...)
	b = append(b, '"', ',')
	return append(appendField(b, strings.Join(r.Notes, "; ")), '\n')
}

// appendField quotes a field only where encoding/csv would.
func appendField(b []byte, field string) []byte {
	var one strings.Builder
	w := csv.NewWriter(&one)
	// A strings.Builder never fails; a lone empty field would be quoted, so it is not
	// written at all.
	if field = oneLine(field); field == "" {
		return b
	}
	_ = w.Write([]string{field})
	w.Flush()
	return append(b, strings.TrimSuffix(one.String(), "\n")...)
}

// oneLine keeps a record on one line: readers of the sweep's output part it at newlines.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\n\r") {
		return s
	}
	return strings.Join(slices.DeleteFunc(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }),
		func(s string) bool { return strings.TrimSpace(s) == "" }), " ")
}

func float(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}

func whole(v *int64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatInt(*v, 10)
}
