package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"rowproof/internal/gate"
	"rowproof/internal/launch"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

// judge runs the gates over the rows as they lie in memory.
func (o *output) judge(root string) [][]gate.Result {
	b := rowfile.Bundle{
		Path: o.reportFile(), Report: o.report, Evidence: o.evidence,
		Now: time.Now().UTC().Format(time.RFC3339),
	}
	if data, err := rowfile.Encode(o.report); err != nil {
		b.Problems = []string{err.Error()}
	} else if _, problems, err := rowfile.Decode(data); err != nil {
		b.Problems = []string{err.Error()}
	} else {
		b.Problems = problems
	}
	for i := range o.report.Rows {
		r := &o.report.Rows[i]
		b.Rows = append(b.Rows, rowfile.RowData{
			Row: r, ComputedID: r.ID, SamplesSHA256: *r.Proof.Samples, EvidenceSHA256: *r.Proof.Evidence,
			Samples: o.samples[i], Evidence: &o.evidence[i+1],
		})
	}
	known, _ := openCatalog(root)
	b.Today = todayOf(known, o.report)
	return b.Judge(nil)
}

// close prints the table of the run and what would verify the rows that are not, and
// returns the rows' verdicts.
func (s *sweep) close(w io.Writer, out *output) []string {
	if len(out.report.Rows) == 0 {
		return nil
	}
	var verdicts []string
	var lines []tableRow
	var hints remedies
	var lag clientLag
	for i, results := range out.judge(s.o.root) {
		r := &out.report.Rows[i]
		line := tableRow{
			shape: shape{r.Workload.ISL, r.Workload.OSL}, load: loadColumn(&r.Workload),
			outputTokPerS: r.Figures.OutputTokPerSec, roof: ofRoof(out.report.AsItWas, r),
			verdict: gate.VerdictOf(r, results), height: height(&r.Workload),
		}
		if d := r.Figures.TTFT; d != nil {
			line.ttft = d.P50
		}
		if d := r.Figures.ITL; d != nil {
			line.itl50, line.itl99 = d.P50, d.P99
		}
		switch {
		case r.Status != row.StatusOK:
			line.reason = r.Reason
		case s.srv.simulated():
			line.verdict, line.reason = gate.Unverified, simulatedNote
			for _, g := range results {
				if _, why, spoilt := strings.Cut(g.Reason, gate.Spoilt); spoilt {
					line.reason += "; " + g.Gate + ": " + why
				}
			}
		default:
			for _, g := range gate.Blocking(results) {
				if line.reason == "" {
					line.reason = g.Gate + ": " + g.Head()
				}
				hints.add(g.Gate, g.Mend)
			}
		}
		verdicts = append(verdicts, line.verdict)
		lag.add(line.shape.String()+" "+loadWords(&r.Workload), r, &out.evidence[i+1], out.samples[i])
		lines = append(lines, line)
	}
	if s.o.slo != nil {
		// A search goes to and fro; a reader looks for the load at which it turns.
		place := map[shape]int{}
		for i, l := range lines {
			if _, seen := place[l.shape]; !seen {
				place[l.shape] = i
			}
		}
		slices.SortStableFunc(lines, func(a, b tableRow) int {
			return cmp.Or(cmp.Compare(place[a.shape], place[b.shape]), cmp.Compare(a.height, b.height))
		})
	}
	fmt.Fprintln(w)
	writeTable(w, lines)
	lag.tell(w)
	if slices.Contains(verdicts, gate.Unverified) && !s.srv.simulated() {
		lines := hints.lines()
		if again := s.verifying(&out.report.Receipt); again != "" {
			lines = append(lines, again)
		}
		if len(lines) > 0 {
			fmt.Fprintln(w, "\nTo verify what is unverified:\n  "+strings.Join(lines, "\n  "))
		}
	}
	if s.o.verbose {
		memory(w, out)
	}
	if out.written > 0 {
		fmt.Fprintf(w, "\nEvery gate's reason: measure check %s\n", launch.Quote(out.prefix+".json"))
	}
	return verdicts
}

// remedies are what would open or mend gates, each with the gates that it is for.
type remedies struct {
	texts []string
	gates map[string][]string
}

func (r *remedies) add(gate, mend string) {
	switch {
	case mend == "":
		return
	case r.gates == nil:
		r.gates = map[string][]string{}
	}
	if !slices.Contains(r.texts, mend) {
		r.texts = append(r.texts, mend)
	}
	if !slices.Contains(r.gates[mend], gate) {
		r.gates[mend] = append(r.gates[mend], gate)
	}
}

func (r *remedies) lines() []string {
	var out []string
	for _, text := range r.texts {
		out = append(out, strings.Join(r.gates[text], ", ")+": "+text)
	}
	return out
}

// memory tells the load time and the peak memory of a run, as far as they are known.
func memory(w io.Writer, out *output) {
	fmt.Fprintln(w, "\nload time: unknown: the server was running before this began")
	var pool, device float64
	for i := range out.report.Rows {
		if p := out.report.Rows[i].Figures.PeakMemory; p != nil {
			pool = max(pool, *p)
		}
		for _, d := range out.evidence[i+1].Devices {
			if d.MemoryUsed != nil {
				device = max(device, float64(*d.MemoryUsed))
			}
		}
	}
	say := func(what string, bytes float64) {
		text := "unknown: nothing here says"
		if bytes > 0 {
			text = strconv.FormatFloat(bytes/1e9, 'f', 2, 64) + " GB"
		}
		fmt.Fprintf(w, "peak memory, %s: %s\n", what, text)
	}
	say("weights and cache in use by the engine's word", pool)
	say("most held on one device", device)
}

// verifying is this run's own command with what the gates, and then publish, ask for;
// "" where it had all of that.
func (s *sweep) verifying(r *row.Receipt) string {
	words := slices.Clone(s.o.command)
	at := func(name string) int {
		return slices.IndexFunc(words, func(w string) bool { return w == name || strings.HasPrefix(w, name+"=") })
	}
	added := false
	add := func(name, val string) {
		if at(name) < 0 {
			words, added = append(words, name, val), true
		}
	}
	add("--recipe", s.likelyRecipe(r))
	add("--repeats", "3")
	add("--output", freePrefix("run"))
	if !added {
		return ""
	}
	if s.o.output != "" { // its files are there by now
		i, free := at("--output"), freePrefix(s.o.output)
		if words[i] == "--output" {
			words[i+1] = free
		} else {
			words[i] = "--output=" + free
		}
	}
	for i, w := range words {
		words[i] = launch.Quote(w)
	}
	return strings.Join(words, " ")
}

// likelyRecipe is the first recipe of the model on the engine and the devices that the
// server runs on, or the form of one, with what is known of them filled in.
func (s *sweep) likelyRecipe(r *row.Receipt) string {
	used := slices.DeleteFunc(slices.Clone(r.Devices), func(d row.Device) bool { return !d.Used })
	if len(used) == 0 || slices.ContainsFunc(used, func(d row.Device) bool { return d.Name != used[0].Name }) {
		return "MODEL/TARGET/STRATEGY/ENGINE"
	}
	_, model := s.cat.ModelByName(s.srv.model)
	for _, key := range recipesOf(s.cat, model) {
		parts := strings.Split(key, "/")
		t, ok := s.cat.Target(parts[1])
		if ok && parts[3] == s.srv.engine && int64(len(used)) == t.Count && t.Is(used[0].Name) {
			return key
		}
	}
	return cmp.Or(model, "MODEL") + "/" + cmp.Or(s.cat.TargetOf(used[0].Name, int64(len(used))), "TARGET") + "/STRATEGY/" + cmp.Or(s.srv.engine, "ENGINE")
}

// ofRoof is the hard floor of a token in percent of the measured TPOT, at the row's own
// batch and context; nil where recipe, figure or ceiling is missing.
func ofRoof(a *row.AsItWas, r *row.Row) *float64 {
	if a == nil {
		return nil
	}
	step, why := a.Step(r)
	if why != "" || roofline.Ceiling(step.Query).DecodeStepMS == nil {
		return nil
	}
	held := roofline.Held{Figure: roofline.HeldTPOT, Value: step.TPOT, Decode: step.Query, Drafted: step.Drafted, Yielded: step.Yielded}
	percent := 100 * held.Share()
	return &percent
}

// announce says in one line what is about to be measured, and in another what will be
// missing for a verdict.
func (s *sweep) announce(w io.Writer, plan course, r *row.Report) {
	engine := strings.TrimSpace(r.Receipt.Engine.Name + " " + r.Receipt.Engine.Version)
	if engine == "" {
		engine = "an engine that does not say what it is"
	}
	fmt.Fprintf(w, "measuring %s on %s at %s: %s, %s, seed %d\n",
		oneLine(s.srv.model), oneLine(engine), s.srv.base.Redacted(), plan.words(), s.o.protocol, s.o.seed)
	foretell(w, &r.Client)
	if s.o.verbose {
		defer s.details(w, r)
	}
	if s.srv.simulated() {
		return
	}
	var closed []string
	for _, c := range s.closedGates(r) {
		closed = append(closed, strings.Join(c.Gates, " and ")+" ("+c.Why+")")
	}
	if len(closed) > 0 {
		fmt.Fprintf(w, "gates that can't be judged: %s\n", strings.Join(closed, "; "))
	}
}

// details are the -v lines: what the receipt says, and what could not be read.
func (s *sweep) details(w io.Writer, r *row.Report) {
	for _, d := range r.Receipt.Devices {
		fmt.Fprintf(w, "device %d: %s, driver %s, in use by the server: %t\n", d.Index, d.Name, d.Driver, d.Used)
	}
	fmt.Fprintf(w, "stamps: %s\n", r.Client.Stamps)
	if t := r.Client.Selftest; t != nil {
		fmt.Fprintf(w, "selftest, %d streams: ITL error p50 %d ns, p99 %d ns, max %d ns; TTFT error p99 %d ns\n",
			t.Streams, t.ITLErrorNS.P50, t.ITLErrorNS.P99, t.ITLErrorNS.Max, t.TTFTErrorNS.P99)
	}
	names := make([]string, 0, len(r.Receipt.Unread))
	for name := range r.Receipt.Unread {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(w, "not read: %s: %s\n", name, oneLine(r.Receipt.Unread[name]))
	}
}

// checkDevice holds --device against the receipt, and notes what was found.
func (s *sweep) checkDevice(r *row.Receipt) error {
	if s.o.device == "" || s.o.device == "auto" {
		return nil
	}
	var seen []string
	for _, d := range r.Devices {
		kind := "cuda"
		if name := strings.ToUpper(d.Name); strings.Contains(name, "AMD") || strings.Contains(name, "INSTINCT") {
			kind = "rocm"
		}
		if d.Used && kind != s.o.device {
			return refuse(exitUsage, "--device %s: the server uses %s; want --device %s", s.o.device, d.Name, kind)
		}
		if d.Used {
			seen = append(seen, d.Name)
		}
	}
	note := "device=" + s.o.device
	if len(seen) == 0 && s.o.device != "cpu" {
		note += " (stated; no receipt shows it)"
	}
	s.extra = append(s.extra, note)
	return nil
}
