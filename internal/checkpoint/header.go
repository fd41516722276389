package checkpoint

import (
	"io"
	"slices"
	"strings"

	"rowproof/internal/roofline"
)

// File is one file of a checkpoint.
type File struct {
	Name string
	Size int64 // bytes
	io.ReaderAt
}

// Header is what the tensors of a checkpoint say of themselves.
type Header struct {
	Stored roofline.Stored // bytes of the language model, by part

	// Bytes besides: what a decode step does not read.
	MTP    int64 // modules that predict further tokens
	Towers int64 // for pictures and sound
	Shapes int64 // notes on the shapes of packed tensors

	Params int64  // weights of the language model, packs undone; scales, zero points and shapes are none
	Dtype  string // the format of most of the layers' weights, for the compute peak; "" where none of ours is like it
	Types  []Type // of the layers' weights, most first

	Model  *roofline.Model // what a GGUF's metadata describe; nil of safetensors, and with Doubts
	Doubts []Problem       // what is not understood of those metadata

	held    [places]int64 // weights of the language model, by part
	formats []Type        // ours, of the layers' weights, most first
	all     *safeTensors  // of safetensors
	notes   []string      // contradictions of which the tensors are believed
}

// Type is a type of tensors as the file names it, with how many weights are in it.
type Type struct {
	Name    string
	Weights int64
}

// Settle puts what the tensors weigh in place of what a config.json says of them. The
// model then has the dominant format, problems about bytes alone are gone, and there is
// one if the tensors are those of another model.
func (h *Header) Settle(m *roofline.Model, list []Problem) []Problem {
	p := &problems{list: slices.DeleteFunc(slices.Clone(list), func(p Problem) bool { return p.Bytes })}
	if len(p.list) > 0 {
		return p.list
	}
	h.contradict(m, p)
	if h.Dtype != "" {
		m.Weights, m.WeightScope = []string{h.Dtype}, nil
		m.Sources["weights"] = "most of the tensors in " + h.Stored.From
	}
	if m.Architecture.TiedHead && h.Stored.Head > 0 {
		// Some files repeat the embedding as the head; nobody loads it twice.
		h.Params, h.Stored.Head, h.held[inHead] = h.Params-h.held[inHead], 0, 0
	}
	h.compare(m, m.Name, p)
	h.compareTensors(m, p)
	if len(h.notes) > 0 {
		m.Sources["architecture"] += "; " + strings.Join(h.notes, "; ")
	}
	return p.told()
}

// place is the part of a checkpoint that a tensor belongs to.
type place uint8

const (
	inRest place = iota
	inEmbedding
	inHead
	inExperts
	inMTP
	inTower
	inShapes
	places
)

// tower are the first steps of names of what stands beside the language model.
var tower = set("vision_tower", "vision_model", "visual", "multi_modal_projector", "mm_projector", "audio_tower",
	"embed_vision", "embed_audio", "vision_embed_tokens", "v", "mm", "a", "resampler")

// placeOf reads the place of a tensor from its name, as Hugging Face's implementations
// and llama.cpp name them. further are the layers that predict further tokens.
func placeOf(name string, further map[string]bool) place {
	rest := name
	first, below, more := strings.Cut(rest, ".")
	for more && (first == "model" || first == "language_model" || first == "backbone" || first == "transformer") {
		rest = below
		first, below, more = strings.Cut(rest, ".")
	}
	second, _, _ := strings.Cut(below, ".")
	switch {
	case tower[first]:
		return inTower
	case first == "mtp" || more && (first == "layers" || first == "blk") && further[second]:
		return inMTP
	case strings.HasSuffix(name, ".weight_shape"):
		return inShapes
	case first == "lm_head" || first == "head" || first == "output":
		return inHead
	case first == "embed_tokens" || first == "embeddings" || first == "token_embd" || first == "wte" || first == "embed":
		return inEmbedding
	}
	for step := range strings.SplitSeq(rest, ".") {
		if step == "experts" || strings.HasSuffix(step, "_exps") {
			return inExperts
		}
	}
	return inRest
}

// furtherLayers finds the layers that join a hidden state with an embedding: those
// predict further tokens.
func furtherLayers(names func(yield func(string) bool)) map[string]bool {
	found := map[string]bool{}
	for name := range names {
		for _, mark := range []string{".eh_proj.", ".nextn."} {
			if before, _, ok := strings.Cut(name, mark); ok {
				found[before[strings.LastIndexByte(before, '.')+1:]] = true
			}
		}
	}
	return found
}

// add counts a tensor of so many bytes and weights.
func (h *Header) add(where place, bytes, weights int64) {
	switch where {
	case inMTP:
		h.MTP += bytes
		return
	case inTower:
		h.Towers += bytes
		return
	case inShapes:
		h.Shapes += bytes
		return
	case inEmbedding:
		h.Stored.Embedding += bytes
	case inHead:
		h.Stored.Head += bytes
	case inExperts:
		h.Stored.Experts += bytes
	default:
		h.Stored.Rest += bytes
	}
	h.Params += weights
	h.held[where] += weights
}

// types sums weights by type.
type types map[string]int64

func (t types) sorted() []Type {
	var list []Type
	for name, n := range t {
		list = append(list, Type{name, n})
	}
	slices.SortFunc(list, func(a, b Type) int {
		if a.Weights != b.Weights {
			if a.Weights > b.Weights {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}
