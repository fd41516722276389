package rowtest

import (
	"math/rand/v2"

	"rowproof/internal/row"
)

func process(r *row.Report) *row.ProcessRecord {
	tree := []int64{4243}
	for i := range r.Receipt.Devices[min(1, len(r.Receipt.Devices)):] {
		tree = append(tree, 4244+int64(i))
	}
	return &row.ProcessRecord{
		PID: 4242, StartedAt: r.Receipt.Engine.StartedAt, CommandLine: r.Receipt.Engine.CommandLine,
		Environment: r.Receipt.Engine.Environment, Tree: tree, Packages: r.Receipt.Runtime.Packages,
	}
}

// cachedBy is how many prompt tokens were found cached by then.
func cachedBy(samples []row.Sample, at int64) (tokens float64) {
	for i := range samples {
		if s := &samples[i]; s.Cached != nil && s.Sent <= at {
			tokens += float64(*s.Cached)
		}
	}
	return tokens
}

// observe is what a sampler would have read during the row: devices and metrics before,
// each second during, and after.
func observe(o Options, index int64, w *row.Workload, samples []row.Sample, random *rand.Rand) row.Evidence {
	ev := row.Evidence{Row: index, Zero: o.MeasuredAt}
	end := int64(0)
	for i := range samples {
		if at, ok := samples[i].LastContent(); ok {
			end = max(end, at)
		}
	}
	busy := int64(connections)
	if c := w.Load.Concurrency; c != nil {
		busy = *c
	}
	every := max(min(1_000_000, end/40), 1)
	running, waiting, usage := "vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"
	hits, preempted := "vllm:prefix_cache_hits_total", "vllm:num_preemptions_total"
	if o.AsItWas.Recipe.Engine.Name == "sglang" {
		running, waiting, usage = "sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:token_usage"
		hits, preempted = "sglang:cached_tokens_total", "sglang:num_retracted_requests_total"
	}
	if o.Simulated {
		running, waiting, usage = "rowproof:num_requests_running", "rowproof:num_requests_waiting", "rowproof:kv_cache_usage_perc"
		hits, preempted = "rowproof:cached_tokens_total", "rowproof:num_preemptions_total"
	}
	generated, prompted := "vllm:generation_tokens_total", "vllm:prompt_tokens_total"
	if o.AsItWas.Recipe.Engine.Name == "sglang" {
		generated, prompted = "sglang:generation_tokens_total", "sglang:prompt_tokens_total"
	}
	const labels = `{engine="0",model_name="model"}`
	read := func(at int64, when string, busy float64) {
		ev.Metrics = append(ev.Metrics, row.MetricSample{At: at, When: when, Values: map[string]float64{
			running + labels: busy, waiting + labels: 0, usage + labels: busy / 1000, hits + labels: cachedBy(samples, at), preempted + labels: 0,
		}})
		if o.Simulated {
			return
		}
		tokens, prompts := servedBy(samples, at)
		values := ev.Metrics[len(ev.Metrics)-1].Values
		values[generated+labels], values[prompted+labels] = 1000+float64(tokens), 5000+float64(prompts)
		for d := range o.AsItWas.Recipe.GPUs() {
			limit, _ := o.AsItWas.Target.BoardW.Float()
			watts := float64(int64(limit)*6/10 + random.Int64N(20))
			if busy == 0 {
				watts = 120
			}
			memory, clock := o.AsItWas.Target.MemoryBytes*9/10, o.AsItWas.Target.MaxMemoryClockMHz
			ev.Devices = append(ev.Devices, row.DeviceSample{
				At: at, When: when, Index: d, PowerW: &watts, PowerLimitW: &limit,
				MemoryUsed: &memory, MemoryClock: &clock, MemoryMax: &clock, Throttle: "0x0",
			})
			if when != row.During {
				ev.Apps = append(ev.Apps, row.DeviceApp{At: at, When: when, Index: d, PID: 4243 + d, Name: title(&o.AsItWas.Recipe, d), MemoryBytes: &memory, Ours: true})
			}
		}
	}
	read(0, row.Before, 0)
	for at := every; at < end; at += every {
		read(at, row.During, float64(busy))
	}
	read(end+1000, row.After, 0)
	late := map[int64]row.Late{}
	for _, d := range row.Dispatch(w, samples) {
		late[d.Repeat] = d
	}
	for repeat := range w.Repeats {
		d := late[repeat]
		k := row.CaptureStats{
			Repeat: repeat, Stamps: o.Stamps, Reads: int64(len(samples)) * w.OSL / w.Repeats, Connections: busy,
			ServerStartedAt: startedAt(o), DispatchP50: d.P50, DispatchP99: d.P99, DispatchMax: d.Max,
			SweepP99: 200 + random.Int64N(300), Wall: end / w.Repeats, CPU: end / w.Repeats / 20,
		}
		if o.Stamps == "ring" {
			k.Blocks, k.BlocksUsed = 64, 2+random.Int64N(4)
		}
		ev.Capture = append(ev.Capture, k)
	}
	return ev
}

// servedBy counts the tokens that had come at a time, and those of the prompts whose
// first had.
func servedBy(samples []row.Sample, at int64) (tokens, prompts int64) {
	for i := range samples {
		s := &samples[i]
		now := s.Sent
		for j, d := range s.T {
			if now += max(d, 0); now > at {
				break
			}
			if j == 0 && s.ISL != nil {
				prompts += *s.ISL
			}
			if s.N == nil {
				tokens++
			} else {
				tokens += s.N[j]
			}
		}
	}
	return tokens, prompts
}
