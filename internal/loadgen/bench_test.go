package loadgen

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"rowproof/internal/row"
)

// BenchmarkDispatch is how late requests of an open loop at 1,000 a second leave, in µs,
// each answered after 100 ms.
func BenchmarkDispatch(b *testing.B) {
	for _, stamps := range []string{StampsRing, StampsKernel} {
		b.Run(stamps, func(b *testing.B) {
			srv := &counter{handle: func(w http.ResponseWriter, _ *http.Request, _ int) {
				time.Sleep(100 * time.Millisecond)
				io.WriteString(w, "data: [DONE]\n\n")
			}}
			spec := load(srv.start(b), row.Sustained, 256, 100)
			spec.Open, spec.Requests, spec.Stamps = true, 3000, stamps
			spec.Build = func(seq int) Call {
				return Call{Path: "/", Body: make([]byte, 1000), OSL: 1, At: time.Duration(seq) * time.Millisecond}
			}
			for range b.N {
				got, err := Run(context.Background(), spec)
				if err != nil {
					b.Fatal(err)
				}
				st := got.Stats
				b.ReportMetric(float64(st.DispatchP50), "p50-µs")
				b.ReportMetric(float64(st.DispatchP99), "p99-µs")
				b.ReportMetric(float64(st.DispatchMax), "max-µs")
				b.ReportMetric(float64(st.SweepP99), "sweep-p99-µs")
				b.ReportMetric(float64(st.LateConnections), "late-connections")
			}
		})
	}
}

// BenchmarkEmptyRun is what a run takes beside its requests: opening and closing, and the
// wait for the ring.
func BenchmarkEmptyRun(b *testing.B) {
	for _, stamps := range []string{StampsRing, StampsKernel, StampsRead} {
		b.Run(stamps, func(b *testing.B) {
			spec := load((&counter{}).start(b), row.Passes, 1, 0)
			spec.Iters, spec.Stamps = 1, stamps
			for range b.N {
				if _, err := Run(context.Background(), spec); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
