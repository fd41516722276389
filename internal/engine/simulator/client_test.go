package simulator_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"rowproof/internal/engine"
	"rowproof/internal/engine/simulator"
	"rowproof/internal/loadgen"
	"rowproof/internal/row"
)

// What our own client makes of each fault: forms that mean the same give the same
// tokens, and each failure is told in words.
func TestOurClientReadsEachFault(t *testing.T) {
	const osl = 12
	for _, c := range []struct {
		faults string
		says   string // of a failed request; "" is a success
		tokens int64  // by usage where the server tells it, else counted
		chunks int
	}{
		{"", "", osl, osl},
		{"split", "", osl, osl},
		{"comments", "", osl, osl},
		{"no-space", "", osl, osl},
		{"data-lines", "", osl, osl},
		{"crlf", "", osl, osl},
		{"cr", "", osl, osl},
		{"utf8", "", osl, osl},
		{"open-end", "", osl, osl},
		{"usage-last", "", osl, osl},
		{"reasoning", "", osl, osl},
		{"blank", "", osl, osl},
		{"multi-token", "", osl, osl / 4},
		{"burst", "", osl, 1},
		{"split,comments,no-space,data-lines,cr,utf8,usage-last", "", osl, osl},
		{"no-usage", "", osl, osl},
		{"no-cached", "", osl, osl},
		{"wrong-usage", "", osl + 1, osl},
		{"early-stop", "", osl / 2, osl / 2},
		{"no-done", "ended without [DONE]", 0, 0},
		{"only-done", "no content", 0, 0},
		{"nothing", "sent nothing", 0, 0},
		{"error-first", "the engine core died", 0, 0},
		{"error-mid", "the engine core died", 0, 0},
		{"error-field", "the engine core died", 0, 0},
		{"cut", "closed the connection before the response was whole", 0, 0},
		{"stall", "timeout", 0, 0},
		{"html-503", "HTTP 503", 0, 0},
	} {
		t.Run(c.faults, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if c.faults == "stall" {
				timeout = 300 * time.Millisecond
			}
			cfg := simulator.Default()
			cfg.Prefill, cfg.PrefillPerToken, cfg.Gap, cfg.GapPerStream = time.Millisecond, 0, time.Millisecond, 0
			if err := cfg.Faults.Set(c.faults); err != nil {
				t.Fatal(err)
			}
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(context.Background())
			served := make(chan error)
			go func() { served <- simulator.Serve(ctx, ln, cfg, io.Discard) }()
			capture, err := loadgen.Run(ctx, loadgen.Spec{
				Base:     &url.URL{Scheme: "http", Host: ln.Addr().String()},
				Protocol: row.Passes, Concurrency: 2, Iters: 1, Timeout: timeout, Zero: loadgen.Now(),
				Build: func(int) loadgen.Call {
					if c.faults == "reasoning" {
						return engine.Request(engine.PathChat, cfg.Model, engine.Prompt{Text: "one two"}, 9, osl, engine.Options{Engine: engine.Embedded})
					}
					return engine.Request(engine.PathCompletions, cfg.Model, engine.Prompt{IDs: []int{1, 2, 3}}, 3, osl, engine.Options{Engine: engine.Embedded})
				},
			})
			stop()
			if err != nil {
				t.Fatal(err)
			}
			if err := <-served; err != nil {
				t.Fatal(err)
			}
			for _, s := range engine.Samples(capture) {
				if c.says != "" {
					if s.Status == row.StatusOK || !strings.Contains(s.Reason, c.says) {
						t.Errorf("request %d: %s, %q; want a failure that says %q", s.I, s.Status, s.Reason, c.says)
					}
					continue
				}
				if s.Status != row.StatusOK || len(s.T) != c.chunks {
					t.Errorf("request %d: %s %q, %d chunks, want %d", s.I, s.Status, s.Reason, len(s.T), c.chunks)
				}
				tokens := int64(len(s.T))
				if s.N != nil {
					tokens = 0
					for _, n := range s.N {
						tokens += n
					}
				}
				if s.OSL != nil {
					tokens = *s.OSL
				}
				if tokens != c.tokens {
					t.Errorf("request %d: %d tokens, want %d", s.I, tokens, c.tokens)
				}
				if told := c.faults != "no-usage"; told != (s.TokensFrom == "") {
					t.Errorf("request %d: tokens counted by %q", s.I, s.TokensFrom)
				}
				if told := c.faults != "no-usage" && c.faults != "no-cached"; told != (s.Cached != nil) {
					t.Errorf("request %d: cached %v", s.I, s.Cached)
				}
			}
		})
	}
}
