// Package simulator is the embedded engine: a model server whose every token leaves on
// a timetable that is known in advance, so that a client can be held against the truth.
// It speaks the OpenAI routes, queues prefills one at a time, lets gaps grow with the
// streams that run, keeps whole blocks of prompts in a prefix cache, and writes down
// when each token was due and when it was really written. It computes nothing: what it
// answers is no measurement of anything but the client in front of it.
package simulator

import (
	"errors"
	"fmt"
	"time"
)

// BlockTokens is the size of a prefix-cache block: only whole blocks are shared.
const BlockTokens = 16

// Vocabulary bounds the token ids that a prompt may hold.
const Vocabulary = 128256

// A pretended memory: the figures behind active_bytes.
const (
	weightBytes = 3_000_000_000
	blockBytes  = 2 << 20
)

// Config is the timetable and the limits of one server. The zero Config is not usable;
// start from Default.
type Config struct {
	Model           string        // the one model id it serves
	Prefill         time.Duration // of any prompt, before its tokens are counted
	PrefillPerToken time.Duration // added for each prompt token that is not cached
	Prefills        int           // that run side by side; further ones wait in order of arrival
	Gap             time.Duration // between two tokens of a stream that runs alone
	GapPerStream    time.Duration // added to the gap for each other stream that decodes
	MaxRunning      int           // streams at once; further requests wait in order of arrival
	CacheBlocks     int           // blocks in the pool and in the prefix cache
	MaxModelLen     int           // prompt and output together, in tokens
	NameAnswers     bool          // the first word of an answer is r and its number, not w0
	Faults          Faults        // none in a healthy server
	FaultEvery      int           // they befall each of so many requests, the last of them
}

// Default is about a small model on one GPU.
func Default() Config {
	return Config{
		Model:           "embedded",
		Prefill:         10 * time.Millisecond,
		PrefillPerToken: 28 * time.Microsecond,
		Prefills:        1,
		Gap:             5 * time.Millisecond,
		GapPerStream:    100 * time.Microsecond,
		MaxRunning:      256,
		CacheBlocks:     65536,
		MaxModelLen:     16384,
		FaultEvery:      1,
	}
}

// Check reports everything that is wrong with a configuration, under the flags of Args, one
// a line.
func (c Config) Check() error {
	var errs []error
	if c.Model == "" {
		errs = append(errs, errors.New("--model is empty; want an id"))
	}
	for _, d := range []struct {
		name string
		v    time.Duration
	}{
		{"prefill", c.Prefill}, {"prefill-each", c.PrefillPerToken},
		{"gap", c.Gap}, {"gap-per-stream", c.GapPerStream},
	} {
		if d.v < 0 {
			errs = append(errs, fmt.Errorf("--%s %v: want 0 or more", d.name, d.v))
		}
	}
	if c.MaxRunning < 1 {
		errs = append(errs, fmt.Errorf("--max-running %d: want 1 or more", c.MaxRunning))
	}
	if c.Prefills < 1 {
		errs = append(errs, fmt.Errorf("--prefills %d: want 1 or more", c.Prefills))
	}
	if c.MaxModelLen < 2 {
		errs = append(errs, fmt.Errorf("--max-model-len %d: want 2 or more", c.MaxModelLen))
	}
	if c.FaultEvery < 1 {
		errs = append(errs, fmt.Errorf("--fault-every %d: want 1 or more", c.FaultEvery))
	}
	if need := blocks(c.MaxModelLen); c.CacheBlocks < need {
		errs = append(errs, fmt.Errorf("--cache-blocks %d: they hold %d tokens; --max-model-len %d takes %d blocks or more",
			c.CacheBlocks, c.CacheBlocks*BlockTokens, c.MaxModelLen, need))
	}
	return errors.Join(errs...)
}

// Args are the flags of the simulate verb that give this configuration.
func (c Config) Args() []string {
	return []string{
		"--model", c.Model,
		"--prefill", c.Prefill.String(),
		"--prefill-each", c.PrefillPerToken.String(),
		"--prefills", fmt.Sprint(c.Prefills),
		"--gap", c.Gap.String(),
		"--gap-per-stream", c.GapPerStream.String(),
		"--max-running", fmt.Sprint(c.MaxRunning),
		"--cache-blocks", fmt.Sprint(c.CacheBlocks),
		"--max-model-len", fmt.Sprint(c.MaxModelLen),
		fmt.Sprintf("--name-answers=%t", c.NameAnswers),
		"--fault", c.Faults.String(),
		"--fault-every", fmt.Sprint(c.FaultEvery),
	}
}

// blocks is how many blocks hold n tokens.
func blocks(n int) int { return (n + BlockTokens - 1) / BlockTokens }
