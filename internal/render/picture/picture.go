// Package picture draws the cards that other sites show beside a link to this one: a
// name, what was measured best with its unit, and how near it comes to the roof. They are
// drawn in greys, in the Go fonts, which the binary holds.
package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// Width and Height of a card in px, which the sites that show it ask for.
const (
	Width  = 1200
	Height = 630
)

// Card is what one says.
type Card struct {
	Title, Sub string
	Figures    []Figure // two at most have room
	Foot       string
}

// Figure is one figure with its unit, and below it what was measured.
type Figure struct{ Figure, Unit, Of string }

// Greys by what is written in them, as the page's tokens are in light.
var (
	ground = color.Gray{0xff}
	ink    = color.Gray{0x1a}
	second = color.Gray{0x50}
	rule   = color.Gray{0xdf}
)

const margin = 64

// PNG draws a card.
func PNG(c Card) ([]byte, error) {
	p := &page{image.NewGray(image.Rect(0, 0, Width, Height))}
	for i := range p.Pix {
		p.Pix[i] = ground.Y
	}
	p.mark(image.Rect(margin, 54, margin+68, 96), 2.2)
	const room = Width - 2*margin
	lines := []struct {
		text string
		bold bool
		size float64
		ink  color.Gray
		x, y int
	}{
		{"Rowproof", true, 34, ink, margin + 82, 92},
		{c.Title, true, 76, ink, margin, 202},
		{c.Sub, false, 30, second, margin, 252},
		{c.Foot, false, 26, second, margin, Height - 46},
	}
	for _, l := range lines {
		if _, err := p.text(l.text, l.bold, l.size, l.ink, l.x, l.y, Width-margin-l.x); err != nil {
			return nil, err
		}
	}
	draw.Draw(p, image.Rect(margin, Height-90, Width-margin, Height-88), image.NewUniform(rule), image.Point{}, draw.Src)
	for i, f := range c.Figures[:min(len(c.Figures), 2)] {
		y := 338 + i*126
		end, err := p.text(f.Figure, true, 66, ink, margin, y, room/2)
		if err == nil {
			_, err = p.text(f.Unit, false, 32, ink, end+18, y, Width-margin-end-18)
		}
		if err == nil {
			_, err = p.text(f.Of, false, 28, second, margin, y+42, room)
		}
		if err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	e := png.Encoder{CompressionLevel: png.BestSpeed}
	err := e.Encode(&b, p.Gray)
	return b.Bytes(), err
}

type page struct{ *image.Gray }

// fonts are parsed once; faces are not shared, since each keeps a buffer.
var fonts = sync.OnceValues(func() (regularAndBold [2]*opentype.Font, err error) {
	for i, ttf := range [][]byte{goregular.TTF, gobold.TTF} {
		if regularAndBold[i], err = opentype.Parse(ttf); err != nil {
			return regularAndBold, err
		}
	}
	return regularAndBold, nil
})

const smallest = 22 // px; what then has no room is cut

// text writes one line from x on, smaller where it has not room px, and says where it ends.
func (p *page) text(text string, bold bool, size float64, ink color.Gray, x, y, room int) (end int, err error) {
	parsed, err := fonts()
	if err != nil {
		return 0, err
	}
	f := parsed[0]
	if bold {
		f = parsed[1]
	}
	for ; ; size = math.Max(smallest, size*0.94) {
		face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone})
		if err != nil {
			return 0, err
		}
		width := font.MeasureString(face, text)
		if width.Ceil() > room && size > smallest {
			face.Close()
			continue
		}
		if width.Ceil() > room {
			text = cut(face, text, room)
		}
		d := font.Drawer{Dst: p, Src: image.NewUniform(ink), Face: face, Dot: fixed.P(x, y)}
		d.DrawString(text)
		return d.Dot.X.Ceil(), face.Close()
	}
}

// cut is as much of a text as has room, with an ellipsis.
func cut(face font.Face, text string, room int) string {
	runes := []rune(text)
	for n := len(runes); n > 0; n-- {
		if short := string(runes[:n]) + "…"; font.MeasureString(face, short).Ceil() <= room {
			return short
		}
	}
	return ""
}

// mark draws the site's sign, a row under a roof, as site/base/parts.tmpl has it.
func (p *page) mark(in image.Rectangle, scale float64) {
	r := vector.NewRasterizer(in.Dx(), in.Dy())
	at := func(px, py float64) (float32, float32) { return float32(px * scale), float32(py * scale) }
	line := func(x1, y1, x2, y2 float64) {
		length := math.Hypot(x2-x1, y2-y1)
		nx, ny := (y1-y2)/length, (x2-x1)/length // half of a stroke of 2
		r.MoveTo(at(x1+nx, y1+ny))
		r.LineTo(at(x2+nx, y2+ny))
		r.LineTo(at(x2-nx, y2-ny))
		r.LineTo(at(x1-nx, y1-ny))
		r.ClosePath()
	}
	line(1, 11, 8, 3)
	line(8, 3, 29, 3)
	line(10, 9, 22, 9)
	line(4, 15, 20, 15)
	for _, cy := range []float64{9, 15} {
		const corners = 24
		for i := range corners + 1 {
			a := 2 * math.Pi * float64(i) / corners
			px, py := at(24+2.5*math.Cos(a), cy+2.5*math.Sin(a))
			if i == 0 {
				r.MoveTo(px, py)
			} else {
				r.LineTo(px, py)
			}
		}
		r.ClosePath()
	}
	r.Draw(p, in, image.NewUniform(ink), image.Point{})
}
