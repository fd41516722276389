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
	GapStale  = "stale"  // rows of another engine version than the recipe pins
)

// What a reader is likely to ask for of each user, as the most time between two tokens:
// of each, the row that then gives the most per GPU is an answer.
var tpotLimits = []float64{50, 20, 10, 5} // ms

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
	Neighbours int      // open loads between two that are measured
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
			cmp.Compare(b.Neighbours, a.Neighbours),
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

// leader is the best that ranks in a scope, by either rate; 0 when none does. points are
// all that rank there.
type leader struct {
	perUser, perGPU float64
	points          []Point
}

// beaten says whether some row is at least as good as p on both axes.
func (l *leader) beaten(p Point) bool {
	return slices.ContainsFunc(l.points, func(q Point) bool { return q.X >= p.X && q.Y >= p.Y })
}

// within is the most per GPU that a row gives whose users each have a rate at least; 0
// when none has.
func (l *leader) within(perUser float64) float64 {
	most := 0.0
	for _, q := range l.points {
		if q.X >= perUser {
			most = max(most, q.Y)
		}
	}
	return most
}

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
		if r.PerUser != nil && r.PerGPU != nil {
			l.points = append(l.points, Point{*r.PerUser, *r.PerGPU})
		}
		best[s] = l
	}
	return best
}

// own is what a recipe has measured of one shape.
type own struct {
	known  bool            // it has rows, of this shape or another
	have   map[int64]Point // best rates of the loads that count; NaN where a row has none
	weak   map[int64]bool  // loads whose rows stand in no ranking
	stale  map[int64]bool  // loads of which all rows that would count are of another engine version
	before string          // that version
}

// bound is the most that the recipe's own rows leave to a load: more streams never speed up
// one of them, and fewer never serve more together.
func (o *own) bound(n int64) Point {
	most := Point{math.Inf(1), math.Inf(1)}
	for c, p := range o.have {
		if c < n && p.X < most.X {
			most.X = p.X
		}
		if c > n && p.Y < most.Y {
			most.Y = p.Y
		}
	}
	return most
}

// lowest and highest are the ends of the measured loads; ok is false where there is none.
func (o *own) ends() (lowest, highest int64, ok bool) {
	for c := range o.have {
		if !ok || c < lowest {
			lowest = c
		}
		highest = max(highest, c)
		ok = true
	}
	return lowest, highest, ok
}

// recipeGaps lists one recipe's gaps, one a shape.
func recipeGaps(c Catalog, id string, rows []Measured, best map[scope]leader) []Gap {
	version := c.Recipes[id].Engine.Version
	known := slices.ContainsFunc(rows, func(r Measured) bool { return r.Recipe == id && r.Verdict != "withdrawn" })
	var gaps []Gap
	for i, s := range shapes {
		if i > 0 && !known {
			break
		}
		o := own{known: known, have: map[int64]Point{}, weak: map[int64]bool{}, stale: map[int64]bool{}}
		for i := range rows {
			r := &rows[i]
			if r.Recipe != id || r.Verdict == "withdrawn" || r.ISL != s[0] || r.OSL != s[1] {
				continue
			}
			switch n := r.Concurrency; {
			case !r.counts():
				o.weak[n] = true
			case r.Version != "" && version != "" && r.Version != version:
				o.stale[n], o.before = true, r.Version
			default:
				p := Point{math.NaN(), math.NaN()}
				if was, ok := o.have[n]; ok {
					p = was
				}
				o.have[n] = Point{higher(p.X, r.PerUser), higher(p.Y, r.PerGPU)}
			}
		}
		var open []load
		for _, n := range ladder {
			if _, ok := o.have[n]; !ok {
				open = append(open, load{s[0], s[1], n})
			}
		}
		if g, ok := shapeGap(c, id, open, &o, best); ok {
			gaps = append(gaps, g)
		}
	}
	return gaps
}

// higher is the higher of a rate and another that may be missing.
func higher(rate float64, other *float64) float64 {
	if other == nil || rate >= *other {
		return rate
	}
	return *other
}

// shapeGap describes the open loads of one shape, ok = false when none of them can run.
func shapeGap(c Catalog, id string, open []load, o *own, best map[scope]leader) (Gap, bool) {
	p := parts(id)
	r := c.Recipes[id]
	g := Gap{Recipe: id, Model: p.model, Target: p.target, Strategy: p.strategy, Engine: p.engine, GPUs: r.GPUs()}
	why := ""
	seconds := float64(startSeconds)
	var reach []reached
	var kept []load
	lowest, highest, some := o.ends()
	for _, l := range open {
		f, fits, unknown := roofsOf(c, id, l)
		if !fits {
			continue // more streams than the cache holds
		}
		if unknown != "" {
			why = unknown
		}
		kept = append(kept, l)
		bound := o.bound(l.concurrency)
		reach = append(reach, reached{
			could:     Point{min(f.perUser.hard, bound.X), min(f.perGPU.hard, bound.Y)},
			likely:    Point{min(float64(f.perUser.expected*efficiency), bound.X), min(float64(f.perGPU.expected*efficiency), bound.Y)},
			leadsUser: !some || l.concurrency < lowest, leadsGPU: !some || l.concurrency > highest,
		})
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
	weak, stale := 0, 0
	for _, l := range kept {
		switch {
		case o.stale[l.concurrency]:
			stale++
		case o.weak[l.concurrency]:
			weak++
		}
		if l.concurrency > lowest && l.concurrency < highest {
			g.Neighbours++
		}
	}
	switch {
	case !o.known:
		g.Kind = GapRecipe
	case stale > 0 && stale == len(kept):
		g.Kind = GapStale
	case weak == len(kept):
		g.Kind = GapRank
	case some || weak+stale > 0:
		g.Kind = GapLoad
	default:
		g.Kind = GapShape
	}
	g.What = what(c, g, o.before)
	if why != "" {
		g.Why = "What it could reach is not known: " + why + "."
		g.Basis = "not estimated: " + why
	} else {
		g.matter(modelName(c, p.model), reach, best[at], o.before)
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

func what(c Catalog, g Gap, before string) string {
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
	case GapStale:
		return cell + ": measured with " + before + ", and the recipe pins " + c.Recipes[g.Recipe].Engine.Version + "; " + at
	case GapLoad:
		return cell + ": " + g.Shape + " has no row that ranks at c = " + list(g.Loads)
	default:
		return cell + ": no row of the shape " + at
	}
}

// reached is what a load could come to by its roofs, and what is likely: both no more than
// the recipe's own rows leave to it.
type reached struct {
	could, likely       Point
	leadsUser, leadsGPU bool // no row of the recipe bounds it on that axis
}

// matter fills in why a gap matters: which recommendations its roofs could change. These
// are rank 1 by either rate; a place on the front between the two; and the most per GPU
// where each user is to have a certain pace.
func (g *Gap) matter(model string, reach []reached, best leader, before string) {
	var user, gpu rates
	for _, r := range reach {
		if r.leadsUser {
			user.raise(rates{r.could.X, r.likely.X})
		}
		if r.leadsGPU {
			gpu.raise(rates{r.could.Y, r.likely.Y})
		}
	}
	change := func(what string, likely bool) {
		g.Changes = append(g.Changes, model+" at "+g.Shape+", "+what)
		if likely {
			g.Likely++
		}
	}
	claim := func(what string, roof rates, held float64) string {
		if roof.hard <= held {
			return ""
		}
		change(what, roof.expected > held)
		s := what + ", where its roof is " + digits(roof.hard)
		if held > 0 {
			s += " and the best measured " + digits(held)
		}
		return s
	}
	byUser := claim("tok/s for each user", user, best.perUser)
	byGPU := claim("output tok/s per GPU", gpu, best.perGPU)
	var s string
	switch {
	case len(best.points) == 0:
		s = "Nothing of " + model + " ranks at " + g.Shape + " yet: this would be its first recommendation. Its roofs: " +
			digits(user.hard) + " tok/s for each user, " + digits(gpu.hard) + " output tok/s per GPU."
	case byUser != "" && byGPU != "":
		s = "It could take rank 1 for " + byUser + ", and for " + byGPU + "."
	case byUser+byGPU != "":
		s = "It could take rank 1 for " + byUser + byGPU + "."
	default:
		s = g.onFront(reach, &best, change)
	}
	if len(best.points) > 0 {
		s += g.paces(reach, &best, change)
	}
	switch g.Kind {
	case GapRank:
		s = "Its rows stand in no ranking: verified, sustained, three repeats are needed. " + s
	case GapStale:
		s = "Its rows are of " + before + ", and say nothing of the version that the recipe now pins. " + s
	}
	g.Why = s
}

// onFront says of a gap that leads by neither rate whether it could stand on the front.
func (g *Gap) onFront(reach []reached, best *leader, change func(string, bool)) string {
	could, likely := false, false
	for _, r := range reach {
		could = could || !best.beaten(r.could)
		likely = likely || !best.beaten(r.likely)
	}
	switch {
	case could:
		change("a place on the front", likely)
		return "It cannot take rank 1, but could stand on the front: no measured row is better both for each user and per GPU than its roofs."
	case g.Kind == GapLoad:
		return "It cannot take rank 1, but where latency gives way to throughput is read between measured loads."
	}
	return "It cannot take rank 1: even its roof lies below what is measured. It would fill the comparison."
}

// paces says at which limits on the time between tokens a gap could give the most per GPU.
func (g *Gap) paces(reach []reached, best *leader, change func(string, bool)) string {
	var limits []int64
	for _, ms := range tpotLimits {
		pace := 1e3 / ms
		held := best.within(pace)
		could, likely := false, false
		for _, r := range reach {
			could = could || r.could.X >= pace && r.could.Y > held
			likely = likely || r.likely.X >= pace && r.likely.Y > held
		}
		if could {
			change("the most per GPU within TPOT p50 ≤ "+itoa(int64(ms))+" ms", likely)
			limits = append(limits, int64(ms))
		}
	}
	if len(limits) == 0 {
		return ""
	}
	return " Within TPOT p50 of " + list(limits) + " ms it could give the most per GPU."
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
