package content

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// token is a sign, or the name of a function, or a value.
type token struct {
	sign  string
	value float64
	text  string // as it was written
}

// units are the words that may follow a number, and what they multiply it by.
var units = map[string]float64{
	"bytes": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "GB/s": 1e9, "TB/s": 1e12,
	"FLOP": 1, "MFLOP": 1e6, "GFLOP": 1e9, "TFLOP": 1e12, "TFLOP/s": 1e12,
	"µs": 1e-6, "ms": 1e-3, "s": 1, "%": 1e-2,
	"tok/s": 1, "tokens": 1, "weights": 1, "layers": 1, "sequences": 1, "experts": 1, "devices": 1, "elements": 1, "steps": 1,
}

var (
	number = regexp.MustCompile(`^([0-9]{1,3}(,[0-9]{3})+|[0-9]+)(\.[0-9]+)?`)
	word   = regexp.MustCompile(`^(%|[\pLµ][\pL\pN₀-₉′″]*(/s)?)`)
	sign   = regexp.MustCompile(`^[+−×·÷/^(),]`)
	call   = regexp.MustCompile(`^(max|min|floor|ceil)\(`)
	// spelt are two ways to write one sign.
	spelt = map[string]string{"·": "×", "/": "÷"}
)

// tokens reads arithmetic as the articles write it: 2 × 36 × (64 + 2 × 8), h·d, 2^3,
// max(a, b), with a unit after a number where it has one.
func tokens(text string, symbols map[string]float64) ([]token, error) {
	var list []token
	rest := strings.TrimSpace(text)
	take := func(s string) { rest = strings.TrimSpace(rest[len(s):]) }
	for rest != "" {
		if f := call.FindString(rest); f != "" {
			name := strings.TrimSuffix(f, "(")
			list = append(list, token{sign: name, text: name})
			take(name)
		} else if digits := number.FindString(rest); digits != "" {
			v, err := strconv.ParseFloat(strings.ReplaceAll(digits, ",", ""), 64)
			if err != nil {
				return nil, err
			}
			take(digits)
			unit := word.FindString(rest)
			if unit != "" {
				scale, ok := units[unit]
				if !ok {
					return nil, fmt.Errorf("%q: %q is no unit", text, unit)
				}
				take(unit)
				v *= scale
			}
			list = append(list, token{value: v, text: strings.TrimSpace(digits + " " + unit)})
		} else if name := word.FindString(rest); name != "" {
			v, ok := symbols[name]
			if !ok {
				return nil, fmt.Errorf("%q: %q was not said to be anything", text, name)
			}
			list = append(list, token{value: v, text: name})
			take(name)
		} else if s := sign.FindString(rest); s != "" {
			take(s)
			if same := spelt[s]; same != "" {
				s = same
			}
			list = append(list, token{sign: s, text: s})
		} else {
			return nil, fmt.Errorf("%q: %q is no arithmetic", text, rest)
		}
	}
	return list, nil
}

// evaluate is the value of an expression. It knows nothing of what it computes: it is to
// be a second opinion.
func evaluate(list []token) (v float64, err error) {
	e := &expression{list}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v, before %v", r, e.rest)
		}
	}()
	v = e.sum()
	if len(e.rest) > 0 {
		panic("more than an expression")
	}
	return v, nil
}

type expression struct{ rest []token }

func (e *expression) take(signs ...string) string {
	if len(e.rest) == 0 {
		return ""
	}
	for _, s := range signs {
		if e.rest[0].sign == s {
			e.rest = e.rest[1:]
			return s
		}
	}
	return ""
}

func (e *expression) want(s string) {
	if e.take(s) == "" {
		panic("want " + s)
	}
}

func (e *expression) sum() float64 {
	v := e.product()
	for {
		switch e.take("+", "−") {
		case "+":
			v += e.product()
		case "−":
			v -= e.product()
		default:
			return v
		}
	}
}

func (e *expression) product() float64 {
	v := e.power()
	for {
		switch e.take("×", "÷") {
		case "×":
			v *= e.power()
		case "÷":
			v /= e.power()
		default:
			return v
		}
	}
}

func (e *expression) power() float64 {
	v := e.atom()
	if e.take("^") != "" {
		v = math.Pow(v, e.atom())
	}
	return v
}

func (e *expression) atom() float64 {
	switch f := e.take("(", "max", "min", "floor", "ceil"); f {
	case "(":
		v := e.sum()
		e.want(")")
		return v
	case "max", "min":
		e.want("(")
		v := e.sum()
		for e.take(",") != "" {
			if f == "max" {
				v = math.Max(v, e.sum())
			} else {
				v = math.Min(v, e.sum())
			}
		}
		e.want(")")
		return v
	case "floor", "ceil":
		e.want("(")
		v := e.sum()
		e.want(")")
		if f == "floor" {
			return math.Floor(v)
		}
		return math.Ceil(v)
	}
	if len(e.rest) == 0 || e.rest[0].sign != "" {
		panic("want a number")
	}
	v := e.rest[0].value
	e.rest = e.rest[1:]
	return v
}
