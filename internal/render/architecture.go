package render

import (
	"fmt"
	"strings"

	"rowproof/internal/render/format"
	"rowproof/internal/roofline"
)

// architectureFacts describe a model's shape. A part that differs between layers stands
// once a kind, with how many layers have it.
func architectureFacts(m *roofline.Model) []fact {
	a := &m.Architecture
	var layers int64
	var attention, ffn kindsOfLayer
	for i := range a.Layers {
		l := &a.Layers[i]
		layers += l.Count
		attention.add(l.Count, attentionFact(&l.Attention))
		ffn.add(l.Count, ffnFact(&l.FFN))
	}
	head := "head not tied"
	if a.TiedHead {
		head = "head tied to the embedding"
	}
	facts := []fact{
		{Name: "Layers", Text: format.Count(layers) + ", hidden " + format.Count(a.Hidden)},
		{Name: "Attention", Text: attention.String()},
		{Name: "Feed-forward", Text: ffn.String()},
		{Name: "Vocabulary", Text: format.Count(a.Vocabulary) + ", " + head},
		{Name: "Context", Text: format.Plural(int(a.MaxContext), "token", "tokens")},
		{Name: "Read a token", Text: format.Billions(m.Params().Read) + " parameters"},
	}
	if kv := roofline.Ceiling(roofline.Query{Model: m, KVDtype: "bf16"}).KVBytesPerToken; kv != nil {
		facts = append(facts, fact{Name: "KV a token", Text: format.Bytes(*kv) + " at bf16" + bounded(a)})
	}
	if a.MTP != nil {
		facts = append(facts, fact{Name: "Drafts", Text: format.Plural(int(a.MTP.Modules), "MTP module", "MTP modules") + ", " +
			format.Billions(m.Params().MTP) + " parameters, read only to draft"})
	}
	if len(m.Repositories) > 0 {
		facts = append(facts, fact{Name: "Repositories", Text: strings.Join(m.Repositories, ", ")})
	}
	return facts
}

// bounded says that some layers stop keeping tokens.
func bounded(a *roofline.Architecture) string {
	for i := range a.Layers {
		if x := &a.Layers[i].Attention; x.Window > 0 || x.Chunk > 0 {
			return " until a window or chunk is full"
		}
	}
	return ""
}

// kindsOfLayer are descriptions of layers, each once, in the order of the layers.
type kindsOfLayer struct {
	texts  []string
	counts map[string]int64
}

func (k *kindsOfLayer) add(count int64, text string) {
	if k.counts == nil {
		k.counts = map[string]int64{}
	}
	if k.counts[text] == 0 {
		k.texts = append(k.texts, text)
	}
	k.counts[text] += count
}

func (k *kindsOfLayer) String() string {
	if len(k.texts) == 1 {
		return k.texts[0]
	}
	var list []string
	for _, t := range k.texts {
		list = append(list, format.Plural(int(k.counts[t]), "layer", "layers")+": "+t)
	}
	return strings.Join(list, "; ")
}

func attentionFact(a *roofline.Attention) string {
	var s string
	switch a.Kind {
	case roofline.GQA:
		s = fmt.Sprintf("GQA, %s query and %s KV heads of %s", format.Count(a.Heads), format.Count(a.KVHeads), format.Count(a.HeadDim))
		if a.ValueDim > 0 {
			s += " (values of " + format.Count(a.ValueDim) + ")"
		}
	case roofline.MLA:
		s = fmt.Sprintf("MLA, %s heads over a latent of %s + %s", format.Count(a.Heads), format.Count(a.KVRank), format.Count(a.RopeDim))
	case roofline.Linear:
		s = "linear, " + stateFact(a.State)
	case roofline.Mamba:
		s = "Mamba, " + stateFact(a.State)
	case roofline.Conv:
		s = "a convolution over " + format.Plural(int(a.State.Conv), "token", "tokens")
	case roofline.None:
		return "none"
	}
	switch {
	case a.Window > 0:
		s += ", the last " + format.Plural(int(a.Window), "token", "tokens")
	case a.Chunk > 0:
		s += ", in chunks of " + format.Plural(int(a.Chunk), "token", "tokens")
	case a.Selected > 0:
		s += ", " + format.Plural(int(a.Selected), "token", "tokens") + " selected"
		if x := a.Indexer; x != nil {
			s += fmt.Sprintf(" by an indexer of %s heads of %s", format.Count(x.Heads), format.Count(x.HeadDim))
		} else {
			s += " by another layer's indexer"
		}
	}
	return s
}

func stateFact(s *roofline.State) string {
	return fmt.Sprintf("a state of %s × %s on each of %s heads", format.Count(s.KeyDim), format.Count(s.ValueDim), format.Count(s.ValueHeads))
}

func ffnFact(f *roofline.FFN) string {
	switch f.Kind {
	case roofline.Dense:
		return "dense, " + format.Count(f.Width)
	case roofline.MoE:
		s := fmt.Sprintf("%s experts of %s, %s a token", format.Count(f.Experts), format.Count(f.Width), format.Count(f.TopK))
		if f.SharedWidth > 0 {
			s += ", and a shared one of " + format.Count(f.SharedWidth)
		}
		return s
	}
	return "none"
}
