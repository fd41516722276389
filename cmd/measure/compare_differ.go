package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/row"
)

// differences lists what the two servers and hosts were not alike in and what may explain a
// change, each once. What was not read on one side is told where that side has a word for
// it; a field that older reports lack is no difference.
func (c *comparison) differences(old, new *row.Report) {
	add := func(what, a, b string) {
		if a != b {
			c.Differ = append(c.Differ, [3]string{what, cmpOr(a), cmpOr(b)})
		}
	}
	read := func(what, a, b string) {
		if a != "" && b != "" {
			add(what, a, b)
		}
	}
	a, b := &old.Receipt, &new.Receipt
	add("recipe", old.Recipe, new.Recipe)
	add("engine", strings.TrimSpace(a.Engine.Name+" "+a.Engine.Version), strings.TrimSpace(b.Engine.Name+" "+b.Engine.Version))
	add("model", a.Engine.Model, b.Engine.Model)
	each(a.Engine.Arguments, b.Engine.Arguments, "arguments", add, func(name string) string {
		if slices.Contains(passing, strings.ReplaceAll(name, "-", "_")) || a.Engine.ArgumentsFrom != b.Engine.ArgumentsFrom && onlyDefault(&a.Engine, &b.Engine, name) {
			return ""
		}
		return "--" + strings.ReplaceAll(name, "_", "-")
	})
	each(a.Engine.Environment, b.Engine.Environment, "", add, func(name string) string { return "variable " + name })
	add("weights", weightsWords(&a.Weights), weightsWords(&b.Weights))
	read("weights' headers", short12(a.Weights.HeadersSHA256), short12(b.Weights.HeadersSHA256))
	read("weights' config.json", short12(a.Weights.ConfigSHA256), short12(b.Weights.ConfigSHA256))
	add("run from", a.Runtime.Kind, b.Runtime.Kind)
	add("image", a.Runtime.Image, b.Runtime.Image)
	each(a.Runtime.Packages, b.Runtime.Packages, "packages", add, func(name string) string {
		if name == a.Engine.Name && a.Engine.Version == a.Runtime.Packages[name] && b.Engine.Version == b.Runtime.Packages[name] {
			return "" // it stands above
		}
		return "package " + name
	})
	each(a.Runtime.Libraries, b.Runtime.Libraries, "", add, func(name string) string { return "library " + name })
	add("devices", devicesWords(a, func(d row.Device) string { return d.Name }), devicesWords(b, func(d row.Device) string { return d.Name }))
	for _, of := range []struct {
		name string
		text func(row.Device) string
	}{
		{"driver", func(d row.Device) string { return d.Driver }},
		{"device memory", func(d row.Device) string { return wholeWords(d.MemoryBytes) }},
		{"device partition", func(d row.Device) string { return d.Partition }},
		{"device ECC", func(d row.Device) string { return d.ECC }},
		{"driver stays loaded", func(d row.Device) string { return d.Persisted }},
	} {
		read(of.name, devicesWords(a, of.text), devicesWords(b, of.text))
	}
	read("devices in use by the server", usedWords(a), usedWords(b))
	add("kernel", a.Host.Kernel, b.Host.Kernel)
	add("CPU", a.Host.CPU, b.Host.CPU)
	read("cores", countWords(a.Host.Cores), countWords(b.Host.Cores))
	read("host memory", wholeWords(a.Host.MemoryBytes), wholeWords(b.Host.MemoryBytes))
	read("NUMA balancing", wholeWords(a.Host.NUMABalancing), wholeWords(b.Host.NUMABalancing))
	read("governor", a.Host.Governor, b.Host.Governor)
	read("huge pages", a.Host.HugePages, b.Host.HugePages)
	read("swap", swapWords(a.Host.SwapUsedBytes), swapWords(b.Host.SwapUsedBytes))
	read("open files, limit", a.Host.OpenFiles, b.Host.OpenFiles)
	read("locked memory, limit", a.Host.LockedBytes, b.Host.LockedBytes)
	add("stamps", old.Client.Stamps, new.Client.Stamps)
	read("measured by", strings.TrimSpace(old.Tool.Version+" "+short12(old.Tool.Revision)), strings.TrimSpace(new.Tool.Version+" "+short12(new.Tool.Revision)))
}

// onlyDefault says whether an argument stands on one side alone, where the engine lists all
// that it has, with what nobody chose; the other side's list ends with what was given.
func onlyDefault(a, b *row.EngineReceipt, name string) bool {
	_, inA := a.Arguments[name]
	_, inB := b.Arguments[name]
	const given = "process command line"
	return inA && !inB && a.ArgumentsFrom != given || inB && !inA && b.ArgumentsFrom != given
}

// each lists the entries of two maps that differ. Where one of them was not read at all that
// is one line under the name of all; "" is none.
func each(a, b map[string]string, all string, add func(what, a, b string), name func(string) string) {
	if len(a) == 0 || len(b) == 0 {
		if all != "" && len(a) != len(b) {
			count := func(m map[string]string) string {
				if len(m) == 0 {
					return ""
				}
				return strconv.Itoa(len(m)) + " read"
			}
			add(all, count(a), count(b))
		}
		return
	}
	both := maps.Clone(a)
	maps.Copy(both, b)
	for _, key := range sortedKeys(both) {
		if what := name(key); what != "" {
			add(what, a[key], b[key])
		}
	}
}

// devicesWords is a text of each device, alike ones counted.
func devicesWords(r *row.Receipt, text func(row.Device) string) string {
	var texts []string
	counts := map[string]int{}
	for _, d := range r.Devices {
		t := text(d)
		if t == "" {
			continue
		}
		if counts[t]++; counts[t] == 1 {
			texts = append(texts, t)
		}
	}
	for i, t := range texts {
		if counts[t] > 1 {
			texts[i] = fmt.Sprintf("%d × %s", counts[t], t)
		}
	}
	return strings.Join(texts, ", ")
}

func usedWords(r *row.Receipt) string {
	n := 0
	for _, d := range r.Devices {
		if d.Used {
			n++
		}
	}
	return countWords(int64(n))
}

func weightsWords(w *row.WeightsReceipt) string {
	if w.Source == "unknown" {
		return ""
	}
	return strings.TrimSpace(w.Source + " " + w.Revision)
}

func countWords(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func wholeWords(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

// swapWords says whether a host swaps: how much it does is never twice the same.
func swapWords(n *int64) string {
	switch {
	case n == nil:
		return ""
	case *n == 0:
		return "none in use"
	}
	return "in use"
}

func short12(hash string) string { return hash[:min(12, len(hash))] }

// passing are arguments that differ from one start to the next and change nothing.
var passing = []string{"port", "host", "nccl_port", "random_seed", "internal_states", "startup_time", "load_time", "status", "engine_info_bootstrap_port"}
