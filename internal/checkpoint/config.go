package checkpoint

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/roofline"
)

// Config reads a Hugging Face config.json. The model is called name, or, where that is
// "", what the file calls itself. Its weights list the one format that the file states;
// what it says and how it was read stand in Sources ("architecture", "weights", "kv").
// With problems the model is not to be used, unless all are of Bytes and a Header settles
// them.
//
// Some checkpoints state their quantization in a hf_quant_config.json beside the
// config.json alone; beside is that file, where there is one.
func Config(data []byte, name string, beside ...[]byte) (*roofline.Model, []Problem) {
	p := &problems{}
	root, ok := readTree(data, p)
	if !ok {
		return nil, p.told()
	}
	if root.kind != '{' {
		p.add("", "is "+root.kindName()+"; a config.json is an object with a model_type")
		return nil, p.told()
	}
	top := p.object("", root)
	d := newDecoder(top)
	if d == nil {
		return nil, p.told()
	}
	d.readArchitecture(top)
	m := &roofline.Model{
		Name:         name,
		Architecture: d.a,
		Sources:      map[string]string{},
	}
	path := top.text("_name_or_path")
	if m.Name == "" {
		m.Name = path[strings.LastIndexByte(path, '/')+1:]
	}
	if m.Name == "" {
		m.Name = d.family
	}
	m.Name = printable(m.Name)
	d.readWeights(top, m, beside)
	d.rest()
	if d.object != top {
		top.rest()
	}
	m.Sources["architecture"] = printable(strings.Join(append([]string{"config.json, model_type " + d.family}, d.notes...), "; "))
	return m, p.told()
}

// decoder reads the part of a config.json that describes the language model.
type decoder struct {
	*object
	family   string // its model_type
	rules    family
	depth    int64 // layers
	a        roofline.Architecture
	kinds    []int         // of each layer, its place in a.Layers
	denseFFN *roofline.FFN // the dense network of a model that has both, once read
	notes    []string
}

// newDecoder finds the language model in a config.json.
func newDecoder(top *object) *decoder {
	outer := top.text("model_type")
	if outer == "minimax" && slices.ContainsFunc(top.list("architectures", -1, ""), func(v value) bool { return v.text == "MiniMaxM2ForCausalLM" }) {
		outer = "minimax_m2" // as its first publication called it
	}
	inner, known := wrappers[outer]
	if _, ok := families[outer]; !known && !ok {
		if outer == "" {
			top.wrong("model_type", "is missing; accepted: "+strings.Join(Types(), ", "))
		} else {
			top.wrong("model_type", "is "+shown(outer)+", which is not known; accepted: "+strings.Join(Types(), ", "))
		}
		return nil
	}
	o, kind := top, outer
	if text := top.under("text_config"); text != nil {
		o, kind = text, inner
		if !known {
			kind = outer
		}
		if stated := text.text("model_type"); stated != "" {
			kind = stated
		}
	} else if known {
		if top.get("text_config") == nil {
			top.wrong("text_config", "is missing; a "+outer+" has its language model there")
		}
		return nil
	}
	rules, ok := families[kind]
	if !ok {
		o.wrong("model_type", "is "+shown(kind)+", which is not known; accepted: "+strings.Join(slices.Sorted(maps.Keys(families)), ", "))
		return nil
	}
	return &decoder{object: o, family: kind, rules: rules}
}

func (d *decoder) readArchitecture(top *object) {
	d.a.Hidden = d.count("hidden_size", mostWidth)
	if d.rules.vocabulary == 0 {
		d.a.Vocabulary = d.count("vocab_size", mostWidth)
	} else {
		d.a.Vocabulary = d.countOr("vocab_size", mostWidth, d.rules.vocabulary)
	}
	d.a.MaxContext = d.countOr("max_position_embeddings", mostContext, d.rules.context)
	d.depth = d.layersStated()
	d.a.TiedHead = d.flagOr("tie_word_embeddings", top.flagOr("tie_word_embeddings", d.rules.tied))
	d.rules.layers(d)
	if size := roughParams(&d.a); size > mostParams {
		d.p.add(d.path, "describes about "+strconv.FormatFloat(size, 'g', 3, 64)+" parameters; a model of at most 1e+15 is accepted")
	}
}

// layersStated is how many layers there are: by number, or, in newer files of some types,
// by a list or pattern that has one entry each.
func (d *decoder) layersStated() int64 {
	if !d.has("num_hidden_layers") && d.family == "nemotron_h" {
		if v := d.get("layers_block_type"); v != nil && v.kind == '[' {
			return min(int64(len(v.values)), mostLayers)
		}
		if v := d.get("hybrid_override_pattern"); v != nil {
			return min(int64(len(v.text)), mostLayers)
		}
	}
	return d.count("num_hidden_layers", mostLayers)
}

// layer adds one layer, of a kind that may have stood before.
func (d *decoder) layer(l roofline.Layer) {
	l.Count = 0
	for i := range d.a.Layers {
		same := d.a.Layers[i]
		same.Count = 0
		if reflect.DeepEqual(same, l) {
			d.a.Layers[i].Count++
			d.kinds = append(d.kinds, i)
			return
		}
	}
	l.Count = 1
	d.kinds = append(d.kinds, len(d.a.Layers))
	d.a.Layers = append(d.a.Layers, l)
}

// mostParams is a thousand times the largest model published.
const mostParams = 1e15

// roughParams is about how many parameters an architecture has, in floating point, to
// refuse those whose exact count no int64 holds.
func roughParams(a *roofline.Architecture) float64 {
	h := float64(a.Hidden)
	n := 2 * h * float64(a.Vocabulary)
	for i := range a.Layers {
		t, f := &a.Layers[i].Attention, &a.Layers[i].FFN
		heads := float64(t.Heads + t.KVHeads)
		width := heads * (float64(t.HeadDim) + float64(t.ValueDim) + float64(t.NopeDim) + float64(t.RopeDim))
		one := h*(2*width+float64(t.QRank)+float64(t.KVRank)) + width*(float64(t.QRank)+float64(t.KVRank))
		if s := t.State; s != nil {
			one += 4 * h * (float64(s.KeyHeads)*float64(s.KeyDim) + float64(s.ValueHeads)*float64(s.ValueDim))
		}
		one += 3 * h * (max(1, float64(f.Experts))*float64(f.Width) + float64(f.SharedWidth))
		n += float64(a.Layers[i].Count) * one
	}
	return n
}

func (d *decoder) note(text string) { d.notes = append(d.notes, text) }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
