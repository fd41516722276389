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
	q = roofline.Query{Model: c.Models[p.model], Target: c.Targets[p.target],
		WeightDtype: r.Weights.Dtype, KVDtype: r.KVDtype}
	switch {
	case q.Model == nil:
		return q, 0, "no model " + p.model
	case q.Target == nil:
		return q, 0, "no target " + p.target
	case len(r.Pools) != 1:
		return q, 0, "separate pools of prefill and decode: their roofs are not computed"
	case r.Pools[0].PP > 1:
		return q, 0, "a pipeline of " + strconv.FormatInt(r.Pools[0].PP, 10) + " stages: its roofs are not computed"
	case r.Speculation != nil:
		return q, 0, "speculation: its roof needs an acceptance length that nobody measured here"
	}
	q.TP, q.NoMulticast = r.Pools[0].TP, r.MulticastOff()
	return q, r.Pools[0].Count * r.Pools[0].DP, ""
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
		strconv.FormatInt(q.TP, 10) + " × " + string(q.Target.MemoryGB) + " GB"
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
