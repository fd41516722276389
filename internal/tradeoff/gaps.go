package tradeoff

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// What is measured of every recipe, so that cells can stand side by side: the first
// shape in any case, the others once a recipe has rows.
var (
	shapes = [][2]int64{{1024, 256}, {2048, 128}, {128, 1024}}
	ladder = []int64{1, 4, 16, 64}
)

// What a run costs beside its roof. A start is what engines took on the measured
// hosts (80 to 250 s); runs reached 0.5 to 0.7 of the roof there.
const (
	startSeconds = 180
	efficiency   = 0.6
	warmupWaves  = 2
	leastWaves   = 10 // requests of a repeat: 10 a stream …
	leastTimed   = 20 // … and at least 20
)

// Basis says how GPU-minutes are estimated, a GPU.
const Basis = "180 s to start, then at each load 3 repeats of 2 warm-up waves and 10 requests a stream, 20 at least, at 60% of the roof, or of the expected line where that is another"

// Kinds of gap.
const (
	GapRecipe = "recipe" // a recipe without rows
	GapLoad   = "load"   // a concurrency that a measured shape lacks
	GapShape  = "shape"  // a shape that a measured recipe lacks
	GapRank   = "rank"   // rows that stand in no ranking
)

// Gap is something not measured, with what it would cost and how to close it.
type Gap struct {
	Rank       int // from 1
	Kind       string
	Recipe     string // MODEL/TARGET/STRATEGY/ENGINE
	Model      string
	Target     string
	Strategy   string
	Engine     string
	Shape      string // ISL:OSL
	Loads      []int64
	What       string   // a sentence
	Why        string   // a sentence
	Changes    []string // recommendations that it could change: its roof passes what leads
	Likely     int      // of those, how many change if it comes as near its roof as measured runs did
	GPUs       int64
	GPUMinutes *int64 // about; nil when no roof could be computed
	Basis      string // how the minutes were estimated, or why they were not
	Command    string // on a shell, against the recipe's server
}

// Gaps lists what is not measured: of each recipe that can run, the loads of the plan
// without a row that ranks. The first are those that could change most recommendations a
// GPU-minute, likely changes counting twice; those that could change none follow, the
// cheapest first.
func Gaps(c Catalog, rows []Measured) []Gap {
	best := leaders(rows)
	var gaps []Gap
	for _, id := range slices.Sorted(maps.Keys(c.Recipes)) {
		if c.Recipes[id] == nil || unfit(c, id) != "" {
			continue
		}
		gaps = append(gaps, recipeGaps(c, id, rows, best)...)
	}
	slices.SortStableFunc(gaps, func(a, b Gap) int {
		return cmp.Or(
			cmp.Compare(density(b), density(a)),
			cmp.Compare(minutes(a), minutes(b)),
			cmp.Compare(a.Recipe, b.Recipe),
			cmp.Compare(a.Shape, b.Shape))
	})
	for i := range gaps {
		gaps[i].Rank = i + 1
	}
	return gaps
}

// density is recommendations a GPU-minute, the likely ones twice.
func density(g Gap) float64 {
	if g.GPUMinutes == nil || *g.GPUMinutes == 0 {
		return 0
	}
	return float64(len(g.Changes)+g.Likely) / float64(*g.GPUMinutes)
}

func minutes(g Gap) int64 {
	if g.GPUMinutes == nil {
		return math.MaxInt64
	}
	return *g.GPUMinutes
}

// scope is where rows are ranked against each other.
type scope struct {
	model    string
	isl, osl int64
}

// leader is the best that ranks in a scope, by either rate; 0 when none does.
type leader struct{ perUser, perGPU float64 }

func leaders(rows []Measured) map[scope]leader {
	best := map[scope]leader{}
	for i := range rows {
		r := &rows[i]
		if !r.ranks() {
			continue
		}
		s := scope{parts(r.Recipe).model, r.ISL, r.OSL}
		l := best[s]
		if r.PerUser != nil {
			l.perUser = max(l.perUser, *r.PerUser)
		}
		if r.PerGPU != nil {
			l.perGPU = max(l.perGPU, *r.PerGPU)
		}
		best[s] = l
	}
	return best
}

// recipeGaps lists one recipe's gaps, one a shape.
func recipeGaps(c Catalog, id string, rows []Measured, best map[scope]leader) []Gap {
	measured, unranked := map[load]bool{}, map[load]bool{}
	known := false
	for i := range rows {
		r := &rows[i]
		if r.Recipe != id || r.Verdict == "withdrawn" {
			continue
		}
		known = true
		l := load{r.ISL, r.OSL, r.Concurrency}
		if r.counts() {
			measured[l] = true
		} else {
			unranked[l] = true
		}
	}
	var gaps []Gap
	for i, s := range shapes {
		if i > 0 && !known {
			break
		}
		var open []load
		var have []int64
		weak := 0
		for _, n := range ladder {
			l := load{s[0], s[1], n}
			switch {
			case measured[l]:
				have = append(have, n)
				continue
			case unranked[l]:
				weak++
			}
			open = append(open, l)
		}
		if g, ok := shapeGap(c, id, open, have, weak, known, best); ok {
			gaps = append(gaps, g)
		}
	}
	return gaps
}

// shapeGap describes the open loads of one shape, ok = false when none of them can run.
func shapeGap(c Catalog, id string, open []load, have []int64, weak int, known bool, best map[scope]leader) (Gap, bool) {
	p := parts(id)
	r := c.Recipes[id]
	g := Gap{Recipe: id, Model: p.model, Target: p.target, Strategy: p.strategy, Engine: p.engine, GPUs: r.GPUs()}
	why := ""
	seconds := float64(startSeconds)
	var top roofs
	var kept []load
	for _, l := range open {
		f, fits, unknown := roofsOf(c, id, l)
		if !fits {
			continue // more streams than the cache holds
		}
		if unknown != "" {
			why = unknown
		}
		kept = append(kept, l)
		// More streams never speed up one of them, and fewer never serve more together:
		// what this recipe has measured already says all that a load on the same side can.
		if len(have) == 0 || l.concurrency < slices.Min(have) {
			top.perUser.raise(f.perUser)
		}
		if len(have) == 0 || l.concurrency > slices.Max(have) {
			top.perGPU.raise(f.perGPU)
		}
		requests := max(leastTimed, leastWaves*l.concurrency)
		waves := float64((requests+l.concurrency-1)/l.concurrency + warmupWaves)
		seconds += minRepeats * float64(waves*f.waveSeconds) / efficiency
	}
	if len(kept) == 0 {
		return g, false
	}
	for _, l := range kept {
		g.Loads = append(g.Loads, l.concurrency)
	}
	g.Shape = itoa(kept[0].isl) + ":" + itoa(kept[0].osl)
	at := scope{p.model, kept[0].isl, kept[0].osl}
	switch {
	case !known:
		g.Kind = GapRecipe
	case weak == len(kept):
		g.Kind = GapRank
	case len(have)+weak > 0:
		g.Kind = GapLoad
	default:
		g.Kind = GapShape
	}
	g.What = what(c, g)
	if why != "" {
		g.Why = "What it could reach is not known: " + why + "."
		g.Basis = "not estimated: " + why
	} else {
		g.matter(modelName(c, p.model), top, best[at])
		n := int64(math.Ceil(float64(g.GPUs) * seconds / 60))
		g.GPUMinutes = &n
		g.Basis = plural(g.GPUs, "GPU") + " × (" + Basis + ")"
	}
	g.Command = command(g)
	return g, true
}

func modelName(c Catalog, id string) string {
	if m := c.Models[id]; m != nil && m.Name != "" {
		return m.Name
	}
	return id
}

func what(c Catalog, g Gap) string {
	name, target, strategy := modelName(c, g.Model), g.Target, g.Strategy
	if t := c.Targets[g.Target]; t != nil && t.Name != "" {
		target = t.Name
	}
	if s := c.Strategies[g.Strategy]; s != nil && s.Name != "" {
		strategy = s.Name
	}
	cell := name + " on " + target + " · " + strategy + " · " + row.EngineName(g.Engine)
	at := g.Shape + " at c = " + list(g.Loads)
	switch g.Kind {
	case GapRecipe:
		return cell + ": no row yet; " + at
	case GapRank:
		return cell + ": no row that ranks; " + at
	case GapLoad:
		return cell + ": " + g.Shape + " has no row that ranks at c = " + list(g.Loads)
	default:
		return cell + ": no row of the shape " + at
	}
}

// matter fills in why a gap matters, and which recommendations its roof could change.
func (g *Gap) matter(model string, top roofs, best leader) {
	claim := func(what string, roof rates, held float64) string {
		if roof.hard <= held {
			return ""
		}
		g.Changes = append(g.Changes, model+" at "+g.Shape+", "+what)
		if float64(roof.expected*efficiency) > held {
			g.Likely++
		}
		s := what + ", where its roof is " + digits(roof.hard)
		if held > 0 {
			s += " and the best measured " + digits(held)
		}
		return s
	}
	user := claim("tok/s for each user", top.perUser, best.perUser)
	gpu := claim("output tok/s per GPU", top.perGPU, best.perGPU)
	var s string
	switch {
	case best.perUser == 0 && best.perGPU == 0:
		s = "Nothing of " + model + " ranks at " + g.Shape + " yet: this would be its first recommendation. Its roofs: " +
			digits(top.perUser.hard) + " tok/s for each user, " + digits(top.perGPU.hard) + " output tok/s per GPU."
	case user != "" && gpu != "":
		s = "It could take rank 1 for " + user + ", and for " + gpu + "."
	case user+gpu != "":
		s = "It could take rank 1 for " + user + gpu + "."
	case g.Kind == GapLoad:
		s = "It cannot take rank 1, but where latency gives way to throughput is read between measured loads."
	default:
		s = "It cannot take rank 1: even its roof lies below what is measured. It would fill the comparison."
	}
	if g.Kind == GapRank {
		s = "Its rows stand in no ranking: verified, sustained, three repeats are needed. " + s
	}
	g.Why = s
}

// command is the run that closes a gap, against a server that listens where the
// recipe's launch command puts it.
func command(g Gap) string {
	loads := make([]string, len(g.Loads))
	for i, n := range g.Loads {
		loads[i] = itoa(n)
	}
	name := strings.ReplaceAll(g.Recipe, "/", "-") + "-" + strings.ReplaceAll(g.Shape, ":", "x")
	return "measure bench " + g.Model + " --recipe " + g.Recipe + " --base-url http://127.0.0.1:8000 --cells " + g.Shape +
		" --concurrency " + strings.Join(loads, ",") + " --num-prompts auto --repeats " + itoa(minRepeats) + " --output " + name
}

// digits writes a rate in a sentence: whole from 100 on, as every page writes it.
func digits(v float64) string {
	if v >= 100 {
		v = math.Round(v)
	}
	return roofline.Number(v)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return itoa(n) + " " + noun + "s"
}

// list writes numbers as a person would: 1, 4 and 16.
func list(ns []int64) string {
	var b strings.Builder
	for i, n := range ns {
		switch {
		case i > 0 && i == len(ns)-1:
			b.WriteString(" and ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(itoa(n))
	}
	return b.String()
}

// Summary is the list in one sentence: how many, what they cost together, and how few of
// the first could already change every recommendation that any gap could.
func Summary(gaps []Gap) string {
	var total int64
	unknown := 0
	first := 0
	changes := map[string]bool{}
	for i, g := range gaps {
		if g.GPUMinutes == nil {
			unknown++
		} else {
			total += *g.GPUMinutes
		}
		for _, c := range g.Changes {
			if !changes[c] {
				changes[c] = true
				first = i + 1
			}
		}
	}
	s := plural(int64(len(gaps)), "gap") + ", about " + roofline.Number(math.Round(float64(total)/6)/10) + " GPU-hours"
	if unknown > 0 {
		s += " and " + itoa(int64(unknown)) + " of unknown cost"
	}
	could := " could change " + plural(int64(len(changes)), "recommendation") + "."
	switch {
	case len(changes) == 0:
		return s + "; none could change a recommendation."
	case first == len(gaps):
		return s + "; together they" + could
	case first == 1:
		return s + "; the first" + could
	}
	return s + "; the first " + itoa(int64(first)) + could
}
