package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"rowproof/internal/engine/simulator"
)

// simulateFlags are the flags of simulate and what they set.
func simulateFlags(cfg *simulator.Config) (fs collector, host *string, port *uint16, truth *string, untilStdin *bool) {
	fs = newCollector("simulate")
	port = new(uint16)
	host = fs.String("host", "127.0.0.1", "address to listen on")
	fs.port(port, 8000, 0, "port to listen on; 0 takes a free one")
	truth = fs.String("truth", "", "file for the truth log: a JSON line for each request that ended")
	fs.StringVar(&cfg.Model, "model", cfg.Model, "the model id that it serves")
	fs.DurationVar(&cfg.Prefill, "prefill", cfg.Prefill, "prefill of any prompt, before its tokens are counted")
	fs.DurationVar(&cfg.PrefillPerToken, "prefill-each", cfg.PrefillPerToken, "prefill of each prompt token that is not cached")
	fs.IntVar(&cfg.Prefills, "prefills", cfg.Prefills, "prefills that run side by side; further ones wait")
	fs.DurationVar(&cfg.Gap, "gap", cfg.Gap, "between two tokens of a stream that runs alone")
	fs.DurationVar(&cfg.GapPerStream, "gap-per-stream", cfg.GapPerStream, "added to the gap for each other stream that decodes")
	fs.IntVar(&cfg.MaxRunning, "max-running", cfg.MaxRunning, "streams at once; further requests wait")
	fs.IntVar(&cfg.CacheBlocks, "cache-blocks", cfg.CacheBlocks, "blocks of 16 tokens in the pool and in the prefix cache")
	fs.IntVar(&cfg.MaxModelLen, "max-model-len", cfg.MaxModelLen, "prompt and output together, in tokens")
	fs.BoolVar(&cfg.NameAnswers, "name-answers", cfg.NameAnswers, "begin each answer with r and its number, as in the truth log")
	fs.Var(&cfg.Faults, "fault", "ways to answer unlike a plain healthy server, separated by commas (listed above)")
	fs.IntVar(&cfg.FaultEvery, "fault-every", cfg.FaultEvery, "they befall each of so many requests")
	untilStdin = fs.Bool("until-stdin-closes", false, "end when standard input does, as when the program that started this one dies")
	usage(fs.FlagSet, "simulate [flags]",
		"Run the embedded engine: an OpenAI-compatible server that sends each token at a\n"+
			"time known in advance. The first line on stdout is its address. It measures nothing;\n"+
			"it is what a client is held against.\n\nFaults:\n"+strings.TrimSuffix(simulator.FaultList(), "\n"),
		"measure simulate --port 0 --gap 20ms --truth truth.jsonl")
	return
}

func simulate(ctx context.Context, args []string, s streams) (code int) {
	cfg := simulator.Default()
	fs, host, port, truthPath, untilStdin := simulateFlags(&cfg)
	if code, done := fs.parse(args, s); done {
		return code
	}
	if fs.NArg() > 0 && fs.allKnown() {
		fs.wrong("unexpected %q; it takes flags only", fs.Arg(0))
	}
	server, err := simulator.New(cfg)
	if err != nil {
		fs.problems = append(fs.problems, strings.Split(err.Error(), "\n")...)
	}
	if len(fs.problems) > 0 {
		return fs.refuse(s)
	}
	fail := func(code int, err error) int {
		fmt.Fprintf(s.err, "measure simulate: %v\n", err)
		return code
	}

	// A server is ended by a signal; that is its proper end.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *untilStdin {
		go func() {
			_, _ = io.Copy(io.Discard, s.in)
			stop()
		}()
	}

	truth := io.Writer(io.Discard)
	if *truthPath != "" {
		f, err := os.Create(*truthPath)
		if err != nil {
			return fail(exitFailed, err)
		}
		defer func() {
			if err := f.Close(); err != nil {
				code = fail(exitFailed, err)
			}
		}()
		truth = f
	}
	ln, err := net.Listen("tcp", net.JoinHostPort(*host, strconv.Itoa(int(*port))))
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("port %d of %s is taken; --port 0 takes a free one", *port, *host)
		}
		return fail(exitNoServer, err)
	}
	// The thread that writes the tokens must never wait for its turn: not behind the
	// goroutines that read requests, nor behind other processes.
	runtime.GOMAXPROCS(runtime.NumCPU() + 2)
	simulator.Prefer()
	fmt.Fprintf(s.out, "http://%s\n", ln.Addr())
	err = server.Serve(ctx, ln, truth)
	fmt.Fprintf(s.err, "timetable: %v\n", server.Lateness())
	if err != nil {
		return fail(exitFailed, err)
	}
	return exitOK
}
