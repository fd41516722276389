package host

import "rowproof/internal/row"

// reading gathers what one pass over the tools brought.
type reading struct {
	devices []row.DeviceSample
	apps    []row.DeviceApp
	texts   []row.RawText
	unread  map[string]string
}

// raw keeps a tool's output as it was, secrets masked.
func (r *reading) raw(when, name, text string) {
	if text != "" {
		r.texts = append(r.texts, row.RawText{When: when, Name: name, Text: maskText(text)})
	}
}
