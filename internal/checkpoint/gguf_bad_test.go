package checkpoint

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// ggufBytes builds a GGUF by hand, so that it can be wrong.
type ggufBytes []byte

func (b ggufBytes) u32(n ...uint32) ggufBytes {
	for _, v := range n {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func (b ggufBytes) u64(n ...uint64) ggufBytes {
	for _, v := range n {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func (b ggufBytes) text(s string) ggufBytes { return append(b.u64(uint64(len(s))), s...) }

func begin(tensors, keys uint64) ggufBytes {
	return ggufBytes("GGUF").u32(3).u64(tensors, keys)
}

func (b ggufBytes) word(key, value string) ggufBytes     { return b.text(key).u32(8).text(value) }
func (b ggufBytes) count(key string, n uint32) ggufBytes { return b.text(key).u32(4, n) }

func (b ggufBytes) tensor(name string, kind uint32, offset uint64, dims ...uint64) ggufBytes {
	return b.text(name).u32(uint32(len(dims))).u64(dims...).u32(kind).u64(offset)
}

// data fills up to the alignment and adds so many bytes.
func (b ggufBytes) data(n int) ggufBytes {
	return append(b, make([]byte, (32-len(b)%32)%32+n)...)
}

func TestBadGGUF(t *testing.T) {
	arch := func(n uint64) ggufBytes { return begin(0, n+1).word("general.architecture", "llama") }
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":             {nil, `x.gguf: begins with `},
		"another file":      {[]byte("PK\x03\x04 and more"), `x.gguf: begins with "PK\x03\x04"; a GGUF file is accepted`},
		"version 1":         {ggufBytes("GGUF").u32(1).u64(0, 0), "x.gguf: is GGUF version 1; versions 2 and 3 are accepted"},
		"big-endian":        {ggufBytes("GGUF\x00\x00\x00\x03").u64(0, 0), "x.gguf: is a GGUF file of a big-endian machine"},
		"cut":               {arch(1).text("k").u32(8).u64(4), "x.gguf: claims 4 items of at least 1 bytes where 0 bytes are left"},
		"tensors":           {begin(1<<60, 0), "x.gguf: claims 1152921504606846976 items of at least 24 bytes where 8 bytes are left"},
		"keys":              {begin(0, 1<<60), "x.gguf: claims 1152921504606846976 items of at least 13 bytes where 0 bytes are left"},
		"a long text":       {begin(0, 1).u64(1<<50).u64(0, 0), "x.gguf: claims 1125899906842624 items of at least 1 bytes"},
		"a long array":      {begin(0, 1).text("k").u32(9, 4).u64(1 << 61).u64(0), "x.gguf: claims 2305843009213693952 items of at least 4 bytes"},
		"an unknown value":  {begin(0, 1).text("k").u32(77).u64(0), `x.gguf: has a value of type 77, which is not known, under "k"`},
		"an unknown array":  {begin(0, 1).text("k").u32(9, 77).u64(1).u64(0), "x.gguf: has an array of type 77"},
		"arrays in arrays":  {nested(9), "x.gguf: has an array of type 9"},
		"a key twice":       {begin(0, 3).word("general.architecture", "llama").count("a", 1).count("a", 1), "a: stands twice"},
		"no architecture":   {begin(0, 0), `general.architecture: is "", which is not known; accepted: deepseek2, `},
		"another":           {begin(0, 1).word("general.architecture", "rwkv"), `general.architecture: is "rwkv", which is not known; accepted: deepseek2, `},
		"nothing said":      {arch(0), "llama.embedding_length: is missing; a whole number of 1 to"},
		"an unknown key":    {begin(0, 2).word("general.architecture", "lfm2").count("lfm2.hyena", 1), "lfm2.hyena: is not known: it may change the cost"},
		"dimensions":        {begin(1, 0).tensor("a", 0, 0, 1, 1, 1, 1, 1), `x.gguf: has a tensor of 5 dimensions, "a"; 1 to 4 are accepted`},
		"no dimension":      {begin(1, 0).tensor("a", 0, 0).data(8), `x.gguf: has a tensor of 0 dimensions`},
		"overflow":          {begin(1, 0).tensor("a", 0, 0, 1<<40, 1<<40).data(8), "a: has a dimension of 1099511627776"},
		"an unknown type":   {begin(1, 0).tensor("a", 99, 0, 32).data(8), "a: is of type 99, whose size is not known"},
		"half a block":      {begin(1, 0).tensor("a", 2, 0, 33).data(64), "a: has rows of 33 numbers, which blocks of 32 (Q4_0) do not fill"},
		"off alignment":     {begin(1, 0).tensor("a", 0, 4, 1).data(64), "a: begins at 4, which is no multiple of 32"},
		"beyond the file":   {begin(1, 0).tensor("a", 0, 0, 1024).data(64), "a: ends beyond the file: 4096 bytes from 0 of 64"},
		"far beyond":        {begin(1, 0).tensor("a", 0, 1<<63, 1024).data(64), "a: "},
		"overlapping":       {begin(2, 0).tensor("a", 0, 0, 16).tensor("b", 0, 32, 16).data(128), "b: begins at 32, within the tensor before it, which ends at 64"},
		"alignment":         {begin(0, 1).count("general.alignment", 33), "general.alignment: is 33; a power of 2 is accepted"},
		"the same twice":    {begin(2, 1).word("general.architecture", "llama").tensor("a", 0, 0, 8).tensor("a", 0, 32, 8).data(64), "a: stands twice"},
		"of several":        {begin(0, 2).word("general.architecture", "llama").count("split.count", 3), "x.gguf: is one of 3 parts"},
		"a later part":      {begin(0, 2).word("general.architecture", "llama").count("split.no", 1), "x.gguf: is part 1 and stands in place 0"},
		"heads of a number": {lfm2With(3, 0, 8), "lfm2.attention.head_count_kv: has 2 entries where block_count is 3; one a block is accepted"},
		"heads below none":  {lfm2With(2, 0, 0xffffffff), "lfm2.attention.head_count_kv: is 4294967295; a whole number of 0 to"},
	} {
		t.Run(name, func(t *testing.T) {
			h, problems := GGUF("", file("x.gguf", c.data))
			if h != nil {
				if (len(h.Doubts) == 0) != (h.Model != nil) {
					t.Errorf("a model %v with doubts %v", h.Model, h.Doubts)
				}
				problems = append(problems, h.Doubts...)
			}
			if !slices.ContainsFunc(problems, func(p Problem) bool { return strings.HasPrefix(p.String(), c.want) }) {
				t.Errorf("%v; want among them %q", problems, c.want)
			}
		})
	}
}

// nested is an array that holds an array, and so on.
func nested(depth int) []byte {
	b := begin(0, 1).text("k").u32(9)
	for range depth {
		b = b.u32(9).u64(1)
	}
	return b.u32(4).u64(1).u32(7).u64(0, 0, 0)
}

// lfm2With has an array of key-value heads.
func lfm2With(blocks uint32, kv ...uint32) []byte {
	b := begin(0, 8).word("general.architecture", "lfm2").count("lfm2.block_count", blocks).count("lfm2.embedding_length", 64).
		count("lfm2.vocab_size", 8).count("lfm2.attention.head_count", 8).count("lfm2.feed_forward_length", 16).count("lfm2.shortconv.l_cache", 3)
	return b.text("lfm2.attention.head_count_kv").u32(9, 4).u64(uint64(len(kv))).u32(kv...)
}
