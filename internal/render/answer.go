package render

import (
	"cmp"
	"slices"
	"strings"

	"rowproof/internal/render/format"
)

// modelAnswer opens a model's page: of each target with rows, which recipe gives the
// most; where nothing is measured, which gap comes first.
func (s *site) modelAnswer(w *world, id string, recipes []*recipeOf) []sentence {
	var out []sentence
	for _, target := range targetsOf(recipes) {
		var of []*recipeOf
		for _, r := range recipes {
			if r.key.Target == target && slices.ContainsFunc(r.rows, (*measured).ranks) {
				of = append(of, r)
			}
		}
		if len(of) > 0 {
			out = append(out, s.targetAnswer(of))
		}
	}
	if len(out) > 0 {
		return out
	}
	said := sentence{strong("Nothing measured yet")}
	if slices.ContainsFunc(recipes, func(r *recipeOf) bool { return len(r.rows) > 0 }) {
		said = sentence{strong("No row ranks yet")}
	}
	for _, g := range w.gaps {
		if g.Model != id {
			continue
		}
		said = append(said, say("; "), linked(gapName(g), "gaps/#"+gapID(g.Rank)), say(" comes first"))
		if g.GPUMinutes != nil {
			said = append(said, say(": about "+format.Plural(int(*g.GPUMinutes), "GPU-minute", "GPU-minutes")))
		}
		break
	}
	return []sentence{append(said, say("."))}
}

// targetAnswer says which of a target's recipes leads at the loads that several of them
// were measured at; of one recipe alone, what it reaches.
func (s *site) targetAnswer(recipes []*recipeOf) sentence {
	names := s.shortNames(recipes)
	var gpu, user lead
	for _, sh := range shapesOf(recipes) {
		at := map[int64][]*measured{} // by concurrency, one row a recipe
		who := map[*measured]string{}
		for i, r := range recipes {
			for _, m := range ladder(r.rows, sh) {
				at[m.concurrency()] = append(at[m.concurrency()], m)
				who[m] = names[i]
			}
		}
		for _, rows := range at {
			if len(rows) > 1 {
				gpu.add(rows, who, (*measured).perGPU)
				user.add(rows, who, (*measured).perUser)
			}
		}
	}
	var ranking []*measured
	for _, r := range recipes {
		ranking = append(ranking, slices.DeleteFunc(slices.Clone(r.rows), func(m *measured) bool { return !m.ranks() })...)
	}
	said := sentence{say("On " + ranking[0].targetName() + ", ")}
	if gpu.loads == 0 {
		if len(recipes) == 1 {
			said = append(said, say("only "), strong(names[0]), say(" is measured: it"))
		} else {
			said = append(said, say("no load is measured of two recipes; the best"))
		}
		best := most(ranking, (*measured).perGPU)
		said = append(said, say(" gives up to "))
		said = append(said, reached(best, best.perGPU(), "output tok/s/GPU")...)
		if fast := most(ranking, (*measured).perUser); fast != nil {
			said = append(said, say(" and "))
			said = append(said, reached(fast, fast.perUser(), "tok/s/user")...)
		}
		return append(said, say("."))
	}
	if name := gpu.all(); name != "" && name == user.all() {
		return append(said, strong(name), say(" gives the most per GPU and is fastest for each user at every measured c."))
	}
	said = append(said, gpu.words("gives the most per GPU", "no recipe is shown to give more per GPU than another")...)
	said = append(said, say("; "))
	said = append(said, user.words("is fastest for each user", "none is shown to be faster for each user")...)
	return append(said, say("."))
}

// lead counts at how many loads each recipe is shown to lead by one rate.
type lead struct {
	loads int
	wins  map[string]int
}

// add looks at the rows of one load: the first leads where its interval lies above all
// others.
func (l *lead) add(rows []*measured, who map[*measured]string, pick func(*measured) estimate) {
	l.loads++
	best := most(rows, pick)
	if best == nil || pick(best).Interval == nil {
		return
	}
	for _, m := range rows {
		if e := pick(m); m != best && (e.Interval == nil || e.Interval[1] >= pick(best).Interval[0]) {
			return
		}
	}
	if l.wins == nil {
		l.wins = map[string]int{}
	}
	l.wins[who[best]]++
}

// all is the recipe that leads at every load; "" where none does.
func (l *lead) all() string {
	for name, n := range l.wins {
		if n == l.loads {
			return name
		}
	}
	return ""
}

func (l *lead) words(does, none string) sentence {
	if len(l.wins) == 0 {
		return sentence{say(none)}
	}
	if name := l.all(); name != "" {
		return sentence{strong(name), say(" " + does + " at every measured c")}
	}
	names := make([]string, 0, len(l.wins))
	for name := range l.wins {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(l.wins[b], l.wins[a]), strings.Compare(a, b)) })
	var said sentence
	for i, name := range names {
		if i > 0 {
			said = append(said, say(", "))
		}
		said = append(said, strong(name), say(" "+does+" at "+format.Count(int64(l.wins[name]))+" of "+format.Plural(l.loads, "measured load", "measured loads")))
	}
	return said
}
