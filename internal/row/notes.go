package row

import (
	"slices"
	"strconv"
	"strings"
)

// The words with which notes begin; readers of the CSV match them.
const (
	ColdNote = "prompts=cold (a fresh prompt every iteration; prefill_tok_s prices prompt ingest)"
	WarmNote = "prompts=warm (the warm-up and every iteration reuse one prompt set; prefill_tok_s reads cache admits)"

	// of a trace, whose prompts are neither
	TraceNote = "prompts=trace (equal hash ids are equal blocks; the warm-up asks as its first requests do with blocks of its own)"
)

// manyShared is the share of the chunks beyond which it matters that a read brought
// several under one stamp.
const manyShared = 0.001

// Notes says what a row measured, as far as that follows from the row itself: from its
// workload, its counts, the reasons of what is missing and the client's kind of stamps.
// Notes in words of this program hold no comma, so that the CSV needs no quotes round
// them; a server's own words stay as they are.
func Notes(r *Row, seed SeedColumns, stamps string) []string {
	out := plainNotes(r)
	out = append(out, emptyColumns(r, seed)...)
	out = append(out, lengthNotes(&r.Workload, &r.Counts)...)
	if n := r.Server.Clock.note(); n != "" {
		out = append(out, n)
	}
	out = append(out, stampNotes(stamps, &r.Counts)...)
	for i, s := range out {
		out[i] = OneNote(s)
	}
	return out
}

// usualEndpoint needs no note.
const usualEndpoint = "/v1/completions"

// plainNotes follow from the workload and the cached tokens.
func plainNotes(r *Row) []string {
	w := &r.Workload
	n := []string{ColdNote}
	switch {
	case w.Prompts.State == Warm:
		n[0] = WarmNote
	case w.Prompts.Kind == PromptsTrace:
		n[0] = TraceNote
	}
	if w.Prompts.SHA256 != nil {
		n = append(n, w.Prompts.Kind+"="+short(*w.Prompts.SHA256))
	}
	if w.Block != nil {
		n = append(n, "trace_block="+itoa(*w.Block))
	}
	if w.Sessions != nil {
		n = append(n, "sessions="+itoa(*w.Sessions))
	}
	if l := w.Lengths; l != nil {
		isl := "isl p50=" + itoa(l.ISLP50) + " p99=" + itoa(l.ISLP99)
		if l.ISLP50 == 0 {
			isl = "isl: the server does not say"
		}
		n = append(n, isl+" osl p50="+itoa(l.OSLP50)+" p99="+itoa(l.OSLP99))
	}
	if w.Prompts.SharedPrefix > 0 {
		n = append(n, "shared_prefix="+itoa(w.Prompts.SharedPrefix))
	}
	n = append(n, "protocol="+w.Protocol)
	if w.Endpoint != "" && w.Endpoint != usualEndpoint {
		n = append(n, "endpoint="+w.Endpoint)
	}
	n = append(n, openNotes(w)...)
	switch {
	case w.Requests != nil:
		n = append(n, "requests="+itoa(*w.Requests))
	case w.DurationS != nil:
		n = append(n, "duration_s="+itoa(*w.DurationS))
	}
	if w.Repeats > 1 {
		n = append(n, "repeats="+itoa(w.Repeats))
	}
	if w.Warmup == 0 {
		n = append(n, "cold start: no warm-up")
	}
	if c := r.Counts.CachedTokens; c != nil {
		n = append(n, "cached_tok="+itoa(*c)+sharesOf(&r.Counts))
	} else if c := r.Server.CachedTok; c != nil {
		n = append(n, "cached_tok="+itoa(*c)+" (with warm-up)")
	}
	return n
}

// openNotes say how the requests of an open loop came, and which columns have no meaning
// there.
func openNotes(w *Workload) (n []string) {
	if !w.OpenLoop() {
		return nil
	}
	if r := w.Load.RequestRate; r != nil {
		n = append(n, "request_rate="+*r)
	}
	if b := w.Load.Burstiness; b != nil {
		n = append(n, "burstiness="+*b)
	}
	none := "no streams in open loop: "
	if c := w.Load.Concurrency; c != nil {
		n = append(n, "max_concurrency="+itoa(*c))
	} else {
		none += "concurrency "
	}
	return append(n, none+"speedup_vs_c1 batching_efficiency admitted_tok")
}

// sharesOf sets the cached tokens of a trace beside those that a cache without bounds
// would have held.
func sharesOf(c *Counts) string {
	if c.PromptTokens == nil || c.CommonTokens == nil || *c.PromptTokens == 0 {
		return ""
	}
	percent := func(n int64) string {
		return strconv.FormatFloat(100*float64(n)/float64(*c.PromptTokens), 'f', 1, 64) + "%"
	}
	return " (" + percent(*c.CachedTokens) + " of the prompt tokens; in theory " + itoa(*c.CommonTokens) + " or " + percent(*c.CommonTokens) + ")"
}

// short is the head of a hash: enough to tell files apart.
func short(hash string) string { return hash[:min(12, len(hash))] }

// lengthNotes say where lengths are not those that were asked for, and where the server
// counted no tokens.
func lengthNotes(w *Workload, c *Counts) (out []string) {
	for _, l := range []struct {
		name  string
		seen  *Range
		asked int64
	}{{"isl", c.ISL, w.ISL}, {"osl", c.OSL, w.OSL}} {
		if l.seen != nil && w.Lengths == nil && (l.seen.Min != l.asked || l.seen.Max != l.asked) {
			out = append(out, l.name+"="+itoa(l.seen.Min)+".."+itoa(l.seen.Max)+" of "+itoa(l.asked)+" asked")
		}
	}
	if c.Reasoning != nil {
		out = append(out, "reasoning_tok="+itoa(*c.Reasoning)+" of the output")
	}
	if c.MultiTokenChunks > 0 {
		out = append(out, itoa(c.MultiTokenChunks)+" of "+itoa(c.Chunks)+" chunks held several tokens: the gap before each is spread over them")
	}
	if c.Completed > 0 && c.ISL == nil && c.TokensFrom != TokensClient {
		out = append(out, "isl: the server reported none")
	}
	switch c.TokensFrom {
	case TokensClient:
		out = append(out, "tokens counted by chunks (the server reports no usage)")
	case TokensIDs:
		out = append(out, "tokens counted by their ids in the chunks (the server reports no usage)")
	}
	return out
}

// stampNotes say where the arrival times come from, unless from a ring, and how many of
// them stand for several chunks.
func stampNotes(stamps string, c *Counts) (out []string) {
	if stamps != "" && stamps != "ring" {
		out = append(out, "stamps="+stamps)
	}
	if share := float64(c.SharedStamps) / float64(max(c.Chunks, 1)); share > manyShared {
		out = append(out, "shared_stamps="+strconv.FormatFloat(100*share, 'f', 1, 64)+"% of the chunks (one read brought several)")
	}
	return out
}

// emptyColumns gives the reason of each CSV column that stays empty.
func emptyColumns(r *Row, seed SeedColumns) []string {
	var out []string
	for _, c := range []struct {
		name   string
		absent bool
		reason string
	}{
		{"first_call_ms", seed.FirstCall == nil, r.Missing["first_call_ms"]},
		{"ttft_ms", seed.TTFT == nil, r.Missing["ttft_ms"]},
		{"prefill_tok_s", seed.PrefillTokPerSec == nil, r.Missing["prefill_tok_s"]},
		{"itl_p50_ms", seed.ITLP50 == nil, firstOf(r.Missing, "itl_decode_ms.p50", "itl_decode_ms")},
		{"itl_p99_ms", seed.ITLP99 == nil, firstOf(r.Missing, "itl_decode_ms.p99", "itl_decode_ms")},
		{"prefill_chunk_ms_p50", seed.ChunkP50 == nil, firstOf(r.Missing, "ingest_gap_ms.p50", "ingest_gap_ms")},
		{"prefill_chunk_ms_max", seed.ChunkMax == nil, r.Missing["ingest_gap_ms"]},
		{"decode_tok_s", seed.DecodeTokPerSec == nil, r.Missing["decode_tok_s"]},
	} {
		if c.absent && c.reason != "" {
			out = append(out, c.name+": "+c.reason)
		}
	}
	if silent := silentNote(&r.Server, r.Workload.OpenLoop()); silent != "" {
		out = append(out, silent)
	}
	return slices.Compact(out)
}

// silentNote names the CSV columns that only the engine could fill, and does not.
func silentNote(s *Server, open bool) string {
	var silent []string
	for _, c := range []struct {
		name   string
		absent bool
	}{
		{"admitted_tok", s.AdmittedTok == nil && !open},
		{"peak_active_bytes", s.PeakActive == nil},
		{"num_allocs", s.NumAllocs == nil},
		{"num_inflight_park_waits", s.ParkWaits == nil},
	} {
		if c.absent {
			silent = append(silent, c.name)
		}
	}
	if len(silent) == 0 {
		return ""
	}
	return "the engine does not say: " + strings.Join(silent, " ")
}

func firstOf(m map[string]string, keys ...string) string {
	for _, k := range keys {
		if m[k] != "" {
			return m[k]
		}
	}
	return ""
}

// OneNote keeps a note on one line and to a length that can be read.
func OneNote(s string) string {
	s = strings.NewReplacer("\n", " ", "\r", " ").Replace(s)
	if r := []rune(s); len(r) > 300 {
		s = string(r[:300]) + "…"
	}
	return s
}

// observedNotes are the forms of what only the run itself could see: # stands for a
// number, @ for a word.
var observedNotes = []string{
	"simulated: not a measurement",
	"device=cuda", "device=rocm", "device=cpu",
	"device=cuda (stated; no receipt shows it)", "device=rocm (stated; no receipt shows it)",
	"speedup_vs_c1 and batching_efficiency: no rate at c=1 in this run",
	"the server refuses ignore_eos: outputs may end early",
	"this route takes no ignore_eos: outputs may end early",
	"the server refuses @: not sent",
	"prompt=text: the server does not say how many tokens it is",
	"prompt=text calibrated (# words of one token each and # tokens around them)",
	"prompt=text calibrated (# tokens a word and # around them)",
	"prompt=text calibrated by /tokenize (# words of one token each and # tokens around them)",
	"prompt=text calibrated by /tokenize (# tokens a word and # around them)",
	"the packet ring did not see the connections of # of # requests; they have the kernel's stamp of each read",
	"the packet ring did not see # of # connections: what they brought has no stamp",
	"the packet ring dropped # packets",
	"HTTP/# over TLS #",
	"the server's name has # addresses; one of them was measured",
	"answers stayed in memory: no temporary file took them",
	"the load stopped after # failures in a row",
	"@ of the environment was not used: the server itself is measured",
	"@, @ of the environment was not used: the server itself is measured",
	"@, @, @ of the environment was not used: the server itself is measured",
	"the dataset has no prompt left: # were sent in repeat #",
	"# of # streams stopped after # failures in a row",
	"the client took #% of a core: it may have been the limit",
	"content parts of type @ are unknown and were counted as content",
}

// StrayNotes are the notes of a row that neither follow from its workload, its samples
// and what was computed from them, nor have the form of something that the run observed.
// bound, of a row whose evidence lists what was observed, asks for those notes alone.
func StrayNotes(r *Row, c *Computed, samples []Sample, stamps string, bound *Evidence) []string {
	recomputed := c.row(&r.Workload)
	// With every column taken for empty, a reason counts wherever its figure is missing.
	known := append(Notes(recomputed, SeedColumns{}, stamps), keptNote(samples))
	var stray []string
	for _, note := range r.Notes {
		observed := slices.ContainsFunc(observedNotes, func(form string) bool { return hasForm(note, form) })
		if !slices.Contains(known, note) && (!observed || bound != nil && !slices.Contains(bound.Notes, note)) {
			stray = append(stray, note)
		}
	}
	return stray
}

// LostNotes are the notes that a row should have and has not: those that follow from its
// workload, its samples and what was computed from them, and those that its evidence lists.
func LostNotes(r *Row, c *Computed, samples []Sample, stamps string, ev *Evidence) []string {
	want := Notes(c.row(&r.Workload), Seed(&r.Workload, samples), stamps)
	if note := keptNote(samples); slices.ContainsFunc(samples, func(s Sample) bool { return !s.Kept() }) {
		want = append(want, note)
	}
	var lost []string
	for _, note := range append(want, ev.Notes...) {
		if !slices.Contains(r.Notes, note) {
			lost = append(lost, note)
		}
	}
	return lost
}

// row is what of a row its notes follow from.
func (c *Computed) row(w *Workload) *Row {
	return &Row{Workload: *w, Missing: c.Missing, Counts: c.Counts, Server: c.Server}
}

// keptNote says that gaps were kept of some requests only.
func keptNote(samples []Sample) string {
	kept := 0
	for i := range samples {
		if samples[i].Kept() {
			kept++
		}
	}
	return KeptNote(kept, len(samples))
}

// KeptNote says of how many requests the gaps were kept.
func KeptNote(kept, all int) string {
	return "gaps kept of " + strconv.Itoa(kept) + " of " + strconv.Itoa(all) + " requests drawn by the seed"
}

// hasForm says whether a text is of a form, in which # is a number and @ a word.
func hasForm(text, form string) bool {
	for i := range len(form) {
		var in func(c byte) bool
		switch form[i] {
		case '#':
			in = func(c byte) bool { return c >= '0' && c <= '9' || c == '.' }
		case '@':
			in = func(c byte) bool {
				return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("_-./\"", c) >= 0
			}
		default:
			if text == "" || text[0] != form[i] {
				return false
			}
			text = text[1:]
			continue
		}
		n := 0
		for n < len(text) && n < 48 && in(text[n]) {
			n++
		}
		if n == 0 {
			return false
		}
		text = text[n:]
	}
	return text == ""
}
