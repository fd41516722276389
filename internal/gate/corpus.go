package gate

// Corpus is what publish and gen know beyond one row.
type Corpus struct {
	// Prompts maps a prompt hash to the id of the row that used it first.
	Prompts map[string]string
}
