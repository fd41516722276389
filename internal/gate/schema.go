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
	figures := []Compared{{"id", in.Row.ID, in.ComputedID}}
	if left, of := in.leftOut(); left > 0 {
		text += "; the report lacks " + count(left, "row") + " of its run"
		figures = append(figures, Compared{"rows in the report", itoa(int64(len(in.Report.Rows))), of})
	}
	return pass(text, figures...)
}

// leftOut is how many rows of the run are not in the report, as far as the row's line of
// evidence tells, which its id covers: its own place among them, and how many were planned.
// Rows that no gate refuses may be published without the others; a reader is told.
func (in *Input) leftOut() (n int64, of string) {
	if in.Evidence == nil {
		return 0, ""
	}
	rows := int64(len(in.Report.Rows))
	if planned := in.Evidence.Planned; planned > rows {
		return planned - rows, itoa(planned) + " that its run planned"
	}
	for i := range in.Report.Rows {
		if before := in.Evidence.Row - int64(i); &in.Report.Rows[i] == in.Row && before > 0 {
			return before, "at least " + itoa(rows+before) + ": this row was the run's " + place(in.Evidence.Row+1)
		}
	}
	return 0, ""
}

// place writes which one of several it is.
func place(n int64) string {
	switch {
	case n%100/10 == 1:
	case n%10 == 1:
		return itoa(n) + "st"
	case n%10 == 2:
		return itoa(n) + "nd"
	case n%10 == 3:
		return itoa(n) + "rd"
	}
	return itoa(n) + "th"
}
