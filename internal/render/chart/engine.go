package chart

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/dop251/goja"
	"github.com/evanw/esbuild/pkg/api"

	"rowproof/internal/render/kept"
)

//go:embed entry.js
var entry string

// Engine draws with ECharts, which it bundles from node_modules and runs in a Go
// JavaScript engine. It starts both at its first drawing that the cache does not hold,
// and then draws any number; a drawing is kept under the hash of all that it comes
// from. It may be used by several goroutines, which draw one after another.
type Engine struct {
	root  string // folder that holds node_modules
	cache string // folder of drawings; "" keeps none

	once sync.Once
	base []byte // hash of ECharts and of how it is called
	err  error

	mu   sync.Mutex
	vm   *goja.Runtime
	call goja.Callable
}

// NewEngine takes ECharts from root/node_modules and keeps drawings in the folder
// cache, which it makes; without a cache every drawing is made anew.
func NewEngine(root, cache string) *Engine { return &Engine{root: root, cache: cache} }

// draw gives ECharts' own SVG for options, in px.
func (e *Engine) draw(options []byte, width, height int) (string, error) {
	e.once.Do(func() { e.base, e.err = e.identity() })
	if e.err != nil {
		return "", e.err
	}
	sum := sha256.New()
	sum.Write(e.base)
	fmt.Fprintf(sum, "%d %d\n", width, height)
	sum.Write(options)
	file := filepath.Join(e.cache, hex.EncodeToString(sum.Sum(nil)[:16]))
	if e.cache != "" {
		var drawn string
		if kept.Read(file, &drawn) {
			return drawn, nil
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.vm == nil {
		if err := e.start(); err != nil {
			return "", err
		}
	}
	drawn, err := e.call(goja.Undefined(), e.vm.ToValue(string(options)), e.vm.ToValue(width), e.vm.ToValue(height))
	if err != nil {
		return "", fmt.Errorf("ECharts could not draw %s: %w", options, err)
	}
	if e.cache != "" {
		return drawn.String(), kept.Write(file, drawn.String())
	}
	return drawn.String(), nil
}

// identity tells one ECharts from another without bundling it.
func (e *Engine) identity() ([]byte, error) {
	sum := sha256.New()
	sum.Write([]byte(entry + prelude))
	for _, name := range []string{"echarts", "zrender"} {
		text, err := os.ReadFile(filepath.Join(e.root, "node_modules", name, "package.json"))
		if err != nil {
			return nil, fmt.Errorf("charts need %s: %w; run npm ci --ignore-scripts", name, err)
		}
		sum.Write(text)
	}
	return sum.Sum(nil), nil
}

// prelude stands in for what a browser would give: no console, and no clock, since
// nothing here moves.
const prelude = `var console = {log() {}, warn() {}, error() {}}, setTimeout = () => 0, clearTimeout = () => {};`

// start bundles ECharts and loads it.
func (e *Engine) start() error {
	root, err := filepath.Abs(e.root)
	if err != nil {
		return err
	}
	built := api.Build(api.BuildOptions{
		Stdin:            &api.StdinOptions{Contents: entry, ResolveDir: root, Sourcefile: "entry.js"},
		Bundle:           true,
		Write:            false,
		Format:           api.FormatIIFE,
		Target:           api.ES2015,
		MinifySyntax:     true,
		MinifyWhitespace: true,
		Define:           map[string]string{"process.env.NODE_ENV": `"production"`},
		LogLevel:         api.LogLevelSilent,
	})
	for _, m := range append(built.Errors, built.Warnings...) {
		place := ""
		if m.Location != nil {
			place = m.Location.File + ":" + strconv.Itoa(m.Location.Line) + ":" + strconv.Itoa(m.Location.Column) + ": "
		}
		err = errors.Join(err, errors.New(place+m.Text))
	}
	if err != nil {
		return fmt.Errorf("bundling ECharts from %s: %w", filepath.Join(root, "node_modules"), err)
	}
	vm := goja.New()
	if _, err := vm.RunScript("echarts.js", prelude+string(built.OutputFiles[0].Contents)); err != nil {
		return fmt.Errorf("loading ECharts: %w", err)
	}
	call, ok := goja.AssertFunction(vm.Get("draw"))
	if !ok {
		return errors.New("loading ECharts: it did not define draw")
	}
	e.vm, e.call = vm, call
	return nil
}
