package roofline

// Params counts parameters.
type Params struct {
	Total     int64 // every weight of the checkpoint, each once, but for MTP modules
	Read      int64 // read in one decode step: all layers with the experts of one token, the final norm and the head
	MTP       int64 // of all MTP modules together
	Embedding int64 // the table, a lookup unless it is the head too
	Head      int64 // the matrix that yields the logits, its own or the embedding's
}

// Params counts the model's parameters from its architecture. The embedding table is a
// lookup and is not read in a step; a head tied to it is stored once and read once.
func (m *Model) Params() Params {
	a := &m.Architecture
	table := a.Vocabulary * a.Hidden
	p := Params{Embedding: table, Head: table}
	layers, active := a.layers()
	p.Total, p.Read = layers+table, active+table
	if !a.TiedHead {
		p.Total += table
	}
	if a.MTP != nil {
		p.MTP = a.MTP.Modules * (a.MTP.tally(a.Hidden).all(a.MTP.Layer.FFN.Experts))
	}
	return p
}

// Parts that a publisher's count may hold besides the layers.
const (
	CountEmbedding = "embedding"
	CountHead      = "head"
	CountMTP       = "mtp"
)

// Counted is what a publisher's convention counts: the layers, with all experts or with
// those that one token passes, and the named parts. Without any, a total counts
// embedding and head, and what is active the head. A tied head is counted once.
func (m *Model) Counted(parts []string, active bool) int64 {
	a := &m.Architecture
	all, some := a.layers()
	n := all
	if active {
		n = some
	}
	if len(parts) == 0 {
		parts = []string{CountHead}
		if !active {
			parts = append(parts, CountEmbedding)
		}
	}
	p := m.Params()
	table := false
	for _, part := range parts {
		switch part {
		case CountEmbedding, CountHead:
			if !a.TiedHead || !table {
				n += p.Head
			}
			table = true
		case CountMTP:
			if a.MTP == nil {
				continue
			}
			experts := a.MTP.Layer.FFN.Experts
			if active {
				experts = a.MTP.Layer.FFN.TopK
			}
			n += a.MTP.Modules * a.MTP.tally(a.Hidden).all(experts)
		}
	}
	return n
}

// layers counts all layers and the final norm, with every expert and with those of one
// token.
func (a *Architecture) layers() (all, active int64) {
	for i := range a.Layers {
		l := &a.Layers[i]
		t := l.tally(a.Hidden)
		all += l.Count * t.all(l.FFN.Experts)
		active += l.Count * t.all(l.FFN.TopK)
	}
	return all + a.Hidden, active + a.Hidden
}

// matrix is a weight matrix: out rows, each of in weights.
type matrix struct{ out, in int64 }

// matrices sums matrices: their weights, and their output channels, on each of which an
// int8 scale stands.
type matrices struct{ weights, outputs int64 }

func (s *matrices) add(list ...matrix) {
	for _, m := range list {
		s.weights += m.out * m.in
		s.outputs += m.out
	}
}

// tally counts one layer's weights by how they are stored and read.
type tally struct {
	mixing  matrices // attention, or what stands in its place
	network matrices // dense feed-forward networks and shared experts
	expert  matrices // one routed expert
	plain   matrices // router and other small matrices that formats leave in 16 bits
	vectors int64    // norms, biases, short convolutions
	biases  int64    // of one routed expert
}

// all counts the layer's parameters with so many of its experts.
func (t tally) all(experts int64) int64 {
	return t.mixing.weights + t.network.weights + t.plain.weights + t.vectors + experts*(t.expert.weights+t.biases)
}

func (l *Layer) tally(hidden int64) tally {
	t := tally{vectors: l.Norms * hidden}
	l.Attention.tally(&t, hidden)
	l.FFN.tally(&t, hidden)
	return t
}

// tally of one MTP module: a layer, the projection that joins hidden state and embedding,
// the norms of both and the norm before the shared head.
func (m *MTP) tally(hidden int64) tally {
	t := m.Layer.tally(hidden)
	t.network.add(matrix{hidden, 2 * hidden})
	t.vectors += 3 * hidden
	return t
}

func (a *Attention) tally(t *tally, h int64) {
	switch a.Kind {
	case GQA:
		q, k, v := a.Heads*a.HeadDim, a.KVHeads*a.HeadDim, a.KVHeads*a.valueDim()
		out := a.Heads * a.valueDim()
		t.mixing.add(matrix{q, h}, matrix{k, h}, matrix{v, h}, matrix{h, out})
		if a.OutputGate {
			t.mixing.add(matrix{out, h})
		}
		if a.QKVBias {
			t.vectors += q + k + v
		}
		if a.QKNorm {
			t.vectors += 2 * a.HeadDim
		}
		if a.QKNormWide {
			t.vectors += q + k
		}
		if a.Sinks {
			t.vectors += a.Heads
		}
	case MLA:
		q := a.Heads * (a.NopeDim + a.RopeDim)
		if a.QRank > 0 {
			t.mixing.add(matrix{a.QRank, h}, matrix{q, a.QRank})
			t.vectors += a.QRank
		} else {
			t.mixing.add(matrix{q, h})
		}
		t.mixing.add(matrix{a.KVRank + a.RopeDim, h}, matrix{a.Heads * (a.NopeDim + a.ValueDim), a.KVRank}, matrix{h, a.Heads * a.ValueDim})
		t.vectors += a.KVRank
		if x := a.Indexer; x != nil {
			from := a.QRank
			if from == 0 {
				from = h
			}
			t.mixing.add(matrix{x.Heads * x.HeadDim, from}, matrix{x.HeadDim, h})
			t.plain.add(matrix{x.Heads, h})
			t.vectors += 2 * x.HeadDim
		}
	case Linear:
		s := a.State
		t.mixing.add(matrix{2*s.KeyHeads*s.KeyDim + 2*s.ValueHeads*s.ValueDim, h}, matrix{h, s.ValueHeads * s.ValueDim})
		t.plain.add(matrix{2 * s.ValueHeads, h})                       // decay and update rate of each head
		t.vectors += s.channels()*s.Conv + 2*s.ValueHeads + s.ValueDim // convolution, rate biases, norm
	case Mamba:
		s := a.State
		inner := s.ValueHeads * s.ValueDim
		t.mixing.add(matrix{2*inner + 2*s.KeyHeads*s.KeyDim + s.ValueHeads, h}, matrix{h, inner})
		t.vectors += s.channels()*s.Conv + 3*s.ValueHeads + inner // convolution; decay, skip and rate biases; norm
	case Conv:
		s := a.State
		t.mixing.add(matrix{3 * s.channels(), h}, matrix{h, s.channels()})
		t.vectors += s.channels() * s.Conv
	}
	if a.State != nil && a.State.ConvBias {
		t.vectors += a.State.channels()
	}
	if a.OutputBias {
		t.vectors += h
	}
}

// valueDim is the width of one head's values.
func (a *Attention) valueDim() int64 {
	if a.ValueDim > 0 {
		return a.ValueDim
	}
	return a.HeadDim
}

// channels is how wide the short convolution is.
func (s *State) channels() int64 { return 2*s.KeyHeads*s.KeyDim + s.ValueHeads*s.ValueDim }

func (f *FFN) tally(t *tally, h int64) {
	switch f.Kind {
	case Dense:
		t.network.add(f.gated(f.Width, h)...)
		if f.Bias {
			t.vectors += f.biases(h)
		}
	case MoE:
		t.expert.add(f.gated(f.Width, h)...)
		t.plain.add(matrix{f.Experts, h})
		if f.Bias {
			t.biases = f.biases(h)
		}
		if f.RouterBias {
			t.vectors += f.Experts
		}
		if f.SharedWidth > 0 {
			t.network.add(f.gated(f.SharedWidth, h)...)
		}
		if f.SharedGate {
			t.plain.add(matrix{1, h})
		}
	}
}

// gated lists gate, up and down of a network so wide, or up and down alone.
func (f *FFN) gated(width, h int64) []matrix {
	list := []matrix{{width, h}, {h, width}}
	if !f.Ungated {
		list = append(list, matrix{width, h})
	}
	return list
}

// biases counts one on each output of the network.
func (f *FFN) biases(h int64) int64 {
	if f.Ungated {
		return f.Width + h
	}
	return 2*f.Width + h
}

// count sums the layers of all kinds.
func (a *Architecture) count() int64 {
	var n int64
	for i := range a.Layers {
		n += a.Layers[i].Count
	}
	return n
}
