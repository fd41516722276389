package roofline

// Kept is what one sequence of so many tokens keeps in the memory of all devices of a
// packed query, in bytes: its cache with every copy, and its states.
func Kept(in []float64, tokens float64) float64 { return held(in, tokens) }
