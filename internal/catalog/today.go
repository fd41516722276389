package catalog

import (
	"strings"

	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// Today is what the catalogue has of a recipe, MODEL/TARGET/STRATEGY/ENGINE, of its model
// and of its target; nil of what is not there.
func (c *Catalog) Today(recipe string) (*row.Recipe, *roofline.Model, *roofline.Target) {
	parts := strings.Split(recipe, "/")
	if len(parts) != 4 {
		return nil, nil, nil
	}
	target, _ := c.Target(parts[1])
	return c.Recipes[recipe], c.Models[parts[0]], target
}
