package engine

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseStreamFollowsTheGrammar(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"three line ends", "data: a\n\ndata: b\r\n\r\ndata: c\r\r", []string{"a", "b", "c"}},
		{"mark at the start", "\ufeffdata: a\n\n", []string{"a"}},
		{"no space", "data:{\"x\":1}\n\n", []string{`{"x":1}`}},
		{"one space only is dropped", "data:  a\n\n", []string{" a"}},
		{"several data lines", "data: a\ndata\ndata: b\n\n", []string{"a\n\nb"}},
		{"comments are nothing", ": keep-alive\n\n: again\ndata: a\n: inside\n\n", []string{"a"}},
		{"an event without data is none", "event: ping\nid: 7\n\ndata: a\n\n", []string{"a"}},
		{"an unknown field is none", "error: {}\nretry: 5\nDATA: x\n\n", nil},
		{"empty data is an event", "data\n\n", []string{""}},
		{"two at once", "data: a\n\ndata: b\n\n", []string{"a", "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := parseStream([]byte(c.body), 1<<30)
			var got []string
			for _, e := range s.events {
				got = append(got, string(e.data))
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("events %q, want %q", got, c.want)
			}
			if s.open != nil || s.cut {
				t.Errorf("open %v, cut %v for a body that ends well", s.open, s.cut)
			}
		})
	}
}

func TestEventEndsWithItsDataLine(t *testing.T) {
	for body, want := range map[string]string{
		"data: a\n\n":                       "data: a\n",
		"data: a\r\n\r\n":                   "data: a\r",
		"data: a\nid: 1\n\n":                "data: a\n",
		"data: a\ndata: b\n\n":              "data: a\ndata: b\n",
		": x\n\nevent: e\ndata: a\n: y\n\n": ": x\n\nevent: e\ndata: a\n",
	} {
		s := parseStream([]byte(body), 1<<30)
		if len(s.events) != 1 {
			t.Fatalf("%q: %d events", body, len(s.events))
		}
		if got := body[:s.events[0].end]; got != want {
			t.Errorf("%q: the event is delivered by %q, want %q", body, got, want)
		}
	}
}

func TestBodyEndsInsideAnEvent(t *testing.T) {
	for body, cut := range map[string]bool{
		"data: a":          true,
		"data: a\n":        false,
		"data: a\nid":      true,
		"data: a\n: hello": false,
	} {
		s := parseStream([]byte(body), 1<<30)
		if len(s.events) != 0 || s.open == nil || string(s.open.data) != "a" || s.cut != cut {
			t.Errorf("%q: %+v", body, s)
		}
	}
}

func FuzzParseStream(f *testing.F) {
	f.Add("data: a\r\n\r\n: c\ndata:b\n\n")
	f.Add("\ufeffdata\n\nerror: {}\n\ndata: [DONE]")
	f.Fuzz(func(t *testing.T, body string) {
		s := parseStream([]byte(body), 1<<30)
		last := int64(0)
		for _, e := range s.events {
			if e.end <= last || e.end > int64(len(body)) {
				t.Fatalf("event ends at %d after %d in %d bytes", e.end, last, len(body))
			}
			last = e.end
			if strings.ContainsRune(string(e.data), '\r') {
				t.Fatalf("data %q holds a line end", e.data)
			}
		}
	})
}
