// shot URLBASE OUTDIR WIDTH THEME name=path...
package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/cdproto/page"
)

func main() {
	base, out := os.Args[1], os.Args[2]
	w, _ := strconv.Atoi(os.Args[3])
	theme := os.Args[4]
	prof, _ := os.MkdirTemp("", "shot")
	defer os.RemoveAll(prof)
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("/usr/bin/chromium"), chromedp.UserDataDir(prof), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("hide-scrollbars", true))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	defer stop()
	for _, a := range os.Args[5:] {
		name, path, _ := strings.Cut(a, "=")
		ctx, cancel := chromedp.NewContext(alloc)
		ctx, c2 := context.WithTimeout(ctx, 60*time.Second)
		must := func(_ any, err error) {
			if err != nil {
				fmt.Fprintln(os.Stderr, name, err)
			}
		}
		if err := chromedp.Do(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		must(chromedp.Run(ctx, chromedp.EmulateViewport(int64(w), 900)))
		must(chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}}))
		must(chromedp.Run(ctx, chromedp.Navigate(base+path)))
		time.Sleep(900 * time.Millisecond)
		h, err := chromedp.Run(ctx, chromedp.Evaluate[int](`document.documentElement.scrollHeight`))
		must(h, err)
		r, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: "png", CaptureBeyondViewport: ptr(true), Clip: &page.Viewport{X: 0, Y: 0, Width: float64(w), Height: float64(h), Scale: 1}})
		must(r, err)
		if err == nil {
			img, err := png.Decode(bytes.NewReader(r.Data))
			must(nil, err)
			// fold a tall page into columns
			H := 1600
			if w <= 400 { H = 1500 }
			cols := (h + H - 1) / H
			perSheet := max(1, 1900/(w+10))
			for s := 0; s*perSheet < cols; s++ {
				n := min(perSheet, cols-s*perSheet)
				sheet := image.NewRGBA(image.Rect(0, 0, n*(w+10), min(H, h)))
				draw.Draw(sheet, sheet.Bounds(), &image.Uniform{color.RGBA{255, 0, 255, 255}}, image.Point{}, draw.Src)
				for i := 0; i < n; i++ {
					y := (s*perSheet + i) * H
					draw.Draw(sheet, image.Rect(i*(w+10), 0, i*(w+10)+w, min(H, h-y)), img, image.Point{0, y}, draw.Src)
				}
				f, _ := os.Create(fmt.Sprintf("%s/%s-%d-%s-%d.png", out, name, w, theme, s))
				png.Encode(f, sheet)
				f.Close()
				fmt.Println(f.Name(), h)
			}
		}
		c2()
		cancel()
	}
}
func ptr[T any](v T) *T { return &v }
