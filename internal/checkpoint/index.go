package checkpoint

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Index is what a model.safetensors.index.json says of a checkpoint.
type Index struct {
	Files []string // in order of name

	size    string            // total_size as it stands; "" where it is not stated
	tensors map[string]string // the file of each; nil without an index
}

// ReadIndex reads a model.safetensors.index.json. The files that it names are beside it.
func ReadIndex(data []byte) (*Index, []Problem) {
	p := &problems{}
	if len(data) > mostHeaderBytes {
		p.add("", "is "+strconv.Itoa(len(data))+" bytes long; an index of at most "+strconv.Itoa(mostHeaderBytes)+" is accepted")
		return nil, p.told()
	}
	var read struct {
		Metadata struct {
			Size json.RawMessage `json:"total_size"`
		} `json:"metadata"`
		Map map[string]string `json:"weight_map"`
	}
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&read); err != nil {
		p.add("", "is no index: an object with a weight_map, of file names under names of tensors, is accepted")
		return nil, p.told()
	}
	found := map[string]bool{}
	for _, tensor := range slices.Sorted(maps.Keys(read.Map)) {
		name := read.Map[tensor]
		if printable(name) != name || strings.ContainsAny(name, "/\\") || !strings.HasSuffix(name, ".safetensors") {
			p.add("weight_map."+tensor, "is "+shown(name)+"; the name of a .safetensors file beside the index is accepted")
			continue
		}
		found[name] = true
	}
	if len(found) == 0 && len(p.list) == 0 {
		p.add("weight_map", "names no file; one a tensor is needed")
	}
	if len(found) > mostShards {
		p.add("weight_map", "names "+strconv.Itoa(len(found))+" files; at most "+strconv.Itoa(mostShards)+" are accepted")
	}
	return &Index{slices.Sorted(maps.Keys(found)), string(read.Metadata.Size), read.Map}, p.told()
}

// holds compares the index with the tensors that the files hold. A total_size that is not
// theirs is said and not counted, since writers differ in what they add up.
func (x *Index) holds(all *safeTensors, h *Header, p *problems) {
	if x.tensors == nil {
		return
	}
	var sum, unnamed int64
	for _, t := range all.list {
		sum += t.bytes()
		file, named := x.tensors[t.name]
		switch {
		case !named:
			unnamed++
		case file != t.file.Name[strings.LastIndexAny(t.file.Name, "/\\")+1:]:
			p.add(t.name, "stands in "+t.file.Name+", and the index says "+shown(file))
		}
	}
	if unnamed > 0 {
		h.notes = append(h.notes, "the index leaves out "+itoa(unnamed)+" of the tensors that its files hold: all count")
	}
	if int64(len(x.tensors)) != int64(len(all.list))-unnamed {
		for _, name := range slices.Sorted(maps.Keys(x.tensors)) {
			if all.by[name] == nil {
				p.add(name, "is in none of the files, and the index says "+shown(x.tensors[name]))
			}
		}
	}
	if x.size != "" && x.size != itoa(sum) {
		h.notes = append(h.notes, "the index says a total_size of "+clip(printable(x.size))+" and the tensors are "+itoa(sum)+" bytes: theirs count")
	}
}
