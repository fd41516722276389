package chart

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// measured is a text as a browser lays it out, in px.
type measured struct {
	Drawing, Text  string
	Weight         string
	Size           float64
	X0, Y0, X1, Y1 float64
	Drawn          [2]float64 // width and height of the drawing
}

// asked runs in the page: it measures every text of every drawing.
const asked = `JSON.stringify([...document.querySelectorAll("figure")].flatMap(f => {
	const svg = f.querySelector("svg"), at = svg.getBoundingClientRect();
	return [...svg.querySelectorAll("text")].map(t => {
		const b = t.getBoundingClientRect(), s = getComputedStyle(t);
		return {Drawing: f.id, Text: t.textContent, Weight: s.fontWeight, Size: parseFloat(s.fontSize),
			X0: b.x - at.x, Y0: b.y - at.y, X1: b.right - at.x, Y1: b.bottom - at.y, Drawn: [at.width, at.height]};
	});
}))`

// TestTextInABrowser lays all drawings out in the site's own style in Chromium, with
// each of two fonts, and looks for text that overlaps, is cut off, is smaller than 12 px
// or is wider than it was taken to be. With CHART_PAGES set, the page is left in that
// folder, to be looked at.
func TestTextInABrowser(t *testing.T) {
	all, err := drawings()
	if err != nil {
		t.Fatal(err)
	}
	var css, body strings.Builder
	for _, f := range []string{"tokens.css", "base.css"} {
		text, err := os.ReadFile("../../../site/base/" + f)
		if err != nil {
			t.Fatal(err)
		}
		css.Write(text)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&body, "<figure id=%s><figcaption>%s</figcaption>%s</figure>\n", name, name, all[name])
	}
	dir := os.Getenv("CHART_PAGES")
	if dir == "" {
		dir = t.TempDir()
	}
	ctx := chromium(t)
	for _, font := range []string{"DejaVu Sans", "Liberation Sans"} {
		for _, theme := range []string{"light", "dark"} {
			page := "<!doctype html><html lang=en data-theme=" + theme + "><meta charset=utf-8><title>charts</title><style>" + css.String() +
				// Both widths at once, and gauges at the least width they may get.
				":root{--sans:'" + font + "'} body{padding:8px} figure svg.narrow, figure svg.wide{display:block} [id^=gauge]{width:296px}</style>" + body.String()
			file := filepath.Join(dir, theme+".html")
			if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := chromedp.Run(ctx, chromedp.Navigate("file://"+file)); err != nil {
				t.Fatal(err)
			}
			said, err := chromedp.Run(ctx, chromedp.Evaluate[string](asked))
			if err != nil {
				t.Fatal(err)
			}
			var texts []measured
			if err := json.Unmarshal([]byte(said), &texts); err != nil {
				t.Fatal(err)
			}
			if len(texts) < 100 {
				t.Fatalf("the page has %d texts", len(texts))
			}
			lookAt(t, font+", "+theme, texts)
		}
	}
}

func lookAt(t *testing.T, where string, texts []measured) {
	t.Helper()
	for i, m := range texts {
		w := regular
		if m.Weight != "400" {
			w = bold
		}
		if m.Size < textPx {
			t.Errorf("%s: %s: %q is %v px", where, m.Drawing, m.Text, m.Size)
		}
		if got, most := m.X1-m.X0, width(m.Text, w); got > most+1 {
			t.Errorf("%s: %s: %q is %.1f px wide, taken for %.1f", where, m.Drawing, m.Text, got, most)
		}
		if m.X0 < -1 || m.Y0 < -2 || m.X1 > m.Drawn[0]+1 || m.Y1 > m.Drawn[1]+2 {
			t.Errorf("%s: %s: %q reaches from %.1f,%.1f to %.1f,%.1f, beyond %.1f", where, m.Drawing, m.Text, m.X0, m.Y0, m.X1, m.Y1, m.Drawn)
		}
		for _, o := range texts[:i] {
			// Boxes are a line high, and letters less: two lines 16 px apart do not touch.
			if o.Drawing == m.Drawing && o.X0 < m.X1 && m.X0 < o.X1 && o.Y0+2 < m.Y1 && m.Y0+2 < o.Y1 {
				t.Errorf("%s: %s: %q and %q overlap", where, m.Drawing, o.Text, m.Text)
			}
		}
	}
}

// chromium starts the browser for one test.
func chromium(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Fatal("no Chromium on this host (looked for chromium, chromium-browser, google-chrome): apt-get install chromium")
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))...)
	t.Cleanup(stop)
	ctx, done := chromedp.NewContext(alloc)
	t.Cleanup(done)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx) }) // waits until it has ended, so that its folder can go
	ctx, late := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(late)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}
