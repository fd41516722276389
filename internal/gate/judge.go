package gate

// judges are the gates in the order in which they are shown. A gate without a function
// is not asked of rows of this schema.
var judges = []struct {
	name  string
	judge func(*Input) Result
}{
	{"schema", schema}, {"recompute", recompute}, {"complete", complete}, {"lengths", lengths},
	{"counted", counted}, {"cold", cold}, {"warm", warm}, {"client", client}, {"little", little},
	{"ceiling", ceiling}, {"label", label}, {"copied", copied}, {"speculation", speculation}, {"queue", queue},
	{"neighbours", neighbours}, {"repeats", repeats}, {"host", nil}, {"denominator", denominator}, {"dates", dates},
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
		if j.judge == nil {
			out[i] = Result{Answer: NotAsked, Reason: "not asked in schema 1"}
		} else {
			out[i] = j.judge(&in)
		}
		out[i].Gate = j.name
	}
	return out
}

// Verdict is Verified when no answer blocks, else Unverified. Withdrawn and imported are
// told by the corpus, not by the gates.
func Verdict(results []Result) string {
	for _, r := range results {
		if r.Answer.Blocks() {
			return Unverified
		}
	}
	return Verified
}
