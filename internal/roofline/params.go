package roofline

// Params counts parameters.
type Params struct {
	Total int64 // every weight of the checkpoint, each once
	Read  int64 // read in one decode step: all layers, the final norm and the head
}

// Params counts the model's parameters from its architecture. The embedding table is a
// lookup and is not read in a step; a head tied to it is stored once and read once.
func (m *Model) Params() Params {
	t := m.Architecture.tally()
	return Params{Total: t.total(), Read: t.read()}
}

// matrix is a weight matrix: out rows, each of in weights.
type matrix struct{ out, in int64 }

// tally holds parameter counts by how they are stored and read.
type tally struct {
	linear  int64 // weights of the layers' matrices, which a format quantizes
	outputs int64 // output channels of those matrices: an int8 scale stands on each
	vectors int64 // norms and biases
	head    int64 // the matrix that yields the logits, its own or the embedding's
	lookup  int64 // an embedding table that is no head, stored but not read
}

func (t tally) total() int64  { return t.layers() + t.head + t.lookup }
func (t tally) read() int64   { return t.layers() + t.head }
func (t tally) layers() int64 { return t.linear + t.vectors }

func (a *Architecture) tally() tally {
	var t tally
	for i := range a.Layers {
		l := &a.Layers[i]
		for _, m := range l.matrices(a.Hidden) {
			t.linear += l.Count * m.out * m.in
			t.outputs += l.Count * m.out
		}
		t.vectors += l.Count * l.vectors(a.Hidden)
	}
	t.vectors += a.Hidden // the final norm
	t.head = a.Vocabulary * a.Hidden
	if !a.TiedHead {
		t.lookup = t.head
	}
	return t
}

// matrices lists one layer's weight matrices: query, key, value and output of the
// attention, then gate, up and down of the feed-forward network. The head dimension is
// the configuration's own; it need not be hidden ÷ heads.
func (l *Layer) matrices(hidden int64) []matrix {
	a, f := &l.Attention, &l.FFN
	q, kv := a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
	return []matrix{
		{q, hidden}, {kv, hidden}, {kv, hidden}, {hidden, q},
		{f.Width, hidden}, {f.Width, hidden}, {hidden, f.Width},
	}
}

// vectors counts one layer's norms and biases.
func (l *Layer) vectors(hidden int64) int64 {
	a := &l.Attention
	n := l.Norms * hidden
	if a.QKVBias {
		n += a.HeadDim * (a.Heads + 2*a.KVHeads)
	}
	if a.QKNorm {
		n += 2 * a.HeadDim
	}
	return n
}

// count sums the layers of all kinds.
func (a *Architecture) count() int64 {
	var n int64
	for i := range a.Layers {
		n += a.Layers[i].Count
	}
	return n
}
