package catalog

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"rowproof/data"
	"rowproof/internal/roofline"
)

// own is a copy of the shipped catalogue in which tests change files.
func own(t *testing.T) fstest.MapFS {
	t.Helper()
	m := fstest.MapFS{}
	err := fs.WalkDir(data.FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(data.FS, name)
		m[name] = &fstest.MapFile{Data: b}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// shipped lists the ids of a folder of the shipped catalogue, as messages do.
func shipped(t *testing.T, folder string) string {
	t.Helper()
	names, err := fs.Glob(data.FS, folder+"/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v, %v", folder, names, err)
	}
	for i, n := range names {
		names[i] = strings.TrimSuffix(path.Base(n), ".yaml")
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// with replaces text that stands once in a file.
func with(t *testing.T, m fstest.MapFS, name, old, new string) {
	t.Helper()
	text := string(m[name].Data)
	if strings.Count(text, old) != 1 {
		t.Fatalf("%s holds %q %d times", name, old, strings.Count(text, old))
	}
	m[name] = &fstest.MapFile{Data: []byte(strings.Replace(text, old, new, 1))}
}

// Each shipped file passes the lint that the generator uses, and asks its engine for
// the reports that the gates need.
func TestShippedFiles(t *testing.T) {
	c, problems := Load(data.FS)
	byFile := map[string][]string{}
	for _, p := range problems {
		byFile[p.File] = append(byFile[p.File], p.String())
	}
	reports := map[string][]string{
		"vllm":   {"--enable-prompt-tokens-details"},
		"sglang": {"--enable-cache-report", "--enable-metrics"},
	}
	files := 0
	for name := range own(t) {
		files++
		t.Run(name, func(t *testing.T) {
			for _, p := range byFile["data/"+name] {
				t.Error(p)
			}
			key, ok := strings.CutPrefix(strings.TrimSuffix(name, ".yaml"), "cells/")
			if !ok {
				return
			}
			r := c.Recipes[key]
			for _, flag := range reports[r.Engine.Name] {
				if !slices.Contains(r.Flags, flag) {
					t.Errorf("flags lack %s, without which a gate cannot judge its rows", flag)
				}
			}
			if r.Notes == "" {
				t.Error("no notes: say what the recipe is tuned for")
			}
		})
		delete(byFile, "data/"+name)
	}
	for _, lines := range byFile {
		t.Error(lines)
	}
	if files < 40 {
		t.Errorf("only %d files", files)
	}
}

// The recipe that others may copy reaches Go as it stands in its file.
func TestRecipe(t *testing.T) {
	c, _ := Load(data.FS)
	r := c.Recipes["llama-3.1-8b/h200-sxm/latency/vllm"]
	if r.Engine.Version != "0.26.0" || r.Weights.Repository != "random" || r.Weights.Dtype != "bf16" ||
		r.KVDtype != "bf16" || r.GPUs() != 1 || r.Speculation != nil || r.Runtime.Packages["torch"] != "2.11.0" {
		t.Errorf("%+v", r)
	}
	if want := []string{"--load-format", "dummy", "--max-model-len", "16384", "--enable-prompt-tokens-details"}; !slices.Equal(r.Flags, want) {
		t.Errorf("flags %q", r.Flags)
	}
	if want := []string{"vllm", "serve", "{weights}", "{flags}", "--port", "{port}"}; !slices.Equal(r.Launch, want) {
		t.Errorf("launch %q", r.Launch)
	}
}

func TestTarget(t *testing.T) {
	c, _ := Load(data.FS)
	for id, want := range map[string]struct {
		name  string
		count int64
	}{
		"h200-sxm": {"H200 SXM", 1}, "mi300x-x8": {"8× MI300X", 8}, "h100-sxm-x4": {"4× H100 SXM", 4}, "mi300x": {"MI300X", 1},
	} {
		got, ok := c.Target(id)
		if !ok || got.Name != want.name || got.Count != want.count {
			t.Errorf("%s: %+v, %v", id, got, ok)
		}
	}
	for _, id := range []string{"", "h200", "h200-sxm-x1", "h200-sxm-x0", "h200-sxm-x", "mi300x-x8-x2", "../h200-sxm"} {
		if got, ok := c.Target(id); ok {
			t.Errorf("%q is %+v", id, got)
		}
	}
}

// What answers and tools print of a device finds it; a part of a name does not.
func TestTargetByName(t *testing.T) {
	c, _ := Load(data.FS)
	twice := *c.Targets["l40s"]
	c.Targets["l40s-again"] = &twice
	for _, e := range []struct{ name, id, said string }{
		{"h200-sxm", "h200-sxm", "H200 SXM"}, {"H200-SXM", "h200-sxm", "H200 SXM"}, {"H200 SXM", "h200-sxm", "H200 SXM"},
		{"h200 sxm", "h200-sxm", "H200 SXM"}, {"NVIDIA H200", "h200-sxm", "H200 SXM"}, {"nvidia h200", "h200-sxm", "H200 SXM"},
		{"AMD Instinct MI300X OAM", "mi300x", "MI300X"}, {"h200-sxm-x1", "h200-sxm", "H200 SXM"},
		{"h200-sxm-x8", "h200-sxm-x8", "8× H200 SXM"}, {"H200-SXM-X8", "h200-sxm-x8", "8× H200 SXM"}, {"8× H200 SXM", "h200-sxm-x8", "8× H200 SXM"},
		{"8x NVIDIA H200", "h200-sxm-x8", "8× H200 SXM"}, {"1× H200 SXM", "h200-sxm", "H200 SXM"}, {"NVIDIA H200-x3", "h200-sxm-x3", "3× H200 SXM"},
		{"h200", "", ""}, {"H100", "", ""}, {"", "", ""}, {"-x2", "", ""}, {"h200-sxm-x0", "", ""}, {"h200-sxm-x01", "", ""}, {"h200-sxm-x2-x2", "", ""},
		{"L40S", "l40s", "L40S"}, {"NVIDIA L40S", "", ""}, // the id says which, the device's name does not
	} {
		switch target, id := c.TargetByName(e.name); {
		case id != e.id || (target == nil) != (id == ""):
			t.Errorf("%q is %q, want %q", e.name, id, e.id)
		case target != nil && target.Name != e.said:
			t.Errorf("%q is %q, want %q", e.name, target.Name, e.said)
		}
	}
}

func TestModelByName(t *testing.T) {
	c, _ := Load(data.FS)
	for _, name := range []string{"llama-3.1-8b", "Llama 3.1 8B", "meta-llama/Llama-3.1-8B-Instruct", "META-LLAMA/llama-3.1-8b"} {
		if m, id := c.ModelByName(name); id != "llama-3.1-8b" || m == nil {
			t.Errorf("%q is %q", name, id)
		}
	}
	for _, name := range []string{"", "llama", "8B"} {
		if m, id := c.ModelByName(name); id != "" || m != nil {
			t.Errorf("%q is %q", name, id)
		}
	}
}

// Text reaches us letter for letter, quoted or not, or is refused with its place.
func TestTextLetterForLetter(t *testing.T) {
	m := own(t)
	const cell = "cells/llama-3.1-8b/h200-sxm/latency/vllm.yaml"
	with(t, m, cell, `engine: {name: vllm, version: "0.26.0"}`, "engine:\n  name: vllm\n  version: 0.10")
	with(t, m, cell, `{vllm: "0.26.0", torch: "2.11.0", flashinfer-python: "0.6.14"}`, "{vllm: 0.10, torch: 2.10}")
	with(t, m, cell, "{repository: random, dtype: bf16}", "{repository: example/m, revision: 7301852e17, dtype: bf16}")
	with(t, m, cell, `"--load-format", "dummy", "--max-model-len", "16384"`, "--seed, 08000, --tag, 1_000, --none, none")
	with(t, m, cell, "env: {}", "env:\n  NO_COLOR: no\n  OFFLINE: on\n  MASK: 0x1F\n  PORT: 08000\n  SPAN: 1:30\n  DAY: 2026-11-30\n  EMPTY: ''\n  TRUE: True\n  EXP: 1e3\n  INF: .inf\n  PLUS: +5")
	c, problems := Load(m)
	for _, p := range problems {
		t.Error(p)
	}
	r := c.Recipes["llama-3.1-8b/h200-sxm/latency/vllm"]
	if r.Engine.Version != "0.10" || r.Weights.Revision != "7301852e17" || r.Runtime.Packages["torch"] != "2.10" {
		t.Errorf("version %q, revision %q, torch %q", r.Engine.Version, r.Weights.Revision, r.Runtime.Packages["torch"])
	}
	want := map[string]string{"NO_COLOR": "no", "OFFLINE": "on", "MASK": "0x1F", "PORT": "08000", "SPAN": "1:30",
		"DAY": "2026-11-30", "EMPTY": "", "TRUE": "True", "EXP": "1e3", "INF": ".inf", "PLUS": "+5"}
	if !maps.Equal(r.Env, want) {
		t.Errorf("env %q", r.Env)
	}
	if want := []string{"--seed", "08000", "--tag", "1_000", "--none", "none", "--enable-prompt-tokens-details"}; !slices.Equal(r.Flags, want) {
		t.Errorf("flags %q", r.Flags)
	}
}

// Null has no letters of its own, whichever way it is written.
func TestNullIsRefused(t *testing.T) {
	for written, place := range map[string]string{
		"~": "13:10", "null": "13:10", "Null": "13:10", "": "13:9",
	} {
		m := own(t)
		const cell = "cells/llama-3.1-8b/h200-sxm/latency/vllm.yaml"
		with(t, m, cell, "env: {}", "env:\n  EMPTY: "+written)
		_, problems := Load(m)
		shown := written
		if shown == "" {
			shown = "nothing stands there"
		}
		want := "data/" + cell + ":" + place + ": env.EMPTY is null (" + shown + `); write it in quotes, or "" if it is empty`
		if len(problems) != 1 || problems[0].String() != want {
			t.Errorf("%q: %v, want %s", written, problems, want)
		}
	}
}

// Each kind of mistake, with the place and words that its writer is told.
func TestProblems(t *testing.T) {
	const (
		model = "models/llama-3.1-8b.yaml"
		cell  = "cells/llama-3.1-8b/h200-sxm/latency/vllm.yaml"
	)
	for _, c := range []struct {
		name, file, old, new string
		want                 []string // after "data/FILE:"
	}{
		{"unknown key", cell, "notes: The", "note: The",
			[]string{`16:1: key "note" is not known, "notes" may be meant; accepted here: engine, runtime, weights, kv_dtype, pools, nodes, router, kv_offload, adapters, speculation, env, flags, launch, arch, notes`}},
		{"twice", cell, "nodes: 1", "nodes: 1\nnodes: 2", []string{`8:1: key "nodes" stands twice, first in line 7`}},
		{"experts", cell, "ep: 1", "ep: 2",
			[]string{"6:56: ep is 2, but the pool shares experts over tp × dp = 1 devices", "13:8: pools say ep 2, but no flag shares experts; --enable-expert-parallel with ep 1 is accepted"}},
		{"experts over all", cell, `"--max-model-len", "16384"`, `"--enable-expert-parallel", "--data-parallel-size", "2"`,
			[]string{"13:8: pools say dp 1, but the flags say 2; --data-parallel-size 1 is accepted"}},
		{"twice inside", cell, "env: {}", "env: {A: x, A: y}", []string{`12:13: key "A" stands twice, first in line 12`}},
		{"missing", cell, "router: none\n", "", []string{"1:1: router is missing"}},
		{"wrong type", cell, "nodes: 1", `nodes: "1"`, []string{`7:8: nodes is "1"; a whole number such as 4096 is accepted, without quotes, separators or leading zeros`}},
		{"separator", model, "hidden: 4096", "hidden: 4_096", []string{`6:11: architecture.hidden is "4_096"; a whole number such as 4096 is accepted, without quotes, separators or leading zeros`}},
		{"hexadecimal", model, "hidden: 4096", "hidden: 0x1000", []string{`6:11: architecture.hidden is "0x1000"; a whole number such as 4096 is accepted, without quotes, separators or leading zeros`}},
		{"zero", model, "count: 32", "count: 0", []string{"11:14: architecture.layers[].count is 0; at least 1 is accepted"}},
		{"list for text", cell, "kv_dtype: bf16", "kv_dtype: [bf16]", []string{"5:11: kv_dtype is a list; text is accepted"}},
		{"text for a list", cell, "adapters: []", "adapters: none", []string{`10:11: adapters is "none"; a list is accepted`}},
		{"yes", model, "tied_head: false", "tied_head: no", []string{`8:14: architecture.tied_head is "no"; true or false is accepted`}},
		{"alias", cell, "router: none\nkv_offload: none", "router: &n none\nkv_offload: *n",
			[]string{"8:9: anchor &n; write each value where it belongs", "9:13: alias *n; write the value itself"}},
		{"tag", cell, "router: none", "router: !!str none", []string{"8:9: tag !!str; write the value without a tag, text in quotes"}},
		{"merge key", cell, "env: {}", "env: {}\n<<: {A: x}",
			[]string{`13:1: key "<<" is not known; accepted here: engine, runtime, weights, kv_dtype, pools, nodes, router, kv_offload, adapters, speculation, env, flags, launch, arch, notes`}},
		{"syntax", cell, "env: {}", "env: {", []string{"14:1: not YAML: while parsing a flow mapping, did not find expected ',' or '}'"}},
		{"two documents", cell, "env: {}", "env: {}\n---\nenv: {}", []string{"13:1: a second document begins; a catalogue file holds one"}},
		{"turned text", cell, "notes: The", "notes: \u202eThe", []string{"16:8: character U+202E cannot be seen; leave it out"}},
		{"control", cell, "notes: The", "notes: \x07The", []string{"16:8: character U+0007 cannot be seen; leave it out"}},
		{"several lines", cell, "version: \"0.26.0\"}", "version: 0.26\n    .0}",
			[]string{"1:31: engine.version runs over several lines; write it in quotes, in one line"}},
		{"long text", cell, "env: {}", "env: {A: " + strings.Repeat("x", 20000) + "}", []string{"12:10: env.A has 20000 bytes; at most 16384 are accepted"}},
		{"engine", cell, "{name: vllm,", "{name: vlm,",
			[]string{`1:9: engine.name is "vlm", but the file is called vllm.yaml`, `1:16: engine.name "vlm" is not known, "vllm" may be meant; there are: vllm, sglang, llamacpp, ollama, tgi, trtllm, openai`}},
		{"dtype", cell, "dtype: bf16}", "dtype: fp6}",
			[]string{`4:38: weights.dtype "fp6" is not known, "fp16" may be meant; there are: ` + strings.Join(roofline.WeightDtypes(), ", ")}},
		{"image without digest", cell, `packages: {vllm: "0.26.0", torch: "2.11.0", flashinfer-python: "0.6.14"}`, `image: vllm/vllm-openai:v0.26.0`,
			[]string{`3:10: runtime.image is "vllm/vllm-openai:v0.26.0"; name@sha256:… with its 64 hex digits is accepted, since a tag alone can be moved`}},
		{"range", cell, `torch: "2.11.0"`, `torch: ">=2.11"`, []string{`3:13: runtime.packages.torch is ">=2.11"; one exact version such as 0.26.0 is accepted`}},
		{"two versions", cell, `{vllm: "0.26.0", torch`, `{vllm: "0.33.0", torch`, []string{"3:13: runtime.packages.vllm is 0.33.0, but engine.version is 0.26.0"}},
		{"no revision", cell, "repository: random", "repository: a/b",
			[]string{"4:23: weights.revision is missing: a repository changes; name the commit",
				`13:8: weights.repository is "a/b", but the flags load "dummy"; random and --load-format dummy go together`}},
		{"file outside", cell, "repository: random", "file: ../x, repository: random", []string{`4:17: weights.file is "../x"; a path inside the repository is accepted`}},
		{"layout", cell, "tp: 1", "tp: 2",
			[]string{"6:8: pools take 2 devices, but the target has 1", "13:8: pools say tp 2, but the flags say 1; --tensor-parallel-size 2 is accepted"}},
		{"roles", cell, "role: all", "role: prefill", []string{"6:8: pools are either all of role all, or prefill and decode together"}},
		{"speculation", cell, "speculation: none", "speculation: eagle3", []string{`11:14: speculation is "eagle3"; none or {method: …, draft_tokens: …} is accepted`}},
		{"secret", cell, "env: {}", "env: {HF_TOKEN: x}", []string{"12:7: env.HF_TOKEN looks like a secret, and recipes are published; leave it to the host's own environment"}},
		{"hole", cell, `"{port}"`, `"{prot}"`,
			[]string{"14:9: launch does not use {port}", "14:61: launch[5] holds {prot}; {weights}, {flags} and {port} are accepted"}},
		{"flags in a word", cell, `"{flags}"`, `"x{flags}"`, []string{"14:40: launch[3] holds {flags} inside a word; it stands alone, since it becomes several"}},
		{"architecture", cell, "arch: [sm_90]", "arch: [sm_100]", []string{"15:7: arch covers sm_100, but H200 SXM is sm_90"}},
		{"published", model, `total_params: "8"`, `total_params: "8.2"`,
			[]string{"18:17: published 8.2 billion parameters, but the architecture has 8.03; correct the one that is wrong"}},
		{"published exactly", model, "total_exact: 8030261248", "total_exact: 8030261249",
			[]string{"19:16: published 8030261249 parameters, but the architecture has 8030261248; correct the one that is wrong"}},
		{"heads", model, "kv_heads: 8", "kv_heads: 5",
			[]string{"12:51: 32 heads cannot share 5 key-value heads evenly"}},
		{"repository", model, "meta-llama/Llama-3.1-8B]", "Llama-3.1-8B]", []string{`4:50: repositories[1] is "Llama-3.1-8B"; owner/name is accepted`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := own(t)
			with(t, m, c.file, c.old, c.new)
			_, problems := Load(m)
			var got []string
			for _, p := range problems {
				if s, ok := strings.CutPrefix(p.String(), "data/"+c.file+":"); ok {
					got = append(got, s)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
		})
	}
}

// Files that lie where none belongs, and ids that are no ids.
func TestPlaces(t *testing.T) {
	m := own(t)
	cell := m["cells/llama-3.1-8b/h200-sxm/latency/vllm.yaml"]
	m["cells/llama-3.1-8b/h200-sxm/vllm.yaml"] = cell
	m["cells/llama-3.1-8b/h200-sxm/latency/notes.txt"] = cell
	m["cells/lama-3.1-8b/h200-sxm/fast/vllm.yaml"] = cell
	m["cells/llama-3.1-8b/h200-sxm-x0/latency/vllm.yaml"] = cell
	m["models/Bad Name.yaml"] = m["models/llama-3.1-8b.yaml"]
	m["models/a..b.yaml"] = m["models/llama-3.1-8b.yaml"]
	m["strategies/empty.yaml"] = &fstest.MapFile{Data: []byte("# nothing\n")}
	_, problems := Load(m)
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	want := []string{
		`data/cells/lama-3.1-8b/h200-sxm/fast/vllm.yaml:1:1: no model "lama-3.1-8b", "llama-3.1-8b" may be meant; there are: ` + shipped(t, "models"),
		`data/cells/lama-3.1-8b/h200-sxm/fast/vllm.yaml:1:1: no strategy "fast"; there are: empty, fp8, latency, throughput`,
		`data/cells/llama-3.1-8b/h200-sxm-x0/latency/vllm.yaml:1:1: no target "h200-sxm-x0"; there are: ` + shipped(t, "targets") + `, each also as ID-xN for N devices`,
		`data/cells/llama-3.1-8b/h200-sxm/latency/notes.txt:1:1: not a .yaml file; cells/ holds nothing else`,
		`data/cells/llama-3.1-8b/h200-sxm/vllm.yaml:1:1: lies at the wrong depth; cells/MODEL/TARGET/STRATEGY/ENGINE.yaml is accepted`,
		`data/models/Bad Name.yaml:1:1: id "Bad Name": small letters, digits, dots and hyphens are accepted, beginning with a letter or digit, no two dots together`,
		`data/models/a..b.yaml:1:1: id "a..b": small letters, digits, dots and hyphens are accepted, beginning with a letter or digit, no two dots together`,
		`data/strategies/empty.yaml:1:1: the file is empty`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// A folder in which nothing matches is a mistake, not an empty catalogue.
func TestEmptyRoot(t *testing.T) {
	_, problems := Load(fstest.MapFS{})
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	want := []string{
		"data/cells:1:1: holds no file; at least one cells/MODEL/TARGET/STRATEGY/ENGINE.yaml is needed",
		"data/models:1:1: holds no file; at least one models/ID.yaml is needed",
		"data/strategies:1:1: holds no file; at least one strategies/ID.yaml is needed",
		"data/targets:1:1: holds no file; at least one targets/ID.yaml is needed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// SGLang's attention in parallel on data counts the devices of all copies as tensor
// parallel; without it copies are replicas, each with devices of its own.
func TestAttentionInParallelOnData(t *testing.T) {
	for flags, want := range map[string]string{
		`"--tp", "2", "--dp", "2", "--enable-dp-attention"`: "",
		`"--tp", "1", "--dp", "2"`:                          "",
		`"--tp", "2", "--dp", "2"`:                          "pools say tp 1, but the flags say 2; --tensor-parallel-size 1 is accepted",
		`"--tp", "1", "--dp", "2", "--enable-dp-attention"`: "pools say tp 2, but the flags say 1; --tensor-parallel-size 2 is accepted",
	} {
		m := own(t)
		cell := string(m["cells/llama-3.1-8b/h200-sxm/latency/sglang.yaml"].Data)
		cell = strings.Replace(cell, "tp: 1, pp: 1, dp: 1", "tp: 1, pp: 1, dp: 2", 1)
		cell = strings.Replace(cell, `"--enable-cache-report"`, `"--enable-cache-report", `+flags, 1)
		m["cells/llama-3.1-8b/h200-sxm-x2/latency/sglang.yaml"] = &fstest.MapFile{Data: []byte(cell)}
		_, problems := Load(m)
		if want == "" && len(problems) != 0 || want != "" && (len(problems) != 1 || problems[0].Text != want) {
			t.Errorf("%s: %v; want %q", flags, problems, want)
		}
	}
}

// Aliases that would grow to a billion values are refused before anything is built.
func TestAliasBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 30; i++ {
		n := string(rune('0'+i/10)) + string(rune('0'+i%10))
		p := string(rune('0'+(i-1)/10)) + string(rune('0'+(i-1)%10))
		if i == 1 {
			p = "0"
		}
		b.WriteString("a" + n + ": &a" + n + " [*a" + p + ", *a" + p + ", *a" + p + "]\n")
	}
	m := own(t)
	m["models/llama-3.1-8b.yaml"] = &fstest.MapFile{Data: []byte(b.String())}
	_, problems := Load(m)
	if len(problems) == 0 || !strings.Contains(problems[0].Text, "anchor &a0") {
		t.Errorf("%v", problems)
	}
}

func TestWithdrawn(t *testing.T) {
	if list, problems := Withdrawn(fstest.MapFS{}); len(list)+len(problems) != 0 {
		t.Errorf("no file: %v, %v", list, problems)
	}
	list, problems := Withdrawn(fstest.MapFS{"withdrawn.yaml": &fstest.MapFile{Data: []byte(
		"- {id: 7ce8adf04740, date: 2026-12-02, reason: \"the launcher dropped a flag\"}\n- {id: 7CE8, date: 2.12.2026}\n")}})
	if w := list["7ce8adf04740"]; w.Date != "2026-12-02" || w.Reason != "the launcher dropped a flag" {
		t.Errorf("%+v", w)
	}
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	want := []string{
		`data/withdrawn.yaml:2:8: id is "7CE8"; the 12 hex digits of a row's id are accepted`,
		`data/withdrawn.yaml:2:20: date is "2.12.2026"; a day such as 2026-11-30 is accepted`,
		`data/withdrawn.yaml:2:3: [].reason is missing`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// Whatever a file holds, reading it ends and says so with a place.
func FuzzLoad(f *testing.F) {
	for _, name := range []string{"cells/llama-3.1-8b/h200-sxm/latency/vllm.yaml", "models/qwen3-8b.yaml", "models/gpt-oss-20b.yaml", "models/glm-5.2.yaml", "targets/mi300x.yaml", "strategies/fp8.yaml"} {
		b, err := fs.ReadFile(data.FS, name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("- {}\n? [x]\n: y\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := fstest.MapFS{}
		for _, name := range []string{"models/m.yaml", "targets/t.yaml", "strategies/s.yaml", "cells/m/t/s/vllm.yaml", "withdrawn.yaml"} {
			m[name] = &fstest.MapFile{Data: b}
		}
		c, problems := Load(m)
		_, more := Withdrawn(m)
		for _, p := range append(problems, more...) {
			if p.Line < 1 || p.Col < 1 || p.Text == "" || p.File == "" {
				t.Errorf("a problem without a place or words: %+v", p)
			}
		}
		if len(problems) == 0 {
			t.Error("one file cannot be model, target, strategy and recipe")
		}
		own, more := TargetFile("own.yaml", b)
		if (own == nil) != (len(more) > 0) {
			t.Errorf("%+v with %v", own, more)
		}
		if m := c.Models["m"]; m != nil {
			roofline.Ceiling(roofline.Query{Model: m, Target: c.Targets["t"]})
		}
	})
}
