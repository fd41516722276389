package tradeoff

import "math"

// Cost is what a million tokens cost at a price an hour of one GPU. Input and Output each
// bear the whole price, as if the other were free; Blended shares it among all tokens.
// NaN where the rate is not known.
type Cost struct{ Input, Output, Blended float64 }

// CostOf works out the cost at rates in tokens/s of one GPU: of the output, and of input
// and output together.
func CostOf(priceAnHour, output, total float64) Cost {
	million := func(rate float64) float64 {
		if !(rate > 0) || !(priceAnHour > 0) {
			return math.NaN()
		}
		return priceAnHour / (float64(rate*3600) / 1e6)
	}
	return Cost{Input: million(total - output), Output: million(output), Blended: million(total)}
}
