package main

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"rowproof/internal/row"
)

// shape is a prompt length and an output length in tokens: one entry of --cells.
type shape struct{ isl, osl int64 }

func (s shape) String() string {
	return strconv.FormatInt(s.isl, 10) + ":" + strconv.FormatInt(s.osl, 10)
}

// The default sweep: balanced, prefill-heavy and decode-heavy, each alone and under load.
var (
	defaultShapes = []shape{{128, 128}, {2048, 128}, {128, 1024}}
	defaultLadder = []int64{1, 4, 8}
)

// parseShapes reads "512:256,4096:64"; wrong says of each entry that is not ISL:OSL what
// is the matter with it.
func parseShapes(s string) (shapes []shape, wrong []string) {
	for _, part := range strings.Split(s, ",") {
		part = strings.TrimSpace(part)
		isl, osl, found := strings.Cut(part, ":")
		i, iOK := parseCount(isl)
		o, oOK := parseCount(osl)
		switch {
		case !found || !iOK || !oOK:
			wrong = append(wrong, strconv.Quote(part)+" is no ISL:OSL")
		case slices.Contains(shapes, shape{i, o}):
			wrong = append(wrong, part+" stands twice")
		}
		shapes = append(shapes, shape{i, o})
	}
	return shapes, wrong
}

// parseLadder reads "1,4,16" into ascending order, so that the c=1 row which
// speedup_vs_c1 divides by is measured before the rows that need it.
func parseLadder(s string) (ladder []int64, wrong []string) {
	for _, part := range strings.Split(s, ",") {
		part = strings.TrimSpace(part)
		c, ok := parseCount(part)
		switch {
		case !ok:
			wrong = append(wrong, strconv.Quote(part)+" is no number of streams")
		case slices.Contains(ladder, c):
			wrong = append(wrong, part+" stands twice")
		}
		ladder = append(ladder, c)
	}
	slices.Sort(ladder)
	return ladder, wrong
}

// parseCount reads a whole number from 1 to a million: lengths, streams, requests.
func parseCount(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 1 && n <= 1_000_000
}

// planned is one row to be measured.
type planned struct {
	shape                     // of a dataset not known before
	name        string        // of what is asked: the shape, or a file
	concurrency int64         // streams; 0 in open loop
	span        time.Duration // of a trace's own times
	rate        string        // open loop: requests a second as written, or ownTimes
	seed        uint64
	workload    row.Workload
}

// plan lists the rows in the order they are measured: shape by shape, up the ladder.
func (o *benchOptions) plan() []planned {
	shapes, rates := o.asked(), o.rates
	if o.traceFile != "" && rates == nil {
		rates = []string{ownTimes}
	}
	var rows []planned
	for _, s := range shapes {
		for _, rate := range rates {
			rows = append(rows, o.row(s, 0, rate, len(rows)))
		}
		if rates == nil {
			for _, c := range o.ladder {
				rows = append(rows, o.row(s, c, "", len(rows)))
			}
		}
	}
	return rows
}

// row is the run's k-th row: of a shape under streams, or in open loop at a rate.
func (o *benchOptions) row(s shape, streams int64, rate string, k int) planned {
	p := planned{shape: s, name: s.String(), concurrency: streams, rate: rate, seed: rowSeed(o.seed, k)}
	o.describe(&p)
	return p
}

// asked are the shapes of a run; of a file's requests there is one, not known before.
func (o *benchOptions) asked() []shape {
	if o.trace != nil || o.dataset != nil {
		return []shape{{}}
	}
	return o.shapes
}

// describe fills in a row's workload, and the shape and name that follow from it.
func (o *benchOptions) describe(p *planned) {
	p.workload = o.workload(p)
	w := &p.workload
	switch {
	case o.trace != nil:
		o.describeTrace(w)
		p.name = named(o.traceFile)
		p.span = o.trace.Requests[o.traced()-1].At
	case o.dataset != nil:
		o.describeDataset(w)
		p.name = named(o.datasetFile)
	}
	p.shape = shape{w.ISL, w.OSL}
}

func (o *benchOptions) workload(p *planned) row.Workload {
	w := row.Workload{
		Kind:      "text",
		Protocol:  o.protocol,
		Endpoint:  o.endpoint,
		ISL:       p.isl,
		OSL:       p.osl,
		Load:      row.Load{Concurrency: &p.concurrency},
		Prompts:   row.Prompts{Kind: row.PromptsRandom, State: row.Cold, SharedPrefix: o.sharedPrefix},
		Sampling:  o.sampling,
		ExtraBody: o.shownExtraBody(),
		Seed:      strconv.FormatUint(p.seed, 10),
		Warmup:    o.warmup,
		Repeats:   o.repeats,
	}
	if o.repeatPrompts {
		w.Prompts.State = row.Warm
	}
	switch {
	case p.rate != "":
		o.offer(&w, p)
	case o.protocol == row.Passes:
		iters := o.iters
		w.Iters = &iters
	case o.duration > 0:
		seconds := int64(o.duration.Seconds())
		w.DurationS = &seconds
	default:
		n := o.requests
		if n == 0 {
			n = max(20, 10*p.concurrency, o.leastRequests)
		}
		w.Requests = &n
	}
	return w
}

// shownExtraBody is what a report may hold of the members added to each request.
func (o *benchOptions) shownExtraBody() map[string]string {
	shown := maps.Clone(o.extraBody)
	for key, text := range shown {
		if inside, ok := maskMembers(text, isSecretName(key), nil); ok {
			text = inside
		}
		shown[key] = o.secrets.scrub(text)
	}
	return shown
}

// rowSeed is the seed of the run's k-th row. The first row's is the run's own, so any
// row can be made again by a run of that row alone under its recorded seed; the others
// are hashed from it, so that no two rows of a run share prompts.
func rowSeed(run uint64, k int) uint64 {
	if k == 0 {
		return run
	}
	sum := sha256.Sum256([]byte(strconv.FormatUint(run, 10) + "/" + strconv.Itoa(k)))
	return binary.BigEndian.Uint64(sum[:8])
}
