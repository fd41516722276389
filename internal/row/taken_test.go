package row

import "testing"

// The server brings 100 tokens a second from second 10 to second 20, and each host reads
// its counter once a second.
func TestClocksBetweenTwoHosts(t *testing.T) {
	total := func(second float64) float64 { return 100 * max(0, min(second-10, 10)) }
	for _, off := range []float64{0, 0.4, 3.3, -2.7, 40} {
		var ev Evidence
		for at := 0.0; at < 30; at++ {
			ev.Metrics = append(ev.Metrics, MetricSample{At: int64(at * 1e6), Values: map[string]float64{"vllm:generation_tokens_total": total(at)}})
			ev.Watched = append(ev.Watched, MetricSample{At: int64((at + 0.5 + off) * 1e6), Values: map[string]float64{"vllm:generation_tokens_total": total(at + 0.5)}})
		}
		least, most, ok := ClocksBetween(&ev)
		if !ok || float64(least) > off*1e6+1 || float64(most) < off*1e6-1 || most-least > 1_000_000 {
			t.Errorf("a clock %v s ahead: found %v to %v s, %t", off, float64(least)/1e6, float64(most)/1e6, ok)
		}
	}
	// A twin whose counter stands elsewhere altogether is explained by no clock.
	ev := Evidence{Metrics: []MetricSample{{At: 0, Values: map[string]float64{"vllm:generation_tokens_total": 5}}}, Watched: []MetricSample{{At: 0, Values: map[string]float64{"vllm:generation_tokens_total": 9000}}}}
	if _, _, ok := ClocksBetween(&ev); ok {
		t.Error("a twin's counter is taken for a clock")
	}
}
