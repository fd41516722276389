package gate

import "rowproof/internal/row"

// randomAcceptance is how much of the drafts random prompts can honestly have accepted.
const randomAcceptance = 0.5

// speculation holds what the drafts brought against what they could.
func speculation(in *Input) Result {
	spec := in.Row.Server.Spec
	var stated *row.Speculation
	if was := in.Report.AsItWas; was != nil {
		stated = was.Recipe.Speculation
	}
	seen := spec != nil && spec.Drafts > 0
	if !seen {
		if stated == nil {
			return notApplicable("none configured and none seen")
		}
		return missing("draft counters: the recipe speculates by "+stated.Method+" and the server counts no draft", "switch the server's metrics on")
	}
	drafted := float64(spec.DraftTokens) / float64(spec.Drafts)
	if stated != nil && stated.DraftTokens > 0 {
		drafted = float64(stated.DraftTokens)
	}
	length := 1 + float64(spec.Accepted)/float64(spec.Drafts)
	figure := Compared{"tokens accepted a step", number(length), "at most " + number(drafted+1)}
	switch {
	case stated == nil && in.Report.AsItWas != nil:
		return fail("the recipe states no speculation, and the server counted "+count(spec.Drafts, "draft"), figure)
	case length > drafted+1:
		return fail(number(length)+" tokens a step where "+number(drafted)+" were drafted: at most "+number(drafted+1)+" can come", figure)
	case in.Row.Workload.Prompts.Kind == "random" && length > 1+float64(randomAcceptance*drafted):
		return fail(number(length)+" tokens a step on random prompts, more than "+number(1+float64(randomAcceptance*drafted))+": the output loops, or the prompts are not random", figure)
	}
	text := number(length) + " tokens a step of " + number(drafted) + " drafted"
	if !in.asked(2) {
		return Result{Answer: NotAsked, Reason: text + "; whether the output loops was not asked in " + in.Report.Schema, Figures: []Compared{figure}}
	}
	return in.loops(text, figure)
}

// mostLooping is the share of requests that may fall into loops by themselves, as greedy
// decoding makes a few of them do.
const mostLooping = 0.1

// loops holds the output of the timed requests against loops, which any drafter guesses.
func (in *Input) loops(text string, figures ...Compared) Result {
	if r, none := in.noSamples(); none {
		return r
	}
	var told, looping, short, worst int64
	least, why := 1.0, ""
	timed := in.timed()
	for _, s := range timed {
		switch b := s.Bigrams; {
		case b == nil:
			why = s.NoBigrams
		case !b.Tells():
			short++
		default:
			told++
			if b.Loops() {
				looping++
			}
			if share := float64(b.Distinct) / float64(b.All); share < least {
				least, worst = share, s.I
			}
		}
	}
	switch {
	case told+short < int64(len(timed)) || len(timed) == 0:
		if why == "" {
			why = "the samples say nothing of them"
		}
		r := missing("the output's distinct bigrams, by which a loop is seen: "+why, "measure a server whose stream says more of each token, such as vLLM's with token ids")
		r.Figures = figures
		return r
	case told == 0:
		return pass(text+"; its outputs are too short to loop", figures...)
	}
	figures = append(figures,
		Compared{"requests whose output loops", of(looping, told, "request"), "at most " + percent(mostLooping)},
		Compared{"least distinct bigrams of a request", percent(least) + " (request " + itoa(worst) + ")", "at least " + percent(row.LoopShare) + " where it does not loop"})
	if float64(looping) > float64(mostLooping*float64(told)) {
		r := fail("the output falls into loops, which any draft guesses: in "+of(looping, told, "request")+" less than half of the bigrams are distinct; "+text, figures...)
		r.Mend = "ask with real prompts (--dataset), and of weights that are not random"
		return r
	}
	return pass(text+", and the output does not loop", figures...)
}
