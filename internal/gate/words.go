package gate

import (
	"strconv"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// of writes "3 of 160 requests".
func of(n, all int64, noun string) string {
	return itoa(n) + " of " + count(all, noun)
}

func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return itoa(n) + " " + noun + "s"
}

// milliseconds and percent show a figure in a sentence; comparisons use the figure.
func milliseconds(v float64) string { return roofline.Number(v) + " ms" }
func percent(share float64) string  { return roofline.Number(share*100) + "%" }

// inDigits shows two figures that are compared with as many digits as it takes to see
// that they differ.
func inDigits(a, b float64, unit string) (x, y string) {
	x, y = roofline.NumbersApart(a, b)
	return x + unit, y + unit
}

// ofRoof shows a share of a roof with as many digits as it takes not to be 100% where it
// is another.
func ofRoof(share float64) string {
	text, _ := roofline.NumbersApart(share*100, 100)
	return text + "%"
}

// exact is the shortest form that reads back.
func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func span(r row.Range) string {
	if r.Min == r.Max {
		return itoa(r.Min)
	}
	return itoa(r.Min) + " to " + itoa(r.Max)
}

// elsewhere says that measure did not see the server's process: it ran on another host,
// or where that process is hidden.
func elsewhere(r *row.Receipt) bool { return r.Engine.StartedAt == "" && r.Engine.CommandLine == nil }

const recipeMend = "measure with --recipe MODEL/TARGET/STRATEGY/ENGINE"

func pass(reason string, figures ...Compared) Result {
	return Result{Answer: Pass, Reason: reason, Figures: figures}
}

func warning(reason string, figures ...Compared) Result {
	return Result{Answer: Warn, Reason: reason, Figures: figures}
}

func fail(reason string, figures ...Compared) Result {
	return Result{Answer: Fail, Reason: reason, Figures: figures}
}

// missing is the answer "cannot be judged: missing X".
func missing(what, mend string) Result {
	return Result{Answer: Unjudged, Reason: "missing " + what, Mend: mend}
}

func notApplicable(reason string) Result {
	return Result{Answer: NotApplicable, Reason: reason}
}

// noSamples is the answer of a gate that needs samples which could not be read.
func (in *Input) noSamples() (Result, bool) {
	if in.Samples != nil {
		return Result{}, false
	}
	if in.Row.Import != nil && in.Row.Proof.Samples == nil {
		return missing("the requests: "+in.lacking(), "have "+in.tool()+" write its requests too, where it can, and import again"), true
	}
	why := in.NoSamples
	if why == "" {
		why = "none were given"
	}
	return missing("samples: "+why, "keep the samples file beside the report, as bench writes it"), true
}

// timed are the completed timed requests.
func (in *Input) timed() []*row.Sample {
	var out []*row.Sample
	for i := range in.Samples {
		if s := &in.Samples[i]; s.Phase == row.PhaseTimed && s.OK() {
			out = append(out, s)
		}
	}
	return out
}

// gpus is the one denominator of per-GPU figures; 0 without a recipe.
func (in *Input) gpus() int64 {
	if in.Report.AsItWas == nil {
		return 0
	}
	return in.Report.AsItWas.Recipe.GPUs()
}
