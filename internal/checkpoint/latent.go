package checkpoint

import (
	"strings"

	"rowproof/internal/roofline"
)

// latent reads attention over a compressed latent. head_dim and num_key_value_heads of
// such a file say nothing of its cost.
func (d *decoder) latent() roofline.Attention {
	a := roofline.Attention{
		Kind:     roofline.MLA,
		Heads:    d.count("num_attention_heads", mostCount),
		KVRank:   d.count("kv_lora_rank", mostCount),
		NopeDim:  d.count("qk_nope_head_dim", mostCount),
		RopeDim:  d.count("qk_rope_head_dim", mostCount),
		ValueDim: d.count("v_head_dim", mostCount),
	}
	if !d.stated("q_lora_rank") {
		d.wrong("q_lora_rank", "is missing; a whole number, or null where queries are projected directly, is needed")
	}
	a.QRank = d.countOr("q_lora_rank", mostCount, 0)
	d.must("attention_bias", "false")
	d.must("qk_head_dim", itoa(a.NopeDim+a.RopeDim))
	d.numberOr("head_dim", mostCount, 0)
	d.numberOr("num_key_value_heads", mostCount, 0)
	return a
}

func latentMoE(d *decoder) {
	a, f := d.latent(), d.sharedExperts()
	f.RouterBias = d.correctsRouting()
	d.latentLayers(f, func(int64) roofline.Attention { return a })
	d.nextN(roofline.Layer{Attention: a, FFN: f, Norms: 2})
}

// correctsRouting says whether the router has a bias an expert, by topk_method, whose
// default is that of the type.
func (d *decoder) correctsRouting() bool {
	if d.family == "deepseek_v2" {
		return d.oneOf("topk_method", "greedy", "group_limited_greedy", "noaux_tc") == "noaux_tc"
	}
	return d.oneOf("topk_method", "noaux_tc", "greedy", "group_limited_greedy") == "noaux_tc"
}

func (d *decoder) latentLayers(moe roofline.FFN, attention func(i int64) roofline.Attention) {
	otherwise, ok := map[string]int64{"deepseek_v2": 0, "glm4_moe_lite": 1}[d.family]
	if !ok {
		otherwise = 3
	}
	sparse := d.firstDense(otherwise)
	d.must("mlp_bias", "false")
	for i := range d.depth {
		f := moe
		if !sparse(i) {
			f = d.denseOnce()
		}
		d.layer(roofline.Layer{Attention: attention(i), FFN: f, Norms: 2})
	}
	d.get("intermediate_size")
}

// sparseLatentMoE has sparse attention: small indexers select what the layers read.
func sparseLatentMoE(d *decoder) {
	with := d.latent()
	with.Selected = d.count("index_topk", mostContext)
	with.Indexer = &roofline.Indexer{Heads: d.count("index_n_heads", mostCount), HeadDim: d.count("index_head_dim", mostCount)}
	without := with
	without.Indexer = nil
	f := d.sharedExperts()
	f.RouterBias = d.correctsRouting()
	d.words("layer_types", d.depth, "deepseek_sparse_attention", "indexed_attention")
	indexes := d.indexers()
	d.latentLayers(f, func(i int64) roofline.Attention {
		if indexes[i] {
			return with
		}
		return without
	})
	d.nextN(roofline.Layer{Attention: with, FFN: f, Norms: 2})
}

// indexers says which layers have an indexer of their own; the others read what the one
// before them selected. indexer_types states it a layer; a pattern of F and S, or every
// index_topk_freq-th layer after the first index_skip_topk_offset, in place of it.
func (d *decoder) indexers() []bool {
	has := make([]bool, d.depth)
	types := d.words("indexer_types", d.depth, "full", "shared")
	pattern := d.get("index_topk_pattern")
	freq := max(1, d.numberOr("index_topk_freq", mostLayers, 1))
	offset := d.numberOr("index_skip_topk_offset", mostLayers, 2)
	count := int64(0)
	for i := range has {
		switch {
		case types != nil:
			has[i] = types[i] == "full"
		case pattern != nil:
			if pattern.kind != '"' || int64(len(pattern.text)) != d.depth || strings.Trim(pattern.text, "FS") != "" {
				d.wrong("index_topk_pattern", "is "+pattern.kindName()+"; an F or an S for each of the "+itoa(d.depth)+" layers is accepted")
				return has
			}
			has[i] = pattern.text[i] == 'F'
		default:
			has[i] = max(0, int64(i)-offset+1)%freq == 0
		}
		if has[i] {
			count++
		}
	}
	if d.depth > 0 && !has[0] {
		d.wrong("indexer_types", "leaves the first layer without an indexer, and nothing before it to share; accepted: full")
	}
	if count < d.depth {
		d.note(itoa(count) + " of " + itoa(d.depth) + " layers have an indexer")
	}
	return has
}
