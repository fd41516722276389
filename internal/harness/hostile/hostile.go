// Package hostile makes files that are meant to break a reader of results: too long, too
// deep, of wrong types, with secrets or markup in them. They are streams, so that the maker
// of one holds none of it.
package hostile

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io"
	"io/fs"
	"strings"
)

// File is one of them.
type File struct {
	Name string // what is wrong with it, in words
	Want string // what the error that it ends in holds; "" of one that is read
	Open func() io.Reader
}

// Secret is planted where a file repeats a server's settings: it may reach no output.
const Secret = "sk-planted-0123456789abcdef"

//go:embed seeds
var seeds embed.FS

// Seeds are small whole files of every format, by name.
func Seeds() map[string][]byte {
	out := map[string][]byte{}
	err := fs.WalkDir(seeds, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out[d.Name()], err = seeds.ReadFile(path)
		}
		return err
	})
	if err != nil {
		panic(err) // they are part of the binary
	}
	return out
}

// serving begins a line of sglang.bench_serving, without its closing brace.
const serving = `{"backend":"sglang","dataset_name":"random","total_throughput":1,"median_ttft_ms":1,"max_concurrency":4,"completed":2`

const (
	mega = 1 << 20
	giga = 1 << 30
)

// Files are all of them, the costly ones too: each is read to its end or to an error.
func Files() []File {
	text := func(s string) func() io.Reader { return func() io.Reader { return strings.NewReader(s) } }
	after := func(head, unit string, n int64) func() io.Reader {
		return func() io.Reader { return io.MultiReader(strings.NewReader(head), Repeat(unit, n)) }
	}
	swap := func(from, to string) func() io.Reader { return text(strings.Replace(serving, from, to, 1) + "}") }
	lists := func(ttfts, itls int) string {
		return `,"ttfts":[` + join("0.1", ttfts) + `],"itls":[` + join("[0.1]", itls) + `],"input_lens":[` + join("1", ttfts) + `],"output_lens":[` + join("2", ttfts) + `]}`
	}
	row := `{"run_name":"a","batch_size":1,"prefill_latency":1}` + "\n"
	return []File{
		{"a line of 100 MB that is no JSON", "neither JSON nor a table", after("", "x", 100*mega)},
		{"a text of 100 MB", "a text of more than 16 MB", after(`{"backend":"`, "y", 100*mega)},
		{"a key of 100 MB", "a text of more than 16 MB", after(`{"`, "k", 100*mega)},
		{"a number of 100 MB", "a word of more than 400 letters", after(`{"duration":`, "1", 100*mega)},
		{"a row of 100 MB", "a row of more than 1 MB", after("isl,osl,concurrency,ttft_ms\n", "1,", 100*mega)},
		{"a quoted field of 100 MB", "a row of more than 1 MB", after("Metric,avg,min\n\"", "a\n", 100*mega)},
		{"a million brackets", "nested deeper than 64", after("", "[", mega)},
		{"a million objects in one another", "nested deeper than 64", after("", `{"a":`, 5*mega)},
		{"ten million tiny lists", "are to be kept by here", after(serving+`,"itls":[`, "[],", 30*mega)},
		{"ten million empty requests", "are to be kept by here", after(`{"metadata":{},"benchmarks":[{"requests":{"successful":[{}`, ",{}", 30*mega)},
		{"a gigabyte of numbers", "are to be kept by here", after(serving+`,"ttfts":[1`, strings.Repeat(",1", 2048), giga)},
		{"a million runs", "more than 20000 runs", after("", row, int64(len(row))*mega)},
		{"a million rows", "more than 20000 runs", after("isl,osl,concurrency,ttft_ms\n", "1,1,1,1\n", 8*mega)},
		{"a million metrics", "stands twice", after("Metric,avg,min\n", "Time to First Token (ms),1,1\n", 29*mega)},
		{"more than half a gigabyte of spaces", "more than 512 MB", after("", strings.Repeat(" ", 4096), 513*mega)},
		{"100 MB of spaces in a few kB", "unpack to more than 400 times as many", func() io.Reader { return bomb(100 * mega) }},
		{"gzip that breaks off", "gzip", text("\x1f\x8b\x08\x00\x00")},
		{"gzip in gzip", "neither JSON nor a table", func() io.Reader { return packed(packed(strings.NewReader(serving + "}"))) }},
		{"a key that stands twice", `the key "backend" stands twice`, text(serving + `,"backend":"vllm"}`)},
		{"a text in place of a count", `completed is "eight"; a whole number from 0 is accepted`, swap(`"completed":2`, `"completed":"eight"`)},
		{"half a request", "completed is 1.5", swap(`"completed":2`, `"completed":1.5`)},
		{"more requests than there are atoms", "completed is 1e999", swap(`"completed":2`, `"completed":1e999`)},
		{"an object in place of a rate", "total_throughput is an object", swap(`"total_throughput":1`, `"total_throughput":{}`)},
		{"a list in place of a name", "backend is an array", swap(`"sglang"`, `["sglang"]`)},
		{"a concurrency below 0", "max_concurrency is -4", swap(`"max_concurrency":4`, `"max_concurrency":-4`)},
		{"8 first tokens and the gaps of 7", "ttfts has 8 elements and itls 7", text(serving + lists(8, 7))},
		{"a list of texts", "an element of ttfts is", text(serving + `,"ttfts":["a","b"],"itls":[],"input_lens":[],"output_lens":[]}`)},
		{"a record of another tool among it", "line 2: a record of sglang-one-batch among those of sglang-serving", text(serving + "}\n" + row)},
		{"an unknown object", `found an object with ["hello"], which is no result that is known`, text(`{"hello":1}`)},
		{"nothing", "the file is empty", text("")},
		{"a control character", "a control character (0x00)", text("{\"a\":\"\x00\"}")},
		{"UTF-16", "neither JSON nor a table", text("\xff\xfe{\x00}\x00")},
		{"a number with two points", "expected a value", swap(`"completed":2`, `"completed":2.0.0`)},
		{"a hexadecimal number", "expected a value", swap(`"completed":2`, `"completed":0x2`)},

		{"lengths below 0", "", text(serving + `,"ttfts":[0.1],"itls":[[0.1]],"input_lens":[-1],"output_lens":[-2]}`)},
		{"times below 0 and without end", "", text(serving + `,"ttfts":[-0.1,1e999],"itls":[[-0.1],[NaN]],"input_lens":[1,1],"output_lens":[2,2]}`)},
		{"a figure of 1e999", "", swap(`"median_ttft_ms":1`, `"median_ttft_ms":1e999`)},
		{"bytes that are no UTF-8", "", swap(`"sglang"`, "\"sglang\xff\xfe\xc0\xaf\"")},
		{"half a surrogate", "", swap(`"sglang"`, `"sglang\ud800"`)},
		{"a byte order mark", "", text("\ufeff" + serving + "}")},
		{"a name of markup, marks and lines", "", text(vllm("<script>alert(1)</script>\\u202e\\n\\u0007\\u2066"))},
		{"a name of a megabyte", "", text(vllm(strings.Repeat("n", mega)))},
		{"secrets among a server's settings", "", text(serving + `,"server_info":{"api_key":"` + Secret + `","hf_token":"` + Secret + `","launch_command":"serve --api-key ` + Secret +
			`","note":"` + Secret + `","proxy":"http://user:` + Secret + `@host/","env":{"HF_TOKEN":"` + Secret + `"},"version":"0.5.16","max_total_num_tokens":905811}}`)},
	}
}

// vllm is a file of vllm bench serve about a model.
func vllm(model string) string {
	return `{"model_id":"` + model + `","backend":"vllm","num_prompts":1,"request_throughput":1,"total_token_throughput":1,"output_throughput":1,"max_concurrency":1,"completed":1}`
}

func join(unit string, n int) string {
	return strings.TrimSuffix(strings.Repeat(unit+",", n), ",")
}

// Repeat is n bytes of a text, over and over.
func Repeat(text string, n int64) io.Reader { return &repeated{text: text, n: n} }

type repeated struct {
	text string
	n    int64
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.n <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) && r.n > 0 {
		k := copy(p[n:min(int64(len(p)), int64(n)+r.n)], r.text[r.at:])
		n, r.at, r.n = n+k, (r.at+k)%len(r.text), r.n-int64(k)
	}
	return n, nil
}

// bomb is n spaces, packed.
func bomb(n int64) io.Reader { return packed(Repeat(strings.Repeat(" ", 4096), n)) }

func packed(r io.Reader) io.Reader {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.Copy(z, r)
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic(err) // a buffer takes all
	}
	return &b
}
