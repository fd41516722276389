package tradeoff

import "rowproof/internal/roofline"

// Hope is a load of a recipe that is not measured, and what it could come to: never below
// its hard roofs, and likely as near to what is expected of it as measured runs came.
type Hope struct {
	Gap         int // place in the gaps
	Concurrency int64
	TTFT        Outlook
	TPOT        Outlook
	E2E         Outlook
	GPUMinutes  float64 // of the whole gap
}

// Outlook is a latency in ms: the least that the hardware allows, and a likely one.
type Outlook struct{ Hard, Likely float64 }

// Hopes are the loads of a model's gaps at one shape, of those whose roofs are known.
func Hopes(c Catalog, gaps []Gap, model, shape string) []Hope {
	var out []Hope
	for i, g := range gaps {
		if g.Model != model || g.Shape != shape || g.GPUMinutes == nil {
			continue
		}
		for _, n := range g.Loads {
			at, ok := loadOf(shape, n)
			if !ok {
				continue
			}
			r, fits, why := roofsOf(c, g.Recipe, at)
			if !fits || why != "" {
				continue
			}
			out = append(out, Hope{i, n, r.ttft, r.tpot, r.e2e, float64(*g.GPUMinutes)})
		}
	}
	return out
}

func loadOf(shape string, concurrency int64) (load, bool) {
	for _, s := range shapes {
		if itoa(s[0])+":"+itoa(s[1]) == shape {
			return load{s[0], s[1], concurrency}, true
		}
	}
	return load{}, false
}

// outlook of a figure: its roof, and the expected line at the share of it that measured
// runs reached.
func outlook(h roofline.Held, figure string) Outlook {
	h.Figure = figure
	return Outlook{Hard: h.Roof(), Likely: h.Expected() / efficiency}
}

// Promising is the hope whose measuring would most likely meet the limits: of those whose
// hard roofs allow every one, the one whose likely figures stay furthest within them, and
// of equals the cheaper. −1: no roof allows them. likely says that it meets them if it
// comes as near its roofs as measured runs did. No percentile of a latency lies below the
// roof, whatever the limit's is.
func Promising(hopes []Hope, limits []Limit) (best int, likely bool) {
	best = -1
	least := 0.0
	for i, h := range hopes {
		worst, allowed := 0.0, true
		for _, l := range limits {
			o := h.of(l.Figure)
			allowed = allowed && o.Hard <= l.Max
			worst = max(worst, o.Likely/l.Max)
		}
		if !allowed {
			continue
		}
		if best < 0 || worst < least || worst == least && h.GPUMinutes < hopes[best].GPUMinutes {
			best, least = i, worst
		}
	}
	return best, best >= 0 && least <= 1
}

// of is the outlook of a limited figure. A gap between tokens is a step, as TPOT is.
func (h *Hope) of(figure string) Outlook {
	switch figure {
	case "ttft_ms":
		return h.TTFT
	case "itl_ms", "tpot_ms":
		return h.TPOT
	case "e2e_ms":
		return h.E2E
	}
	return Outlook{}
}
