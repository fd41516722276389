package tradeoff

import (
	"maps"
	"slices"
	"strings"

	"rowproof/internal/row"
)

// Matrix is a model's coverage: a line a target, a column a strategy, only those that a
// recipe of the model names.
type Matrix struct {
	Targets    []string
	Strategies []string
	Cells      [][]Cell // by target, then strategy
}

// Cell is what is known of a model on one target with one strategy.
type Cell struct {
	Target, Strategy string
	Recipes          []string  // ids, by engine; none: nobody wrote a recipe
	Best             *Measured // the best row that ranks, by the strategy's own rate; nil: none
	Rows             int       // rows of all its recipes, withdrawn ones apart
	Withdrawn        int
	Gap              int    // rank of the first gap among its recipes; 0: none
	Unfit            string // why no recipe of it can run, "" when one can
}

// Coverage builds a model's matrix from all rows and the ranked gaps.
func Coverage(c Catalog, model string, rows []Measured, gaps []Gap) Matrix {
	var m Matrix
	recipes := map[[2]string][]string{}
	for _, id := range slices.Sorted(maps.Keys(c.Recipes)) {
		p := parts(id)
		if p.model != model {
			continue
		}
		if !slices.Contains(m.Targets, p.target) {
			m.Targets = append(m.Targets, p.target)
		}
		if !slices.Contains(m.Strategies, p.strategy) {
			m.Strategies = append(m.Strategies, p.strategy)
		}
		at := [2]string{p.target, p.strategy}
		recipes[at] = append(recipes[at], id)
	}
	slices.Sort(m.Targets)
	slices.Sort(m.Strategies)
	for _, target := range m.Targets {
		var line []Cell
		for _, strategy := range m.Strategies {
			line = append(line, fill(c, Cell{Target: target, Strategy: strategy,
				Recipes: recipes[[2]string{target, strategy}]}, rows, gaps))
		}
		m.Cells = append(m.Cells, line)
	}
	return m
}

func fill(c Catalog, cell Cell, rows []Measured, gaps []Gap) Cell {
	perUser := false
	if s := c.Strategies[cell.Strategy]; s != nil {
		perUser = s.BestBy == row.BestPerUser
	}
	for i := range rows {
		r := &rows[i]
		if !slices.Contains(cell.Recipes, r.Recipe) {
			continue
		}
		if r.Verdict == "withdrawn" {
			cell.Withdrawn++
			continue
		}
		cell.Rows++
		if r.ranks() && better(r, cell.Best, perUser) {
			cell.Best = r
		}
	}
	for i := range gaps {
		if slices.Contains(cell.Recipes, gaps[i].Recipe) {
			cell.Gap = gaps[i].Rank
			break
		}
	}
	for i, id := range cell.Recipes {
		reason := unfit(c, id)
		if reason == "" {
			cell.Unfit = ""
			break
		}
		if i == 0 {
			cell.Unfit = reason
		}
	}
	return cell
}

// better says whether a row passes another by one rate; a missing rate never does.
func better(a, b *Measured, perUser bool) bool {
	rate := func(m *Measured) *float64 {
		if perUser {
			return m.PerUser
		}
		return m.PerGPU
	}
	switch {
	case rate(a) == nil:
		return false
	case b == nil || rate(b) == nil:
		return true
	}
	return *rate(a) > *rate(b)
}

// place is a recipe's id in its parts.
type place struct{ model, target, strategy, engine string }

func parts(id string) place {
	p := strings.Split(id, "/")
	if len(p) != 4 {
		return place{}
	}
	return place{p[0], p[1], p[2], p[3]}
}
