package render

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"rowproof/internal/gate"
	"rowproof/internal/launch"
	"rowproof/internal/render/format"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// A recipe's card says more than its figures: what to set up first, what hardware allows
// of it, and what is known to go wrong.

// pointer is a link to a part of a page.
type pointer struct{ Name, Address string }

const launchPage = "before-you-launch/"

// beforeLaunch are the parts of the page on launching that a recipe's forms ask for.
func beforeLaunch(r *row.Recipe, forms []runForm) []pointer {
	places := []pointer{
		{"disable NUMA balancing", launchPage + "#disable-numa-balancing"},
		{"leave the GPU alone", launchPage + "#leave-the-gpu-alone"},
	}
	if r.Runtime.Image != "" {
		places = append(places, pointer{"pull the pinned image", launchPage + "#pull-the-models-verified-image"})
	}
	if slices.ContainsFunc(forms, func(f runForm) bool { return f.Missing == "" && f.Name != formPackages }) {
		places = append(places, pointer{"in a container, mount the HuggingFace cache", launchPage + "#mount-the-huggingface-cache"})
	}
	return places
}

// accuracy stands beside the speed: no row has one yet, and of random weights none could.
func accuracy(r *row.Recipe) fact {
	f := fact{Name: "Accuracy", Text: "—", Note: "not measured: the rows are of speed"}
	if r.Weights.Repository == launch.Random {
		f.Note = randomWeights
	}
	return f
}

// troubles are what a recipe's own rows tell of it: what their gates warn of, where more
// was offered than was served, what failed, and what was withdrawn.
func troubles(rows []*measured) []fact {
	type trouble struct {
		text string
		rows int
	}
	var found []trouble
	add := func(text string) {
		if i := slices.IndexFunc(found, func(t trouble) bool { return t.text == text }); i >= 0 {
			found[i].rows++
			return
		}
		found = append(found, trouble{text, 1})
	}
	var failed int64
	for _, m := range rows {
		if m.Withdrawn != nil {
			add("withdrawn: " + strings.TrimSuffix(m.Withdrawn.Reason, "."))
			continue
		}
		for _, g := range m.Gates {
			if g.Answer == gate.Warn {
				add(g.Gate + " warns: " + whatWarns(g.Head()))
			}
		}
		if m.queueBound() {
			add("queue-bound at " + m.load() + ": fewer streams were served at once than were offered")
		}
		failed += m.Counts.Failed
	}
	slices.SortStableFunc(found, func(a, b trouble) int { return cmp.Compare(b.rows, a.rows) })
	var facts []fact
	for _, t := range found {
		facts = append(facts, fact{Name: "Known trouble", Text: capital(t.text), Note: "in " + format.Count(int64(t.rows)) + " of " + format.Plural(len(rows), "row", "rows")})
	}
	if failed > 0 {
		facts = append(facts, fact{Name: "Known trouble", Text: format.Plural(int(failed), "request", "requests") + " failed"})
	}
	if len(rows) > 0 && facts == nil {
		facts = append(facts, fact{Name: "Known trouble", Text: "none in its " + format.Plural(len(rows), "row", "rows")})
	}
	return facts
}

var (
	rowNamed    = regexp.MustCompile(` \(row [0-9a-f]{12}\)`)
	deviceNamed = regexp.MustCompile(`^device [0-9]+: `)
)

// whatWarns is a gate's reason without which row and which device it speaks of, so that
// the same trouble is told once.
func whatWarns(reason string) string {
	var parts []string
	for part := range strings.SplitSeq(strings.TrimSuffix(reason, "."), "; ") {
		part = deviceNamed.ReplaceAllString(rowNamed.ReplaceAllString(part, ""), "")
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "; ")
}

// ceilingOf is what hardware allows of a recipe for one sequence, and where to ask more;
// both "" where its roof cannot be computed.
func ceilingOf(k recipeKey, r *row.Recipe, m *roofline.Model, t *roofline.Target) (said, address string) {
	if m == nil || t == nil {
		return "", ""
	}
	q, _, why := r.Roof(m, t)
	if why != "" {
		return "Not computable: missing " + why + ".", ""
	}
	q.Batch, q.Context = 1, 0
	said, _, _ = CeilingSentences(q)
	ask := url.Values{"model": {k.Model}, "target": {severalOf.ReplaceAllString(k.Target, "")}, "weights": {q.WeightDtype}, "kv": {q.KVDtype}}
	for _, of := range []struct {
		name string
		n    int64
	}{{"tp", q.TP}, {"pp", q.PP}, {"dp", q.DP}, {"ep", q.EP}} {
		if of.n > 1 {
			ask.Set(of.name, format.Exact(float64(of.n)))
		}
	}
	return said, "roofline/?" + ask.Encode()
}

// severalOf ends the name of several of a device.
var severalOf = regexp.MustCompile(`-x[0-9]+$`)
