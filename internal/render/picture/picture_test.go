package picture

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"
)

func drawn(t testing.TB, c Card) image.Image {
	t.Helper()
	data, err := PNG(c)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 200_000 {
		t.Errorf("a card of %d bytes", len(data))
	}
	m, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var usual = Card{
	Title: "Llama 3.1 8B", Sub: "Meta · 8.03 B parameters",
	Figures: []Figure{{"7,886", "output tok/s/GPU", "H200 SXM · FP8 · vLLM, c = 128, 27% of the hard roof"}, {"286", "tok/s per user, median", "2× H200 SXM · Latency · vLLM, c = 1"}},
	Foot:    "30 verified rows at 1024:256, the newest of 2026-12-01",
}

// inked says whether anything is drawn in a part of a card.
func inked(m image.Image, r image.Rectangle) bool {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			if v, _, _, _ := m.At(x, y).RGBA(); v != 0xffff {
				return true
			}
		}
	}
	return false
}

// Whatever a name is, a card has the size that is asked for and writes nothing into its
// margins; and each part of what it says is seen.
func TestCardsKeepTheirMargins(t *testing.T) {
	for name, title := range map[string]string{
		"usual": usual.Title, "long": strings.Repeat("Mixture of Everything ", 20), "one word": strings.Repeat("W", 300),
		"right to left": "\u202eLlama\u202c \u05d0\u05d1", "markup": `"><script>alert(1)</script>`, "empty": "", "lines": "a\nb\x00c",
	} {
		c := usual
		c.Title = title
		c.Figures = []Figure{{strings.Repeat("9", 80), title, title}, usual.Figures[1]}
		m := drawn(t, c)
		if b := m.Bounds(); b.Dx() != 1200 || b.Dy() != 630 {
			t.Errorf("%s: %v", name, b)
		}
		for _, edge := range []image.Rectangle{image.Rect(0, 0, 1200, 40), image.Rect(0, 0, 56, 630), image.Rect(1144, 0, 1200, 630), image.Rect(0, 606, 1200, 630)} {
			if inked(m, edge) {
				t.Errorf("%s: something is drawn in the margin %v", name, edge)
			}
		}
	}
	m := drawn(t, usual)
	for part, r := range map[string]image.Rectangle{
		"title": image.Rect(64, 140, 600, 205), "publisher": image.Rect(64, 230, 500, 255), "first figure": image.Rect(64, 285, 250, 340),
		"its unit": image.Rect(260, 310, 500, 340), "its cell": image.Rect(64, 355, 800, 385), "second figure": image.Rect(64, 415, 180, 466), "foot": image.Rect(64, 560, 900, 590),
	} {
		if !inked(m, r) {
			t.Errorf("the %s is not seen", part)
		}
	}
}

func BenchmarkCard(b *testing.B) {
	for b.Loop() {
		drawn(b, usual)
	}
}
