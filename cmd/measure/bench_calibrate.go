package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"rowproof/internal/engine"
	"rowproof/internal/loadgen"
	"rowproof/internal/row"
)

// form is how prompts of a wanted length are written for a server: as that many token
// ids, or as words whose count was found by asking.
type form struct {
	words   bool
	around  int64   // tokens that a chat template or a first token adds
	perWord float64 // 1 where each word is one token
}

// count is how many words make a prompt of isl tokens; at least one.
func (f form) count(isl int64) int64 {
	return max(1, int64(math.Round(float64(isl-f.around)/f.perWord)))
}

// Words in the two prompts that calibration asks about.
const fewWords, manyWords = 16, 144

// calibrate finds, by a few short requests, how this server takes prompts and whether
// it takes ignore_eos. It tries what is exact first: ids, then text measured by the
// server's own usage. It returns what the rows should say of it and which stamps the
// client has here.
func (s *server) calibrate(ctx context.Context, o *benchOptions) (notes []string, stamps string, err error) {
	w := row.Workload{Endpoint: o.endpoint, ISL: fewWords, OSL: 2, Sampling: o.sampling, Load: row.Load{Concurrency: new(int64)}}
	var u used
	var sample row.Sample
	try := func(words, ignoreEOS bool, isl int64) (bool, error) {
		s.form = form{words: words, perWord: 1}
		w.Sampling.IgnoreEOS, w.ISL = ignoreEOS, isl
		capture, err := loadgen.Run(ctx, loadgen.Spec{
			Base: s.base, Header: s.header, Protocol: row.Passes, Concurrency: 1, Iters: 1,
			Build:   s.build(&w, s.prompts(&w, o.seed^1, &u), 0), // a seed that no row has
			Timeout: min(o.timeout, 5*time.Minute), Stamps: o.stamps, Insecure: o.insecure, Zero: loadgen.Now(),
		})
		if err != nil {
			return false, err
		}
		samples := engine.Samples(capture)
		if len(samples) != 1 {
			return false, errors.New("no answer to a first request")
		}
		sample, stamps = samples[0], capture.Stats.Stamps
		if strings.HasPrefix(sample.Reason, "HTTP 401") || strings.HasPrefix(sample.Reason, "HTTP 403") {
			return false, refuse(exitNoServer, "%s: %s: set OPENAI_API_KEY or give --api-key-file", s.base.Redacted(), sample.Reason)
		}
		return sample.OK(), nil
	}
	chat := o.endpoint == engine.PathChat
	first := ""
	for _, words := range []bool{false, true} {
		if chat && !words {
			continue
		}
		for _, ignoreEOS := range []bool{o.sampling.IgnoreEOS, false} {
			ok, err := try(words, ignoreEOS, fewWords)
			if err != nil {
				return nil, "", err
			}
			if !ok {
				if first == "" {
					first = sample.Reason
				}
				continue
			}
			if o.sampling.IgnoreEOS && !ignoreEOS {
				notes = append(notes, "the server refuses ignore_eos: outputs may end early")
			}
			o.sampling.IgnoreEOS = ignoreEOS
			if !words {
				return notes, stamps, nil
			}
			few := sample.ISL
			if ok, err = try(words, ignoreEOS, manyWords); err != nil {
				return nil, "", err
			}
			if !ok || few == nil || sample.ISL == nil || *sample.ISL <= *few {
				return append(notes, "prompt=text: the server does not say how many tokens it is"), stamps, nil
			}
			s.form.perWord = float64(*sample.ISL-*few) / (manyWords - fewWords)
			s.form.around = *few - int64(math.Round(fewWords*s.form.perWord))
			return append(notes, fmt.Sprintf("prompt=text calibrated (%d tokens around it; %.4g a word)", s.form.around, s.form.perWord)), stamps, nil
		}
	}
	// The rows will say the same in their reasons; a sweep that can't have one right row
	// ends here.
	return nil, stamps, errors.New("the server refuses a first short request: " + first)
}
