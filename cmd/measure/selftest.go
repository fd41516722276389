package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"rowproof/internal/loadgen"
	"rowproof/internal/row"
	"rowproof/internal/version"
)

const (
	selftestWhat = `Measure by how much this host's client errs: for each number of streams the embedded
engine, in a process of its own, sends tokens at 20 ms and logs when each really left;
what the client recorded is held against that log. The errors are kept as the calibration
of this host, until it boots or the program changes, and bench's rows cite it.

Let nothing else load the host meanwhile.`
	selftestExample = `measure selftest --streams 1,64`
)

var selftestStreams = []int64{1, 64, 256, 1024}

// Streams beyond this need more ports than a host has.
const mostStreams = 16_384

func selftestVerb(ctx context.Context, args []string, s streams) int {
	c := newCollector("selftest")
	levels, stamps := selftestStreams, ""
	usage(c.FlagSet, "selftest [flags]", selftestWhat, selftestExample)
	c.add("streams", "1,64,256,1024", "LIST", "streams at once; measured in ascending order", func(s string) string {
		list, wrong := parseLadder(s)
		if len(wrong) > 0 || list[len(list)-1] > mostStreams {
			return fmt.Sprintf("whole numbers from 1 to %d such as 1,64,256, none twice", mostStreams)
		}
		levels = list
		return ""
	})
	c.choice("stamps", &stamps, "", benchStamps, "where arrival times come from: ring (a packet ring), ktime (the kernel) or read; without it the best there is")
	asJSON := c.Bool("json", false, "for a program")
	if code, done := c.parse(args, s); done {
		return code
	}
	if c.NArg() > 0 && c.allKnown() {
		c.wrong("unexpected %q; it takes flags only", c.Arg(0))
	}
	if len(c.problems) > 0 {
		return c.refuse(s)
	}
	if lacks := loadgen.Lacks(int(levels[len(levels)-1])); len(lacks) > 0 {
		return complain(s, "selftest", exitUsage, append(lacks, "Or ask for fewer --streams."))
	}
	if err := loadgen.StampsLack(stamps); err != nil {
		return complain(s, "selftest", exitUsage, []string{err.Error()})
	}
	r := selftestRun{began: time.Now(), stamps: stamps}
	code := exitOK
	for _, n := range levels {
		t, err := selftest(ctx, int(n), r.stamps)
		switch {
		case ctx.Err() != nil:
			fmt.Fprintln(s.err, "measure selftest: interrupted; no calibration was kept")
			return exitInterrupted
		case err != nil:
			fmt.Fprintf(s.err, "measure selftest: %s: %v\n", countOf(int(n), "stream"), err)
			code = exitFailed
			continue
		case !t.kept():
			fmt.Fprintf(s.err, "measure selftest: %s\n", t.offPace())
			code = exitFailed
		default:
			r.levels = append(r.levels, t.SelftestLevel)
		}
		r.tests = append(r.tests, t)
		r.stamps = t.stamps
	}
	if len(r.levels) > 0 {
		var err error
		if r.file, err = keepCalibration(r.stamps, r.began, r.levels); err != nil {
			fmt.Fprintf(s.err, "measure selftest: the calibration was not kept, so that each run will measure its own: %v\n", err)
		}
	}
	if *asJSON {
		return max(code, printJSON(s, r.report()))
	}
	r.print(s.out)
	return code
}

// selftestRun is one call of the verb.
type selftestRun struct {
	began  time.Time
	stamps string
	tests  []*tested
	levels []row.SelftestLevel // of those in which the engine kept pace
	file   string              // of the calibration; "" when none was kept
}

func (r *selftestRun) print(w io.Writer) {
	if len(r.tests) == 0 {
		return
	}
	lines := [][]string{
		{"stamps", "streams", "ITL error p50", "p99", "max", "TTFT error p50", "p99", "gaps", "CPU", "lost", "engine late p99"},
		{"", "", "µs", "µs", "µs", "µs", "µs", "", "µs a chunk", "chunks", "ms"},
	}
	µs := func(ns int64) string { return strconv.FormatFloat(float64(ns)/1000, 'f', 1, 64) }
	for _, t := range r.tests {
		cpu := "—"
		if v := t.cpuPerChunk(); v != nil {
			cpu = strconv.FormatFloat(*v, 'f', 1, 64)
		}
		late := shortMS(t.late.P99)
		if !t.kept() {
			late += " (too late to tell)"
		}
		lines = append(lines, []string{
			t.stamps, strconv.FormatInt(t.Streams, 10),
			µs(t.ITLErrorNS.P50), µs(t.ITLErrorNS.P99), µs(t.ITLErrorNS.Max), µs(t.TTFTErrorNS.P50), µs(t.TTFTErrorNS.P99),
			strconv.FormatInt(t.Gaps, 10), cpu, strconv.FormatInt(t.lost, 10), late,
		})
	}
	align(w, lines)
	if r.file != "" {
		fmt.Fprintf(w, "\nKept as this host's calibration until it boots: %s\n", r.file)
	}
}

// cpuPerChunk is the client's CPU time in µs for each chunk that came; nil: not known.
func (t *tested) cpuPerChunk() *float64 {
	if t.cpu == 0 || t.chunks == 0 {
		return nil
	}
	v := float64(t.cpu) / float64(t.chunks)
	return &v
}

func shortMS(ns int64) string { return strconv.FormatFloat(float64(ns)/1e6, 'f', 3, 64) }

// selftestReport is what --json prints.
type selftestReport struct {
	Tool       string          `json:"tool"` // the build
	Boot       string          `json:"boot"`
	MeasuredAt string          `json:"measured_at"`
	Stamps     string          `json:"stamps"`
	Levels     []selftestLevel `json:"levels"`
	Kept       *string         `json:"calibration_file"` // null when none was kept
}

type selftestLevel struct {
	row.SelftestLevel
	Chunks       int64         `json:"chunks"`
	Lost         int64         `json:"lost"` // chunks without a stamp
	CPUPerChunk  *float64      `json:"cpu_us_per_chunk"`
	EngineLateNS row.ErrorDist `json:"engine_late_ns"`
	OnPace       bool          `json:"engine_on_pace"` // else the errors are not the client's alone
}

func (r *selftestRun) report() selftestReport {
	out := selftestReport{
		Tool: version.Read().Revision, Boot: bootID(), MeasuredAt: r.began.UTC().Format(time.RFC3339),
		Stamps: r.stamps, Levels: []selftestLevel{},
	}
	if r.file != "" {
		out.Kept = &r.file
	}
	for _, t := range r.tests {
		out.Levels = append(out.Levels, selftestLevel{t.SelftestLevel, t.chunks, t.lost, t.cpuPerChunk(), t.late, t.kept()})
	}
	slices.SortFunc(out.Levels, func(a, b selftestLevel) int { return int(a.Streams - b.Streams) })
	return out
}
