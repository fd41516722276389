package render

import (
	"encoding/xml"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rowproof/internal/rowtest"
)

// wholeSite is built under a whole address, with a row that ranks and one withdrawn.
func wholeSite(t *testing.T) (out, home string) {
	t.Helper()
	root := newRoot(t)
	addReport(t, root, 1, rowtest.Options{})
	gone, _ := addReport(t, root, 2, another())
	write(t, root, "data/withdrawn.yaml", "- id: \""+gone.Rows[0].ID+"\"\n  date: 2026-11-30\n  reason: a <flag> & \"quotes\" were dropped\n")
	out, _, err := build(t, root, func(o *Options) { o.Origin = "https://owner.github.io" })
	if err != nil {
		t.Fatal(err)
	}
	return out, "https://owner.github.io/rowproof/"
}

// isThere says whether an address of the site has a file.
func isThere(t *testing.T, out, home, address string) {
	t.Helper()
	path, ok := strings.CutPrefix(address, home)
	if !ok {
		t.Errorf("%s is not an address of the site", address)
		return
	}
	path, _, _ = strings.Cut(path, "#")
	if path == "" || strings.HasSuffix(path, "/") {
		path += "index.html"
	}
	if _, err := os.Stat(filepath.Join(out, filepath.FromSlash(path))); err != nil {
		t.Errorf("%s: %v", address, err)
	}
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID      []string   `xml:"http://www.w3.org/2005/Atom id"`
	Title   []string   `xml:"http://www.w3.org/2005/Atom title"`
	Updated []string   `xml:"http://www.w3.org/2005/Atom updated"`
	Summary []string   `xml:"http://www.w3.org/2005/Atom summary"`
	Link    []atomLink `xml:"http://www.w3.org/2005/Atom link"`
}

// The feed holds what RFC 4287 asks for: one id, title and time of the feed (4.1.1) and of
// each entry (4.1.2), an author (4.2.1), a link to itself (4.2.7.2), ids that are IRIs and
// differ (4.2.6), times with a zone (3.3). What it links to is there.
func TestFeedHoldsWhatItsFormAsksFor(t *testing.T) {
	out, home := wholeSite(t)
	var feed struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		atomEntry
		Author []struct {
			Name string `xml:"http://www.w3.org/2005/Atom name"`
		} `xml:"http://www.w3.org/2005/Atom author"`
		Entry []atomEntry `xml:"http://www.w3.org/2005/Atom entry"`
	}
	if err := xml.Unmarshal([]byte(read(t, out, "feed.xml")), &feed); err != nil {
		t.Fatal(err)
	}
	if len(feed.Author) != 1 || feed.Author[0].Name == "" {
		t.Errorf("authors %+v; want one, since entries have none", feed.Author)
	}
	ids := map[string]bool{}
	var newest time.Time
	for i, e := range append([]atomEntry{feed.atomEntry}, feed.Entry...) {
		if len(e.ID) != 1 || len(e.Title) != 1 || len(e.Updated) != 1 || e.Title[0] == "" {
			t.Fatalf("entry %d has ids %q, titles %q, times %q; want one of each", i, e.ID, e.Title, e.Updated)
		}
		if u, err := url.Parse(e.ID[0]); err != nil || !u.IsAbs() || ids[e.ID[0]] {
			t.Errorf("entry %d: id %q is no IRI, or stands twice", i, e.ID[0])
		}
		ids[e.ID[0]] = true
		at, err := time.Parse(time.RFC3339, e.Updated[0])
		if err != nil {
			t.Errorf("entry %d: %v", i, err)
		}
		if i == 0 {
			newest = at
		} else if at.After(newest) {
			t.Errorf("entry %d of %v is newer than the feed, of %v", i, at, newest)
		}
		alternates := 0
		for _, l := range e.Link {
			isThere(t, out, home, l.Href)
			if l.Rel == "" || l.Rel == "alternate" {
				alternates++
			}
		}
		if alternates != 1 {
			t.Errorf("entry %d has %d pages", i, alternates)
		}
	}
	if len(feed.Entry) != 3 { // two runs and a withdrawal
		t.Errorf("%d entries; want 3", len(feed.Entry))
	}
	if feed.Link[0].Rel != "self" || feed.Link[0].Href != home+"feed.xml" {
		t.Errorf("the feed says that it stands at %+v", feed.Link)
	}
	said := ""
	for _, e := range feed.Entry {
		said += strings.Join(e.Summary, "")
	}
	if !strings.Contains(said, `a <flag> & "quotes" were dropped`) {
		t.Errorf("the reason is told as %q", said)
	}
}

// The site map lists every page but the one for addresses without a page, by whole
// addresses, and robots.txt names it.
func TestSiteMap(t *testing.T) {
	out, home := wholeSite(t)
	var m struct {
		XMLName xml.Name `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
		URL     []struct {
			Loc string `xml:"loc"`
		} `xml:"url"`
	}
	if err := xml.Unmarshal([]byte(read(t, out, "sitemap.xml")), &m); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, u := range m.URL {
		isThere(t, out, home, u.Loc)
		listed[u.Loc] = true
	}
	for name := range tree(t, out) {
		if dir, ok := strings.CutSuffix(name, "index.html"); ok && !listed[home+dir] {
			t.Errorf("the map lacks /%s", dir)
		}
	}
	if !strings.Contains(read(t, out, "robots.txt"), "\nSitemap: "+home+"sitemap.xml\n") {
		t.Error("robots.txt does not name the map")
	}
}

// Each page names a picture that is there, a model's pages and rows the model's, under the
// whole address that those who show it ask for; a site without one names none.
func TestPicturesOfPages(t *testing.T) {
	out, home := wholeSite(t)
	image := regexp.MustCompile(`<meta property="og:image" content="([^"]*)"`)
	seen := 0
	for name, data := range tree(t, out) {
		if filepath.Base(name) != "index.html" {
			continue
		}
		m := image.FindSubmatch(data)
		if m == nil {
			t.Errorf("%s names no picture", name)
			continue
		}
		isThere(t, out, home, string(m[1]))
		want := "og/rowproof.png"
		if rest, ok := strings.CutPrefix(name, "recipes/"); ok && rest != "index.html" {
			want = "og/" + filepath.Dir(rest) + ".png"
		} else if strings.HasPrefix(name, "r/") {
			want = "og/llama-3.1-8b.png"
			seen++
		}
		if got := strings.TrimPrefix(string(m[1]), home); got != want && !strings.HasPrefix(name, "cells/") {
			t.Errorf("%s names %s; want %s", name, got, want)
		}
	}
	if seen != 4 {
		t.Errorf("%d rows' pages were looked at; want 4", seen)
	}
	f, err := os.Open(filepath.Join(out, "og", "llama-3.1-8b.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if c, err := png.DecodeConfig(f); err != nil || c.Width != 1200 || c.Height != 630 {
		t.Errorf("the picture is %+v, %v", c, err)
	}
	if s := theSite(t); strings.Contains(read(t, s.out, "index.html"), "og:image") {
		t.Error("a site that does not know its address names a picture by part of it")
	}
}
