package engine

import "bytes"

// event is one event of an event stream.
type event struct {
	name string // the event field; "" when not given
	data []byte // data lines joined by newlines
	// end is the offset in the body after the byte that ends the event's last data
	// line: from then on the data was delivered. The blank line that dispatches the
	// event may come later and adds nothing to it.
	end int64
}

// stream is a whole body, taken apart.
type stream struct {
	events []event
	// open is an event that the body ended in, before its blank line. cut says that
	// even its last line was not complete.
	open *event
	cut  bool
	// errors are lines of a field "error", which the grammar does not know and which
	// some servers send a failure by. Each holds the line's value.
	errors [][]byte
	stray  []byte // the first line that is of no field that the grammar knows; nil: none
	more   bool   // there are more events than were wanted; what follows was not read
}

// parseStream takes a complete body apart by the WHATWG event-stream grammar: an
// optional byte order mark; lines ended by CR LF, LF or CR; comments; fields with at
// most one space dropped after the colon; events ended by a blank line. What the
// grammar ignores and a reader may still need is kept beside the events. It reads no
// more than most of them.
func parseStream(body []byte, most int) stream {
	var s stream
	pos := 0
	if bytes.HasPrefix(body, []byte("\xEF\xBB\xBF")) {
		pos = 3
	}
	var e event
	has, own := false, false // it has data; which is no part of the body
	for pos < len(body) {
		line, next, ended := cutLine(body, pos)
		pos = next
		if len(s.events)+len(s.errors) > most {
			s.more = true
			return s
		}
		if len(line) == 0 && ended {
			if has {
				s.events = append(s.events, e)
			}
			e, has = event{}, false
			continue
		}
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(name) {
		case "data":
			switch {
			case !has:
				e.data, has, own = value, true, false
			case !own:
				e.data, own = e.data[:len(e.data):len(e.data)], true // what follows it in the body stays
				fallthrough
			default:
				e.data = append(append(e.data, '\n'), value...)
			}
			e.end = int64(lineEnd(body, pos, ended))
			s.cut = !ended
		case "event":
			e.name = string(value)
		case "error":
			s.errors = append(s.errors, value)
		default: // a comment, id, retry, or a field that nobody knows
			s.cut = s.cut || !ended && len(line) > 0 && line[0] != ':'
			if s.stray == nil && len(name) > 0 && string(name) != "id" && string(name) != "retry" {
				s.stray = line
			}
		}
	}
	if has {
		s.open = &e
	}
	return s
}

// cutLine returns the line that begins at pos without its end, where the next one
// begins, and whether the line was ended.
func cutLine(body []byte, pos int) (line []byte, next int, ended bool) {
	n := bytes.IndexAny(body[pos:], "\r\n")
	if n < 0 {
		return body[pos:], len(body), false
	}
	next = pos + n + 1
	if body[pos+n] == '\r' && next < len(body) && body[next] == '\n' {
		next++
	}
	return body[pos : pos+n], next, true
}

// lineEnd is the offset after the first byte of the line's end: a CR ends a line, LF
// or not.
func lineEnd(body []byte, next int, ended bool) int {
	if ended && next >= 2 && body[next-1] == '\n' && body[next-2] == '\r' {
		return next - 1
	}
	return next
}
