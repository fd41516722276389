package row

// Bigrams are the pairs of neighbours in the output of one request, and how many of them
// differ. Output that has fallen into a loop is guessed by any drafter, so that few of them
// tell speculation that was measured on nothing. They are of token ids where the server
// sends these, else of what each chunk prints.
type Bigrams struct {
	Distinct int64  `json:"distinct"`
	All      int64  `json:"all"`
	Of       string `json:"of,omitempty"` // BigramsOfText; left out of token ids
}

// BigramsOfText are of what the chunks print: a chunk may hold several tokens.
const BigramsOfText = "text"

// Bounds of a loop. A pair that stood before is one that can be looked up: of output in
// which half of them are, most was. Fewer than leastBigrams tell nothing, as a heading and
// two rules are no loop.
const (
	LoopShare    = 0.5
	leastBigrams = 32
)

// Tells says whether there are enough of them to know a loop from a short answer.
func (b *Bigrams) Tells() bool { return b != nil && b.All >= leastBigrams }

// Loops says whether the output had fallen into a loop.
func (b *Bigrams) Loops() bool {
	return b.Tells() && float64(b.Distinct) < float64(LoopShare*float64(b.All))
}
