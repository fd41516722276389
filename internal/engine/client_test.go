package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rowproof/internal/engine"
	"rowproof/internal/engine/simulator"
	"rowproof/internal/loadgen"
	"rowproof/internal/row"
)

// This binary is also the server that the client is held against, and the busy
// neighbour that takes its CPU: each in a process of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "simulate":
			os.Exit(serve(os.Args[2:]))
		case "load":
			os.Exit(offer(os.Args[2:]))
		case "spin":
			for n := 0; ; n++ {
				if n < 0 {
					return
				}
			}
		}
	}
	os.Exit(m.Run())
}

// serve is the server's process: it takes its configuration and a file for its truth.
func serve(args []string) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var cfg simulator.Config
	if err := json.Unmarshal([]byte(args[0]), &cfg); err != nil {
		return fail(err)
	}
	file, err := os.Create(args[1])
	if err != nil {
		return fail(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fail(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	ctx, end := context.WithCancel(ctx)
	go func() {
		io.Copy(io.Discard, os.Stdin) // it ends with the test's process
		end()
	}()
	runtime.GOMAXPROCS(runtime.NumCPU() + 2)
	simulator.Prefer()
	fmt.Printf("http://%s\n", ln.Addr())
	if err := simulator.Serve(ctx, ln, cfg, file); err != nil {
		return fail(err)
	}
	return 0
}

// start starts the server's process; stop ends it, and the truth is then complete.
func start(b testing.TB, cfg simulator.Config, truth string) (base *url.URL, stop func()) {
	b.Helper()
	text, err := json.Marshal(cfg)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "simulate", string(text), truth)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "GODEBUG=") // what is traced is the client
	if _, err := cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { cmd.Process.Kill() }) // where stop was not reached
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	if base, err = url.Parse(strings.TrimSpace(line)); err != nil {
		b.Fatal(err)
	}
	return base, func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkClient is the client's error against a server whose every write is known,
// by stamps, streams and with a busy loop on each core. It reports ITL and TTFT errors
// in µs, CPU a chunk and the peak of memory.
func BenchmarkClient(b *testing.B) {
	const gap = 20 * time.Millisecond
	for _, stamps := range []string{loadgen.StampsRing, loadgen.StampsKernel, loadgen.StampsRead} {
		for _, streams := range []int{1, 64, 256, 1024} {
			for _, busy := range []int{0, runtime.NumCPU()} {
				name := fmt.Sprintf("%s/streams=%d/busy=%d", stamps, streams, busy)
				b.Run(name, func(b *testing.B) { client(b, stamps, streams, 128, gap, busy) })
			}
		}
	}
	b.Run("ring/streams=1024/tokens=1024", func(b *testing.B) { client(b, loadgen.StampsRing, 1024, 1024, gap, 0) })
}

// BenchmarkChunks is how many chunks a second pass without one that lacks its stamp, as
// fast as the server writes them.
func BenchmarkChunks(b *testing.B) {
	for _, gap := range []time.Duration{20 * time.Millisecond, 10 * time.Millisecond, 5 * time.Millisecond} {
		b.Run(fmt.Sprintf("gap=%v", gap), func(b *testing.B) {
			client(b, loadgen.StampsRing, 1024, int(4*time.Second/gap), gap, 0)
		})
	}
}

// BenchmarkTurnaround is how long after the last token of an answer the next request of
// a full stream leaves, in µs.
func BenchmarkTurnaround(b *testing.B) {
	for _, stamps := range []string{loadgen.StampsRing, loadgen.StampsKernel} {
		for _, streams := range []int{8, 64, 1024} {
			b.Run(fmt.Sprintf("%s/streams=%d", stamps, streams), func(b *testing.B) {
				for range b.N {
					turnaround(b, stamps, streams)
				}
			})
		}
	}
}

func turnaround(b *testing.B, stamps string, streams int) {
	cfg := simulator.Default()
	cfg.Gap, cfg.GapPerStream = 20*time.Millisecond, 0
	cfg.MaxRunning = streams
	cfg.Prefill, cfg.PrefillPerToken = cfg.Gap/time.Duration(streams), 0
	base, stop := start(b, cfg, filepath.Join(b.TempDir(), "truth.jsonl"))
	defer stop()
	c, err := loadgen.Run(context.Background(), loadgen.Spec{
		Base: base, Protocol: row.Sustained, Concurrency: streams, Requests: 4 * streams,
		Build: func(seq int) loadgen.Call {
			return engine.Request(engine.PathCompletions, cfg.Model, engine.Prompt{IDs: []int{1, 2, 3, seq}}, 4, 32, engine.Options{Engine: engine.Embedded, IgnoreEOS: true})
		},
		Stamps: stamps, Zero: loadgen.Now(),
	})
	if err != nil {
		b.Fatal(err)
	}
	last := map[int]int64{}
	var lag []int64
	for i := range c.Outcomes {
		o := &c.Outcomes[i]
		if err := o.Load(); err != nil {
			b.Fatal(err)
		}
		if before := last[o.Worker]; before != 0 {
			lag = append(lag, o.Sent-before)
		}
		if n := len(o.Stamps); n > 0 {
			last[o.Worker] = o.Stamps[n-1].At
		}
	}
	slices.Sort(lag)
	b.ReportMetric(float64(lag[len(lag)/2])/1000, "p50-µs")
	b.ReportMetric(float64(lag[len(lag)*99/100])/1000, "p99-µs")
	b.ReportMetric(float64(c.Stats.Reads)/float64(len(c.Outcomes)*33), "reads/chunk")
}

func client(b *testing.B, stamps string, streams, tokens int, gap time.Duration, busy int) {
	for range busy {
		spin := exec.Command(os.Args[0], "spin")
		if err := spin.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { spin.Process.Kill(); spin.Wait() })
	}
	var itl, ttft []int64
	var cpu time.Duration
	chunks := 0
	for range b.N {
		cfg := simulator.Default()
		cfg.Gap, cfg.GapPerStream = gap, 0
		cfg.MaxRunning = streams
		// Prefills queue one at a time: short ones spread the streams over one gap.
		cfg.Prefill, cfg.PrefillPerToken = gap/time.Duration(streams), 0
		truthPath := filepath.Join(b.TempDir(), "truth.jsonl")
		base, stop := start(b, cfg, truthPath)
		debug.FreeOSMemory()
		os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak begins here
		before := cpuTime()
		c, err := loadgen.Run(context.Background(), loadgen.Spec{
			Base: base, Header: http.Header{}, Protocol: row.Passes, Concurrency: streams, Iters: 1,
			Build: func(seq int) loadgen.Call {
				return engine.Request(engine.PathCompletions, cfg.Model, engine.Prompt{IDs: []int{1, 2, 3, seq}}, 4, tokens, engine.Options{Engine: engine.Embedded, IgnoreEOS: true})
			},
			Timeout: time.Minute, Stamps: stamps, Zero: loadgen.Now(),
		})
		if err != nil {
			b.Fatal(err)
		}
		cpu += cpuTime() - before
		samples := engine.Samples(c)
		b.ReportMetric(peakMB(), "MB")
		stop()
		truth, err := simulator.ReadTruth(truthPath)
		if err != nil {
			b.Fatal(err)
		}
		var first, last int64 // chunks left between them
		for i, s := range samples {
			o := &c.Outcomes[i]
			if err := o.Load(); err != nil {
				b.Fatal(err)
			}
			t := truth[simulator.Number(o.Body)]
			o.Unload()
			if !s.OK() || len(s.T) != tokens || len(t.Sent) != tokens {
				b.Fatalf("request %d: %s %q, %d chunks of %d", i, s.Status, s.Reason, len(s.T), len(t.Sent))
			}
			ttft = append(ttft, abs(c.Spec.Zero+1000*(s.Sent+s.T[0])-t.Sent[0]))
			for j := 1; j < tokens; j++ {
				if s.T[j] != row.NoStamp && s.T[j-1] != row.NoStamp {
					itl = append(itl, abs(1000*s.T[j]-(t.Sent[j]-t.Sent[j-1])))
				}
			}
			chunks += tokens
			if first == 0 || t.Sent[0] < first {
				first = t.Sent[0]
			}
			last = max(last, t.Sent[tokens-1])
		}
		b.ReportMetric(float64(streams*tokens)/(float64(last-first)/1e9), "chunks/s")
		b.ReportMetric(float64(c.Stats.Drops), "drops")
		for _, note := range c.Notes {
			b.Log(note)
		}
		b.ReportMetric(float64(c.Stats.SharedStamps)/float64(chunks)*100, "%shared")
		b.ReportMetric(float64(c.Stats.Unstamped), "unstamped")
	}
	for name, v := range map[string][]int64{"ITL": itl, "TTFT": ttft} {
		slices.Sort(v)
		at := func(permille int) float64 { return float64(v[(len(v)*permille+999)/1000-1]) / 1000 }
		b.ReportMetric(at(500), name+"-p50-µs")
		b.ReportMetric(at(990), name+"-p99-µs")
		b.ReportMetric(at(1000), name+"-max-µs")
	}
	b.ReportMetric(float64(cpu.Nanoseconds())/1000/float64(chunks), "cpu-µs/chunk")
}

func cpuTime() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func peakMB() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kb float64
	fmt.Sscan(after, &kb)
	return kb / 1024
}

func abs(v int64) int64 { return max(v, -v) }
