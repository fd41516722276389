package chart

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// theme holds a tokens file's colours, sRGB 0 to 1.
type theme map[string][3]float64

// themes reads the site's own tokens, light and dark.
func themes(t *testing.T) map[string]theme {
	t.Helper()
	css, err := os.ReadFile("../../../site/base/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark := theme{}, theme{}
	for _, m := range regexp.MustCompile(`--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`).FindAllStringSubmatch(string(css), -1) {
		light[m[1]], dark[m[1]] = colour(t, m[2]), colour(t, m[3])
	}
	return map[string]theme{"light": light, "dark": dark}
}

func colour(t *testing.T, hex string) (out [3]float64) {
	t.Helper()
	for i := range out {
		v, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = float64(v) / 255
	}
	return out
}

func luminance(c [3]float64) float64 {
	l := toLinear(c)
	return .2126*l[0] + .7152*l[1] + .0722*l[2]
}

// contrast by WCAG 2.
func contrast(a, b [3]float64) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + .05) / (min(x, y) + .05)
}

func TestContrast(t *testing.T) {
	if got := contrast([3]float64{1, 1, 1}, [3]float64{}); math.Abs(got-21) > 1e-9 {
		t.Fatalf("black on white has contrast %v, want 21", got)
	}
	grounds := []string{"bg", "sunk", "mark"}
	least := map[string]struct {
		on    []string
		ratio float64
	}{
		"ink": {grounds, 4.5}, "ink-2": {grounds, 4.5}, "ink-3": {grounds, 4.5}, "link": {grounds, 4.5},
		"good": {[]string{"bg", "sunk", "good-bg"}, 4.5}, "warn": {[]string{"bg", "sunk", "warn-bg"}, 4.5}, "bad": {[]string{"bg", "sunk", "bad-bg"}, 4.5},
		"on-focus": {[]string{"focus"}, 4.5},
		"edge":     {grounds, 3}, "focus": {grounds, 3}, "rest": {[]string{"bg"}, 3},
	}
	for i := 1; i <= Slots; i++ {
		c := least["edge"]
		c.on = []string{"bg", "sunk"}
		least["c"+strconv.Itoa(i)] = c
	}
	for name, th := range themes(t) {
		for token, want := range least {
			for _, ground := range want.on {
				a, ok1 := th[token]
				b, ok2 := th[ground]
				if !ok1 || !ok2 {
					t.Errorf("%s: tokens.css lacks --%s or --%s as light-dark(#rrggbb, #rrggbb)", name, token, ground)
					continue
				}
				if got := contrast(a, b); got < want.ratio {
					t.Errorf("%s: --%s on --%s has contrast %.2f, want at least %v", name, token, ground, got, want.ratio)
				}
			}
		}
	}
}

func toLinear(c [3]float64) (out [3]float64) {
	for i, v := range c {
		if v <= .04045 {
			out[i] = v / 12.92
		} else {
			out[i] = math.Pow((v+.055)/1.055, 2.4)
		}
	}
	return out
}

type matrix [3][3]float64

func (m matrix) of(v [3]float64) (out [3]float64) {
	for i := range m {
		for j := range v {
			out[i] += m[i][j] * v[j]
		}
	}
	return out
}

// lab is CIE Lab (D65) of linear sRGB.
func lab(linear [3]float64) (out [3]float64) {
	xyz := matrix{{.4124564, .3575761, .1804375}, {.2126729, .7151522, .0721750}, {.0193339, .1191920, .9503041}}.of(linear)
	var f [3]float64
	for i, white := range []float64{.95047, 1, 1.08883} {
		v := xyz[i] / white
		if v > 216./24389 {
			f[i] = math.Cbrt(v)
		} else {
			f[i] = (24389./27*v + 16) / 116
		}
	}
	return [3]float64{116*f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])}
}

// ciede2000 as Sharma, Wu and Dalal wrote it down (2005).
func ciede2000(p, q [3]float64) float64 {
	rad := math.Pi / 180
	c := (math.Hypot(p[1], p[2]) + math.Hypot(q[1], q[2])) / 2
	g := (1 - math.Sqrt(math.Pow(c, 7)/(math.Pow(c, 7)+math.Pow(25, 7)))) / 2
	hue := func(a, b float64) float64 {
		if a == 0 && b == 0 {
			return 0
		}
		h := math.Atan2(b, a) / rad
		if h < 0 {
			h += 360
		}
		return h
	}
	a1, a2 := (1+g)*p[1], (1+g)*q[1]
	c1, c2 := math.Hypot(a1, p[2]), math.Hypot(a2, q[2])
	h1, h2 := hue(a1, p[2]), hue(a2, q[2])
	dh := 0.
	mean := h1 + h2
	if c1*c2 != 0 {
		switch dh = h2 - h1; {
		case dh > 180:
			dh -= 360
		case dh < -180:
			dh += 360
		}
		switch {
		case math.Abs(h1-h2) <= 180:
			mean /= 2
		case mean < 360:
			mean = (mean + 360) / 2
		default:
			mean = (mean - 360) / 2
		}
	}
	dl, dc, dH := q[0]-p[0], c2-c1, 2*math.Sqrt(c1*c2)*math.Sin(dh/2*rad)
	l, c := (p[0]+q[0])/2, (c1+c2)/2
	t := 1 - .17*math.Cos((mean-30)*rad) + .24*math.Cos(2*mean*rad) + .32*math.Cos((3*mean+6)*rad) - .2*math.Cos((4*mean-63)*rad)
	sl := 1 + .015*(l-50)*(l-50)/math.Sqrt(20+(l-50)*(l-50))
	sc, sh := 1+.045*c, 1+.015*c*t
	turn := 30 * math.Exp(-math.Pow((mean-275)/25, 2))
	rt := -math.Sin(2*turn*rad) * 2 * math.Sqrt(math.Pow(c, 7)/(math.Pow(c, 7)+math.Pow(25, 7)))
	x, y, z := dl/sl, dc/sc, dH/sh
	return math.Sqrt(x*x + y*y + z*z + rt*y*z)
}

func TestCIEDE2000(t *testing.T) {
	// Pairs 1 and 23 of the test data that Sharma, Wu and Dalal published.
	for _, c := range []struct {
		a, b [3]float64
		want float64
	}{
		{[3]float64{50, 2.6772, -79.7751}, [3]float64{50, 0, -82.7485}, 2.0425},
		{[3]float64{60.2574, -34.0099, 36.2677}, [3]float64{60.4626, -34.1751, 39.4387}, 1.2644},
	} {
		if got := ciede2000(c.a, c.b); math.Abs(got-c.want) > 5e-5 {
			t.Errorf("CIEDE2000 of %v and %v = %.4f, want %.4f", c.a, c.b, got, c.want)
		}
	}
}

// sight gives how a linear colour looks to somebody.
type sight func([3]float64) [3]float64

func machado(m matrix) sight { return m.of }

func brettel(one, two matrix, normal [3]float64) sight {
	return func(c [3]float64) [3]float64 {
		if c[0]*normal[0]+c[1]*normal[1]+c[2]*normal[2] >= 0 {
			return one.of(c)
		}
		return two.of(c)
	}
}

// sights are normal sight, then full protanopia, deuteranopia and tritanopia by Machado
// and others 2009 (severity 1) and by Brettel and others 1997, the latter with the
// coefficients for sRGB that libDaltonLens publishes.
var sights = []struct {
	name string
	see  sight
}{
	{"normal", func(c [3]float64) [3]float64 { return c }},
	{"protan Machado", machado(matrix{{.152286, 1.052583, -.204868}, {.114503, .786281, .099216}, {-.003882, -.048116, 1.051998}})},
	{"deutan Machado", machado(matrix{{.367322, .860646, -.227968}, {.280085, .672501, .047413}, {-.011820, .042940, .968881}})},
	{"tritan Machado", machado(matrix{{1.255528, -.076749, -.178779}, {-.078411, .930809, .147602}, {.004733, .691367, .303900}})},
	{"protan Brettel", brettel(
		matrix{{.14980, 1.19548, -.34528}, {.10764, .84864, .04372}, {.00384, -.00540, 1.00156}},
		matrix{{.14570, 1.16172, -.30742}, {.10816, .85291, .03892}, {.00386, -.00524, 1.00139}},
		[3]float64{.00048, .00393, -.00441})},
	{"deutan Brettel", brettel(
		matrix{{.36477, .86381, -.22858}, {.26294, .64245, .09462}, {-.02006, .02728, .99278}},
		matrix{{.37298, .88166, -.25464}, {.25954, .63506, .10540}, {-.01980, .02784, .99196}},
		[3]float64{-.00281, -.00611, .00892})},
	{"tritan Brettel", brettel(
		matrix{{1.01277, .13548, -.14826}, {-.01243, .86812, .14431}, {.07589, .80500, .11911}},
		matrix{{.93678, .18979, -.12657}, {.06154, .81526, .12320}, {-.37562, 1.12767, .24796}},
		[3]float64{.03901, -.02788, -.01113})},
}

func TestPalette(t *testing.T) {
	const least = 13
	for name, th := range themes(t) {
		for _, s := range sights {
			near, pair := math.Inf(1), ""
			for i := 1; i <= Slots; i++ {
				for j := 1; j < i; j++ {
					var labs [2][3]float64
					for k, slot := range []int{j, i} {
						seen := s.see(toLinear(th["c"+strconv.Itoa(slot)]))
						for n, v := range seen {
							seen[n] = min(max(v, 0), 1)
						}
						labs[k] = lab(seen)
					}
					if d := ciede2000(labs[0], labs[1]); d < near {
						near, pair = d, fmt.Sprintf("c%d–c%d", j, i)
					}
				}
			}
			t.Logf("%s, %s: least distance %.1f (%s)", name, s.name, near, pair)
			if near < least {
				t.Errorf("%s, %s: %s are only %.1f apart, want at least %d", name, s.name, pair, near, least)
			}
		}
	}
}
