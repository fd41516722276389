package row

import "strconv"

// formError says what is wrong with a written form.
type formError string

func (e formError) Error() string { return string(e) }

// UnmarshalJSON reads what MarshalJSON writes: whole numbers of at least 0, and null
// for NoStamp.
func (g *Gaps) UnmarshalJSON(b []byte) error {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return formError("t: expected an array of whole µs or null, found " + clip(b))
	}
	out := make(Gaps, 0, 8)
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		*g = out
		return nil
	}
	for i < len(b) {
		start := i
		for i < len(b) && b[i] != ',' && b[i] != ']' && b[i] > ' ' {
			i++
		}
		word := string(b[start:i])
		if word == "null" {
			out = append(out, NoStamp)
		} else {
			v, err := strconv.ParseInt(word, 10, 64)
			if err != nil || v < 0 {
				return formError("t: entry " + strconv.Itoa(len(out)) + " is " + strconv.Quote(word) + "; expected whole µs of at least 0, or null")
			}
			out = append(out, v)
		}
		i = skipSpace(b, i)
		if i >= len(b) {
			break
		}
		if b[i] == ']' {
			*g = out
			return nil
		}
		i = skipSpace(b, i+1)
	}
	return formError("t: the array does not end")
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

func clip(b []byte) string {
	if len(b) > 20 {
		return strconv.Quote(string(b[:20])) + "…"
	}
	return strconv.Quote(string(b))
}
