package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"rowproof/internal/engine"
	"rowproof/internal/loadgen"
	"rowproof/internal/prompts"
	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// benchOptions is what a call of bench asks for, checked and with defaults filled in.
type benchOptions struct {
	model    string   // "" takes the server's one model
	base     *url.URL // nil drives the embedded engine
	endpoint string
	engine   string // "" asks the server
	device   string // "" says nothing

	shapes         []shape
	ladder         []int64  // streams; not of an open loop
	rates          []string // open loop: requests a second, each as written
	burstiness     string
	maxConcurrency int64 // open loop: requests under way at most; 0: no most
	trace          *prompts.Trace
	traceFile      string
	traceBlock     int64
	dataset        *prompts.Dataset
	datasetFile    string
	sharedPrefix   int64
	repeatPrompts  bool
	protocol       string
	warmup, iters  int64
	requests       int64 // sustained: timed requests a repeat; 0 is auto
	duration       time.Duration
	repeats        int64
	timeout        time.Duration // of a request
	idle, connect  time.Duration // of an answer's silence, and to open a connection
	onFailure      string        // failContinue or failStop
	seed           uint64
	slo            []row.Limit // search for the highest load that meets them
	givenLoads     bool        // the ladder or the rates are the user's
	leastRequests  int64       // that the limits' percentiles take
	sampling       row.Sampling
	extraBody      map[string]string // key → JSON text

	header   http.Header
	insecure bool
	stamps   string

	output          string
	recipe          string
	root            string // of the catalogue; "" is the one in this binary
	launch          launching
	before          *row.BeforeLaunch // nil where the run starts no server
	receipt         string            // a file that measure receipt wrote beside the server
	requireVerified bool
	verbose         bool
	json            bool

	secrets secrets
	command []string // as called, secrets masked
}

// Values that a flag chooses from.
var (
	benchDevices = []string{"auto", "cuda", "rocm", "cpu"}
	benchStamps  = []string{loadgen.StampsRing, loadgen.StampsKernel, loadgen.StampsRead}
)

// ownedKeys of the request body are set by bench itself: a user's value would make the
// row say what was not sent.
var ownedKeys = []string{
	"model", "prompt", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "n",
	"input_ids", "text", "n_predict", "return_tokens", "raw",
}

const (
	benchWhat = `Measure a model server: each shape at each concurrency, strictly one at a time. The
CSV goes to stdout, everything else to stderr. With neither MODEL nor --base-url it
drives the embedded engine, whose rows say that they are simulated.

MODEL is a catalogue id (llama-3.1-8b), a Hugging Face id or the name that the server
serves; without it the server's one model is taken. Of a server that lists none, the name
is taken at its word.

Two protocols: passes (the default) starts c requests together, --warmup times untimed
and --iters times timed. sustained (--num-prompts or --duration) keeps c streams full.
In open loop (--request-rate or --trace) requests come at times of their own, whatever
became of those before; they are sustained too.`
	benchExample = `measure bench --cells 128:32 --concurrency 1,2
  measure bench --cells 128:32 --request-rate 20,inf --num-prompts 40
  measure bench --trace trace.jsonl --trace-block 64
  measure bench --dataset dataset.jsonl --num-prompts 8 --concurrency 2`
)

// parseBench reads the command line. done is true when the verb should return code at
// once; problems were then told.
func parseBench(args []string, s streams) (o *benchOptions, code int, done bool) {
	o = &benchOptions{}
	c := newCollector("bench")
	in := o.declare(c)
	usage(c.FlagSet, "bench [MODEL] [flags]", benchWhat, benchExample)
	withColumns(c.FlagSet)
	switch err := c.read(args); {
	case errors.Is(err, pflag.ErrHelp):
		c.help(s.out)
		return nil, exitOK, true
	case err == nil:
		o.finish(in, c)
	}
	for _, a := range args {
		o.secrets.find(a)
	}
	if len(c.problems) > 0 {
		for _, p := range c.problems {
			fmt.Fprintf(s.err, "measure bench: %s\n", o.secrets.clean(p))
		}
		return nil, exitUsage, true
	}
	o.command = o.secrets.command(args)
	return o, exitOK, false
}

// inputs are flags whose meaning depends on others.
type inputs struct {
	isl, osl   int64
	keyFile    string
	unique     bool
	numPrompts bool
	device     string
	trace      string
	dataset    string
}

func (o *benchOptions) declare(c collector) *inputs {
	in := &inputs{}
	o.shapes, o.ladder = defaultShapes, defaultLadder
	o.warmup, o.iters, o.repeats = 2, 1, 1
	o.header = http.Header{}
	o.extraBody = map[string]string{}
	o.sampling = row.Sampling{Temperature: "0", IgnoreEOS: true}

	c.add("base-url", "", "URL", "the server, with or without /v1", o.setBase)
	c.choice("endpoint", &o.endpoint, "", engine.Paths(), "route to load: "+strings.Join(engine.Paths(), ", ")+"; without it /v1/completions, or the own one of llama.cpp and Ollama")
	c.add("engine", "", "NAME", "engine that serves: "+strings.Join(engine.Engines, ", ")+"; openai sends no engine's extensions; without it the server is asked", o.setEngine)
	c.add("recipe", "", "CELL", "MODEL/TARGET/STRATEGY/ENGINE of the catalogue that the server runs: opens the gates that compare with it", o.setRecipe)
	o.declareLaunch(c)
	c.StringVar(&o.receipt, "receipt", "", "`FILE` that measure receipt wrote beside the server, where that is another host; of a watch it is read again after each row")
	c.StringVar(&o.root, "root", "", "folder that holds data/ with the catalogue of recipes (default the one in this binary)")

	c.add("cells", "128:128,2048:128,128:1024", "LIST", "shapes, prompt:output in tokens", func(s string) string {
		shapes, wrong := parseShapes(s)
		if wrong != nil {
			return "ISL:OSL such as 128:128, each from 1 to 1000000 tokens, several parted by commas, none twice; " + strings.Join(wrong, "; ")
		}
		o.shapes = shapes
		return ""
	})
	c.count("isl", &in.isl, 1, "prompt length of a single shape (with --osl, in place of --cells; 128 when only --osl is given)")
	c.count("osl", &in.osl, 1, "output length of a single shape (128 when only --isl is given)")
	c.Lookup("isl").DefValue, c.Lookup("osl").DefValue = "", ""
	c.add("concurrency", "1,4,8", "LIST", "streams at once; measured in ascending order", func(s string) string {
		ladder, wrong := parseLadder(s)
		if wrong != nil {
			return "whole numbers from 1 to 1000000 such as 1,4,16, none twice; " + strings.Join(wrong, "; ")
		}
		o.ladder = ladder
		return ""
	})
	o.declareLoad(c, in)
	c.count("warmup", &o.warmup, 0, "untimed passes before a row measures; of an open loop seconds of arrivals, each 4 requests at least")
	c.count("iters", &o.iters, 1, "timed passes of a row (protocol passes)")
	c.add("num-prompts", "", "N", "protocol sustained: N timed requests a repeat; auto is 20, or 10 a stream when that is more; of a rate 100, or half a minute's when that is more; of a trace all its lines", func(s string) string {
		in.numPrompts = true
		if s == "auto" {
			o.requests = 0
			return ""
		}
		n, ok := parseCount(s)
		if !ok {
			return "auto or a whole number from 1"
		}
		o.requests = n
		return ""
	})
	c.span("duration", &o.duration, "", "protocol sustained: requests started in this time are timed", true)
	o.declareSLO(c)
	c.count("repeats", &o.repeats, 1, "full timed runs of each row, each with prompts of its own; intervals need at least 2")

	c.count("shared-prefix", &o.sharedPrefix, 0, "tokens at the start of every prompt that all share")
	c.BoolVar(&in.unique, "unique-prompts", false, "a fresh random prompt for every request (the default)")
	c.BoolVar(&o.repeatPrompts, "repeat-prompts", false, "one set of prompts, used again by the warm-up and every pass: reads what the prefix cache gives")
	c.add("seed", "", "N", "seed of the prompts; without it one is drawn and recorded", func(s string) string {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return "a whole number from 0 to 18446744073709551615"
		}
		o.seed = n
		return ""
	})
	c.add("extra-body", "", "JSON", "members to add to each request body", o.setExtraBody)

	o.declareAccess(c, &in.keyFile)
	o.declareFaults(c)
	c.choice("stamps", &o.stamps, "", benchStamps, "where arrival times come from: ring (a packet ring), ktime (the kernel) or read; without it the best there is")

	c.choice("device", &in.device, "auto", benchDevices, "what the server must run on: auto, cuda, rocm or cpu; held against the receipt")
	c.StringVar(&o.output, "output", "", "write `PREFIX`.csv, PREFIX.json, samples and evidence as rows complete; no file of an earlier run is replaced; of folders only the last may be missing, and is made")
	c.BoolVar(&o.json, "json", false, "for a program: in place of the CSV a line {\"row\": …} for each row, as the report holds it, and of a search {\"slo\": …}")
	c.BoolVar(&o.requireVerified, "require-verified", false, "exit 4 unless every row is verified")
	c.BoolVarP(&o.verbose, "verbose", "v", false, "say more on stderr: receipt, prompts, load time, peak memory")
	return in
}

// finish checks what several flags say together and fills in what was left out.
func (o *benchOptions) finish(in *inputs, c collector) {
	wrong := c.wrong
	switch {
	case c.NArg() == 1:
		o.model = c.Arg(0)
	case c.NArg() > 1 && c.allKnown():
		wrong("%s: want at most one MODEL; flags begin with --", strings.Join(c.Args(), " "))
	}
	given := c.Changed
	if given("isl") || given("osl") && !given("dataset") {
		if given("cells") && !given("trace") && !given("dataset") {
			wrong("--cells with --isl or --osl: want one of them; --isl 512 --osl 256 is --cells 512:256")
		}
		one := shape{128, 128}
		if given("isl") {
			one.isl = max(1, in.isl)
		}
		if given("osl") {
			one.osl = max(1, in.osl)
		}
		o.shapes = []shape{one}
	}
	for _, s := range o.shapes {
		if o.sharedPrefix >= s.isl {
			wrong("--shared-prefix %d: want fewer tokens than the prompt of shape %s, or other --cells", o.sharedPrefix, s)
		}
	}
	if in.unique && o.repeatPrompts {
		wrong("--unique-prompts with --repeat-prompts: want one of them")
	}
	o.protocol = row.Passes
	if in.numPrompts || given("duration") {
		o.protocol = row.Sustained
		if in.numPrompts && given("duration") {
			wrong("--num-prompts with --duration: want one of them")
		}
		if given("iters") {
			wrong("--iters with --num-prompts or --duration: want --repeats; iterations belong to the protocol passes")
		}
	}
	o.finishLoad(in, given, wrong)
	o.finishSLO(given, wrong)
	if given("device") {
		o.device = in.device
	}
	if !given("seed") {
		o.seed = rand.Uint64()
	}
	if o.output != "" && (strings.HasSuffix(o.output, "/") || o.output == "." || o.output == "..") {
		wrong("--output %s: want a file prefix such as out/run, not a folder", o.output)
	}
	if text := o.enough(); text != "" {
		wrong("%s", text)
	}
	o.readKey(in.keyFile, wrong)
	o.finishLaunch(given, wrong)
	o.needsServer(given, wrong)
	if o.recipe != "" {
		if !c.root(o.root) {
			return
		}
		if cat, err := readCatalog(o.root); err != nil {
			wrong("%v", err)
		} else if _, err := takeRecipe(cat, o); err != nil {
			wrong("%v", err)
		}
	}
}

// needsServer finds flags that mean nothing to the embedded engine.
func (o *benchOptions) needsServer(given func(string) bool, wrong func(string, ...any)) {
	if given("base-url") || o.launch.wanted {
		return
	}
	if o.model != "" {
		return // told with the commands that would work
	}
	for _, name := range []string{"engine", "recipe", "receipt", "insecure", "api-key-file", "require-verified"} {
		if given(name) && (name != "engine" || o.engine != engine.Embedded) {
			wrong("--%s without --base-url: want --base-url URL of a server; the embedded engine has no use for it", name)
		}
	}
	if o.device == "cuda" || o.device == "rocm" {
		wrong("--device %s without --base-url: want --base-url URL of a server; the embedded engine runs on the CPU", o.device)
	}
}

func (o *benchOptions) setBase(s string) string {
	const want = "http://HOST:PORT such as http://127.0.0.1:8000, with or without /v1 and with brackets round an IPv6 address"
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" ||
		strings.HasSuffix(u.Host, ":") || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" || strings.Count(u.Host, ":") > 1 && !strings.HasPrefix(u.Host, "[") {
		return want
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return want
		}
	}
	if u.User != nil {
		return want + " and without a user and password (use --header)"
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	if route := routeOf(u.Path); route != "" {
		u.Path = strings.TrimSuffix(u.Path, route)
		want := u.String() + ", without the route " + route
		if slices.Contains(engine.Paths(), route) {
			want += ", which --endpoint " + route + " names"
		}
		return want
	}
	u.Path = strings.TrimSuffix(u.Path, "/v1")
	o.base = u
	return ""
}

// routeOf is the route of any engine that a path ends with, the longest, or "".
func routeOf(path string) string {
	longest := ""
	for _, route := range slices.Concat(engine.Paths(), engine.Questions()) {
		if strings.HasSuffix(path, route) && len(route) > len(longest) {
			longest = route
		}
	}
	return longest
}

func (o *benchOptions) setRecipe(s string) string {
	parts := strings.Split(s, "/")
	if len(parts) != 4 || slices.Contains(parts, "") {
		return "MODEL/TARGET/STRATEGY/ENGINE such as llama-3.1-8b/h200-sxm/latency/vllm"
	}
	o.recipe = s
	return ""
}

// declareAccess adds the flags by which a server lets itself be asked; readKey then reads
// the key.
func (o *benchOptions) declareAccess(c collector, keyFile *string) {
	c.add("header", "", "NAME:VALUE", "header to add to each request; may be given again", o.setHeader)
	c.StringVar(keyFile, "api-key-file", "", "`FILE` that holds the API key; else OPENAI_API_KEY, and no key when that is unset")
	c.BoolVar(&o.insecure, "insecure", false, "accept any certificate of an https server")
}

func (o *benchOptions) setHeader(s string) string {
	name, val, ok := strings.Cut(s, ":")
	name, val = strings.TrimSpace(name), strings.TrimSpace(val)
	if isSecretName(name) {
		o.secrets.add(val)
		_, credentials, _ := strings.Cut(val, " ") // after the scheme of Authorization
		o.secrets.add(credentials)
	}
	if !ok || !isToken(name) || strings.ContainsAny(val, "\r\n\x00") {
		return `NAME:VALUE such as "X-Tenant: bench"`
	}
	o.header.Add(name, val)
	return ""
}

// isToken says whether s may name a header field (RFC 9110, token).
func isToken(s string) bool {
	for _, r := range s {
		if r > '~' || r <= ' ' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) {
			return false
		}
	}
	return s != ""
}

func (o *benchOptions) setExtraBody(s string) string {
	const want = `a JSON object such as {"top_p": 0.9}`
	var members map[string]json.RawMessage
	d := json.NewDecoder(strings.NewReader(s))
	if err := d.Decode(&members); err != nil || members == nil || d.More() {
		return want
	}
	for key, text := range members {
		if slices.Contains(ownedKeys, key) {
			return want + "; " + key + " is set by bench itself"
		}
		var tight bytes.Buffer
		if err := json.Compact(&tight, text); err != nil {
			return want
		}
		o.secrets.findIn(tight.String(), isSecretName(key))
		switch key {
		case "temperature":
			o.sampling.Temperature = roofline.Decimal(tight.String())
			if _, ok := o.sampling.Temperature.Float(); !ok {
				return want + "; temperature is a number"
			}
		case "ignore_eos":
			if json.Unmarshal(text, &o.sampling.IgnoreEOS) != nil {
				return want + "; ignore_eos is true or false"
			}
		default:
			o.extraBody[key] = tight.String()
		}
	}
	return ""
}

// largestKey is how many bytes the file of an API key may hold.
const largestKey = 64 << 10

// readKey takes the API key from a file or the environment.
func (o *benchOptions) readKey(file string, wrong func(string, ...any)) {
	key := os.Getenv("OPENAI_API_KEY")
	if file != "" {
		b, err := readRegular(file, largestKey)
		if err != nil {
			wrong("--api-key-file %s: %s; want a file that holds the key alone", file, reasonOf(err))
			return
		}
		key = string(b)
	}
	key = strings.TrimSpace(key)
	if key == "" {
		if file != "" {
			wrong("--api-key-file %s: empty; want a file that holds the key alone", file)
		}
		return
	}
	o.secrets.add(key)
	if strings.ContainsAny(key, "\r\n\x00 ") {
		wrong("the API key holds a space or a line break; want the key alone")
		return
	}
	if o.base != nil && o.header.Get("Authorization") == "" {
		o.header.Set("Authorization", "Bearer "+key)
	}
}

// reasonOf is an error without the operation and path that file errors repeat.
func reasonOf(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

func (o *benchOptions) setEngine(s string) string {
	if !slices.Contains(engine.Engines, s) {
		return "one of " + strings.Join(engine.Engines, ", ")
	}
	o.engine = s
	return ""
}
