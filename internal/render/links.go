package render

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/html"
)

// links collects, over all pages, what is linked to and what is there, and holds each
// page to the content policy while it reads it.
type links struct {
	base string

	mu       sync.Mutex
	ids      map[string]map[string]bool // page address → its ids
	sets     map[string]map[string]bool // those of pages that have the same
	wanted   map[string]string          // address or address#id, without base → the first page that links to it
	problems []string
}

// pageLinks is what one page has and wants.
type pageLinks struct {
	IDs, Wants, Problems []string
}

func newLinks(base string) *links {
	return &links{base: base, ids: map[string]map[string]bool{}, sets: map[string]map[string]bool{}, wanted: map[string]string{}}
}

// read reads one finished page.
func (l *links) read(data []byte) *pageLinks {
	ids := map[string]bool{}
	var wants, refs, problems []string
	attribute := func(tag, name, value string) {
		switch name {
		case "id":
			if ids[value] {
				problems = append(problems, fmt.Sprintf("id %q stands twice", value))
			}
			ids[value] = true
		case "style":
			problems = append(problems, fmt.Sprintf("<%s style=%q>: the content policy allows no style attribute", tag, value))
		case "for", "aria-labelledby", "aria-describedby", "aria-controls":
			refs = append(refs, strings.Fields(value)...)
		case "href", "xlink:href", "src":
			switch {
			case strings.HasPrefix(value, "#"):
				refs = append(refs, value[1:])
			case strings.HasPrefix(value, l.base) && !strings.HasPrefix(value, "//"):
				wants = append(wants, strings.TrimPrefix(value, l.base))
			case tag == "a" && (strings.HasPrefix(value, "https://") || strings.HasPrefix(value, "http://") || strings.HasPrefix(value, "mailto:")):
			default:
				problems = append(problems, fmt.Sprintf("<%s %s=%q> leaves the site or misses its base %s", tag, name, value, l.base))
			}
		default:
			if strings.HasPrefix(name, "on") {
				problems = append(problems, fmt.Sprintf("<%s %s>: the content policy allows no inline script", tag, name))
			}
		}
	}
	for z := html.NewTokenizer(bytes.NewReader(data)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return l.found(ids, wants, refs, problems)
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			tag := string(name)
			for more {
				var key, value []byte
				key, value, more = z.TagAttr()
				attribute(tag, string(key), string(value))
			}
		}
	}
}

// found is what one page has and wants, in order.
func (*links) found(ids map[string]bool, wants, refs, problems []string) *pageLinks {
	for _, id := range refs {
		if !ids[id] {
			problems = append(problems, fmt.Sprintf("refers to #%s, which this page does not have", id))
		}
	}
	slices.Sort(wants)
	return &pageLinks{slices.Sorted(maps.Keys(ids)), slices.Compact(wants), problems}
}

// add takes in a page at its address ("" is the home page). Rows' pages mostly have the
// same ids, which are held once.
func (l *links) add(address string, p *pageLinks) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := strings.Join(p.IDs, " ")
	ids := l.sets[name]
	if ids == nil {
		ids = map[string]bool{}
		for _, id := range p.IDs {
			ids[id] = true
		}
		l.sets[name] = ids
	}
	l.ids[address] = ids
	for _, w := range p.Wants {
		if from, ok := l.wanted[w]; !ok || address < from {
			l.wanted[w] = address
		}
	}
	for _, problem := range p.Problems {
		l.problems = append(l.problems, "/"+address+": "+problem)
	}
}

// check lists everything that is wrong, in a stable order. files says which paths exist.
func (l *links) check(files map[string]int64) []string {
	problems := slices.Clone(l.problems)
	for want, from := range l.wanted {
		address, id, anchored := strings.Cut(want, "#")
		address, _, _ = strings.Cut(address, "?") // the page's own script reads what is asked
		ids, isPage := l.ids[address]
		_, isFile := files[address]
		switch {
		case !isPage && !isFile:
			problems = append(problems, fmt.Sprintf("/%s: links to /%s, which is not built", from, address))
		case anchored && !ids[id]:
			problems = append(problems, fmt.Sprintf("/%s: links to /%s#%s, and that page has no such id", from, address, id))
		}
	}
	slices.Sort(problems)
	return problems
}
