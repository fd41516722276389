package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"rowproof/internal/prompts"
	"rowproof/internal/row"
)

// ownTimes is the rate of a load whose requests come when those of its trace came.
const ownTimes = "trace"

// The rates that are offered at most, and the connections opened beforehand for a rate.
const (
	fastestRate     = 1_000_000
	mostConnections = 1_024
	fewConnections  = 32
	aheadSeconds    = 4 // of arrivals
)

// A warm-up of an open loop lasts a second for each pass that a closed one has, and is so
// many requests at least; a row without --num-prompts lasts halfMinute seconds of arrivals,
// or the requests that a p99 takes.
const (
	leastWarm  = 4
	halfMinute = 30
	forP99     = 100
)

// parseRates reads "1,2.5,inf" into ascending order; each stays as it was written.
func parseRates(s string) (rates, wrong []string) {
	seen := map[float64]bool{}
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		v, ok := parseRate(part)
		switch {
		case !ok:
			wrong = append(wrong, strconv.Quote(part)+" is no rate")
		case seen[v]:
			wrong = append(wrong, part+" stands twice")
		}
		seen[v] = true
		rates = append(rates, part)
	}
	slices.SortFunc(rates, func(a, b string) int {
		x, _ := parseRate(a)
		y, _ := parseRate(b)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return rates, wrong
}

// parseRate reads requests a second: plain digits, or inf for all at once.
func parseRate(s string) (float64, bool) {
	if s == "inf" {
		return math.Inf(1), true
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && v > 0 && v <= fastestRate && strings.Trim(s, "0123456789.") == ""
}

// declareLoad adds the flags of the load that --concurrency and --cells do not say.
func (o *benchOptions) declareLoad(c collector, in *inputs) {
	o.burstiness, o.traceBlock = "1", 512
	c.add("request-rate", "", "LIST", "open loop: requests a second, or inf for all at once, in place of --concurrency; each a row, whose requests never wait for answers", func(s string) string {
		rates, wrong := parseRates(s)
		if wrong != nil {
			return "requests a second above 0 such as 1,2.5,inf, at most 1000000, none twice; " + strings.Join(wrong, "; ")
		}
		o.rates = rates
		return ""
	})
	c.add("burstiness", "1", "K", "shape of the gamma distribution that the gaps between arrivals follow: 1 is a Poisson process, less comes in bursts, inf in even steps", func(s string) string {
		if _, ok := parseRate(s); !ok {
			return "a number above 0 such as 0.5, or inf"
		}
		o.burstiness = s
		return ""
	})
	c.count("max-concurrency", &o.maxConcurrency, 1, "open loop: requests under way at most; one that finds them all taken waits, and its wait is in its TTFT")
	c.Lookup("max-concurrency").DefValue = ""
	c.StringVar(&in.trace, "trace", "", "replay the requests of `FILE`: JSON lines of timestamp (ms), input_length, output_length and hash_ids as Mooncake publishes, session_id and delay (ms) for turns, input_length being of a turn's whole prompt; at its own times, or at --request-rate")
	c.count("trace-block", &o.traceBlock, 1, "tokens that one hash id of the trace stands for")
	c.StringVar(&in.dataset, "dataset", "", "prompts of `FILE`: JSON lines of prompt or messages with output_len, or ShareGPT's conversations, of which the first question is asked; --osl is the output length of those that state none")
}

// finishLoad checks what those flags say together, with the others, and reads the files.
func (o *benchOptions) finishLoad(in *inputs, given func(string) bool, wrong func(string, ...any)) {
	without := func(why string, names ...string) {
		for _, name := range names {
			if given(name) {
				wrong("--%s %s", name, why)
			}
		}
	}
	switch {
	case given("trace"):
		without("with --trace: want one of them; a trace says what is asked, and --num-prompts N takes its first N lines",
			"cells", "isl", "osl", "shared-prefix", "unique-prompts", "repeat-prompts", "dataset", "duration")
		without("with --trace: want --request-rate for its requests at a rate, or neither for its own times", "concurrency")
		o.readTrace(in.trace, wrong)
	case given("dataset"):
		without("with --dataset: want one of them; its prompts are as long as they are", "cells", "isl", "shared-prefix")
		output := int64(0)
		if given("osl") {
			output = max(1, in.osl)
		}
		o.readDataset(in.dataset, output, wrong)
	}
	if !given("trace") {
		without("without --trace: want both", "trace-block")
	}
	if given("request-rate") {
		without("with --request-rate: want one of them; --max-concurrency N bounds the requests under way", "concurrency")
		without("with --request-rate: want --concurrency; a set of prompts is one a stream", "repeat-prompts")
	} else {
		if !given("trace") {
			without("without --request-rate or --trace: want --concurrency for streams kept full", "max-concurrency")
		}
		without("without --request-rate: want both", "burstiness")
	}
	if given("burstiness") && len(o.rates) == 1 && o.rates[0] == "inf" {
		wrong("--burstiness with --request-rate inf: want a rate; all at once have no gaps")
	}
	if given("duration") && slices.Contains(o.rates, "inf") {
		wrong("--duration with --request-rate inf: want --num-prompts; all at once have no end")
	}
	if o.openLoop() || given("dataset") {
		o.protocol = row.Sustained
		without("with --request-rate, --trace or --dataset: want --num-prompts or --duration; iterations belong to the protocol passes", "iters")
	}
}

// openLoop says whether requests come at times of their own.
func (o *benchOptions) openLoop() bool { return o.rates != nil || o.traceFile != "" }

// arrivals are the times at which the requests of a repeat come; nil for streams and for a
// trace's own times.
func (o *benchOptions) arrivals(p *planned, repeat int) *prompts.Arrivals {
	rate, ok := p.perSecond()
	if !ok {
		return nil
	}
	burstiness, _ := parseRate(o.burstiness)
	return prompts.NewArrivals(p.seed, repeat, rate, burstiness)
}

// perSecond is the rate of an open loop, ok = false for streams and a trace's own times.
func (p *planned) perSecond() (rate float64, ok bool) {
	if p.rate == "" || p.rate == ownTimes {
		return 0, false
	}
	return parseRate(p.rate)
}

// ends says that no request has this number: behind those that come all at once none
// follows.
func (p *planned) ends(seq int) bool {
	return p.rate == "inf" && int64(seq) >= p.workload.Warmup+*p.workload.Requests
}

// load says how a row's requests are offered.
func (p planned) load() string {
	switch {
	case p.rate == "":
		return fmt.Sprintf("c=%d", p.concurrency)
	case p.rate == ownTimes:
		return "its own times"
	case p.rate == "inf":
		return "all at once"
	}
	return p.rate + " requests/s"
}

// String names a row among those of its run.
func (p planned) String() string { return p.name + " at " + p.load() }

// arriving is about how long n requests of an open loop take to come.
func (p *planned) arriving(n int64) time.Duration {
	if rate, ok := p.perSecond(); ok {
		return time.Duration(float64(n) / rate * float64(time.Second))
	}
	return p.span
}

// loadColumn is the load in a narrow column: streams, or requests a second.
func loadColumn(w *row.Workload) string {
	switch rate := w.Load.RequestRate; {
	case rate == nil:
		return strconv.FormatInt(*w.Load.Concurrency, 10)
	case *rate == ownTimes || *rate == "inf":
		return *rate
	default:
		return *rate + "/s"
	}
}

// height is how high a load is: streams, or requests a second; 0 at a trace's own times.
func height(w *row.Workload) float64 {
	if w.Load.RequestRate != nil {
		v, _ := parseRate(*w.Load.RequestRate)
		return v
	}
	return float64(*w.Load.Concurrency)
}

// loadWords is the load among words.
func loadWords(w *row.Workload) string {
	if w.Load.RequestRate == nil {
		return "at c=" + loadColumn(w)
	}
	return "at " + loadColumn(w)
}

// planWords says what a plan holds: what is asked, each once, and at which loads.
func planWords(plan []planned) string {
	var names, loads []string
	for _, p := range plan {
		load := p.load()
		if p.rate == "" {
			load = strconv.FormatInt(p.concurrency, 10)
		}
		if !slices.Contains(names, p.name) {
			names = append(names, p.name)
		}
		if !slices.Contains(loads, load) {
			loads = append(loads, load)
		}
	}
	at := " at "
	if plan[0].rate == "" {
		at = " at c="
	}
	return strings.Join(names, ",") + at + strings.Join(loads, ",")
}

// offer puts into the workload of an open loop how its requests are offered.
func (o *benchOptions) offer(w *row.Workload, p *planned) {
	w.Load = row.Load{RequestRate: &p.rate}
	if o.maxConcurrency > 0 {
		w.Load.Concurrency = &o.maxConcurrency
	}
	rate, ok := p.perSecond()
	perPass := int64(leastWarm)
	n := int64(max(forP99, 10*o.maxConcurrency))
	if ok && !math.IsInf(rate, 1) {
		w.Load.Burstiness = &o.burstiness
		perPass = max(perPass, int64(math.Ceil(rate)))
		n = max(forP99, int64(math.Ceil(halfMinute*rate)))
	}
	w.Warmup = o.warmup * perPass
	switch {
	case o.duration > 0:
		seconds := int64(o.duration.Seconds())
		w.DurationS = &seconds
		return
	case o.trace != nil:
		n = o.traced()
	case o.requests > 0:
		n = o.requests
	}
	w.Requests = &n
}

// connections is how many a row opens before its clock starts.
func (o *benchOptions) connections(p *planned) int64 {
	if p.rate == "" {
		return p.concurrency
	}
	n := int64(mostConnections)
	if rate, ok := p.perSecond(); ok && !math.IsInf(rate, 1) {
		n = max(fewConnections, int64(min(mostConnections, math.Ceil(aheadSeconds*rate))))
	}
	if o.maxConcurrency > 0 {
		n = min(n, o.maxConcurrency)
	}
	if w := &p.workload; w.Requests != nil {
		n = min(n, w.Warmup+*w.Requests)
	}
	return min(n, mostConnections)
}

// mostStreams is as many connections as any row of a run opens.
func (o *benchOptions) mostStreams() int64 {
	most := int64(1)
	if o.slo != nil && o.rates == nil && (!o.givenLoads || len(o.ladder) == 1) {
		most = min(likelyTried, hostStreams())
	}
	for _, p := range o.plan() {
		most = max(most, o.connections(&p))
	}
	return most
}

// readTrace reads the trace, and tells every line that is wrong.
func (o *benchOptions) readTrace(name string, wrong func(string, ...any)) {
	o.traceFile = name
	f, err := os.Open(name)
	if err != nil {
		wrong("--trace %s: %s; want a file of JSON lines", name, reasonOf(err))
		return
	}
	defer f.Close()
	t, err := prompts.ReadTrace(f, o.traceBlock)
	if err != nil {
		told("--trace "+name, err, wrong)
		return
	}
	if n := int64(len(t.Requests)); o.requests > n {
		wrong("--num-prompts %d: the trace has %s; want at most as many", o.requests, countOf(int(n), "request"))
	}
	o.trace = t
}

// told tells each line of an error under the flag that it is of.
func told(flag string, err error, wrong func(string, ...any)) {
	for line := range strings.Lines(err.Error()) {
		wrong("%s: %s", flag, strings.TrimSuffix(line, "\n"))
	}
}
