package tradeoff

import (
	"strconv"

	"rowproof/internal/roofline"
)

// Query is the ceiling question that a recipe asks of one of its replicas: its model on
// the devices that share each matrix, in its own types. why is not "" when the roofs of
// its layout cannot be computed.
func Query(c Catalog, recipe string) (q roofline.Query, replicas int64, why string) {
	r := c.Recipes[recipe]
	if r == nil {
		return q, 0, "no recipe " + recipe
	}
	p := parts(recipe)
	q, replicas, why = r.Roof(c.Models[p.model], c.Targets[p.target])
	switch {
	case q.Model == nil:
		return q, 0, "no model " + p.model
	case q.Target == nil:
		return q, 0, "no target " + p.target
	case r.Speculation != nil:
		return q, 0, "speculation: its roof needs an acceptance length that nobody measured here"
	}
	return q, replicas, why
}

// unfit says why a recipe cannot run, "" when it can or when that cannot be told.
func unfit(c Catalog, recipe string) string {
	q, _, why := Query(c, recipe)
	if why != "" {
		return ""
	}
	a := roofline.Ceiling(q)
	if a.Fits == nil || *a.Fits {
		return ""
	}
	return "does not fit: " + roofline.Number(*a.WeightBytes/1e9) + " GB of weights on " +
		strconv.FormatInt(q.TP*q.PP, 10) + " × " + string(q.Target.MemoryGB) + " GB"
}

// load is one shape at one concurrency.
type load struct{ isl, osl, concurrency int64 }

// roofs of a recipe under a load: the most that one user and one GPU could see, and how
// long a wave of requests takes at the least. ok is false when they cannot be computed
// or the load does not fit.
type roofs struct {
	perUser, perGPU float64 // output tok/s
	waveSeconds     float64 // each stream's one request, all streams together
	ok              bool
}

func roofsOf(c Catalog, recipe string, l load) roofs {
	q, replicas, why := Query(c, recipe)
	if why != "" {
		return roofs{}
	}
	// Streams part evenly over the replicas; the fullest replica decides.
	share := (l.concurrency + replicas - 1) / replicas
	q.Batch, q.Concurrency = share, share
	q.ISL, q.OSL = l.isl, l.osl
	q.Context = l.isl + l.osl
	room := roofline.Ceiling(q)
	if room.MaxConcurrency == nil || *room.MaxConcurrency < share {
		return roofs{}
	}
	q.Context = l.isl + l.osl/2
	a := roofline.Ceiling(q)
	if a.DecodeStepMS == nil || a.PrefillMS == nil || a.Serving == nil {
		return roofs{}
	}
	wave := float64(float64(share)*a.PrefillMS.Hard) + float64(float64(l.osl-1)*a.DecodeStepMS.Hard)
	return roofs{
		perUser:     1e3 / a.DecodeStepMS.Hard,
		perGPU:      a.Serving.PerGPU,
		waveSeconds: wave / 1e3,
		ok:          true,
	}
}
