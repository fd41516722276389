package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// Bounds of one JSON text. The largest published config.json, which lists the format of
// each layer, is under half a megabyte.
const (
	mostConfigBytes = 4 << 20
	mostValues      = 1 << 19
	deepest         = 100
)

// value is one value of a JSON text. Numbers stay as written.
type value struct {
	kind   byte // '{', '[', '"', '0' a number, 't', 'f', 'n' null
	text   string
	keys   []string
	values []value // members or elements
}

func (v *value) kindName() string {
	switch v.kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string, " + shown(v.text)
	case '0':
		return clip(v.text)
	case 't':
		return "true"
	case 'f':
		return "false"
	}
	return "null"
}

// readTree reads one JSON text to its end. A key that stands twice in an object is a
// problem; the first value counts. Python writes numbers that JSON has not, NaN and
// Infinity: they are numbers here, and no count takes them.
func readTree(data []byte, p *problems) (*value, bool) {
	if len(data) > mostConfigBytes {
		p.add("", "is "+strconv.Itoa(len(data))+" bytes long; a config.json of at most "+strconv.Itoa(mostConfigBytes)+" is accepted")
		return nil, false
	}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		p.add("", "is no JSON: it begins with the byte order mark of UTF-8, which transformers does not read either; a text without one is accepted")
		return nil, false
	}
	if bytes.Contains(data, []byte("NaN")) || bytes.Contains(data, []byte("Infinity")) {
		data = quoteWords(data)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	t := tree{d: d, problems: p}
	v, err := t.value("", 0)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return &v, true
		} else if err == nil {
			err = errors.New("data after the end of the JSON text")
		}
	}
	line := 1 + bytes.Count(data[:min(int(d.InputOffset()), len(data))], []byte("\n"))
	text := err.Error()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		text = "the text ends within a value"
	}
	p.add("", "is no JSON: line "+strconv.Itoa(line)+": "+text)
	return nil, false
}

type tree struct {
	d        *json.Decoder
	problems *problems
	count    int
}

func (t *tree) value(path string, depth int) (value, error) {
	if depth > deepest {
		return value{}, errors.New("nested deeper than " + strconv.Itoa(deepest))
	}
	if t.count++; t.count > mostValues {
		return value{}, errors.New("more than " + strconv.Itoa(mostValues) + " values")
	}
	token, err := t.d.Token()
	if err != nil {
		return value{}, err
	}
	switch x := token.(type) {
	case json.Number:
		return value{kind: '0', text: x.String()}, nil
	case string:
		if word, ok := unquoted[x]; ok {
			return value{kind: '0', text: word}, nil
		}
		return value{kind: '"', text: x}, nil
	case bool:
		if x {
			return value{kind: 't'}, nil
		}
		return value{kind: 'f'}, nil
	case json.Delim:
		if x == '[' {
			return t.array(path, depth)
		}
		return t.object(path, depth)
	}
	return value{kind: 'n'}, nil
}

func (t *tree) array(path string, depth int) (value, error) {
	v := value{kind: '['}
	for t.d.More() {
		e, err := t.value(path+"["+strconv.Itoa(len(v.values))+"]", depth+1)
		if err != nil {
			return v, err
		}
		v.values = append(v.values, e)
	}
	_, err := t.d.Token()
	return v, err
}

func (t *tree) object(path string, depth int) (value, error) {
	v := value{kind: '{'}
	seen := map[string]bool{}
	for t.d.More() {
		token, err := t.d.Token()
		if err != nil {
			return v, err
		}
		k, ok := token.(string)
		if !ok {
			return v, errors.New("expected a key in quotes")
		}
		at := join(path, k)
		e, err := t.value(at, depth+1)
		if err != nil {
			return v, err
		}
		if seen[k] {
			t.problems.add(at, "stands twice; once is accepted")
			continue
		}
		seen[k] = true
		v.keys, v.values = append(v.keys, k), append(v.values, e)
	}
	_, err := t.d.Token()
	return v, err
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// unquoted are the strings that quoteWords leaves behind, with the words they stand for.
// No text of a config.json begins with a NUL.
var unquoted = map[string]string{"\x00NaN": "NaN", "\x00Infinity": "Infinity", "\x00-Infinity": "-Infinity"}

// quoteWords puts the numbers that only Python writes into quotes, marked.
func quoteWords(data []byte) []byte {
	var out bytes.Buffer
	inString := false
	for i := 0; i < len(data); i++ {
		if inString && data[i] == '\\' && i+1 < len(data) {
			out.Write(data[i : i+2])
			i++
			continue
		}
		if data[i] == '"' {
			inString = !inString
		}
		if !inString {
			if word := wordAt(data[i:]); word != "" {
				out.WriteString(`"\u0000` + word + `"`)
				i += len(word) - 1
				continue
			}
		}
		out.WriteByte(data[i])
	}
	return out.Bytes()
}

func wordAt(data []byte) string {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(data, []byte(word)) {
			return word
		}
	}
	return ""
}
