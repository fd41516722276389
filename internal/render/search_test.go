package render

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dop251/goja"
	"github.com/evanw/esbuild/pkg/api"
)

// finder is the page's own search, without a page: rank.ts over a built index.
func finder(t *testing.T, index string) func(query string) []string {
	t.Helper()
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	built := api.Build(api.BuildOptions{
		AbsWorkingDir: root, EntryPoints: []string{"site/search/rank.ts"},
		Bundle: true, Format: api.FormatIIFE, GlobalName: "rank", Target: api.ES2017, LogLevel: api.LogLevelSilent,
	})
	if len(built.Errors) > 0 {
		t.Fatal(built.Errors)
	}
	vm := goja.New()
	if _, err := vm.RunString(string(built.OutputFiles[0].Contents)); err != nil {
		t.Fatal(err)
	}
	if err := vm.Set("text", index); err != nil {
		t.Fatal(err)
	}
	find, err := vm.RunString(`const index = JSON.parse(text), find = rank.ranker(index); (query) => find(query, 12).map((e) => index.kinds[e[0]] + ": " + e[1])`)
	if err != nil {
		t.Fatal(err)
	}
	call, ok := goja.AssertFunction(find)
	if !ok {
		t.Fatal("the ranker is no function")
	}
	return func(query string) []string {
		v, err := call(goja.Undefined(), vm.ToValue(query))
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		if err := vm.ExportTo(v, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// A small index whose answers were worked out by hand.
const smallIndex = `{"kinds":["model","device","term","recipe","page","section","row"],"entries":[
 [0,"Llama 3.1 8B","Meta, 8.03 B parameters","recipes/llama-3.1-8b/","llama-3.1-8b meta-llama/Llama-3.1-8B-Instruct bf16 fp8"],
 [0,"Qwen3 8B","Alibaba, 8.19 B parameters","recipes/qwen3-8b/","qwen3-8b bf16"],
 [1,"H200 SXM","NVIDIA, sm_90","roofline/?target=h200-sxm","h200-sxm NVIDIA H200"],
 [1,"GB200","NVIDIA, sm_100","roofline/?target=gb200","gb200"],
 [2,"TPOT","Time per output token, after the first.","glossary/#term-ttft",""],
 [2,"tok/s/user","1 ÷ median TPOT: how fast one reader's text grows.","glossary/#term-tok-s-user",""],
 [3,"Llama 3.1 8B · H200 SXM · FP8 · vLLM","4 rows, 2026-11-30","recipes/llama-3.1-8b/#h200-sxm-fp8-vllm","llama-3.1-8b/h200-sxm/fp8/vllm 0.26.0 fp8"],
 [3,"Llama 3.1 8B · H200 SXM · Latency · vLLM","12 rows, 2026-11-30","recipes/llama-3.1-8b/#h200-sxm-latency-vllm","llama-3.1-8b/h200-sxm/latency/vllm 0.26.0 bf16"],
 [3,"Qwen3 8B · M4 Max · Latency · Ollama","not measured","recipes/qwen3-8b/#m4-max-latency-ollama","qwen3-8b/m4-max/latency/ollama"],
 [4,"Results of other tools","","other-tools/","other-tools"],
 [6,"b47328e80c6b","Llama 3.1 8B · H200 SXM · FP8 · vLLM, 1024:256, c = 16, 2026-11-30","r/b47328e80c6b/","verified llama-3.1-8b/h200-sxm/fp8/vllm"]]}`

// Each answer by the weights that rank.ts states; none was taken from what it says.
func TestSearchRanks(t *testing.T) {
	find := finder(t, smallIndex)
	fp8, latency := "recipe: Llama 3.1 8B · H200 SXM · FP8 · vLLM", "recipe: Llama 3.1 8B · H200 SXM · Latency · vLLM"
	for query, want := range map[string][]string{
		// Both words in the title 24; the model has fp8 among its formats only; the row has
		// both behind its title.
		"llama fp8": {fp8, "model: Llama 3.1 8B", "row: b47328e80c6b"},
		// The device's title is half covered, the recipes' a seventh.
		"h200": {"device: H200 SXM", fp8, latency, "row: b47328e80c6b"},
		// The whole title, then where the words mention it.
		"tpot": {"term: TPOT", "term: tok/s/user"},
		// No word is or begins with it, and Llama is one letter off; Ollama holds it within.
		"lama": {"model: Llama 3.1 8B", fp8, latency, "recipe: Qwen3 8B · M4 Max · Latency · Ollama", "row: b47328e80c6b"},
		// A beginning, of a title and of other words.
		"ol":              {"recipe: Qwen3 8B · M4 Max · Latency · Ollama"},
		"B47328":          {"row: b47328e80c6b"},
		"3.1 h200 c = 16": {"row: b47328e80c6b"},
		"Qwne3":           {"model: Qwen3 8B", "recipe: Qwen3 8B · M4 Max · Latency · Ollama"},
		"zzz":             nil,
		"":                nil,
		"  ·· ":           nil,
		// One of two words is known to nobody: what has the other.
		"tpot zzzz": {"term: TPOT", "term: tok/s/user"},
	} {
		if got := find(query); !slices.Equal(got, want) {
			t.Errorf("%q finds %q; want %q", query, got, want)
		}
	}
}

// The built index holds all there is, each at an address that the site has, and answers a
// reader's first questions.
func TestSearchOfTheSite(t *testing.T) {
	s := theSite(t)
	text := read(t, s.out, searchFile)
	var index struct {
		Kinds   []string
		Entries [][]any
	}
	if err := json.Unmarshal([]byte(text), &index); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, e := range index.Entries {
		count[index.Kinds[int(e[0].(float64))]]++
	}
	for kind, least := range map[string]int{"model": 30, "device": 25, "term": 35, "recipe": 40, "page": 14, "section": 20, "row": 4} {
		if count[kind] < least {
			t.Errorf("%d of kind %s; want %d at least", count[kind], kind, least)
		}
	}
	find := finder(t, text)
	for query, want := range map[string]string{
		"h200":                  "device: H200 SXM",
		"tpot":                  "term: TPOT",
		"lama 8b":               "model: Llama 3.1 8B",
		s.reports[0].Rows[0].ID: "row: " + s.reports[0].Rows[0].ID,
		"your file":             "page: Your file",
	} {
		if got := find(query); len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %q first; want %q", query, got, want)
		}
	}
	got := find("llama fp8")
	if len(got) == 0 || !strings.HasPrefix(got[0], "recipe: Llama") || !strings.Contains(got[0], "FP8") {
		t.Errorf("llama fp8 finds %q", got)
	}
	// Without a script the same stands on one page; its links are checked as all are.
	page := read(t, s.out, "search/index.html")
	if n := strings.Count(page, "<li><a href="); n < len(index.Entries) {
		t.Errorf("the page lists %d of %d", n, len(index.Entries))
	}
	if n := len(text); n > 150_000 {
		t.Errorf("the index is %d bytes", n)
	}
}
