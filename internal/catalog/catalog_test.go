package catalog

import (
	"testing"

	"rowproof/data"
)

func TestOwn(t *testing.T) {
	c, ps := Load(data.FS)
	for _, p := range ps {
		t.Error(p)
	}
	t.Log(len(c.Models), len(c.Targets), len(c.Recipes))
}
