package gate_test

import (
	"encoding/csv"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// seedRows plays the nine rows of testdata/seed.csv, a published run of Llama 3.2 1B,
// back as samples: sessions with the row's TTFT, and gaps that end each pass where its
// decode rate says.
func seedRows(t *testing.T) *made {
	t.Helper()
	file, err := os.Open("testdata/seed.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil || len(lines) != 10 {
		t.Fatalf("%d lines: %v", len(lines), err)
	}
	was := rowtest.Llama8B()
	was.Model.Architecture.Hidden, was.Model.Architecture.TiedHead = 2048, true
	was.Model.Architecture.Layers[0].Count = 16
	was.Model.Architecture.Layers[0].Attention.HeadDim = 64
	was.Model.Architecture.Layers[0].FFN.Width = 8192
	m := make1(1, rowtest.Options{Protocol: row.Passes, Repeats: 1})
	template := m.report.Rows[0]
	m.report.AsItWas, m.report.Rows = was, nil
	observed := m.evidence[1]
	m.samples, m.evidence = nil, m.evidence[:1]
	prompt := int64(0)
	for i, line := range lines[1:] {
		whole := func(column int) int64 {
			v, err := strconv.ParseInt(line[column], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		us := func(column int) int64 {
			v, err := strconv.ParseFloat(line[column], 64)
			if err != nil {
				t.Fatal(err)
			}
			return int64(v * 1000)
		}
		r := template
		isl, osl, c := whole(0), whole(1), whole(2)
		r.Workload.ISL, r.Workload.OSL, r.Workload.Load.Concurrency = isl, osl, &c
		pass := osl * c * 1_000_000_000 / us(10) // µs: tokens over a rate in thousandths
		at := int64(1000)
		var samples []row.Sample
		for k := range 3 * c {
			ttft, total := us(4), pass
			phase := row.PhaseTimed
			switch {
			case k == 0:
				phase, total = row.PhaseFirst, us(3)
			case k < 2*c:
				phase = row.PhaseWarm
			}
			s := row.Sample{Phase: phase, I: k, Worker: k % c, Enqueued: at, Sent: at, ISL: &isl, OSL: &osl,
				Cached: new(int64), Status: row.StatusOK, Prompt: strconv.FormatInt(1<<60+prompt, 16), T: row.Gaps{ttft}}
			prompt++
			gap := (total - ttft) / (osl - 1)
			for range osl - 1 {
				s.T = append(s.T, gap)
			}
			samples = append(samples, s)
			if k%c == c-1 {
				at += max(pass, us(3)) + 1000
			}
		}
		ev := observed
		ev.Row = int64(i)
		ev.Metrics = slices.Clone(ev.Metrics)
		for k := range ev.Metrics {
			ev.Metrics[k].Values = maps.Clone(ev.Metrics[k].Values)
			for name := range ev.Metrics[k].Values {
				served := int64(0)
				switch {
				case ev.Metrics[k].When == row.Before:
				case strings.HasPrefix(name, "vllm:generation_tokens_total"):
					served = 3 * c * osl
				case strings.HasPrefix(name, "vllm:prompt_tokens_total"):
					served = 3 * c * isl
				}
				if strings.Contains(name, "_tokens_total") {
					ev.Metrics[k].Values[name] = float64(served)
				}
			}
		}
		m.report.Rows = append(m.report.Rows, r)
		m.samples, m.evidence = append(m.samples, samples), append(m.evidence, ev)
	}
	m.seal()
	return m
}

// The seed's nine rows are healthy, though ITL falls from c=4 to c=8 and one repeat is
// not ranked.
func TestTheSeedsNineRows(t *testing.T) {
	m := seedRows(t)
	for i, results := range judge(t, m.files(t), nil) {
		if gate.Verdict(results) != gate.Verified {
			t.Errorf("row %d: %s", i, blocking(results))
		}
	}
	for i, retires := range []int64{3, 12, 24, 3, 12, 24, 3, 12, 24} {
		if got := row.Seed(&m.report.Rows[i].Workload, m.samples[i]).Retires; got != retires {
			t.Errorf("row %d retires %d, the seed has %d", i, got, retires)
		}
	}
}
