package rowfile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"

	"rowproof/internal/row"
)

// hashed are the parts of a report that a row's id covers, beside the row's own
// workload and proof.
var hashed = []string{"schema", "recipe", "as_it_was", "measured_at", "tool", "receipt", "client"}

// canonical appends the RFC 8785 form of a value. Numbers must be integers of at most
// 2^53: any other number would have to pass through a float.
func canonical(b []byte, n *node, path string) ([]byte, error) {
	switch n.kind {
	case '{':
		order := make([]int, len(n.keys))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int { return compareUTF16(n.keys[i].name, n.keys[j].name) })
		b = append(b, '{')
		for k, i := range order {
			if k > 0 {
				b = append(b, ',')
			}
			b = append(appendJCS(b, n.keys[i].name), ':')
			var err error
			if b, err = canonical(b, n.values[i], join(path, n.keys[i].name)); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	case '[':
		b = append(b, '[')
		for i, v := range n.values {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = canonical(b, v, path+"["+strconv.Itoa(i)+"]"); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case '"':
		return appendJCS(b, n.text), nil
	case '0':
		v, err := strconv.ParseInt(n.text, 10, 64)
		if err != nil || v > 1<<53 || v < -1<<53 {
			return nil, fmt.Errorf("%s: %s in the hashed part; only whole numbers up to 2^53 stand as numbers there, any other as text in quotes", path, n.text)
		}
		return strconv.AppendInt(b, v, 10), nil
	}
	return append(b, n.text...), nil
}

// compareUTF16 orders as RFC 8785 does, by UTF-16 code units.
func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// appendJCS quotes as RFC 8785 does: only what must be escaped is, and in one way.
func appendJCS(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			if c < 0x20 {
				b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
			} else {
				b = append(b, c)
			}
		}
	}
	return append(b, '"')
}

// idOf hashes the parts of a report tree that make the id of row i.
func idOf(root *node, i int) (string, error) {
	rows := root.member("rows")
	if rows == nil || rows.kind != '[' || i < 0 || i >= len(rows.values) {
		return "", fmt.Errorf("rows[%d]: no such row", i)
	}
	parts := &node{kind: '{'}
	add := func(name string, from *node) error {
		v := from.member(name)
		if v == nil {
			return fmt.Errorf("%s: missing, so no id can be computed", name)
		}
		parts.keys, parts.values = append(parts.keys, key{name: name}), append(parts.values, v)
		return nil
	}
	for _, name := range hashed {
		if err := add(name, root); err != nil {
			return "", err
		}
	}
	for _, name := range []string{"workload", "proof"} {
		if err := add(name, rows.values[i]); err != nil {
			return "", fmt.Errorf("rows[%d].%w", i, err)
		}
	}
	b, err := canonical(nil, parts, "")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6]), nil
}

// ID is the id of row i: the first 12 hex digits of the SHA-256 over the RFC 8785 form
// of the report's hashed parts with the row's workload and proof.
func ID(r *row.Report, i int) (string, error) {
	if i < 0 || i >= len(r.Rows) {
		return "", fmt.Errorf("rows[%d]: no such row", i)
	}
	// Only the hashed parts are written: figures may still be open.
	short := *r
	short.Rows = []row.Row{{Workload: r.Rows[i].Workload, Proof: r.Rows[i].Proof}}
	data, err := json.Marshal(&short)
	if err != nil {
		return "", err
	}
	root, err := readJSON(data)
	if err != nil {
		return "", err
	}
	return idOf(root, 0)
}

// IDs are the ids of a written report's rows, recomputed from its bytes.
func IDs(data []byte) ([]string, error) {
	root, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	rows := root.member("rows")
	if rows == nil {
		return nil, fmt.Errorf("rows: missing")
	}
	ids := make([]string, len(rows.values))
	for i := range ids {
		if ids[i], err = idOf(root, i); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// SHA256 is the hash of a file's bytes in hex.
func SHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
