package tradeoff

import (
	"strconv"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// layout is what a recipe asks of the replicas that decode and of those that take prompts
// in, mostly the same.
type layout struct {
	recipe            *row.Recipe
	decode, prefill   roofline.Query
	decoding, filling int64 // replicas
}

// layoutOf asks a recipe's ceiling questions: its model on the devices that share it, in
// its own types. why is not "" when the roofs of its layout cannot be computed.
func layoutOf(c Catalog, recipe string) (l layout, why string) {
	l.recipe = c.Recipes[recipe]
	if l.recipe == nil {
		return l, "no recipe " + recipe
	}
	p := parts(recipe)
	m, t := c.Models[p.model], c.Targets[p.target]
	if l.decode, l.decoding, why = l.recipe.Roof(m, t); why == "" {
		l.prefill, l.filling, why = l.recipe.PrefillRoof(m, t)
	}
	switch {
	case m == nil:
		return l, "no model " + p.model
	case t == nil:
		return l, "no target " + p.target
	case why != "":
		return l, "missing " + why
	case l.decode.Gamma > 0 && l.decode.Acceptance == 0:
		return l, "speculation: its roof needs an acceptance that nobody measured here"
	}
	return l, ""
}

// unfit says why a recipe cannot run, "" when it can or when that cannot be told.
func unfit(c Catalog, recipe string) string {
	l, why := layoutOf(c, recipe)
	if why != "" {
		return ""
	}
	for _, q := range []roofline.Query{l.decode, l.prefill} {
		if a := roofline.Ceiling(q); a.Fits != nil && !*a.Fits {
			return "does not fit: " + roofline.Number(*a.WeightBytes/1e9) + " GB of weights on " +
				strconv.FormatInt(q.TP*q.PP*max(1, q.DP), 10) + " × " + string(q.Target.MemoryGB) + " GB"
		}
	}
	return ""
}

// load is one shape at one concurrency.
type load struct{ isl, osl, concurrency int64 }

// roofs of a recipe under a load: the most that one user and one GPU could see, what they
// are to expect of it at best, and how long a wave of requests then takes.
type roofs struct {
	perUser, perGPU rates   // output tok/s
	waveSeconds     float64 // each stream's one request, all streams together
	ttft, tpot, e2e Outlook
}

// rates are a hard roof and the expected line, which differ where tokens share experts or
// stages are passed in turn.
type rates struct{ hard, expected float64 }

func (r *rates) raise(other rates) {
	r.hard, r.expected = max(r.hard, other.hard), max(r.expected, other.expected)
}

// roofsOf are a recipe's roofs under a load that its devices hold. why is not "" where
// they cannot be computed.
func roofsOf(c Catalog, recipe string, at load) (r roofs, fits bool, why string) {
	l, why := layoutOf(c, recipe)
	if why != "" {
		return r, true, why
	}
	h := roofline.Held{Decode: l.decode, Prefill: l.prefill, Apart: l.recipe.Apart(), Decoding: l.decoding, Filling: l.filling}
	// Streams part evenly over the replicas; the fullest replica decides.
	h.Decode.Batch = shareOf(at.concurrency, l.decoding)
	h.Prefill.Batch = shareOf(at.concurrency, l.filling)
	for _, q := range []*roofline.Query{&h.Decode, &h.Prefill} {
		q.ISL, q.OSL, q.Concurrency = at.isl, at.osl, q.Batch
		q.Context = at.isl + at.osl
	}
	if h.Apart {
		h.Prefill.Context = at.isl // each prompt's cache leaves when it is done
		h.Prefill.Batch = 1
	}
	for _, q := range []roofline.Query{h.Decode, h.Prefill} {
		room := roofline.Ceiling(q)
		if room.MaxConcurrency == nil {
			return r, true, room.Missing["max_concurrency"]
		}
		if *room.MaxConcurrency < q.Batch {
			return r, false, ""
		}
	}
	h.Decode.Context = int64(h.Decode.MeanContext(at.isl+1, at.isl+at.osl-1))
	steps, prompts := roofline.Ceiling(h.Decode), roofline.Ceiling(h.Prefill)
	for _, why := range []string{steps.Missing["decode_step_ms"], prompts.Missing["prefill_ms"], steps.Missing["serving"]} {
		if why != "" {
			return r, true, why
		}
	}
	r.ttft, r.tpot, r.e2e = outlook(h, roofline.HeldTTFT), outlook(h, roofline.HeldTPOT), outlook(h, roofline.HeldE2E)
	h.Figure = roofline.HeldTPOT
	token := h.Expected()
	r.perUser = rates{1e3 / h.Roof(), 1e3 / token}
	h.Figure = roofline.HeldRate
	gpus := float64(l.recipe.GPUs())
	r.perGPU = rates{h.Roof() / gpus, h.Expected() / gpus}
	h.Figure = roofline.HeldTTFT
	prompt := h.Expected()
	r.waveSeconds = (float64(float64(shareOf(at.concurrency, l.filling))*prompt) + float64(float64(at.osl-1)*token)) / 1e3
	return r, true, ""
}

func shareOf(streams, replicas int64) int64 { return (streams + replicas - 1) / replicas }
