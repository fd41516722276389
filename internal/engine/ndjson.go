package engine

import "bytes"

// parseLines takes a complete body apart into lines, each of which holds one JSON value.
// Lines of white space are nothing. It reads no more than most of them.
func parseLines(body []byte, most int) stream {
	var s stream
	for pos := 0; pos < len(body); {
		n := bytes.IndexByte(body[pos:], '\n')
		end, ended := pos+n+1, n >= 0
		if !ended {
			end = len(body)
		}
		line := bytes.TrimSpace(body[pos:end])
		pos = end
		if len(line) == 0 {
			continue
		}
		if len(s.events) > most {
			s.more = true
			return s
		}
		e := event{data: line, end: int64(end)}
		if !ended {
			s.open, s.cut = &e, true
			break
		}
		s.events = append(s.events, e)
	}
	return s
}
