package row

import (
	"slices"
	"testing"
)

func TestParseLimits(t *testing.T) {
	limits, wrong := ParseLimits("ttft_p99<500ms, itl_mean<=0.05s,e2e_p50<2s,tpot_p90<1.5ms,ttfa_p95<1e3ms")
	want := []Limit{{Figure: "ttft_ms", Permille: 990, Max: 500}, {Figure: "itl_ms", Permille: Mean, Max: 50}, {Figure: "e2e_ms", Permille: 500, Max: 2000},
		{Figure: "tpot_ms", Permille: 900, Max: 1.5}, {Figure: "ttfa_ms", Permille: 950, Max: 1000}}
	if wrong != nil || !slices.Equal(limits, want) {
		t.Errorf("%v, %v", limits, wrong)
	}
	if got := LimitWords(limits); got != "ttft_p99<500ms,itl_mean<50ms,e2e_p50<2000ms,tpot_p90<1.5ms,ttfa_p95<1000ms" {
		t.Error(got)
	}
	for text, want := range map[string]string{
		"":                            `"" is no limit`,
		"ttft<500ms":                  `"ttft<500ms" is no limit`,
		"ttft_p99":                    `"ttft_p99" is no limit`,
		"ttft_p99<500":                `"ttft_p99<500" is no limit`,
		"ttft_p99>500ms":              `"ttft_p99>500ms" is no limit`,
		"ttft_p98<500ms":              `"ttft_p98<500ms" is no limit`,
		"throughput_p99<500ms":        `"throughput_p99<500ms" is no limit`,
		"ttft_p99<-1ms":               `"ttft_p99<-1ms" is no limit`,
		"ttft_p99<0ms":                `"ttft_p99<0ms" is no limit`,
		"ttft_p99<NaNms":              `"ttft_p99<NaNms" is no limit`,
		"ttft_p99<Infs":               `"ttft_p99<Infs" is no limit`,
		"ttft_p99<5ms,ttft_p99<0.01s": `ttft_p99 stands twice`,
	} {
		if _, wrong := ParseLimits(text); !slices.Equal(wrong, []string{want}) {
			t.Errorf("%q: %q, want %q", text, wrong, want)
		}
	}
}
