package gate

// schema passes a report that the strict reader found nothing in, whose id follows from
// its hashed part, and whose evidence and command can be of this row.
func schema(in *Input) Result {
	switch n := len(in.FormProblems); {
	case n == 1:
		return fail(in.FormProblems[0])
	case n > 1:
		r := fail(count(int64(n), "problem") + "; the first: " + in.FormProblems[0])
		if in.Row != &in.Report.Rows[0] {
			return r // they are of the file, and stand once
		}
		for i, p := range in.FormProblems {
			r.Figures = append(r.Figures, Compared{Name: "problem " + itoa(int64(i+1)), Found: p})
		}
		return r
	case in.ComputedID != in.Row.ID:
		return fail("the id does not follow from the hashed part: something in it was changed after the row was written",
			Compared{"id", in.Row.ID, in.ComputedID})
	}
	if (in.Row.Proof.Source == nil) != (in.Row.Import == nil) {
		return fail("proof.source names another tool's file if and only if import says what that tool states")
	}
	if in.Row.Proof.Source != nil && in.Row.Proof.Evidence != nil {
		return fail("another tool's row carries evidence of a run of measure, which no import has: a row of ours is none of another tool")
	}
	if text := in.records(); text != "" {
		return fail("evidence that cannot be: " + text)
	}
	if text := in.commanded(); text != "" {
		return fail(text)
	}
	text := "reads back, and the id follows from it"
	if in.Report.Receipt.EvidenceSHA256 == "" {
		text += "; the run's own line of evidence is under no hash, so nothing rests on it"
	}
	return pass(text, Compared{"id", in.Row.ID, in.ComputedID})
}
