package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"rowproof/internal/rowtest"
)

// models is how many models the rows are of, as the catalogue has: each with two recipes,
// measured at four loads again and again.
const models = 25

// makeRoot lays out what gen builds from: the checkout's catalogue, words, templates and
// modules, and so many healthy synthetic rows, of models of their own.
func makeRoot(checkout, root string, rows int) error {
	for _, dir := range []string{"data/models", "data/targets", "data/strategies", "data/cells", "content", "site"} {
		if err := os.CopyFS(filepath.Join(root, dir), os.DirFS(filepath.Join(checkout, dir))); err != nil {
			return err
		}
	}
	for _, link := range []string{"node_modules", "bin"} {
		to, err := filepath.Abs(filepath.Join(checkout, link))
		if err != nil {
			return err
		}
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			return err
		}
	}
	cells := []rowtest.Cell{{ISL: 128, OSL: 32, Concurrency: 1}, {ISL: 128, OSL: 32, Concurrency: 2}, {ISL: 256, OSL: 32, Concurrency: 1}, {ISL: 256, OSL: 32, Concurrency: 2}}
	first := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	reports := rows / len(cells)
	errs := make(chan error, reports)
	free := make(chan struct{}, 8)
	for i := range reports {
		free <- struct{}{}
		go func() {
			defer func() { <-free }()
			of := i / 2 % models
			strategy := []string{"latency", "throughput"}[i%2]
			was := rowtest.Llama8B()
			was.Model.Name = fmt.Sprintf("Model %d 8B", of)
			was.Model.Repositories = []string{fmt.Sprintf("bench/model-%d", of)}
			r, samples, evidence := rowtest.Report(uint64(i+1), rowtest.Options{
				Recipe: fmt.Sprintf("model-%04d/h200-sxm/%s/vllm", of, strategy), AsItWas: was, Cells: cells,
				MeasuredAt: first.Add(time.Duration(i) * time.Minute).Format(time.RFC3339),
				Slowness:   1.3 + float64(i%7)/20,
			})
			_, err := rowtest.Write(root, r, samples, evidence)
			errs <- err
		}()
	}
	var failed error
	for range reports {
		failed = errors.Join(failed, <-errs)
	}
	return failed
}
