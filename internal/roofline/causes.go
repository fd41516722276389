package roofline

import "math"

// Cause is one thing that could put a figure above its hard roof, tried.
type Cause struct {
	Name   string  // in a word or two: "int4 weights"
	Text   string  // in a sentence, with its recomputed ceiling
	Roof   float64 // the recomputed ceiling in the figure's unit; NaN where there is none
	Closes bool    // the figure does not pass it
}

// Causes tries everything that could explain the figure, whether or not it passes its
// roof, those that explain it first.
func (h *Held) Causes() []Cause {
	var all []Cause
	all = append(all, h.speculation()...)
	all = append(all, h.prefixCache()...)
	all = append(all, h.weights()...)
	all = append(all, h.cacheTypes()...)
	all = append(all, h.lastLevel()...)
	all = append(all, h.overlap()...)
	all = append(all, h.head()...)
	all = append(all, h.clock()...)
	all = append(all, h.earlyEnd()...)
	all = append(all, h.copies()...)
	all = append(all, h.promptsCounted()...)
	sorted := make([]Cause, 0, len(all))
	for _, closing := range []bool{true, false} {
		for _, c := range all {
			if c.Closes == closing {
				sorted = append(sorted, c)
			}
		}
	}
	return sorted
}

// decodes says whether a decode step has a part in the figure.
func (h *Held) decodes() bool { return h.Figure != HeldTTFT && h.Decode.OSL != 1 }

// fills says whether a prompt's prefill has a part in the figure.
func (h *Held) fills() bool { return h.Figure != HeldTPOT }

// try holds the figure against the roof of a changed question.
func (h *Held) try(name, what string, changed Held) Cause {
	return h.tried(name, what, changed.Roof())
}

func (h *Held) tried(name, what string, roof float64) Cause {
	c := Cause{Name: name, Roof: roof, Closes: finite(roof) && !h.passes(roof)}
	c.Text = name
	if what != "" {
		c.Text += ": " + what
	}
	if finite(roof) {
		c.Text += ", ceiling " + h.words(roof)
	} else {
		c.Text += ", no ceiling can be computed"
	}
	return c.said()
}

// said ends a cause's sentence.
func (c Cause) said() Cause {
	if c.Closes {
		c.Text += ": would explain it"
	} else {
		c.Text += ": does not explain it"
	}
	return c
}

// words write a roof of the figure with its unit, in as many digits as it takes to part it
// from the figure.
func (h *Held) words(roof float64) string {
	text, _ := NumbersApart(roof, h.Value)
	switch h.Figure {
	case HeldTPOT:
		return Number(1e3*float64(h.Decode.Batch)/roof) + " tok/s (" + text + " ms a token)"
	case HeldRate:
		return text + " tok/s"
	}
	return text + " ms"
}

// not is a cause that is ruled out by what was seen, not by a roof.
func not(name, why string) Cause {
	return Cause{Name: name, Text: name + ": " + why, Roof: nan}
}

// mostDrafted is the longest draft that is tried where none is known.
const mostDrafted = 16

// speculation divides by the tokens that a step yields: at most one more than drafted.
// The step then verifies as many tokens of each sequence at once.
func (h *Held) speculation() []Cause {
	const name = "speculation"
	if !h.decodes() {
		return nil
	}
	c := *h
	if gamma := h.Decode.Gamma; gamma > 0 {
		c.Drafted, c.Yielded = float64(gamma), float64(gamma+1)
		c.Decode.Accepted = c.Yielded
		return []Cause{h.try(name, Number(h.tokens())+" tokens a step as counted are in the roof already; with all "+
			itoa(gamma)+" drafted tokens accepted", c)}
	}
	c.Decode.Acceptance, c.Decode.MTPDrafts = 0, false
	for c.Decode.Gamma = 1; ; c.Decode.Gamma++ {
		c.Decode.Accepted = float64(c.Decode.Gamma + 1)
		if !h.passes(c.Roof()) || c.Decode.Gamma == mostDrafted {
			return []Cause{h.try(name, "none is stated and no draft was counted; with "+plural(c.Decode.Gamma, "token")+
				" drafted a step and all accepted", c)}
		}
	}
}

// tokens that a step yields in the roof as it stands.
func (h *Held) tokens() float64 {
	switch {
	case h.Yielded > 0:
		return h.Yielded
	case h.Decode.Accepted > 0:
		return h.Decode.Accepted
	}
	return 1
}

// prefixCache finds how much of the prompt a cache must have served.
func (h *Held) prefixCache() []Cause {
	const name = "prefix cache"
	isl := h.Prefill.ISL
	if !h.fills() || isl < 1 {
		return nil
	}
	counted := "no count of cached tokens"
	if h.Cached != nil {
		counted = plural(*h.Cached, "cached token") + " counted, left out of the roof already"
	}
	with := func(cached int64) Held {
		c := *h
		c.Prefill.Cached, c.Decode.Cached = cached, cached
		return c
	}
	// The roof falls as more is cached: halve towards the least that closes the gap.
	least, most := h.Prefill.Cached, isl-1
	for least < most {
		mid := least + (most-least)/2
		if c := with(mid); h.passes(c.Roof()) {
			least = mid + 1
		} else {
			most = mid
		}
	}
	return []Cause{h.try(name, counted+"; with "+itoa(least)+" of "+plural(isl, "prompt token")+" cached", with(least))}
}

// weights tries every format that is read in fewer bytes than the one that is labelled;
// any device computes each, if only in 16 bits. What GGUF stores is no format of another
// engine's file.
func (h *Held) weights() []Cause {
	var tries []variant
	labelled := h.Decode.Filled().WeightDtype
	for _, dtype := range WeightDtypes() {
		if dtype == labelled || gguf(dtype) != gguf(labelled) {
			continue
		}
		c := *h
		c.Decode.WeightDtype, c.Prefill.WeightDtype = dtype, dtype
		c.Decode.Stored, c.Prefill.Stored = nil, nil
		if read := c.read(); read < h.read() {
			tries = append(tries, variant{dtype, read, c})
		}
	}
	return h.variants(tries, " weights")
}

// cacheTypes tries every type of the cache that is smaller than the one that is labelled.
func (h *Held) cacheTypes() []Cause {
	var tries []variant
	labelled := h.Decode.Filled().KVDtype
	was := h.answer()[OutKVBytesPerToken]
	for _, dtype := range KVDtypes() {
		if dtype == labelled {
			continue
		}
		c := *h
		c.Decode.KVDtype, c.Prefill.KVDtype = dtype, dtype
		if out := c.answer(); out[OutKVBytesPerToken] < was {
			tries = append(tries, variant{dtype, out[OutReadBytesPerStep], c})
		}
	}
	return h.variants(tries, " KV")
}

// variant is the question in another format.
type variant struct {
	name string
	read float64 // bytes a step
	held Held
}

// alike is how near two formats' bytes and roofs are that are told as one.
const alike = 0.01

// variants tries formats, those as one that come to the same.
func (h *Held) variants(tries []variant, noun string) []Cause {
	var out []Cause
	told := make([]bool, len(tries))
	for i := range tries {
		v := &tries[i]
		roof := v.held.Roof()
		if told[i] || !finite(roof) {
			continue
		}
		names := []string{v.name}
		for j := i + 1; j < len(tries); j++ {
			other := tries[j].held.Roof()
			if about(tries[j].read, v.read) && about(other, roof) && h.passes(other) == h.passes(roof) {
				told[j] = true
				names = append(names, tries[j].name)
			}
		}
		what := ""
		if h.decodes() {
			what = gigabytes(v.read) + " a step"
		}
		out = append(out, h.tried(orList(names)+noun, what, roof))
	}
	return out
}

func about(a, b float64) bool { return a <= b*(1+alike) && b <= a*(1+alike) }

// orList writes names as a person would: a, b or c.
func orList(names []string) string {
	s := names[0]
	for i, n := range names[1:] {
		if i == len(names)-2 {
			s += " or " + n
		} else {
			s += ", " + n
		}
	}
	return s
}

// gguf says whether a format is one of GGUF's, in which embedding and head are stored too.
func gguf(dtype string) bool {
	f, ok := formatOf(dtype)
	return ok && f.whole
}

// answer are the figures of the step as it stands.
func (h *Held) answer() []float64 { return CeilingPacked(h.pack(h.Decode)) }

// read is what a step reads over all devices, in bytes.
func (h *Held) read() float64 { return h.answer()[OutReadBytesPerStep] }

// lastLevel leaves out of each step what the devices' last level of cache can keep of
// the weights from one step to the next.
func (h *Held) lastLevel() []Cause {
	const name = "weights in cache"
	t := h.Decode.Target
	if !h.decodes() || t == nil {
		return nil
	}
	if t.CacheBytes == 0 {
		return []Cause{not(name, "not tried, the row's copy of the target does not state the size of its last-level cache")}
	}
	in := h.pack(h.Decode)
	devices := float64(float64(in[SlotTP]*in[SlotPP]) * in[SlotDP])
	read, keep := CeilingPacked(in)[OutReadBytesPerStep], float64(float64(t.CacheBytes)*devices)
	c := *h
	c.bandwidth = math.MaxFloat64
	if keep < read {
		c.bandwidth = in[SlotBandwidth] * read / (read - keep)
	}
	return []Cause{h.try(name, gigabytes(float64(t.CacheBytes))+" on each device, of "+gigabytes(read/devices)+" that it reads a step", c)}
}

// overlap is no way above a hard roof: that one has every token on the same experts.
func (h *Held) overlap() []Cause {
	if !h.decodes() || h.Decode.Model == nil {
		return nil
	}
	for i := range h.Decode.Model.Architecture.Layers {
		if f := &h.Decode.Model.Architecture.Layers[i].FFN; f.Experts > 0 {
			return []Cause{not("expert overlap", "the roof reads no more than "+plural(f.TopK, "expert")+
				" a layer, as if all tokens of the batch shared them: does not explain it")}
		}
	}
	return nil
}

// head leaves the head out of what is read, as publishers do who count a tied one once,
// as the embedding.
func (h *Held) head() []Cause {
	if !h.decodes() || h.Decode.Model == nil {
		return nil
	}
	name := "head not counted"
	if h.Decode.Model.Architecture.TiedHead {
		name = "tied head not counted"
	}
	c := *h
	c.headless = true
	return []Cause{h.try(name, gigabytes(c.read())+" a step", c)}
}

// clock puts the memory clock that the device reports at most, over the width of its bus
// and two transfers a cycle, in place of the published bandwidth.
func (h *Held) clock() []Cause {
	const name = "boost clock"
	t := h.Decode.Target
	if t == nil {
		return nil
	}
	if t.MaxMemoryClockMHz == 0 || t.MemoryBusBits == 0 {
		return []Cause{not(name, "not tried, the row's copy of the target does not state both its memory clock and the width of its bus")}
	}
	c := *h
	c.bandwidth = float64(float64(t.MaxMemoryClockMHz)*1e6*float64(t.MemoryBusBits)/8) * 2
	what := Number(float64(t.MaxMemoryClockMHz)) + " MHz × " + Number(float64(t.MemoryBusBits)) + " bits ÷ 8 × 2 = " + given(c.bandwidth/1e9) + " GB/s"
	if published, ok := t.BandwidthGBs.Float(); ok && c.bandwidth <= published*1e9 {
		return []Cause{not(name, what+", no more than the published "+given(published)+": does not explain it")}
	}
	return []Cause{h.try(name, what, c)}
}

// earlyEnd finds how many tokens a request must really have had, where those asked for
// were taken for granted.
func (h *Held) earlyEnd() []Cause {
	const name = "early end"
	if !h.decodes() || h.Asked < 2 {
		return nil
	}
	if h.Output > 0 {
		return []Cause{not(name, "the server itself counted "+itoa(h.Output)+" of "+plural(h.Asked, "token")+" a request: does not explain it")}
	}
	steps := float64(h.Asked - 1)
	n := 1 + int64(steps/h.Share())
	if n < 2 {
		return []Cause{not(name, "not even 2 of "+plural(h.Asked, "token")+" a request could have come: does not explain it")}
	}
	c := Cause{Name: name, Roof: h.Value, Closes: true,
		Text: name + ": nobody counted; " + itoa(n) + " of " + plural(h.Asked, "token") + " a request"}
	return []Cause{c.said()}
}

// mostCopies is how many replicas in place of one are tried at most.
const mostCopies = 8

// copies spreads the load over more replicas than the recipe states.
func (h *Held) copies() []Cause {
	const name = "more replicas"
	if !h.decodes() || h.Figure == HeldE2E {
		return nil
	}
	if h.Figure == HeldTPOT && h.Decode.Batch == 1 {
		return []Cause{not(name, "a batch of 1 cannot be spread: does not explain it")}
	}
	c := *h
	for n := int64(2); ; n *= 2 {
		c.Decoding, c.Filling = h.Decoding*n, h.Filling*n
		c.Decode.Batch = max(1, h.Decode.Batch/n)
		if !h.passes(c.Roof()) || n == mostCopies {
			return []Cause{h.try(name, itoa(c.Decoding)+" in place of "+itoa(h.Decoding), c)}
		}
	}
}

// overbooked is by how much the requests under way must pass those offered for a rate to
// hold more than output tokens.
const overbooked = 1.25

// promptsCounted takes the rate for one of prompt and output tokens together. By Little's
// law the rate and the time of a request tell how many were under way: of output tokens
// alone, no more than were offered.
func (h *Held) promptsCounted() []Cause {
	const name = "prompt tokens counted"
	isl, osl := float64(h.Prefill.ISL), float64(h.Decode.OSL)
	if h.Figure != HeldRate || isl < 1 || osl < 1 {
		return nil
	}
	output := h.Value * osl / (isl + osl)
	c := Cause{Name: name, Roof: h.Roof(), Text: name + ": of " + Number(h.Value) + " tok/s " + Number(output) + " would be output"}
	c.Closes = output <= c.Roof
	if h.E2EMS > 0 && h.Offered > 0 {
		under := h.Value * h.E2EMS / 1e3 / osl
		c.Text += "; by Little's law " + Number(h.Value) + " tok/s × " + Number(h.E2EMS) + " ms ÷ " + plural(h.Decode.OSL, "token") + " has " +
			Number(under) + " requests under way where " + itoa(h.Offered) + " were offered"
		c.Closes = c.Closes && under > overbooked*float64(h.Offered)
	}
	return []Cause{c.said()}
}
