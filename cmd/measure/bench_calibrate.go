package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"rowproof/internal/engine"
	"rowproof/internal/loadgen"
	"rowproof/internal/prompts"
	"rowproof/internal/row"
)

// form is how prompts of a wanted length are written for a server: as that many token
// ids, or as words whose count was found by asking.
type form struct {
	words   []string // nil: token ids
	around  int64    // tokens that a chat template or a first token adds
	perWord float64  // 1 where each word is one token
}

// count is how many words make a prompt of isl tokens; at least one.
func (f form) count(isl int64) int64 {
	return max(1, int64(math.Round(float64(isl-f.around)/f.perWord)))
}

// text writes units as words.
func (f form) text(units []int) string {
	var b strings.Builder
	for i, u := range units {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(f.words[u])
	}
	return b.String()
}

// Lengths of the prompts that calibration asks about, and how many words must be one
// token each for prompts to be made of them alone.
const (
	fewWords    = 16
	manyWords   = 144
	enoughWords = 64
)

// leastPerWord is fewer tokens than any tokenizer makes of a word: to go by less, prompts
// would have to be without bounds.
const leastPerWord = 0.25

// calibration asks a server a few short requests before the first row.
type calibration struct {
	s *server
	o *benchOptions
	w row.Workload

	stamps  string          // which stamps the client has here
	noRing  string          // why they are not a ring's, where that was wanted
	answer  *row.Sample     // the first that succeeded
	status  int             // of the latest answer; 0: none came
	refused string          // why the first failed
	notes   []string        // what every row should say of it
	counter *engine.Counter // nil: prompts are counted by asking for short outputs
}

// calibrate finds how this server takes prompts, whether it takes ignore_eos, and what it
// calls the limit of the output. It tries what is exact first: ids, then text measured by
// the server's own count. A server that refuses everything is measured all the same: its
// rows carry its words.
func (s *server) calibrate(ctx context.Context, o *benchOptions) (*calibration, error) {
	c := &calibration{s: s, o: o, w: row.Workload{Endpoint: o.endpoint, OSL: 2, Sampling: o.sampling}}
	ids, text := form{}, form{words: prompts.Words, perWord: 1}
	forms := []form{ids, text}
	if !engine.TakesIDs(o.endpoint) {
		forms = forms[1:]
	}
	if o.sampling.IgnoreEOS && !engine.TakesIgnoreEOS(o.endpoint) {
		o.sampling.IgnoreEOS = false
		c.notes = append(c.notes, "this route takes no ignore_eos: outputs may end early")
	}
	for _, s.form = range forms {
		for _, c.w.Sampling.IgnoreEOS = range slices.Compact([]bool{o.sampling.IgnoreEOS, false}) {
			sample, err := c.first(ctx)
			if err != nil {
				return nil, err
			}
			if !sample.OK() {
				c.refused = cmp.Or(c.refused, sample.Reason)
				if c.status == 0 || c.status >= 500 || strings.HasPrefix(sample.Reason, "timeout: ") {
					s.form = forms[0]
					return c, nil // it broke: that says nothing about the form of the request
				}
				continue
			}
			c.answer = &sample
			if o.sampling.IgnoreEOS && !c.w.Sampling.IgnoreEOS {
				c.notes = append(c.notes, "the server refuses ignore_eos: outputs may end early")
			}
			o.sampling.IgnoreEOS = c.w.Sampling.IgnoreEOS
			if s.form.words == nil {
				return c, nil
			}
			note, err := c.measureWords(ctx, sample.ISL)
			c.notes = append(c.notes, note)
			return c, err
		}
	}
	s.form = forms[0]
	if c.status == http.StatusNotFound && !s.listed {
		return nil, refuse(exitNoServer, "%s lists no models and answers 404 to %s too; want the address and the --endpoint of a server", s.base.Redacted(), o.endpoint)
	}
	return c, nil
}

// first asks a short request in the form at hand, without the members that the server
// refuses by name. Of a chat's two names for the limit of the output it may take one only,
// or heed one only.
func (c *calibration) first(ctx context.Context) (row.Sample, error) {
	sample, err := c.random(ctx, fewWords, 0)
	for _, name := range engine.Refusable {
		if err != nil || sample.OK() || c.status < 400 || c.status >= 500 || slices.Contains(c.s.without, name) || !strings.Contains(sample.Reason, name) {
			continue
		}
		c.s.without = append(c.s.without, name)
		again, err := c.random(ctx, fewWords, 0)
		if err != nil {
			return again, err
		}
		if !again.OK() && again.Reason == sample.Reason {
			c.s.without = c.s.without[:len(c.s.without)-1] // that was not it
			continue
		}
		c.notes = append(c.notes, "the server refuses "+name+": not sent")
		sample = again
	}
	long := func(s *row.Sample) bool { return s.OSL != nil && *s.OSL > c.w.OSL }
	if err != nil || c.o.endpoint != engine.PathChat || c.s.completionLimit ||
		sample.OK() && !long(&sample) || !sample.OK() && !strings.Contains(sample.Reason, "max_completion_tokens") {
		return sample, err
	}
	status := c.status
	c.s.completionLimit = true
	again, err := c.random(ctx, fewWords, 1)
	if err == nil && (!again.OK() || long(&again)) {
		c.s.completionLimit, c.status = false, status
		return sample, nil
	}
	return again, err
}

// measureWords finds how many tokens words make here. few is what usage said of the first
// prompt.
func (c *calibration) measureWords(ctx context.Context, few *int64) (note string, err error) {
	f := &c.s.form
	by := ""
	c.counter = engine.NewCounter(c.s.base, c.s.header, c.o.insecure, c.o.timeout, c.s.engine, c.s.model)
	defer c.counter.Close()
	if n, ok := c.counter.Count(ctx, c.w.Endpoint, engine.Prompt{Text: c.text(fewWords, 0)}); ok && (few == nil || n == *few) {
		few, by = &n, " by /tokenize"
	} else {
		c.counter = nil // it does not count as usage does
	}
	many, err := c.tokens(ctx, c.text(manyWords, 0))
	if err != nil {
		return "", err
	}
	if few == nil || many <= *few {
		return "prompt=text: the server does not say how many tokens it is", nil
	}
	perWord := float64(many-*few) / (manyWords - fewWords)
	if perWord < leastPerWord {
		return fmt.Sprintf("prompt=text: the server counts %d more tokens for %d more words: it can't be counted by", many-*few, manyWords-fewWords), nil
	}
	around := *few - int64(math.Round(fewWords*perWord))
	oneEach := perWord == 1
	if oneEach {
		// A few random words can hold no longer one, or as many as more words do.
		all, err := c.tokens(ctx, strings.Join(prompts.Words, " "))
		if err != nil {
			return "", err
		}
		oneEach = all < 0 || all == around+int64(len(prompts.Words))
	}
	if !oneEach {
		single, beside, err := c.singleTokens(ctx)
		if err != nil {
			return "", err
		}
		if len(single) >= enoughWords {
			*f = form{words: single, around: beside, perWord: 1}
			return fmt.Sprintf("prompt=text calibrated%s (%d words of one token each and %d tokens around them)", by, len(single), beside), nil
		}
	}
	f.around, f.perWord = around, perWord
	return fmt.Sprintf("prompt=text calibrated%s (%.4g tokens a word and %d around them)", by, perWord, around), nil
}

// singleTokens finds the words that are one token each, in groups: a group with a
// longer word is left out whole.
func (c *calibration) singleTokens(ctx context.Context) (single []string, around int64, err error) {
	tokens := func(list []string) (int64, error) { return c.tokens(ctx, strings.Join(list, " ")) }
	few, err := tokens(slices.Repeat(prompts.Words[:1], fewWords))
	if err != nil {
		return nil, 0, err
	}
	many, err := tokens(slices.Repeat(prompts.Words[:1], manyWords))
	if err != nil || many-few != manyWords-fewWords {
		return nil, 0, err
	}
	around = few - fewWords
	for group := range slices.Chunk(prompts.Words, fewWords) {
		n, err := tokens(group)
		if err != nil {
			return nil, 0, err
		}
		if n == around+int64(len(group)) {
			single = append(single, group...)
		}
	}
	return single, around, nil
}

// tokens is how many tokens a prompt in words is; -1 where the server does not say.
func (c *calibration) tokens(ctx context.Context, text string) (int64, error) {
	if c.counter != nil {
		if n, ok := c.counter.Count(ctx, c.w.Endpoint, engine.Prompt{Text: text}); ok {
			return n, ctx.Err()
		}
	}
	sample, err := c.ask(ctx, func(int) loadgen.Call { return c.s.say(&c.w, text) })
	if err != nil || sample.ISL == nil {
		return -1, err
	}
	return *sample.ISL, nil
}

// text is the n-th random prompt of so many words.
func (c *calibration) text(length int64, n int) string {
	c.w.ISL = length
	return c.s.form.text(c.s.random(&c.w, ^c.o.seed, &prompts.Used{}).Prompt(0, n))
}

// random asks about the n-th random prompt of so many ids or words.
func (c *calibration) random(ctx context.Context, length int64, n int) (row.Sample, error) {
	c.w.ISL = length
	make := c.s.build(&c.w, c.s.random(&c.w, ^c.o.seed, &prompts.Used{}), 0)
	return c.ask(ctx, func(int) loadgen.Call { return make(n) })
}

// ask sends one request through the load generator.
func (c *calibration) ask(ctx context.Context, build func(int) loadgen.Call) (row.Sample, error) {
	stamps := c.o.stamps
	if c.stamps != "" {
		stamps = loadgen.StampsRead // the first request told; times do not matter here
	}
	capture, err := loadgen.Run(ctx, loadgen.Spec{
		Base: c.s.base, Header: c.s.header, Protocol: row.Passes, Concurrency: 1, Iters: 1, Build: build,
		Timeout: min(c.o.timeout, 5*time.Minute), Idle: c.o.idle, Connect: c.o.connect, Stamps: stamps, Insecure: c.o.insecure, Zero: loadgen.Now(),
	})
	if err != nil {
		return row.Sample{}, err
	}
	samples := engine.Samples(capture)
	if len(samples) != 1 {
		return row.Sample{}, errors.New("no answer to a first request")
	}
	if c.stamps == "" {
		c.stamps, c.noRing = capture.Stats.Stamps, capture.NoRing
	}
	if c.status = capture.Outcomes[0].HTTPStatus; c.status == 401 || c.status == 403 {
		return row.Sample{}, refuse(exitNoServer, "%s: %s: set OPENAI_API_KEY, or give --api-key-file", c.s.base.Redacted(), samples[0].Reason)
	}
	return samples[0], nil
}
