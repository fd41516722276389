package checkpoint

import (
	"encoding/binary"
	"strings"
)

// sumSafe counts the tensors by part and by type, packs undone.
func (h *Header) sumSafe(all *safeTensors, p *problems) {
	further := furtherLayers(func(yield func(string) bool) {
		for _, t := range all.list {
			if !yield(t.name) {
				return
			}
		}
	})
	layers, formats := types{}, types{}
	h.all = all
	for _, t := range all.list {
		where := placeOf(t.name, further)
		weights, kind, format := weightsOf(t.name, t, all.by, p)
		h.add(where, t.bytes(), weights)
		if (where == inRest || where == inExperts) && weights > 0 && (len(t.Shape) > 1 || format != "bf16") {
			layers[kind] += weights
			formats[format] += weights
		}
		t.where, t.weights = where, weights
	}
	h.Types, h.formats = layers.sorted(), formats.sorted()
	if len(h.formats) > 0 {
		h.Dtype = h.formats[0].Name
	}
}

// scales are the ends of names of what stands beside the weights it belongs to: scales,
// zero points, orders and the like, which are no weights.
var scales = []string{
	"_scale", "_scale_inv", "_scale_2", "_scales", "_global_scale", "_zero_point", "_g_idx",
	".scale", ".scales", ".qzeros", ".g_idx", ".SCB", ".absmax", ".nested_absmax", ".quant_map", ".nested_quant_map",
	".input_scale", ".k_scale", ".v_scale", ".k_proj.output_scale", ".v_proj.output_scale",
	".weight_format", ".inv_freq", ".position_ids", "_shape", ".pre_quant_scale",
}

// weightsOf counts the weights that a tensor holds, with the type as the file has it and
// our format of it: "" where its bytes are none of ours.
func weightsOf(name string, t *safeTensor, all map[string]*safeTensor, p *problems) (n int64, kind, format string) {
	for _, end := range scales {
		if strings.HasSuffix(name, end) {
			return 0, t.Dtype, ""
		}
	}
	if strings.Contains(name, ".quant_state.") {
		return 0, t.Dtype, ""
	}
	base := func(end string) (string, bool) { return strings.CutSuffix(name, end) }
	if stem, ok := base(".weight_packed"); ok {
		return packed(name, stem, t, all, p)
	}
	if stem, ok := base(".qweight"); ok {
		return qweight(name, stem, t, all, p)
	}
	if stem, ok := base("_blocks"); ok && t.Dtype == "U8" {
		if all[stem+"_scales"] == nil {
			p.add(name, "is packed without scales beside it; "+stem+"_scales is needed")
		}
		return 2 * t.elements, "MXFP4", "mxfp4"
	}
	switch stem, _ := base(".weight"); t.Dtype {
	case "U8":
		switch {
		case all[name+".absmax"] != nil:
			if all[name+".nested_absmax"] == nil {
				return 2 * t.elements, "NF4", ""
			}
			return 2 * t.elements, "NF4", "nf4"
		case all[name+"_scale_2"] != nil || all[stem+".weight_scale_2"] != nil:
			return 2 * t.elements, "NVFP4", "nvfp4"
		case all[name+"_scale"] != nil:
			return 2 * t.elements, "MXFP4", "mxfp4"
		}
		p.add(name, "is of type U8 without a scale beside it: how many weights a byte holds is not known")
		return 0, t.Dtype, ""
	case "F8_E4M3", "F8_E5M2":
		if s := all[name+"_scale_inv"]; s != nil && s.elements > 1 {
			return t.elements, t.Dtype, "fp8"
		}
		return t.elements, t.Dtype, fp8Format(all[name+"_scale"])
	case "I8":
		return t.elements, t.Dtype, "int8"
	}
	k := safeWidths[t.Dtype]
	if k.format == "" {
		return 0, t.Dtype, ""
	}
	return t.elements, t.Dtype, k.format
}

// fp8Format tells one scale a matrix from one an output and from one a block.
func fp8Format(scale *safeTensor) string {
	switch {
	case scale == nil || scale.elements <= 1:
		return "fp8-tensor"
	case len(scale.Shape) == 2 && scale.Shape[0] > 1 && scale.Shape[1] > 1:
		return "fp8"
	}
	return "fp8-channel"
}

// packed undoes the packs of compressed-tensors: several numbers in one element along
// the last dimension, with a note of the true shape beside them.
func packed(name, stem string, t *safeTensor, all map[string]*safeTensor, p *problems) (int64, string, string) {
	scale := all[stem+".weight_scale"]
	if scale == nil {
		p.add(name, "is packed without scales beside it; "+stem+".weight_scale is needed")
		return 0, t.Dtype, ""
	}
	if t.Dtype == "U8" {
		if all[stem+".weight_global_scale"] != nil {
			return 2 * t.elements, "NVFP4", "nvfp4"
		}
		return 2 * t.elements, "MXFP4", "mxfp4"
	}
	shape, ok := noted(name, stem, all, p)
	if !ok {
		return 0, t.Dtype, ""
	}
	rows := t.elements
	if k := len(t.Shape); t.Dtype != "I32" || k < 2 || t.Shape[k-1] == 0 {
		p.add(name, "is a pack of type "+t.Dtype+" and "+itoa(int64(k))+" dimensions; I32 of at least 2 is accepted")
		return 0, t.Dtype, ""
	} else {
		rows /= t.Shape[k-1]
	}
	columns := t.Shape[len(t.Shape)-1]
	bits := int64(0)
	for _, width := range []int64{1, 2, 4, 8, 16} {
		if shape[0] == rows && (shape[1]*width+31)/32 == columns {
			bits = width
		}
	}
	if bits == 0 {
		p.add(stem+".weight_shape", "says "+itoa(shape[0])+" × "+itoa(shape[1])+", which no whole number of weights in each of the "+
			itoa(rows)+" × "+itoa(columns)+" numbers of "+name+" gives; widths that divide 32 are accepted")
		return 0, t.Dtype, ""
	}
	group := int64(0)
	if k := len(scale.Shape); k > 0 && scale.Shape[k-1] > 0 {
		group = shape[1] / scale.Shape[k-1]
	}
	return shape[0] * shape[1], "INT" + itoa(bits), intFormat(bits, group, shape[1], all[stem+".weight_zero_point"] != nil)
}

// noted reads the shape that stands in the data, two numbers of 8 bytes or of 4.
func noted(name, stem string, all map[string]*safeTensor, p *problems) ([2]int64, bool) {
	var shape [2]int64
	t := all[stem+".weight_shape"]
	if t == nil {
		p.add(name, "is packed without a note of its shape; "+stem+".weight_shape is needed")
		return shape, false
	}
	size := t.bytes() / 2
	var raw [16]byte
	if t.elements != 2 || size != 8 && size != 4 {
		p.add(stem+".weight_shape", "has "+itoa(t.elements)+" numbers of "+t.Dtype+"; two of I64 or I32 are accepted")
		return shape, false
	}
	if _, err := t.file.ReadAt(raw[:2*size], t.file.data+t.Offsets[0]); err != nil {
		p.add(stem+".weight_shape", "cannot be read: "+err.Error())
		return shape, false
	}
	for i := range shape {
		if size == 8 {
			shape[i] = int64(binary.LittleEndian.Uint64(raw[8*i:]))
		} else {
			shape[i] = int64(int32(binary.LittleEndian.Uint32(raw[4*i:])))
		}
		if shape[i] < 1 || shape[i] > mostWidth<<8 {
			p.add(stem+".weight_shape", "says "+itoa(shape[i])+"; a whole number of at least 1 is accepted")
			return shape, false
		}
	}
	return shape, true
}

// qweight undoes the packs of GPTQ, which pack along the inputs, and of AWQ, which pack
// along the outputs: the scales, one a group and output, tell which.
func qweight(name, stem string, t *safeTensor, all map[string]*safeTensor, p *problems) (int64, string, string) {
	scale, zero := all[stem+".scales"], all[stem+".qzeros"]
	if t.Dtype != "I32" || len(t.Shape) != 2 || scale == nil || len(scale.Shape) != 2 || scale.Shape[0] == 0 || scale.Shape[1] == 0 {
		p.add(name, "is a pack without scales of groups × outputs beside it; "+stem+".scales is needed")
		return 0, t.Dtype, ""
	}
	outputs, groups := scale.Shape[1], scale.Shape[0]
	in, bits := t.Shape[0], int64(0)
	switch {
	case t.Shape[1] != outputs && t.Shape[1]*32%outputs == 0: // AWQ
		bits = t.Shape[1] * 32 / outputs
	case zero != nil && len(zero.Shape) == 2 && zero.Shape[1]*32%outputs == 0: // GPTQ
		bits = zero.Shape[1] * 32 / outputs
		if bits > 0 {
			in = t.Shape[0] * 32 / bits
		}
	}
	if bits == 0 || 32%bits != 0 {
		p.add(name, "packs "+itoa(t.Shape[0])+" × "+itoa(t.Shape[1])+" numbers for "+itoa(outputs)+" outputs, which no width that divides 32 gives")
		return 0, t.Dtype, ""
	}
	return in * outputs, "INT" + itoa(bits), intFormat(bits, in/groups, in, zero != nil)
}

// intFormat is our name for whole numbers in groups, "" where none of ours computes alike.
// The bytes are the file's own, whatever its groups.
func intFormat(bits, group, row int64, zeroPoints bool) string {
	switch {
	case bits == 8 && group == row && !zeroPoints:
		return "int8"
	case bits == 8 && group == 128 && !zeroPoints:
		return "int8-g128"
	case bits == 4 && group == 64 && zeroPoints:
		return "int4-zp-g64"
	case bits == 4 && zeroPoints:
		return "int4-zp"
	case bits == 4 && group == 32:
		return "int4-g32"
	case bits == 4:
		return "int4"
	}
	return ""
}
