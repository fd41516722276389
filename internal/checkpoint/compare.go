package checkpoint

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/roofline"
)

// compare holds the weights of each part against the architecture's: within a thousandth,
// since small tensors differ from one implementation to another.
func (h *Header) compare(m *roofline.Model, what string, p *problems) {
	a := &m.Architecture
	params := m.Params()
	experts := routedExperts(a)
	head := params.Head
	if a.TiedHead {
		head = 0
	}
	var differ []string
	for _, part := range []struct {
		name       string
		held, want int64
	}{
		{"embedding", h.held[inEmbedding], params.Embedding},
		{"head", h.held[inHead], head},
		{"routed experts", h.held[inExperts], experts},
		{"all else", h.held[inRest], params.Total - params.Embedding - head - experts},
	} {
		if diff := part.held - part.want; diff > part.want/1000 || -diff > part.want/1000 {
			differ = append(differ, part.name+" "+itoa(part.held)+" of "+itoa(part.want))
		}
	}
	if len(differ) > 0 {
		p.add("", "holds tensors of "+itoa(h.Params)+" weights, and "+what+" would have "+itoa(params.Total)+"; all files of one model are accepted (held: "+strings.Join(differ, ", ")+")")
	}
}

// routedExperts counts the weights of all routed experts.
func routedExperts(a *roofline.Architecture) int64 {
	var n int64
	for i := range a.Layers {
		f := &a.Layers[i].FFN
		if f.Kind != roofline.MoE {
			continue
		}
		one, biases := 3*a.Hidden*f.Width, 2*f.Width+a.Hidden
		if f.Ungated {
			one, biases = 2*a.Hidden*f.Width, f.Width+a.Hidden
		}
		if f.Bias {
			one += biases
		}
		n += a.Layers[i].Count * f.Experts * one
	}
	return n
}

// shape is that of a matrix as PyTorch writes it: outputs × inputs.
type shape [2]int64

func (s shape) String() string { return itoa(s[0]) + " × " + itoa(s[1]) }

// layout is what the layers of an architecture hold under Hugging Face's names: the
// shapes of each matrix, which differ where kinds of layers do. A matrix that is not
// listed is not judged.
type layout struct {
	depth   int64
	experts int64
	shapes  map[string][]shape // below the layer; of experts with * for the expert
	layers  map[string]int64   // how many layers have it
}

func layoutOf(a *roofline.Architecture) *layout {
	l := &layout{shapes: map[string][]shape{}, layers: map[string]int64{}}
	h := a.Hidden
	for i := range a.Layers {
		kind := &a.Layers[i]
		l.depth += kind.Count
		l.experts = max(l.experts, kind.FFN.Experts)
		add := func(name string, out, in int64) {
			l.layers[name] += kind.Count
			if s := (shape{out, in}); !slices.Contains(l.shapes[name], s) {
				l.shapes[name] = append(l.shapes[name], s)
			}
		}
		t := &kind.Attention
		value := t.ValueDim
		if value == 0 {
			value = t.HeadDim
		}
		switch t.Kind {
		case roofline.GQA:
			q := t.Heads * t.HeadDim
			if t.OutputGate {
				q += t.Heads * value // queries and gates in one matrix
			}
			add("self_attn.q_proj", q, h)
			add("self_attn.k_proj", t.KVHeads*t.HeadDim, h)
			add("self_attn.v_proj", t.KVHeads*value, h)
			add("self_attn.o_proj", h, t.Heads*value)
		case roofline.MLA:
			q := t.Heads * (t.NopeDim + t.RopeDim)
			if t.QRank > 0 {
				add("self_attn.q_a_proj", t.QRank, h)
				add("self_attn.q_b_proj", q, t.QRank)
			} else {
				add("self_attn.q_proj", q, h)
			}
			add("self_attn.kv_a_proj_with_mqa", t.KVRank+t.RopeDim, h)
			add("self_attn.kv_b_proj", t.Heads*(t.NopeDim+t.ValueDim), t.KVRank)
			add("self_attn.o_proj", h, t.Heads*t.ValueDim)
		}
		below := "mlp."
		switch kind.FFN.Kind {
		case roofline.Dense:
		case roofline.MoE:
			below = "mlp.experts.*."
		default:
			continue
		}
		if !kind.FFN.Ungated {
			add(below+"gate_proj", kind.FFN.Width, h)
		}
		add(below+"up_proj", kind.FFN.Width, h)
		add(below+"down_proj", h, kind.FFN.Width)
	}
	return l
}

// mixtralNames are other names of the matrices of an expert.
var mixtralNames = strings.NewReplacer("block_sparse_moe.", "mlp.", ".w1", ".gate_proj", ".w2", ".down_proj", ".w3", ".up_proj")

// find places a tensor: the layer, the matrix as the layout names it, and the expert.
// ok is false of what the layout does not speak of; beyond says that there is no such
// layer or expert.
func (l *layout) find(name string) (layer int64, matrix string, ok, beyond bool) {
	_, below, ok := strings.Cut("."+name, ".layers.")
	if !ok {
		return 0, "", false, false
	}
	number, below, ok := strings.Cut(below, ".")
	layer, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil {
		return 0, "", false, false
	}
	if layer < 0 || layer >= l.depth {
		return layer, "", false, true
	}
	for _, end := range []string{".weight", ".weight_packed", ".qweight"} {
		if matrix, ok = strings.CutSuffix(below, end); ok {
			break
		}
	}
	if before, after, routed := strings.Cut(matrix, ".experts."); routed && ok {
		expert, rest, more := strings.Cut(after, ".")
		n, err := strconv.ParseInt(expert, 10, 64)
		if !more || err != nil {
			return layer, "", false, false
		}
		if n < 0 || n >= l.experts {
			return layer, "", false, true
		}
		matrix = mixtralNames.Replace(before + ".experts.*." + rest)
	}
	return layer, matrix, ok && l.shapes[matrix] != nil, false
}

// plainly says whether a tensor's own shape is that of its matrix.
func (t *safeTensor) plainly() bool { return t.weights == t.elements && len(t.Shape) == 2 }

// fits says whether a tensor has one of the shapes; of a pack, as many weights.
func (t *safeTensor) fits(accepted []shape) bool {
	return slices.ContainsFunc(accepted, func(s shape) bool {
		return t.weights == s[0]*s[1] && (!t.plainly() || t.Shape[0] == s[0] && t.Shape[1] == s[1])
	})
}

// mostNamed are the tensors of each fault that are named one by one.
const mostNamed = 3

// compareTensors names the first tensors that are missing, that the model has not, or
// that are of another shape, of those that go by Hugging Face's names.
func (h *Header) compareTensors(m *roofline.Model, p *problems) {
	if h.all == nil {
		return
	}
	a := &m.Architecture
	l := layoutOf(a)
	before := len(p.list)
	var misshapen, extra, stray []*safeTensor
	accepted := map[*safeTensor][]shape{}
	seen := map[string][]int64{} // how often each matrix is in each layer
	stem := ""                   // what stands before "layers."
	for _, t := range h.all.list {
		if t.weights == 0 || t.where == inMTP || t.where == inTower || t.where == inShapes {
			continue
		}
		if t.where == inEmbedding || t.where == inHead {
			table := []shape{{a.Vocabulary, a.Hidden}}
			if len(t.Shape) > 1 && !t.fits(table) {
				misshapen, accepted[t] = append(misshapen, t), table
			}
			continue
		}
		layer, matrix, ok, beyond := l.find(t.name)
		switch {
		case beyond:
			extra = append(extra, t)
		case ok:
			if seen[matrix] == nil {
				seen[matrix] = make([]int64, l.depth)
				stem, _, _ = strings.Cut(t.name, "layers.")
			}
			seen[matrix][layer]++
			if !t.fits(l.shapes[matrix]) {
				misshapen, accepted[t] = append(misshapen, t), l.shapes[matrix]
			}
		case !strings.Contains("."+t.name, ".layers.") && len(t.Shape) > 1:
			stray = append(stray, t)
		}
	}
	for _, t := range misshapen[:min(len(misshapen), mostNamed)] {
		var list []string
		for _, s := range accepted[t] {
			list = append(list, s.String())
		}
		p.add(t.name, "is "+t.found()+", and "+m.Name+" has "+strings.Join(list, " or ")+" there")
	}
	tell := func(n int, what string) {
		if n > mostNamed {
			p.add("", strconv.Itoa(n-mostNamed)+" more tensors "+what)
		}
	}
	tell(len(misshapen), "are of another shape than "+m.Name+"'s")
	missing := l.missing(seen)
	for _, name := range missing[:min(len(missing), mostNamed)] {
		p.add(stem+name, "is missing; "+m.Name+" has it")
	}
	tell(len(missing), "are missing")
	if len(p.list) > before || before > 0 {
		extra = append(extra, stray...) // of a whole model, what it has besides is not judged
	}
	for _, t := range extra[:min(len(extra), mostNamed)] {
		p.add(t.name, "is a tensor that "+m.Name+" has not")
	}
	tell(len(extra), "are none of "+m.Name+"'s")
}

// found is a tensor's shape, or of a pack how many weights it holds.
func (t *safeTensor) found() string {
	if t.plainly() {
		return shape(t.Shape).String()
	}
	if t.weights != t.elements {
		return "a pack of " + itoa(t.weights) + " weights"
	}
	return "a tensor of " + strconv.Itoa(len(t.Shape)) + " dimensions and " + itoa(t.weights) + " weights"
}

// missing lists the matrices that some layers have and others, which should, have not.
func (l *layout) missing(seen map[string][]int64) []string {
	var list []string
	for layer := range l.depth {
		for _, matrix := range slices.Sorted(maps.Keys(seen)) {
			n, routed := seen[matrix][layer], strings.Contains(matrix, "*")
			if routed && n > 0 && n < l.experts {
				list = append(list, "layers."+itoa(layer)+"."+matrix+".weight")
			} else if n == 0 && l.layers[matrix] == l.depth {
				list = append(list, "layers."+itoa(layer)+"."+matrix+".weight")
			}
		}
	}
	return list
}

// widthOf is how many bits of a weight a format of ours keeps, scales apart; 0 of those
// that no header names.
func widthOf(format string) int64 {
	switch format {
	case "fp32":
		return 32
	case "bf16", "fp16":
		return 16
	case "fp8", "fp8-tensor", "fp8-channel", "int8", "int8-g128":
		return 8
	case "int4", "int4-g32", "int4-zp", "int4-zp-g64", "nf4", "mxfp4", "nvfp4":
		return 4
	}
	return 0
}

// contradict holds the format that a config.json states against that of the tensors. These
// win, which is said; of another width they are those of another checkpoint. A model of
// the catalogue lists formats on offer and states none.
func (h *Header) contradict(m *roofline.Model, p *problems) {
	if h.all == nil || h.Dtype == "" || m.Publisher != "" || m.Sources["weights"] == "" || len(m.Weights) != 1 || m.Weights[0] == h.Dtype {
		return
	}
	stated := m.Weights[0]
	width := widthOf(stated)
	some := width < 16 && slices.ContainsFunc(h.formats, func(t Type) bool { return widthOf(t.Name) == width })
	if width != 0 && width != widthOf(h.Dtype) && !some {
		p.add("", "holds weights most of which are "+h.Dtype+", and config.json says "+stated+"; files of one checkpoint are accepted")
		return
	}
	h.notes = append(h.notes, "config.json says "+stated+" weights, and most of the tensors are "+h.Dtype+": theirs count")
}
