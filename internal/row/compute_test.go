package row

import (
	"math"
	"strings"
	"testing"
)

func p[T any](v T) *T { return &v }

// request is a timed request that completed, sent 10 µs after it was enqueued.
func request(enqueued int64, t ...int64) Sample {
	return Sample{Phase: PhaseTimed, Enqueued: enqueued, Sent: enqueued + 10, ISL: p(int64(100)),
		OSL: p(int64(len(t))), Cached: p(int64(0)), T: t, Status: StatusOK}
}

func passes(c, iters int64) *Workload {
	return &Workload{Protocol: Passes, ISL: 100, OSL: 3, Load: Load{Concurrency: &c}, Iters: &iters, Repeats: 1}
}

func near(t *testing.T, name string, got *float64, want float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is null, want %v", name, want)
	} else if math.Abs(*got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s = %v, want %v", name, *got, want)
	}
}

func absent(t *testing.T, c Computed, name string, null bool, reason string) {
	t.Helper()
	if !null {
		t.Errorf("%s is not null", name)
	}
	if !strings.Contains(c.Missing[name], reason) {
		t.Errorf("%s: reason %q, want one with %q", name, c.Missing[name], reason)
	}
}

// Two sessions of one pass, by hand. The second is sent 40 ms after the first and gets
// its first content at 70 ms, so the first one's gap from 50 to 60 ms and from 60 to
// 80 ms stand beside a prefill.
func TestOnePassByHand(t *testing.T) {
	a := request(0, 49_990, 10_000, 20_000) // content at 50, 60, 80 ms
	b := request(39_990, 30_000, 30_000, 10_000)
	c := Compute(passes(2, 1), 2, []Sample{a, b}, nil)
	f := c.Figures
	near(t, "ttft mean", f.TTFT.Mean, (50+30.01)/2)
	near(t, "send ttft", f.SendTTFT.P50, (49.99+30)/2)
	near(t, "tpot", f.TPOT.P50, (15+20)/2.0)
	near(t, "itl p50", f.ITL.P50, 15) // 10, 10, 20, 30
	near(t, "itl mean", f.ITL.Mean, 17.5)
	near(t, "ingest p50", f.IngestGap.P50, 15) // 10, 20
	near(t, "decode p50", f.ITLDecode.P50, 20) // 30, 10
	near(t, "e2e", f.E2E.Mean, (80+70.01)/2)
	near(t, "prefill", f.PrefillTokPerSec, (100/0.05+100/0.03001)/2)
	near(t, "decode tok/s", f.DecodeTokPerSec, 6/0.11) // 0 to 110 ms
	near(t, "decode window", f.DecodeWindowTokPerSec, 6/0.06)
	near(t, "total", f.TotalTokPerSec, 206/0.11)
	near(t, "per GPU", f.OutputTokPerSecPerGPU, 3/0.11)
	near(t, "requests", f.RequestPerSec, 2/0.11)
	if f.TTFT.N != 2 || f.ITL.N != 4 || f.TTFT.IntervalP50 != nil {
		t.Errorf("n %d %d, interval %v", f.TTFT.N, f.ITL.N, f.TTFT.IntervalP50)
	}
	absent(t, c, "ttft_ms.p99", f.TTFT.P99 == nil, "2 samples a repeat; p99 needs 100")
	absent(t, c, "power_w", f.Power == nil, "no power reading")
	near(t, "first call", f.FirstCall, 80) // no warm-up
	absent(t, c, "peak_memory_bytes", f.PeakMemory == nil, "the engine does not say")
	if k := c.Counts; k.Planned != 2 || k.Completed != 2 || k.OSL.Max != 3 || *k.CachedTokens != 0 || k.TokensFrom != TokensUsage || k.Chunks != 6 {
		t.Errorf("counts %+v", k)
	}
}

func TestNoGPUCountNoPerGPUFigure(t *testing.T) {
	c := Compute(passes(1, 1), 0, []Sample{request(0, 10, 10, 10)}, nil)
	absent(t, c, "output_tok_s_per_gpu", c.Figures.OutputTokPerSecPerGPU == nil, "GPU count unknown")
}

// vllm-project/vllm#6531: outputs of 2, 101 and 1 tokens; mean TPOT 110, mean ITL
// 2200/101, and both right.
func TestMeanITLFarBelowMeanTPOT(t *testing.T) {
	long := make([]int64, 101)
	long[0] = 50_000
	for i := 1; i < 101; i++ {
		long[i] = 20_000
	}
	c := Compute(passes(3, 1), 1, []Sample{request(0, 50_000, 200_000), request(0, long...), request(0, 50_000)}, nil)
	f := c.Figures
	near(t, "tpot mean", f.TPOT.Mean, 110)
	near(t, "tpot p50", f.TPOT.P50, 110)
	near(t, "itl mean", f.ITL.Mean, 2200.0/101)
	near(t, "itl p50", f.ITL.P50, 20)
	near(t, "itl p99", f.ITL.P99, 20)
	if f.TPOT.N != 2 {
		t.Errorf("a request of one token counted: n %d", f.TPOT.N)
	}
	absent(t, c, "ttft_ms.p99", f.TTFT.P99 == nil, "3 samples")
}

func TestOneTokenHasNoTPOT(t *testing.T) {
	c := Compute(passes(1, 1), 1, []Sample{request(0, 5000)}, nil)
	absent(t, c, "tpot_ms", c.Figures.TPOT == nil, "more than one output token")
	absent(t, c, "itl_ms", c.Figures.ITL == nil, "second token")
	absent(t, c, "decode_window_tok_s", c.Figures.DecodeWindowTokPerSec == nil, "the last content is the first")
	near(t, "ttft", c.Figures.TTFT.P50, 5.01)
}

func TestAChunkOfSeveralTokens(t *testing.T) {
	s := request(0, 1000, 6000, 4000)
	s.N, s.OSL = []int64{4, 3, 1}, p(int64(8))
	c := Compute(passes(1, 1), 1, []Sample{s}, nil)
	// The first chunk has no inner gaps; 6 ms over three tokens, then 4 ms.
	near(t, "itl mean", c.Figures.ITL.Mean, (2+2+2+4)/4.0)
	near(t, "itl p50", c.Figures.ITL.P50, 2)
	near(t, "chunk gap", c.Figures.ChunkGap.P50, 5)
	near(t, "tpot", c.Figures.TPOT.P50, 10.0/7)
	if c.Figures.ITL.N != 4 || c.Counts.MultiTokenChunks != 2 {
		t.Errorf("n %d, multi %d", c.Figures.ITL.N, c.Counts.MultiTokenChunks)
	}
}

func TestABurstInventsNoITL(t *testing.T) {
	s := request(0, 90_000, 10)
	s.OSL = p(int64(256))
	w := passes(1, 1)
	w.OSL = 256
	c := Compute(w, 1, []Sample{s}, nil)
	absent(t, c, "itl_ms", c.Figures.ITL == nil, "do not sum to usage (2 of 256)")
	near(t, "decode tok/s", c.Figures.DecodeTokPerSec, 256/0.09002)
}

// No rate comes of a usage that is not of the chunks that came. A chunk may hold several
// tokens, and some print nothing.
func TestAUsageThatIsNotOfTheChunks(t *testing.T) {
	for _, c := range []struct {
		usage, asked int64
		n            []int64 // of four chunks
		why          string
	}{
		{4, 4, nil, ""},
		{4, 4, []int64{1, 1, 0, 1}, ""}, // one prints nothing and was not counted
		{7, 7, nil, ""},
		{7, 4, []int64{2, 2, 2, 1}, ""}, // more than was asked for, and it came
		{7, 4, nil, "usage disagrees with the chunks counted: 7 output tokens where 4 were asked for, and 4 came"},
		{3, 4, nil, "usage disagrees with the chunks counted: 3 output tokens, and 4 came"},
		{4, 9, []int64{2, 2, 2, 1}, "usage disagrees with the chunks counted: 4 output tokens, and 7 came"},
	} {
		s := request(0, 9_990, 5000, 5000, 5000)
		s.N, s.OSL = c.n, p(c.usage)
		w := passes(1, 1)
		w.OSL = c.asked
		f := Compute(w, 1, []Sample{s}, nil)
		if c.why == "" {
			near(t, "decode tok/s", f.Figures.DecodeTokPerSec, float64(c.usage)/0.025)
			continue
		}
		absent(t, f, "decode_tok_s", f.Figures.DecodeTokPerSec == nil, c.why)
		absent(t, f, "total_tok_s", f.Figures.TotalTokPerSec == nil, c.why)
		absent(t, f, "tpot_ms", f.Figures.TPOT == nil, c.why)
		if f.Counts.OSL == nil || f.Counts.OSL.Max != c.usage {
			t.Errorf("the count as sent is %v, want %d", f.Counts.OSL, c.usage)
		}
	}
}

// The second token came in two chunks: the gap to the third spans from the chunk that
// ended the token before it.
func TestATokenOverTwoChunks(t *testing.T) {
	s := request(0, 1000, 10_000, 4_000, 6_000)
	s.OSL, s.N = p(int64(3)), []int64{1, 1, 0, 1}
	f := Compute(passes(1, 1), 1, []Sample{s}, nil).Figures
	near(t, "itl mean", f.ITL.Mean, 10)
	if f.ITL.N != 2 || f.ChunkGap.N != 3 {
		t.Errorf("%d gaps between tokens and %d between chunks; want 2 and 3", f.ITL.N, f.ChunkGap.N)
	}
}

// Without a warm-up the first call is a timed one, and its wall is known all the same.
func TestTheFirstCallOfAColdStart(t *testing.T) {
	s := request(0, 1000, 10_000, 10_000)
	near(t, "first call", Compute(passes(1, 1), 1, []Sample{s}, nil).Figures.FirstCall, 21.01)
	warmed := passes(1, 1)
	warmed.Warmup = 2
	c := Compute(warmed, 1, []Sample{s}, nil)
	absent(t, c, "first_call_ms", c.Figures.FirstCall == nil, "no first call")
}

func TestAnUnstampedChunkHidesItsGaps(t *testing.T) {
	c := Compute(passes(1, 1), 1, []Sample{request(0, 1000, 2000, NoStamp, 5000, 3000)}, nil)
	// Known: 2 ms and 3 ms; the 5 ms spans an unknown arrival.
	near(t, "itl mean", c.Figures.ITL.Mean, 2.5)
	near(t, "e2e", c.Figures.E2E.P50, 11.01)
	if c.Counts.Unstamped != 1 || c.Figures.ITL.N != 2 {
		t.Errorf("unstamped %d, n %d", c.Counts.Unstamped, c.Figures.ITL.N)
	}
}

func TestUsageWithAHole(t *testing.T) {
	s := request(0, 1000, 2000, 3000)
	s.ISL, s.OSL, s.UsageTotal = p(int64(20)), p(int64(198)), p(int64(623))
	c := Compute(passes(1, 1), 1, []Sample{s}, nil)
	const why = "prompt 20 + completion 198 = 218, total 623: 405 in neither"
	absent(t, c, "tpot_ms", c.Figures.TPOT == nil, why)
	absent(t, c, "itl_ms", c.Figures.ITL == nil, why)
	absent(t, c, "decode_tok_s", c.Figures.DecodeTokPerSec == nil, why)
	if c.Counts.OSL != nil {
		t.Errorf("OSL shown as a plain %v", *c.Counts.OSL)
	}
	near(t, "ttft", c.Figures.TTFT.P50, 1.01)
}

func TestZeroTokensByUsageIsNotATPOT(t *testing.T) {
	s := request(0, 1000, 2000)
	s.OSL = p(int64(0))
	c := Compute(passes(1, 1), 1, []Sample{s}, nil)
	absent(t, c, "tpot_ms", c.Figures.TPOT == nil, "usage says 0 output tokens, yet 2 chunks")
}

func TestNoUsage(t *testing.T) {
	s := request(0, 1000, 2000, 3000)
	s.ISL, s.OSL, s.Cached, s.TokensFrom = nil, nil, nil, TokensClient
	c := Compute(passes(1, 1), 1, []Sample{s}, nil)
	near(t, "tpot", c.Figures.TPOT.P50, 2.5)
	absent(t, c, "prefill_tok_s", c.Figures.PrefillTokPerSec == nil, "how many tokens the prompt had")
	absent(t, c, "total_tok_s", c.Figures.TotalTokPerSec == nil, "how many tokens the prompts had")
	if c.Counts.TokensFrom != TokensClient || c.Counts.CachedTokens != nil || c.Counts.OSL != nil {
		t.Errorf("counts %+v", c.Counts)
	}
}

func TestAFailedRequestIsInNoLatency(t *testing.T) {
	bad := request(0, 900_000, 900_000)
	bad.Status, bad.Reason = StatusError, "error event"
	c := Compute(passes(2, 1), 1, []Sample{request(0, 1000, 2000, 3000), bad}, nil)
	near(t, "ttft", c.Figures.TTFT.P50, 1.01)
	near(t, "decode tok/s", c.Figures.DecodeTokPerSec, 3/0.00601)
	if c.Figures.TTFT.N != 1 || c.Counts.Failed != 1 || c.Counts.Planned != 2 {
		t.Errorf("n %d counts %+v", c.Figures.TTFT.N, c.Counts)
	}
	all := Compute(passes(1, 1), 1, []Sample{bad}, nil)
	absent(t, all, "ttft_ms", all.Figures.TTFT == nil, "no timed request completed")
	absent(t, all, "decode_tok_s", all.Figures.DecodeTokPerSec == nil, "no timed request completed")
}

func TestReasoningIsNotAnAnswer(t *testing.T) {
	s := request(0, 1000, 2000, 3000)
	s.Answer = p(int64(2))
	c := Compute(passes(1, 1), 1, []Sample{s}, nil)
	near(t, "ttfa", c.Figures.TTFA.P50, 6.01)
	s.Answer = p(int64(-1))
	c = Compute(passes(1, 1), 1, []Sample{s}, nil)
	absent(t, c, "ttfa_ms", c.Figures.TTFA == nil, "no answer content came")
}

// A warm request hands its slot over and a drained one runs past the end: the rate
// counts what arrives between the first timed enqueue and the last timed content.
func TestSustainedCountsWhatArrivesInTheWindow(t *testing.T) {
	warm := request(0, 89_990, 20_000, 20_000) // at 90, 110, 130 ms
	warm.Phase = PhaseWarm
	timed := request(100_000, 49_990, 20_000, 30_000)  // at 150, 170, 200 ms
	drain := request(130_000, 49_990, 20_000, 100_000) // at 180, 200, 300 ms
	drain.Phase = PhaseDrain
	w := &Workload{Protocol: Sustained, Load: Load{Concurrency: p(int64(2))}, Requests: p(int64(1)), Repeats: 1}
	c := Compute(w, 1, []Sample{warm, timed, drain}, nil)
	f := c.Figures
	// 110, 130, 150, 170, 200, 180, 200 within 100…200 ms.
	near(t, "output tok/s", f.OutputTokPerSec, 7/0.1)
	near(t, "decode tok/s", f.DecodeTokPerSec, 7/0.1)
	near(t, "total tok/s", f.TotalTokPerSec, (7+200)/0.1) // first contents at 150 and 180
	near(t, "requests", f.RequestPerSec, 2/0.1)           // ended at 130 and 200
	near(t, "decode window", f.DecodeWindowTokPerSec, 5/0.05)
	near(t, "ttft", f.TTFT.P50, 50)
	if f.TTFT.N != 1 || c.Counts.Retired != 2 || c.Counts.Drained != 1 || c.Counts.Completed != 1 {
		t.Errorf("n %d counts %+v", f.TTFT.N, c.Counts)
	}
}

// A drain request that we cut has no usage: its tokens count, its prompt is taken as
// long as the others', and it is not a request completed. One that had brought nothing
// stands before its first content to the end.
func TestSustainedWithCutRequests(t *testing.T) {
	timed := request(0, 49_990, 20_000, 30_000)
	cut := request(60_000, 19_990, 10_000)
	cut.Phase, cut.ISL, cut.OSL, cut.Cached, cut.TokensFrom = PhaseDrain, nil, nil, nil, TokensClient
	silent := request(75_000)
	silent.Phase, silent.ISL, silent.OSL, silent.Cached = PhaseDrain, nil, nil, nil
	w := &Workload{Protocol: Sustained, Load: Load{Concurrency: p(int64(2))}, Requests: p(int64(1)), Repeats: 1}
	f := Compute(w, 1, []Sample{timed, cut, silent}, nil).Figures
	near(t, "output tok/s", f.OutputTokPerSec, 5/0.1)
	near(t, "total tok/s", f.TotalTokPerSec, 205/0.1)
	near(t, "requests", f.RequestPerSec, 1/0.1)
	if f.ITLDecode != nil || f.IngestGap.N != 2 {
		t.Errorf("decode %v, ingest %+v", f.ITLDecode, f.IngestGap)
	}
}

func TestTheRowIsTheMedianOverRepeats(t *testing.T) {
	var samples []Sample
	for repeat, ttft := range []int64{30_000, 10_000, 20_000} {
		s := request(int64(repeat)*1_000_000, ttft-10, 1000, 1000)
		s.Repeat = int64(repeat)
		samples = append(samples, s)
	}
	w := passes(1, 1)
	w.Repeats = 3
	c := Compute(w, 1, samples, nil)
	near(t, "ttft", c.Figures.TTFT.P50, 20)
	// On the logarithm: mean log(6000)/3 = log 18.1712, s = 0.556756, t(2) = 4.302653.
	half := 4.3026527299 * math.Sqrt((sq(math.Log(30))+sq(math.Log(10))+sq(math.Log(20))-sq(math.Log(6000))/3)/2) / math.Sqrt(3)
	i := c.Figures.TTFT.IntervalP50
	if i == nil || math.Abs(i[0]/(math.Cbrt(6000)*math.Exp(-half))-1) > 1e-9 || math.Abs(i[1]/(math.Cbrt(6000)*math.Exp(half))-1) > 1e-9 {
		t.Errorf("interval %v", i)
	}
	if _, ok := c.Figures.Intervals["decode_tok_s"]; !ok || len(c.PerRepeat) != 3 {
		t.Errorf("intervals %v, repeats %d", c.Figures.Intervals, len(c.PerRepeat))
	}
	near(t, "second repeat", c.PerRepeat[1].TTFT.P50, 10)
}

func sq(x float64) float64 { return x * x }

func TestPassesAreAveraged(t *testing.T) {
	a, b := request(0, 9_990, 10_000), request(1_000_000, 9_990, 30_000)
	b.Pass = 1
	c := Compute(passes(1, 2), 1, []Sample{a, b}, nil)
	near(t, "decode tok/s", c.Figures.DecodeTokPerSec, (2/0.02+2/0.04)/2)
	if c.Counts.Planned != 2 {
		t.Errorf("planned %d", c.Counts.Planned)
	}
}

func TestPowerWithinTheWindows(t *testing.T) {
	ev := &Evidence{Devices: []DeviceSample{
		{At: 0, Index: 0, PowerW: p(100.0)},
		{At: 150_000, Index: 0, PowerW: p(500.0)}, {At: 160_000, Index: 0, PowerW: p(700.0)},
		{At: 150_000, Index: 1, PowerW: p(300.0)},
		{At: 900_000, Index: 0, PowerW: p(100.0)},
	}}
	s := request(100_000, 9_990, 90_000)
	c := Compute(passes(1, 1), 2, []Sample{s}, ev)
	near(t, "power", c.Figures.Power, 900)
	near(t, "energy", c.Figures.EnergyPerOutputTok, 900/(2/0.1))
	ev.Apps = []DeviceApp{{Index: 0}, {Index: 1, Ours: true}} // the server is on device 1 alone
	near(t, "power of its own device", Compute(passes(1, 1), 1, []Sample{s}, ev).Figures.Power, 300)
	ev.Apps = nil
	ev.Devices = ev.Devices[:1]
	c = Compute(passes(1, 1), 2, []Sample{s}, ev)
	absent(t, c, "power_w", c.Figures.Power == nil, "no power reading of device 0 within the timed windows")
	absent(t, c, "energy_j_per_output_tok", c.Figures.EnergyPerOutputTok == nil, "no power reading")
}

func TestRequestsWhoseGapsWereNotKept(t *testing.T) {
	s := Sample{Phase: PhaseTimed, Enqueued: 0, Sent: 10, ISL: p(int64(8)), OSL: p(int64(11)), Cached: p(int64(0)), Status: StatusOK,
		First: p(int64(990)), Last: p(int64(10_990)), Chunks: p(int64(11)), Tokens: p(int64(11))}
	w := &Workload{Protocol: Sustained, Load: Load{Concurrency: p(int64(1))}, Requests: p(int64(1)), Repeats: 1}
	c := Compute(w, 1, []Sample{s}, nil)
	near(t, "tpot", c.Figures.TPOT.P50, 1)
	near(t, "output tok/s", c.Figures.OutputTokPerSec, 11/0.011)
	absent(t, c, "itl_ms", c.Figures.ITL == nil, "not kept")
}

func TestNothingAtAll(t *testing.T) {
	c := Compute(passes(1, 1), 1, nil, nil)
	absent(t, c, "ttft_ms", c.Figures.TTFT == nil, "no request was made")
	if c.Missing == nil || c.PerRepeat == nil || c.Figures.Intervals == nil || c.Counts.Planned != 1 {
		t.Errorf("%+v", c)
	}
}

// The columns as the seed's own rows show them: retires c × (warm-up + iterations), and
// 0 in both chunk columns where nothing was chunked.
func TestSeedColumns(t *testing.T) {
	first, warm := request(0, 99_990, 1000, 1000), request(200_000, 9_990, 1000, 1000)
	first.Phase, warm.Phase = PhaseFirst, PhaseWarm
	timed := request(300_000, 9_990, 1000, 2000)
	s := Seed(passes(1, 1), []Sample{first, warm, timed})
	near(t, "first call", s.FirstCall, 102)
	near(t, "ttft", s.TTFT, 10)
	near(t, "prefill", s.PrefillTokPerSec, 10_000)
	near(t, "itl p50", s.ITLP50, 1.5)
	near(t, "chunk p50", s.ChunkP50, 0)
	near(t, "chunk max", s.ChunkMax, 0)
	near(t, "decode", s.DecodeTokPerSec, 3/0.013)
	if s.Retires != 3 || s.ITLP99 != nil {
		t.Errorf("retires %d, p99 %v", s.Retires, s.ITLP99)
	}
	a, b := request(0, 49_990, 10_000, 20_000), request(39_990, 30_000, 30_000, 10_000)
	s = Seed(passes(2, 1), []Sample{a, b})
	near(t, "chunk p50", s.ChunkP50, 15)
	near(t, "chunk max", s.ChunkMax, 20)
	s = Seed(passes(1, 1), nil)
	if s.ChunkP50 != nil || s.TTFT != nil {
		t.Error("an empty row has columns")
	}
}

// Where no gap between tokens can be told, whether one was an ingest gap is unknown: the
// columns are empty, and the notes say why.
func TestNoIngestGapIsKnownWithoutGaps(t *testing.T) {
	oneChunk := request(0, 9_990)
	oneChunk.OSL = p(int64(64))
	for want, samples := range map[string][]Sample{
		"no request brought a second token":                {request(0, 9_990)},
		"the chunks' tokens do not sum to usage (1 of 64)": {oneChunk},
		"all tokens came in a burst within 2 µs":           {request(0, 9_990, 1, 1)},
	} {
		w := passes(1, 1)
		w.OSL = 64
		s := Seed(w, samples)
		if s.ChunkP50 != nil || s.ChunkMax != nil {
			t.Errorf("%s: the columns are %v and %v", want, s.ChunkP50, s.ChunkMax)
		}
		c := Compute(w, 1, samples, nil)
		notes := strings.Join(Notes(&Row{Workload: *w, Figures: c.Figures, Missing: c.Missing, Counts: c.Counts}, s, "ring"), "\n")
		for _, column := range []string{"prefill_chunk_ms_p50", "prefill_chunk_ms_max"} {
			if !strings.Contains(notes, column+": "+want) {
				t.Errorf("no %s: %s in\n%s", column, want, notes)
			}
		}
	}
	// One repeat of two with an ingest gap is neither 0 nor a median.
	one, two, alone := request(0, 49_990, 10_000, 20_000), request(39_990, 30_000, 30_000), request(0, 9_990, 1000)
	alone.Repeat = 1
	w := passes(2, 1)
	w.Repeats = 2
	if s := Seed(w, []Sample{one, two, alone}); s.ChunkP50 != nil || s.ChunkMax != nil {
		t.Errorf("of one repeat in two: %v and %v", s.ChunkP50, s.ChunkMax)
	}
}

func TestGapsReadBack(t *testing.T) {
	for text, want := range map[string]string{
		"[]": "[]", "[1,null,22]": "[1,null,22]", " [ 1 ,\n2 ] ": "[1,2]",
	} {
		var g Gaps
		if err := g.UnmarshalJSON([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if b, _ := g.MarshalJSON(); string(b) != want {
			t.Errorf("%s came back as %s", text, b)
		}
	}
	for _, text := range []string{"", "3", "[1", "[1,]", "[-1]", "[1.5]", "[1e3]", `["1"]`, "[1,,2]"} {
		var g Gaps
		if err := g.UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%q was read as %v", text, g)
		}
	}
}

func TestServerFrom(t *testing.T) {
	at := func(v ...float64) MetricSample {
		return MetricSample{Values: map[string]float64{
			`vllm:num_requests_running{engine="0"}`: v[0], `vllm:num_requests_running{engine="1"}`: v[0],
			`vllm:num_requests_waiting{engine="0"}`: v[1], `vllm:num_requests_waiting_by_reason{reason="capacity"}`: 99,
			`vllm:kv_cache_usage_perc{engine="0"}`: v[2], `vllm:kv_cache_usage_perc{engine="1"}`: v[2] / 2,
			`vllm:num_preemptions_total{engine="0"}`: v[3], `vllm:prefix_cache_hits_total{engine="0"}`: v[4],
		}}
	}
	s := ServerFrom(&Evidence{Metrics: []MetricSample{at(0, 0, 0, 5, 100), at(8, 3, 0.25, 6, 108), at(4, 1, 0.1, 7, 116)}})
	if *s.RunningMax != 16 || *s.WaitingMax != 3 || *s.KVUsageMax != 0.25 || *s.Preemptions != 2 || *s.CachedTok != 16 || s.Spec != nil || s.NumAllocs != nil {
		t.Errorf("vLLM: %+v", s)
	}
	s = ServerFrom(&Evidence{Metrics: []MetricSample{{Values: map[string]float64{"sglang:num_running_reqs": 2, "sglang:token_usage": 0.5}}}})
	if *s.RunningMax != 2 || *s.KVUsageMax != 0.5 || s.WaitingMax != nil || s.Preemptions != nil {
		t.Errorf("SGLang: %+v", s)
	}
	own := func(admitted, active, peak float64) MetricSample {
		return MetricSample{Values: map[string]float64{"rowproof:num_requests_running": 1,
			"rowproof:admitted_tokens_total": admitted, "rowproof:active_bytes": active, "rowproof:peak_active_bytes": peak}}
	}
	s = ServerFrom(&Evidence{Metrics: []MetricSample{own(100, 10, 50), own(436, 40, 50)}})
	if *s.AdmittedTok != 336 || *s.PeakActive != 40 {
		t.Errorf("embedded engine: %+v", s)
	}
	if s = ServerFrom(&Evidence{Metrics: []MetricSample{own(0, 10, 50), own(0, 40, 60)}}); *s.PeakActive != 60 {
		t.Errorf("a mark that rose: %d", *s.PeakActive)
	}
	if s := ServerFrom(nil); s != (Server{}) {
		t.Errorf("nothing read, yet %+v", s)
	}
	if s := ServerFrom(&Evidence{Metrics: []MetricSample{at(0, 0, 0, 5, 100), at(0, 0, 0, 1, 100)}}); s.Preemptions != nil {
		t.Errorf("a counter that fell gives %d", *s.Preemptions)
	}
}
