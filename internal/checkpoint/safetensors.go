package checkpoint

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// safeWidths are the bytes of an element of each type of safetensors, and what we call
// it; "" where it holds no weights by itself. F4 and its like are stored as U8 or as two
// in a byte.
var safeWidths = map[string]safeWidth{}

type safeWidth struct {
	name   string
	bits   int64
	format string
}

func init() {
	for _, w := range []safeWidth{
		{"F64", 64, ""}, {"F32", 32, "fp32"}, {"F16", 16, "fp16"}, {"BF16", 16, "bf16"},
		{"F8_E4M3", 8, "fp8-tensor"}, {"F8_E5M2", 8, "fp8-tensor"}, {"F8_E8M0", 8, ""}, {"F4", 4, "mxfp4"},
		{"F8_E4M3FNUZ", 8, "fp8-tensor"}, {"F8_E5M2FNUZ", 8, "fp8-tensor"}, {"F6_E2M3", 6, ""}, {"F6_E3M2", 6, ""}, {"C64", 64, ""},
		{"I64", 64, ""}, {"I32", 32, ""}, {"I16", 16, ""}, {"I8", 8, "int8"},
		{"U64", 64, ""}, {"U32", 32, ""}, {"U16", 16, ""}, {"U8", 8, ""}, {"BOOL", 8, ""},
	} {
		safeWidths[w.name] = w
	}
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
	name     string
	Dtype    string
	Shape    []int64
	Offsets  [2]int64
	file     *shard
	elements int64
	weights  int64 // packs undone; 0 of what is none
	where    place
}

func (t *safeTensor) bytes() int64 { return t.Offsets[1] - t.Offsets[0] }

// shard is one file, whose data part begins at data.
type shard struct {
	*File
	data int64
}

// safeTensors are all tensors of a checkpoint, in the order of its files.
type safeTensors struct {
	list []*safeTensor
	by   map[string]*safeTensor
	room []safeTensor // for the next tensors, and for their dimensions
	dims []int64
}

// expect makes room for as many tensors as the headers' lengths let expect: a header has
// a hundred bytes and more for each.
func (all *safeTensors) expect(files []File) {
	n := int64(0)
	for i := range files {
		var first [8]byte
		if _, err := files[i].ReadAt(first[:], 0); err == nil {
			n += int64(min(binary.LittleEndian.Uint64(first[:]), mostHeaderBytes, uint64(max(0, files[i].Size)))) / 120
		}
	}
	n = min(n, mostSafeTensors)
	all.list, all.by = make([]*safeTensor, 0, n), make(map[string]*safeTensor, n)
}

func (all *safeTensors) next() *safeTensor {
	const many = 1024
	if len(all.room) == 0 {
		all.room = make([]safeTensor, many)
	}
	if cap(all.dims)-len(all.dims) < mostShapeDims {
		all.dims = make([]int64, 0, 2*many)
	}
	t := &all.room[0]
	all.room = all.room[1:]
	return t
}

// Safetensors reads the headers of all files of one checkpoint.
func Safetensors(files ...File) (*Header, []Problem) { return (&Index{}).Safetensors(files...) }

// Safetensors reads the headers of the files that the index names, and holds them against
// what else it says.
func (x *Index) Safetensors(files ...File) (*Header, []Problem) {
	p := &problems{}
	if len(files) == 0 || len(files) > mostShards {
		p.add("", "has "+strconv.Itoa(len(files))+" files; 1 to "+strconv.Itoa(mostShards)+" are accepted")
		return nil, p.told()
	}
	all := &safeTensors{}
	all.expect(files)
	for i := range files {
		readSafetensors(&files[i], all, p)
	}
	h := &Header{}
	h.Stored.From = printable(files[0].Name)
	if len(files) > 1 {
		h.Stored.From += " and " + strconv.Itoa(len(files)-1) + " more"
	}
	if len(p.list) == 0 {
		x.holds(all, h, p)
		h.sumSafe(all, p)
	}
	if len(p.list) > 0 {
		return nil, p.told()
	}
	return h, nil
}

// readSafetensors adds one file's tensors to those of the checkpoint.
func readSafetensors(f *File, all *safeTensors, p *problems) {
	var first [8]byte
	if f.Size < 8 {
		p.add(f.Name, "is "+itoa(f.Size)+" bytes long; a safetensors file is accepted")
		return
	}
	if _, err := f.ReadAt(first[:], 0); err != nil {
		p.add(f.Name, "cannot be read: "+err.Error())
		return
	}
	n := binary.LittleEndian.Uint64(first[:])
	if n > uint64(f.Size-8) || n > mostHeaderBytes {
		p.add(f.Name, "claims a header of "+strconv.FormatUint(n, 10)+" bytes in a file of "+itoa(f.Size)+"; a safetensors file is accepted")
		return
	}
	own := &shard{f, 8 + int64(n)}
	before := len(all.list)
	if err := own.header(&tokens{r: bufio.NewReaderSize(io.NewSectionReader(f, 8, int64(n)), 1<<16)}, all, p); err != nil {
		p.add(f.Name, "has a header that is not understood: "+err.Error())
		return
	}
	covers(all.list[before:], f.Size-own.data, f.Name, p)
}

// header reads the object that names each tensor.
func (f *shard) header(t *tokens, all *safeTensors, p *problems) error {
	if err := t.take('{', "an object"); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := t.more(first, '}')
		if err != nil {
			return err
		}
		if !more {
			return t.end()
		}
		word, err := t.word("the name of a tensor")
		if err != nil {
			return err
		}
		name := string(word)
		if err := t.take(':', "a colon"); err != nil {
			return err
		}
		if name == "__metadata__" {
			if err := notes(t); err != nil {
				return errors.New("__metadata__: " + err.Error())
			}
			continue
		}
		if len(all.list) >= mostSafeTensors {
			return errors.New("more than " + strconv.Itoa(mostSafeTensors) + " tensors")
		}
		one := all.next()
		one.name, one.file = name, f
		if err := one.read(t, all); err != nil {
			return errors.New(shown(name) + ": " + err.Error())
		}
		other := all.by[name]
		switch {
		case other == nil:
			all.by[name] = one
		case other.file == f:
			p.add(name, "stands twice in "+f.Name+"; each tensor is accepted once")
		default:
			p.add(name, "stands in "+other.file.Name+" and in "+f.Name+"; each tensor is accepted once")
		}
		one.check(name, p)
		all.list = append(all.list, one)
	}
}

// notes reads what a writer noted, texts under names, and forgets it.
func notes(t *tokens) error {
	if err := t.take('{', "an object of texts"); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := t.more(first, '}')
		if err != nil || !more {
			return err
		}
		if _, err := t.word("a name"); err != nil {
			return err
		}
		if err := t.take(':', "a colon"); err != nil {
			return err
		}
		if _, err := t.word("a text"); err != nil {
			return err
		}
	}
}

// read takes what the header says of one tensor: each of three keys, once.
func (one *safeTensor) read(t *tokens, all *safeTensors) error {
	if err := t.take('{', "an object with dtype, shape and data_offsets"); err != nil {
		return err
	}
	var dtype, shape, offsets bool
	once := func(seen *bool, key string) error {
		if *seen {
			return errors.New(key + " stands twice; once is accepted")
		}
		*seen = true
		return nil
	}
	for first := true; ; first = false {
		more, err := t.more(first, '}')
		if err != nil {
			return err
		}
		if !more {
			break
		}
		word, err := t.word("a key")
		if err != nil {
			return err
		}
		var known string
		switch string(word) {
		case "dtype":
			known, err = "dtype", once(&dtype, "dtype")
		case "shape":
			known, err = "shape", once(&shape, "shape")
		case "data_offsets":
			known, err = "data_offsets", once(&offsets, "data_offsets")
		default:
			err = errors.New("has the key " + shown(string(word)) + "; dtype, shape and data_offsets are accepted")
		}
		if err == nil {
			err = t.take(':', "a colon")
		}
		if err != nil {
			return err
		}
		switch known {
		case "dtype":
			word, err = t.word("dtype")
			if kind, ok := safeWidths[string(word)]; ok && err == nil {
				one.Dtype = kind.name
			} else {
				one.Dtype = string(word)
			}
		case "shape":
			start := len(all.dims)
			all.dims, err = t.numbers("shape", all.dims, mostShapeDims)
			one.Shape = all.dims[start:len(all.dims):len(all.dims)]
		default:
			var pair [3]int64
			var list []int64
			if list, err = t.numbers("data_offsets", pair[:0], 2); err == nil && len(list) != 2 {
				err = errors.New("data_offsets has " + strconv.Itoa(len(list)) + " entries; a beginning and an end are accepted")
			}
			one.Offsets = [2]int64(pair[:2])
		}
		if err != nil {
			return err
		}
	}
	for _, k := range []struct {
		name string
		seen bool
	}{{"dtype", dtype}, {"shape", shape}, {"data_offsets", offsets}} {
		if !k.seen {
			return errors.New(k.name + " is missing; dtype, shape and data_offsets are needed")
		}
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
func covers(own []*safeTensor, size int64, file string, p *problems) {
	order := func(a, b *safeTensor) int {
		return cmp.Or(cmp.Compare(a.Offsets[0], b.Offsets[0]), cmp.Compare(a.Offsets[1], b.Offsets[1]), strings.Compare(a.name, b.name))
	}
	if !slices.IsSortedFunc(own, order) {
		own = slices.SortedFunc(slices.Values(own), order)
	}
	reached := int64(0)
	for _, t := range own {
		switch {
		case t.Offsets[0] != reached:
			p.add(t.name, "begins at byte "+itoa(t.Offsets[0])+" where the tensor before it ends at "+itoa(reached))
		case t.Offsets[1] > size:
			p.add(t.name, "ends at byte "+itoa(t.Offsets[1])+" of the "+itoa(size)+" that "+file+" holds")
		}
		reached = max(reached, t.Offsets[1])
	}
	if reached < size {
		p.add(file, "holds "+itoa(size)+" bytes of which tensors account for "+itoa(reached))
	}
}
