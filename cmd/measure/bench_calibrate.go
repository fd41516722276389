package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
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

	stamps  string      // which stamps the client has here
	noRing  string      // why they are not a ring's, where that was wanted
	answer  *row.Sample // the first that succeeded
	status  int         // of the latest answer; 0: none came
	refused string      // why the first failed
	notes   []string    // what every row should say of it
}

// calibrate finds how this server takes prompts, and whether it takes ignore_eos. It
// tries what is exact first: ids, then text measured by the server's own usage. A server
// that refuses everything is measured all the same: its rows carry its words.
func (s *server) calibrate(ctx context.Context, o *benchOptions) (*calibration, error) {
	c := &calibration{s: s, o: o, w: row.Workload{Endpoint: o.endpoint, OSL: 2, Sampling: o.sampling}}
	ids, text := form{}, form{words: prompts.Words, perWord: 1}
	forms := []form{ids, text}
	if !engine.TakesIDs(o.endpoint) {
		forms = forms[1:]
	}
	for _, s.form = range forms {
		for _, c.w.Sampling.IgnoreEOS = range slices.Compact([]bool{o.sampling.IgnoreEOS, false}) {
			sample, err := c.random(ctx, fewWords)
			if err != nil {
				return nil, err
			}
			if !sample.OK() {
				c.refused = cmp.Or(c.refused, sample.Reason)
				if c.status == 0 || c.status >= 500 {
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
	return c, nil
}

// measureWords finds how many tokens words make here. few is what the server said of
// the first prompt.
func (c *calibration) measureWords(ctx context.Context, few *int64) (note string, err error) {
	f := &c.s.form
	many, err := c.random(ctx, manyWords)
	if err != nil {
		return "", err
	}
	if few == nil || many.ISL == nil || *many.ISL <= *few {
		return "prompt=text: the server does not say how many tokens it is", nil
	}
	perWord := float64(*many.ISL-*few) / (manyWords - fewWords)
	if perWord < leastPerWord {
		return fmt.Sprintf("prompt=text: the server counts %d more tokens for %d more words: it can't be counted by", *many.ISL-*few, manyWords-fewWords), nil
	}
	around := *few - int64(math.Round(fewWords*perWord))
	if perWord != 1 {
		single, beside, err := c.singleTokens(ctx)
		if err != nil {
			return "", err
		}
		if len(single) >= enoughWords {
			*f = form{words: single, around: beside, perWord: 1}
			return fmt.Sprintf("prompt=text calibrated (%d words of one token each and %d tokens around them)", len(single), beside), nil
		}
	}
	f.around, f.perWord = around, perWord
	return fmt.Sprintf("prompt=text calibrated (%.4g tokens a word and %d around them)", perWord, around), nil
}

// singleTokens finds the words that are one token each, in groups: a group with a
// longer word is left out whole.
func (c *calibration) singleTokens(ctx context.Context) (single []string, around int64, err error) {
	tokens := func(list []string) (int64, error) {
		sample, err := c.ask(ctx, func(int) loadgen.Call { return c.s.say(&c.w, strings.Join(list, " ")) })
		if err != nil || sample.ISL == nil {
			return -1, err
		}
		return *sample.ISL, nil
	}
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

// random asks about a fresh random prompt of so many ids or words.
func (c *calibration) random(ctx context.Context, length int64) (row.Sample, error) {
	c.w.ISL = length
	return c.ask(ctx, c.s.build(&c.w, c.s.random(&c.w, ^c.o.seed, &prompts.Used{}), int(length)))
}

// ask sends one request through the load generator.
func (c *calibration) ask(ctx context.Context, build func(int) loadgen.Call) (row.Sample, error) {
	stamps := c.o.stamps
	if c.stamps != "" {
		stamps = loadgen.StampsRead // the first request told; times do not matter here
	}
	capture, err := loadgen.Run(ctx, loadgen.Spec{
		Base: c.s.base, Header: c.s.header, Protocol: row.Passes, Concurrency: 1, Iters: 1, Build: build,
		Timeout: min(c.o.timeout, 5*time.Minute), Stamps: stamps, Insecure: c.o.insecure, Zero: loadgen.Now(),
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
