package gate

import "rowproof/internal/row"

// judges are the gates in the order in which they are shown. Schema 1 carries the
// evidence of all.
var judges = []struct {
	name  string
	judge func(*Input) Result
}{
	{"schema", schema}, {"recompute", recompute}, {"complete", complete}, {"lengths", lengths},
	{"counted", counted}, {"cold", cold}, {"warm", warm}, {"client", client}, {"little", little},
	{"ceiling", ceiling}, {"label", label}, {"copied", copied}, {"speculation", speculation}, {"queue", queue},
	{"neighbours", neighbours}, {"repeats", repeats}, {"host", host}, {"denominator", denominator}, {"dates", dates},
}

// Names of the gates in the order in which they are shown.
var Names = names()

func names() []string {
	out := make([]string, len(judges))
	for i, j := range judges {
		out[i] = j.name
	}
	return out
}

// Judge asks every gate, in the order of Names.
func Judge(in Input) []Result {
	out := make([]Result, len(judges))
	for i, j := range judges {
		out[i] = j.judge(&in)
		out[i].Gate = j.name
	}
	return out
}

// Blocking are the answers that keep a row from being verified: what failed before what
// cannot be judged, else in the order of Names.
func Blocking(results []Result) []Result {
	var out []Result
	for _, answer := range []Answer{Fail, Unjudged} {
		for _, r := range results {
			if r.Answer == answer {
				out = append(out, r)
			}
		}
	}
	return out
}

// Verdict is Verified when no answer blocks, else Unverified.
func Verdict(results []Result) string {
	if len(Blocking(results)) > 0 {
		return Unverified
	}
	return Verified
}

// VerdictOf is the verdict of a row: of one that another tool measured it is Imported where
// nothing is wrong and something cannot be judged. Withdrawn is told by the corpus.
func VerdictOf(r *row.Row, results []Result) string {
	if r.Proof.Source != nil {
		if blocking := Blocking(results); len(blocking) > 0 && blocking[0].Answer != Fail {
			return Imported
		}
	}
	return Verdict(results)
}
