package roofline_test

import (
	"math"
	"testing"

	"rowproof/internal/roofline"
	"rowproof/internal/rooftest"
)

// Every figure that the outside gives stands here to its tolerance.
func TestCases(t *testing.T) {
	for _, c := range rooftest.Cases(t) {
		t.Run(c.ID, func(t *testing.T) {
			if wrong := c.Query.Wrong(); len(wrong) > 0 {
				t.Fatalf("the question is refused: %q", wrong)
			}
			a := roofline.Ceiling(c.Query)
			if len(c.Figures) == 0 {
				t.Error("no figure is held against anything")
			}
			for _, f := range c.Figures {
				got := f.Value(t, c.Query, a)
				if math.IsNaN(got) {
					t.Errorf("%s is not answered: %v", f.Of, a.Missing)
				}
				if f.Is == nil && f.AtLeast == nil && f.AtMost == nil {
					t.Errorf("%s is held against nothing", f.Of)
				}
				if f.Is != nil && !(math.Abs(got-*f.Is) <= f.Within) {
					t.Errorf("%s = %v %s; want %v ± %v (%s): %s", f.Of, got, f.Unit, *f.Is, f.Within, f.Why, c.Source)
				}
				if f.AtLeast != nil && !(got >= *f.AtLeast) {
					t.Errorf("%s = %v %s; want at least %v (%s): %s", f.Of, got, f.Unit, *f.AtLeast, f.Why, c.Source)
				}
				if f.AtMost != nil && !(got <= *f.AtMost) {
					t.Errorf("%s = %v %s; want at most %v (%s): %s", f.Of, got, f.Unit, *f.AtMost, f.Why, c.Source)
				}
			}
		})
	}
}
