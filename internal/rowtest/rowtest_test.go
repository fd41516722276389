package rowtest

import (
	"bytes"
	"testing"

	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

func TestReportReadsBack(t *testing.T) {
	for _, o := range []Options{{}, {Protocol: row.Passes, Cells: []Cell{{ISL: 128, OSL: 128, Concurrency: 4}}}, {Simulated: true}} {
		r, samples, evidence := Report(7, o)
		file, err := Write(t.TempDir(), r, samples, evidence)
		if err != nil {
			t.Fatal(err)
		}
		b, err := rowfile.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Problems) > 0 || b.NoEvidence != "" {
			t.Fatalf("problems: %q %s", b.Problems, b.NoEvidence)
		}
		for i, d := range b.Rows {
			if d.NoSamples != "" || d.ComputedID != r.Rows[i].ID || d.SamplesSHA256 != *r.Rows[i].Proof.Samples ||
				d.EvidenceSHA256 != *r.Rows[i].Proof.Evidence || len(d.Samples) != len(samples[i]) {
				t.Errorf("row %d: %q id %s want %s", i, d.NoSamples, d.ComputedID, r.Rows[i].ID)
			}
			if d.Row.Figures.TTFT == nil || d.Row.Figures.TPOT == nil {
				t.Errorf("row %d has no figures: %v", i, d.Row.Missing)
			}
		}
		again, err := rowfile.Encode(b.Report)
		if err != nil {
			t.Fatal(err)
		}
		once, err := rowfile.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(once, again) {
			t.Error("the report does not read back into the same bytes")
		}
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	a, _, _ := Report(3, Options{})
	b, _, _ := Report(3, Options{})
	c, _, _ := Report(4, Options{})
	if a.Rows[0].ID != b.Rows[0].ID || a.Rows[0].ID == c.Rows[0].ID {
		t.Errorf("ids %s %s %s", a.Rows[0].ID, b.Rows[0].ID, c.Rows[0].ID)
	}
}
