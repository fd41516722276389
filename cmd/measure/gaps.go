package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rowproof/internal/catalog"
	"rowproof/internal/gate"
	"rowproof/internal/roofline"
	"rowproof/internal/rowfile"
	"rowproof/internal/tradeoff"
)

const (
	gapsWhat = `List what is not measured, ranked by what would change a recommendation, each with
its cost in GPU-minutes and the command that closes it. Rows count where they rank:
verified, sustained load, three repeats.`
	gapsExample = `measure gaps`
)

func gaps(_ context.Context, args []string, s streams) int {
	var root, model string
	var asJSON bool
	flags := newCollector("gaps")
	usage(flags.FlagSet, "gaps [flags]", gapsWhat, gapsExample)
	flags.StringVar(&root, "root", "", "folder that holds data/ (default the current one, where it does)")
	flags.StringVar(&model, "model", "", "only this model: catalogue id, name or Hugging Face id")
	flags.BoolVar(&asJSON, "json", false, "for a program")
	if code, done := flags.parse(args, s); done {
		return code
	}
	if flags.NArg() > 0 && flags.allKnown() {
		flags.wrong("%s (%s): want none; --model MODEL asks for one model's gaps", countOf(flags.NArg(), "argument"), strings.Join(flags.Args(), " "))
	}
	if root == "" && isDir(filepath.Join("data", "cells")) {
		root = "."
	}
	flags.root(root)
	if len(flags.problems) > 0 {
		return flags.refuse(s)
	}
	known, faults := openCatalog(root)
	var rows []tradeoff.Measured
	if root != "" {
		var more []string
		rows, more = measuredRows(known, root)
		faults = append(faults, more...)
	}
	if len(faults) > 0 {
		return complain(s, "gaps", exitFailed, faults)
	}
	list := tradeoff.Gaps(tradeoff.Catalog(*known), rows)
	if model != "" {
		m, id := known.ModelByName(model)
		if m == nil {
			return complain(s, "gaps", exitUsage, []string{"--model " + noName(model, modelNames(known)) + "; measure ceiling --list prints every model"})
		}
		list = slices.DeleteFunc(list, func(g tradeoff.Gap) bool { return g.Model != id })
	}
	if root == "" {
		fmt.Fprintln(s.err, "measure gaps: no data/ here, so every recipe of this binary's catalogue counts as unmeasured; --root DIR of a checkout counts its rows")
	}
	if asJSON {
		return printJSON(s, gapLines(list))
	}
	printGaps(s.out, list)
	return exitOK
}

// root checks the folder of --root, where one is named.
func (c collector) root(dir string) bool {
	if dir == "" || isDir(filepath.Join(dir, "data")) {
		return true
	}
	c.wrong("--root %s: no folder data in it; want the folder that holds data/", dir)
	return false
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// measuredRows reads and judges every report under data/rows.
func measuredRows(known *catalog.Catalog, root string) (rows []tradeoff.Measured, faults []string) {
	fsys := os.DirFS(root)
	withdrawn, problems := catalog.Withdrawn(os.DirFS(filepath.Join(root, "data")))
	for _, p := range problems {
		faults = append(faults, p.String())
	}
	err := fs.WalkDir(fsys, "data/rows", func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name == "data/rows" {
			return fs.SkipAll
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".json") {
			return err
		}
		b, err := rowfile.LoadFS(fsys, name)
		if err != nil {
			faults = append(faults, err.Error())
			return nil
		}
		b.Today = todayOf(known, b.Report)
		for i, results := range b.Judge(nil) {
			rows = append(rows, ranked(b, i, results, withdrawn))
		}
		return nil
	})
	if err != nil {
		faults = append(faults, err.Error())
	}
	return rows, faults
}

// ranked is what ranking needs of row i of a report.
func ranked(b *rowfile.Bundle, i int, results []gate.Result, withdrawn map[string]catalog.Withdrawal) tradeoff.Measured {
	r := b.Rows[i].Row
	verdict := gate.VerdictOf(r, results)
	if _, out := withdrawn[r.ID]; out {
		verdict = gate.Withdrawn
	}
	m := tradeoff.Measured{
		ID: r.ID, Recipe: b.Report.Recipe, Ranked: r.Workload.Ranked(), QueueBound: gate.QueueBound(results),
		ISL: r.Workload.ISL, OSL: r.Workload.OSL, Repeats: r.Workload.Repeats,
		Verdict: verdict, PerGPU: r.Figures.OutputTokPerSecPerGPU,
	}
	if was := b.Report.AsItWas; was != nil {
		m.Version = was.Recipe.Engine.Version
	}
	if c := r.Workload.Load.Concurrency; c != nil && !r.Workload.OpenLoop() {
		m.Concurrency = *c
	}
	if d := r.Figures.TPOT; d != nil && d.P50 != nil && *d.P50 > 0 {
		rate := 1e3 / *d.P50
		m.PerUser = &rate
	}
	return m
}

// gapLine is one gap for a program.
type gapLine struct {
	Rank        int      `json:"rank"`
	Kind        string   `json:"kind"`
	Recipe      string   `json:"recipe"`
	Shape       string   `json:"shape"`
	Concurrency []int64  `json:"concurrency"`
	What        string   `json:"what"`
	Why         string   `json:"why"`
	CouldChange []string `json:"could_change"`
	GPUs        int64    `json:"gpus"`
	GPUMinutes  *int64   `json:"gpu_minutes"`
	Basis       string   `json:"basis"`
	Command     string   `json:"command"`
}

func gapLines(list []tradeoff.Gap) []gapLine {
	lines := []gapLine{}
	for _, g := range list {
		changes := g.Changes
		if changes == nil {
			changes = []string{}
		}
		lines = append(lines, gapLine{g.Rank, g.Kind, g.Recipe, g.Shape, g.Loads, g.What, g.Why, changes, g.GPUs, g.GPUMinutes, g.Basis, g.Command})
	}
	return lines
}

func printGaps(w io.Writer, list []tradeoff.Gap) {
	if len(list) == 0 {
		fmt.Fprintln(w, "No gaps: every recipe has ranked rows at every load of the plan.")
		return
	}
	fmt.Fprintf(w, "%s\nMinutes are estimated: GPUs × (%s).\n", tradeoff.Summary(list), tradeoff.Basis)
	for _, g := range list {
		cost := "cost unknown"
		if g.GPUMinutes != nil {
			cost = "about " + roofline.Number(float64(*g.GPUMinutes)) + " GPU-minutes"
		}
		fmt.Fprintf(w, "\n%d. %s (%s)\n   %s\n   %s\n", g.Rank, g.What, cost, g.Why, g.Command)
	}
}
