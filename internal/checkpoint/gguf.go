package checkpoint

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// GGUF reads the headers of a GGUF file, or of all parts of one that was split, in order.
// The model that the metadata describe is called name, or what the file calls itself;
// where they are not understood, the header has Doubts in place of a Model, and its bytes
// stand. A file without tensors has a model and no weights: Stored is then empty, and
// Dtype "".
func GGUF(name string, files ...File) (*Header, []Problem) {
	p := &problems{}
	h := &Header{}
	var first *gguf
	var all []ggufTensor
	for i, f := range files {
		g := readGGUF(f, p)
		if g == nil {
			continue
		}
		if n, ok := g.number("split.count"); ok && n != int64(len(files)) {
			p.add(f.Name, "is one of "+itoa(n)+" parts; all of them are accepted, in order, and here are "+strconv.Itoa(len(files)))
		}
		if n, ok := g.number("split.no"); ok && n != int64(i) {
			p.add(f.Name, "is part "+itoa(n)+" and stands in place "+strconv.Itoa(i)+"; parts are accepted in order")
		}
		if first == nil {
			first = g
		}
		all = append(all, g.tensors...)
	}
	if first == nil || len(p.list) > 0 {
		if len(files) == 0 {
			p.add("", "no file; at least one is needed")
		}
		return nil, p.told()
	}
	h.Stored.From = printable(files[0].Name)
	h.sum(all, p)
	if len(p.list) > 0 {
		return nil, p.told()
	}
	doubts := &problems{}
	h.Model = first.model(name, all, h, doubts)
	h.Doubts = doubts.told()
	return h, nil
}

// sum counts the tensors by part and by type.
func (h *Header) sum(all []ggufTensor, p *problems) {
	further := furtherLayers(func(yield func(string) bool) {
		for i := range all {
			if !yield(all[i].name) {
				return
			}
		}
	})
	seen := make(map[string]bool, len(all))
	layers, formats := types{}, types{}
	for i := range all {
		t := &all[i]
		if seen[t.name] {
			p.add(t.name, "stands twice; each tensor is accepted once")
		}
		seen[t.name] = true
		weights := t.weights
		if t.kind.format == "" || strings.HasPrefix(t.name, "rope_") {
			weights = 0 // plain numbers
		}
		where := placeOf(t.name, further)
		h.add(where, t.bytes, weights)
		if (where == inRest || where == inExperts) && t.dims > 1 {
			layers[t.kind.name] += weights
			formats[t.kind.format] += weights
		}
	}
	h.Types = layers.sorted()
	if len(formats) > 0 {
		h.Dtype = formats.sorted()[0].Name
	}
}

// gguf is the header of one file.
type gguf struct {
	values  map[string]any   // int64, float64, bool, string, []int64 of one entry a layer; nil where passed over
	lengths map[string]int64 // of arrays
	tensors []ggufTensor
}

type ggufTensor struct {
	name    string
	dims    int
	weights int64
	kind    ggmlType
	offset  int64 // in the data part
	bytes   int64
}

// Bounds of a header. A real file has a few thousand tensors, some fifty keys, and its
// vocabulary.
const (
	mostTensors  = 1 << 18
	mostKeys     = 1 << 14
	mostName     = 1 << 10 // and of a text that is kept
	mostDims     = 4
	mostNestings = 4
)

var errEnd = errors.New("ends within its header")

// cursor reads little-endian values and knows how much is left.
type cursor struct {
	r    *bufio.Reader
	at   int64
	size int64
	err  error
}

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *cursor) bytes(n int64) []byte {
	if c.err != nil || n > c.size-c.at {
		c.fail(errEnd)
		return make([]byte, min(n, 8))
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(c.r, b); err != nil {
		c.fail(err)
	}
	c.at += n
	return b
}

func (c *cursor) skip(n int64) {
	if c.err != nil || n < 0 || n > c.size-c.at {
		c.fail(errEnd)
		return
	}
	for left := n; left > 0; {
		step := int(min(left, 1<<30))
		done, err := c.r.Discard(step)
		left -= int64(done)
		if err != nil {
			c.fail(err)
			return
		}
	}
	c.at += n
}

func (c *cursor) u32() uint32 { return binary.LittleEndian.Uint32(c.bytes(4)) }
func (c *cursor) u64() uint64 { return binary.LittleEndian.Uint64(c.bytes(8)) }

// length is a count or length that must leave room for as many items of at least one
// size each.
func (c *cursor) length(each int64) int64 {
	n := c.u64()
	if c.err == nil && n > uint64((c.size-c.at)/each) {
		c.fail(errors.New("claims " + strconv.FormatUint(n, 10) + " items of at least " + itoa(each) + " bytes where " + itoa(c.size-c.at) + " bytes are left"))
	}
	if c.err != nil {
		return 0
	}
	return int64(n)
}

// text reads a string of at most so many bytes, and passes over a longer one.
func (c *cursor) text(most int64) (string, bool) {
	n := c.length(1)
	if n > most {
		c.skip(n)
		return "", false
	}
	return string(c.bytes(n)), true
}

// readGGUF reads one header, or tells why not.
func readGGUF(f File, p *problems) *gguf {
	c := &cursor{r: bufio.NewReaderSize(io.NewSectionReader(f, 0, f.Size), 1<<16), size: f.Size}
	magic := c.bytes(4)
	if c.err != nil || string(magic) != "GGUF" {
		p.add(f.Name, "begins with "+shown(string(magic))+"; a GGUF file is accepted")
		return nil
	}
	version := c.u32()
	switch {
	case c.err == nil && version != 2 && version != 3 && version&0xffff == 0:
		p.add(f.Name, "is a GGUF file of a big-endian machine; a little-endian one is accepted")
		return nil
	case c.err == nil && version != 2 && version != 3:
		p.add(f.Name, "is GGUF version "+strconv.FormatUint(uint64(version), 10)+"; versions 2 and 3 are accepted")
		return nil
	}
	tensors := c.length(24)
	keys := c.length(13)
	if tensors > mostTensors || keys > mostKeys {
		c.fail(errors.New("claims " + itoa(tensors) + " tensors and " + itoa(keys) + " keys; at most " + strconv.Itoa(mostTensors) + " and " + strconv.Itoa(mostKeys) + " are accepted"))
	}
	g := &gguf{values: map[string]any{}, lengths: map[string]int64{}}
	for range keys {
		if c.err != nil {
			break
		}
		key, ok := c.text(mostName)
		if !ok {
			c.fail(errors.New("has a key of more than " + strconv.Itoa(mostName) + " bytes"))
		}
		if _, twice := g.values[key]; twice && c.err == nil {
			p.add(key, "stands twice; once is accepted")
		}
		g.read(c, key)
	}
	for range tensors {
		if c.err != nil {
			break
		}
		g.tensors = append(g.tensors, c.tensor(p))
	}
	if c.err != nil {
		p.add(f.Name, c.err.Error())
		return nil
	}
	before := len(p.list)
	g.place(c.at, f, p)
	if len(p.list) > before {
		return nil
	}
	return g
}

// Types of metadata values.
const (
	ggufString = 8
	ggufArray  = 9
)

// ggufWidths are the bytes of a value of each type; 0 where it varies.
var ggufWidths = [...]int64{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}

// perLayer are the ends of keys that may hold an array of one number a layer.
var perLayer = []string{".attention.head_count", ".attention.head_count_kv", ".feed_forward_length", ".attention.sliding_window_pattern",
	".attention.recurrent_layers", ".expert_feed_forward_length"}

// read keeps a value that a model can be told from. Others are passed over, and of arrays
// the length is kept.
func (g *gguf) read(c *cursor, key string) {
	kind := c.u32()
	switch {
	case c.err != nil:
	case kind == ggufString:
		s, _ := c.text(mostName)
		g.values[key] = s
	case kind == ggufArray:
		of := c.u32()
		n := c.length(max(1, width(of)))
		g.lengths[key], g.values[key] = n, nil
		wanted := slices.ContainsFunc(perLayer, func(end string) bool { return strings.HasSuffix(key, end) })
		if !wanted || width(of) == 0 || n > mostLayers {
			c.items(of, n, 0)
			return
		}
		list := make([]int64, n)
		for i := range list {
			switch v := scalar(of, c.bytes(width(of))).(type) {
			case int64:
				list[i] = v
			case bool:
				if v {
					list[i] = 1
				}
			default:
				list[i] = -1
			}
		}
		g.values[key] = list
	case int(kind) < len(ggufWidths):
		g.values[key] = scalar(kind, c.bytes(width(kind)))
	default:
		c.fail(errors.New("has a value of type " + strconv.FormatUint(uint64(kind), 10) + ", which is not known, under " + shown(key)))
	}
}

func width(kind uint32) int64 {
	if int(kind) < len(ggufWidths) {
		return ggufWidths[kind]
	}
	return 0
}

// items passes over the items of an array.
func (c *cursor) items(of uint32, n int64, depth int) {
	switch {
	case c.err != nil:
	case width(of) > 0:
		c.skip(n * width(of)) // length has seen to it that they fit
	case of == ggufString:
		for range n {
			if c.err != nil {
				return
			}
			c.skip(c.length(1))
		}
	case of == ggufArray && depth < mostNestings:
		for range n {
			inner := c.u32()
			count := c.length(max(1, width(inner)))
			if c.err != nil {
				return
			}
			c.items(inner, count, depth+1)
		}
	default:
		c.fail(errors.New("has an array of type " + strconv.FormatUint(uint64(of), 10) + ", which is not known"))
	}
}

func scalar(kind uint32, b []byte) any {
	switch kind {
	case 0:
		return int64(b[0])
	case 1:
		return int64(int8(b[0]))
	case 2:
		return int64(binary.LittleEndian.Uint16(b))
	case 3:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case 4:
		return int64(binary.LittleEndian.Uint32(b))
	case 5:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	case 6:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case 7:
		return b[0] != 0
	case 10:
		if v := binary.LittleEndian.Uint64(b); v <= math.MaxInt64 {
			return int64(v)
		}
		return float64(binary.LittleEndian.Uint64(b))
	case 11:
		return int64(binary.LittleEndian.Uint64(b))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// tensor reads one entry of the list of tensors.
func (c *cursor) tensor(p *problems) ggufTensor {
	name, ok := c.text(mostName)
	if !ok {
		c.fail(errors.New("has a tensor whose name is longer than " + strconv.Itoa(mostName) + " bytes"))
	}
	t := ggufTensor{name: name, weights: 1}
	dims := c.u32()
	if c.err == nil && (dims == 0 || dims > mostDims) {
		c.fail(errors.New("has a tensor of " + strconv.FormatUint(uint64(dims), 10) + " dimensions, " + shown(name) + "; 1 to 4 are accepted"))
	}
	if c.err != nil {
		return t
	}
	row := int64(0)
	for i := range dims {
		n := c.u64()
		if n == 0 || n > mostParams || t.weights > mostParams/int64(n) {
			if c.err == nil {
				p.add(name, "has a dimension of "+strconv.FormatUint(n, 10)+"; tensors of 1 to 1e+15 numbers are accepted")
			}
			n = 1
		}
		if i == 0 {
			row = int64(n)
		}
		if n > 1 {
			t.dims++
		}
		t.weights *= int64(n)
	}
	kind := c.u32()
	offset := c.u64()
	if c.err != nil {
		return t
	}
	if offset > math.MaxInt64 {
		offset = math.MaxInt64
	}
	t.offset = int64(offset)
	t.kind, ok = ggmlTypes[kind]
	switch {
	case !ok:
		p.add(name, "is of type "+strconv.FormatUint(uint64(kind), 10)+", whose size is not known")
	case row%t.kind.block != 0:
		p.add(name, "has rows of "+itoa(row)+" numbers, which blocks of "+itoa(t.kind.block)+" ("+t.kind.name+") do not fill")
	default:
		t.bytes = t.weights / t.kind.block * t.kind.bytes
	}
	return t
}

// place holds the tensors against the file: each in it, on its alignment, none over
// another.
func (g *gguf) place(end int64, f File, p *problems) {
	align, ok := g.number("general.alignment")
	if !ok {
		align = 32
	}
	if align < 1 || align > 1<<20 || align&(align-1) != 0 {
		p.add("general.alignment", "is "+itoa(align)+"; a power of 2 is accepted")
		return
	}
	start := (end + align - 1) / align * align
	sorted := slices.Clone(g.tensors)
	slices.SortFunc(sorted, func(a, b ggufTensor) int {
		switch {
		case a.offset < b.offset:
			return -1
		case a.offset > b.offset:
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	reached := int64(0)
	for _, t := range sorted {
		switch {
		case t.offset%align != 0:
			p.add(t.name, "begins at "+itoa(t.offset)+", which is no multiple of "+itoa(align))
		case t.offset < reached:
			p.add(t.name, "begins at "+itoa(t.offset)+", within the tensor before it, which ends at "+itoa(reached))
		case t.offset > f.Size-start || t.bytes > f.Size-start-t.offset:
			p.add(t.name, "ends beyond the file: "+itoa(t.bytes)+" bytes from "+itoa(t.offset)+" of "+itoa(max(0, f.Size-start)))
		}
		if t.offset <= math.MaxInt64-t.bytes {
			reached = max(reached, t.offset+t.bytes)
		}
	}
}

// number is a whole number of the metadata.
func (g *gguf) number(key string) (int64, bool) {
	n, ok := g.values[key].(int64)
	return n, ok
}

func (g *gguf) text(key string) string {
	s, _ := g.values[key].(string)
	return s
}
