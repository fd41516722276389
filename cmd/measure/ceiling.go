package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"rowproof/internal/checkpoint"
	"rowproof/internal/roofline"
)

const (
	ceilingWhat = `Say how fast hardware could possibly run a model: the hard roof, which nothing beats,
with the formula filled in. Nothing is derated. expected, op-wise and serial are no
ceilings: what is likelier where experts are chosen at random, where no part overlaps
another, and where attention waits for the matrices.

The model is one of the catalogue (--model), that of a Hugging Face config.json
(--config), or that of a GGUF (--weights). Without --target all is answered that needs
none. --target is a device of the catalogue, N of them (DEVICE-xN), or a file of one's
own (mine.yaml, in the form of data/targets). --list names models and devices.

FILE is a config.json, a GGUF, or a folder with a checkpoint. RECIPE, which is
MODEL/TARGET/STRATEGY/ENGINE, states model, target, types and layout by itself; its
answer is for one replica.`
	ceilingExample = `measure ceiling --model gpt-oss-120b --target h100-sxm-x2 --batch 16 --context 4096 --isl 1024`
)

// ceilingCall is one call of the verb, checked as far as its own flags go.
type ceilingCall struct {
	root, recipe, model, config, weights, target string
	device                                       string // the catalogue's id of --target

	query      roofline.Query
	fill       *roofline.Query // of a recipe whose prompts run on devices of their own
	json, list bool
	header     *checkpoint.Header // of --weights
	flags      *pflag.FlagSet
}

func ceiling(_ context.Context, args []string, s streams) int {
	call := ceilingCall{}
	q := &call.query
	q.Batch = 1
	c := newCollector("ceiling")
	fs := c.FlagSet
	usage(fs, "ceiling --model M --target T [flags]\n       measure ceiling FILE --target T [flags]\n       measure ceiling RECIPE [flags]\n       measure ceiling --list",
		ceilingWhat, ceilingExample)
	fs.StringVar(&call.model, "model", "", "catalogue id, name or Hugging Face id")
	fs.StringVar(&call.config, "config", "", "Hugging Face config.json that describes the model")
	fs.StringVar(&call.weights, "weights", "", "safetensors file, index or folder, or GGUF: its tensors' exact bytes; none are loaded")
	fs.StringVar(&call.target, "target", "", "device by id, name or what its own tool calls it, DEVICE-xN for N of them, or a device file of one's own")
	fs.StringVar(&q.WeightDtype, "weights-dtype", "", "how weights are stored (default the published checkpoint's)")
	fs.StringVar(&q.KVDtype, "kv-dtype", "", "how keys and values are cached (default as a config.json asks, else bf16)")
	fs.StringVar(&q.StateDtype, "state-dtype", "", "how states are kept: fp32, bf16 or fp16 (default as the model says, else fp32)")
	c.count("batch", &q.Batch, 1, "sequences decoding together")
	c.length("context", &q.Context, "tokens in each sequence's cache")
	c.length("isl", &q.ISL, "prompt length, for prefill")
	c.length("osl", &q.OSL, "output length, with --isl: for what fits")
	c.length("concurrency", &q.Concurrency, "requests in flight, with --isl: for what fits, and with --osl for a serving bound")
	c.length("cached", &q.Cached, "prompt tokens that a prefix cache serves, with --isl")
	c.length("chunk", &q.Chunk, "prompt tokens that one pass takes, with --isl (default the whole prompt)")
	c.devices("tp", &q.TP, "devices that share each matrix (default all of the target)")
	c.devices("pp", &q.PP, "stages that a token passes in turn, each of such devices (default 1)")
	c.devices("dp", &q.DP, "copies of all but the experts, which they share (default 1)")
	c.devices("dcp", &q.DCP, "devices of a tp group over which each cache is dealt out (default 1: copies where heads do not part)")
	c.devices("ep", &q.EP, "devices over which whole experts are spread (default: experts are split as all else)")
	c.within("gamma", &q.Gamma, 1000, "tokens drafted for each step, with --acceptance or --accepted")
	c.number("acceptance", &q.Acceptance, 0, 1, "chance that a drafted token is accepted")
	c.number("accepted", &q.Accepted, 1, 1000, "tokens that a step yields, as measured")
	fs.BoolVar(&q.MTPDrafts, "mtp", false, "the model's own MTP module drafts, and is read for each drafted token")
	fs.StringVar(&call.root, "root", "", "folder that holds data/ (default the catalogue in this binary)")
	fs.BoolVar(&call.list, "list", false, "print every model and device")
	fs.BoolVar(&call.json, "json", false, "for a program")
	if code, done := c.parse(args, s); done {
		return code
	}
	call.flags = fs
	switch n := fs.NArg(); {
	case n == 0 || !c.allKnown():
	case call.list:
		c.wrong("--list with %s: want one of the two", strings.Join(fs.Args(), " "))
	case n == 1:
		call.argument(c, fs.Arg(0))
	default:
		c.wrong("%d arguments: want one RECIPE or FILE, or --model and --target", n)
	}
	call.needed(c)
	if !c.root(call.root) {
		call.root = "" // the rest is judged by this binary's
	}
	known, faults := openCatalog(call.root)
	if len(faults) > 0 {
		return complain(s, "ceiling", exitFailed, faults)
	}
	if call.list && len(c.problems) == 0 {
		return listKnown(s, known, call.json)
	}
	if !call.list {
		c.problems = append(c.problems, call.resolve(known)...)
		c.problems = append(c.problems, call.wrong(known)...)
	}
	if len(c.problems) > 0 {
		return c.refuse(s)
	}
	answer := call.answer()
	if call.json {
		return printJSON(s, call.form(answer))
	}
	call.print(s.out, answer)
	return exitOK
}

// answer is the ceiling, with the flag that would help beside each reason. Of a recipe
// whose prompts run on devices of their own the prefill is theirs.
func (call *ceilingCall) answer() roofline.Answer {
	a := roofline.Ceiling(call.query)
	if call.fill != nil {
		b := roofline.Ceiling(*call.fill)
		a.PrefillMS, a.PrefillFormula = b.PrefillMS, b.PrefillFormula
		delete(a.Missing, "prefill_ms")
		if why := b.Missing["prefill_ms"]; why != "" {
			a.Missing["prefill_ms"] = why
		}
		a.Serving, a.Missing["serving"] = nil, "prompts and decode steps run on devices of their own"
	}
	call.explain(a.Missing)
	return a
}

// length is a count that may be 0 and as long as any context.
func (c collector) length(name string, p *int64, help string) {
	c.within(name, p, 100_000_000, help)
}

// within is a count that may be 0.
func (c collector) within(name string, p *int64, most int64, help string) {
	c.add(name, "0", "N", help, func(s string) string {
		n, ok := parseWhole(s)
		if !ok || n > most {
			return "a whole number from 0 to " + strconv.FormatInt(most, 10)
		}
		*p = n
		return ""
	})
}

// devices is a count of devices, or of groups of them, that is found out when not given.
func (c collector) devices(name string, p *int64, help string) {
	c.add(name, "", "N", help, func(s string) string {
		n, ok := parseWhole(s)
		if !ok || n < 1 || n > 1_000_000 {
			return "a whole number from 1 to 1000000"
		}
		*p = n
		return ""
	})
}

// number is a flag that need not be whole.
func (c collector) number(name string, p *float64, least, most float64, help string) {
	c.add(name, "", "X", help, func(s string) string {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || strings.Trim(s, "0123456789.") != "" || math.IsNaN(v) || v < least || v > most {
			return fmt.Sprintf("a number from %g to %g", least, most)
		}
		*p = v
		return ""
	})
}

func parseWhole(s string) (int64, bool) {
	var n int64
	for _, r := range s {
		if r < '0' || r > '9' || n > 10_000_000 {
			return 0, false
		}
		n = n*10 + int64(r-'0')
	}
	return n, s != ""
}
