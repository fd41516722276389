package main

import "rowproof/internal/row"

const simulatedNote = "simulated: not a measurement"

// notes says what a row measured: what follows from the row, and extra, what the run
// saw beside it. Every form of extra is known to row.StrayNotes, or the row is refused.
func notes(r *row.Row, seed row.SeedColumns, stamps string, extra []string) []string {
	n := row.Notes(r, seed, stamps)
	for _, s := range extra {
		n = append(n, row.OneNote(s))
	}
	return n
}
