package checkpoint

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// safeWidths are the bytes of an element of each type of safetensors, and what we call
// it; "" where it holds no weights by itself. F4 and its like are stored as U8 or as two
// in a byte.
var safeWidths = map[string]struct {
	bits   int64
	format string
}{
	"F64": {64, ""}, "F32": {32, "fp32"}, "F16": {16, "fp16"}, "BF16": {16, "bf16"},
	"F8_E4M3": {8, "fp8-tensor"}, "F8_E5M2": {8, "fp8-tensor"}, "F8_E8M0": {8, ""}, "F4": {4, "mxfp4"},
	"F8_E4M3FNUZ": {8, "fp8-tensor"}, "F8_E5M2FNUZ": {8, "fp8-tensor"}, "F6_E2M3": {6, ""}, "F6_E3M2": {6, ""}, "C64": {64, ""},
	"I64": {64, ""}, "I32": {32, ""}, "I16": {16, ""}, "I8": {8, "int8"},
	"U64": {64, ""}, "U32": {32, ""}, "U16": {16, ""}, "U8": {8, ""}, "BOOL": {8, ""},
}

// Bounds of safetensors. The format itself ends a header at 100 MB; the largest
// published checkpoint, Kimi-K3 in packs of three tensors a matrix, has some 750,000 over
// all shards.
const (
	mostHeaderBytes = 100_000_000
	mostSafeTensors = 1 << 20
	mostShards      = 1 << 12
	mostShapeDims   = 8
)

// safeTensor is one tensor of a safetensors file.
type safeTensor struct {
	Dtype   string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`

	file     *File
	data     int64 // where the file's data part begins
	elements int64
}

func (t *safeTensor) bytes() int64 { return t.Offsets[1] - t.Offsets[0] }

// Safetensors reads the headers of all files of one checkpoint.
func Safetensors(files ...File) (*Header, []Problem) {
	p := &problems{}
	all := map[string]*safeTensor{}
	if len(files) == 0 || len(files) > mostShards {
		p.add("", "has "+strconv.Itoa(len(files))+" files; 1 to "+strconv.Itoa(mostShards)+" are accepted")
		return nil, p.told()
	}
	for i := range files {
		readSafetensors(&files[i], all, p)
	}
	h := &Header{}
	h.Stored.From = files[0].Name
	if len(files) > 1 {
		h.Stored.From += " and " + strconv.Itoa(len(files)-1) + " more"
	}
	if len(p.list) == 0 {
		h.sumSafe(all, p)
	}
	if len(p.list) > 0 {
		return nil, p.told()
	}
	return h, nil
}

// readSafetensors adds one file's tensors to those of the checkpoint.
func readSafetensors(f *File, all map[string]*safeTensor, p *problems) {
	var first [8]byte
	if _, err := f.ReadAt(first[:], 0); err != nil || f.Size < 8 {
		p.add(f.Name, "is "+itoa(f.Size)+" bytes long; a safetensors file is accepted")
		return
	}
	n := binary.LittleEndian.Uint64(first[:])
	if n > uint64(f.Size-8) || n > mostHeaderBytes {
		p.add(f.Name, "claims a header of "+strconv.FormatUint(n, 10)+" bytes in a file of "+itoa(f.Size)+"; a safetensors file is accepted")
		return
	}
	data := 8 + int64(n)
	d := json.NewDecoder(bufio.NewReader(io.NewSectionReader(f, 8, int64(n))))
	d.DisallowUnknownFields()
	own := map[string]*safeTensor{}
	if err := eachMember(d, func(name string) error {
		if name == "__metadata__" {
			var notes map[string]string
			return d.Decode(&notes)
		}
		t := &safeTensor{file: f, data: data}
		if err := d.Decode(t); err != nil {
			return errors.New(shown(name) + ": " + err.Error())
		}
		if len(all)+len(own) >= mostSafeTensors {
			return errors.New("more than " + strconv.Itoa(mostSafeTensors) + " tensors")
		}
		if own[name] != nil {
			p.add(name, "stands twice in "+f.Name+"; each tensor is accepted once")
		} else if other := all[name]; other != nil {
			p.add(name, "stands in "+other.file.Name+" and in "+f.Name+"; each tensor is accepted once")
		}
		t.check(name, p)
		own[name] = t
		return nil
	}); err != nil {
		p.add(f.Name, "has a header that is not understood: "+err.Error())
		return
	}
	covers(own, f.Size-data, f.Name, p)
	for name, t := range own {
		all[name] = t
	}
}

// eachMember calls do at each value of a JSON object, of which nothing may follow.
func eachMember(d *json.Decoder, do func(name string) error) error {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("an object is accepted")
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		name, ok := t.(string)
		if !ok {
			return errors.New("a name in quotes is accepted")
		}
		if err := do(name); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("data after the end of the JSON text")
	}
	return nil
}

// check holds a tensor's shape against its bytes.
func (t *safeTensor) check(name string, p *problems) {
	kind, ok := safeWidths[t.Dtype]
	if !ok {
		p.add(name, "is of type "+shown(t.Dtype)+", whose size is not known")
		return
	}
	if len(t.Shape) > mostShapeDims {
		p.add(name, "has "+strconv.Itoa(len(t.Shape))+" dimensions; at most "+strconv.Itoa(mostShapeDims)+" are accepted")
		return
	}
	n := int64(1)
	for _, dim := range t.Shape {
		if dim < 0 || dim > mostParams || dim > 0 && n > mostParams/dim {
			p.add(name, "has a dimension of "+itoa(dim)+"; tensors of at most 1e+15 numbers are accepted")
			return
		}
		n *= dim
	}
	t.elements = n
	if a, b := t.Offsets[0], t.Offsets[1]; a < 0 || b < a {
		p.add(name, "stands at bytes "+itoa(a)+" to "+itoa(b)+"; an ascending range is accepted")
	} else if want := (n*kind.bits + 7) / 8; want != b-a {
		p.add(name, "has "+itoa(n)+" numbers of "+t.Dtype+", "+itoa(want)+" bytes, and stands at bytes "+itoa(a)+" to "+itoa(b)+", "+itoa(b-a))
	}
}

// covers holds the tensors against the data part: they fill it without gap or overlap.
func covers(own map[string]*safeTensor, size int64, file string, p *problems) {
	names := make([]string, 0, len(own))
	for name := range own {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		x, y := own[a].Offsets, own[b].Offsets
		switch {
		case x[0] != y[0]:
			return int(min(1, max(-1, x[0]-y[0])))
		case x[1] != y[1]:
			return int(min(1, max(-1, x[1]-y[1])))
		}
		return strings.Compare(a, b)
	})
	reached := int64(0)
	for _, name := range names {
		t := own[name]
		switch {
		case t.Offsets[0] != reached:
			p.add(name, "begins at byte "+itoa(t.Offsets[0])+" where the tensor before it ends at "+itoa(reached))
		case t.Offsets[1] > size:
			p.add(name, "ends at byte "+itoa(t.Offsets[1])+" of the "+itoa(size)+" that "+file+" holds")
		}
		reached = max(reached, t.Offsets[1])
	}
	if reached < size {
		p.add(file, "holds "+itoa(size)+" bytes of which tensors account for "+itoa(reached))
	}
}

// Shards lists the files that a model.safetensors.index.json names, in order of name.
func Shards(index []byte) ([]string, []Problem) {
	p := &problems{}
	if len(index) > mostHeaderBytes {
		p.add("", "is "+strconv.Itoa(len(index))+" bytes long; an index of at most "+strconv.Itoa(mostHeaderBytes)+" is accepted")
		return nil, p.told()
	}
	var read struct {
		Map map[string]string `json:"weight_map"`
	}
	if err := json.NewDecoder(bytes.NewReader(index)).Decode(&read); err != nil {
		p.add("", "is no index: "+err.Error())
		return nil, p.told()
	}
	found := map[string]bool{}
	for tensor, name := range read.Map {
		if name == "" || strings.ContainsAny(name, "/\\") || !strings.HasSuffix(name, ".safetensors") {
			p.add("weight_map."+tensor, "is "+shown(name)+"; the name of a .safetensors file beside the index is accepted")
			continue
		}
		found[name] = true
	}
	if len(found) == 0 && len(p.list) == 0 {
		p.add("weight_map", "names no file; one a tensor is needed")
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, p.told()
}
