package render

import (
	"fmt"
	"path"
	"strings"

	"rowproof/internal/render/api"
	"rowproof/internal/render/format"
)

// downloadsView is every file that the site gives beside its pages.
type downloadsView struct {
	Scope    string
	Folder   string
	Files    []offered
	Examples []command
}

// Name is a schema's own, for those who hear the page.
func (downloadsView) Name(schema string) string {
	return strings.TrimSuffix(path.Base(schema), ".json")
}

// offered is one file, or one a row.
type offered struct {
	Address, Link string // as a reader sees it, and where it leads; "" of one a row
	About         string
	Size, Each    string
	Schema, Kind  string
}

// elsewhereServed is where an example asks when the site's address is not known: where
// make serves it.
const elsewhereServed = "http://127.0.0.1:8080"

// writeDownloads lists the files, so all of them must have been written.
func (s *site) writeDownloads(w *world) error {
	v := &downloadsView{
		Folder: api.Folder,
		Scope:  format.Plural(len(w.rows), "row", "rows") + " · " + format.Plural(len(recipesIn(w)), "recipe", "recipes"),
	}
	for _, f := range apiFiles {
		o := offered{Address: f.Address, Link: f.Address, About: f.About, Schema: schemaAddress(f.Schema)}
		if strings.Contains(f.Address, "ID") {
			o.Link = ""
			o.Size, o.Each = s.sizeOf(w, func(m *measured) string { return rowFile(m.ID) })
		}
		v.Files = append(v.Files, o)
	}
	reports := offered{Address: "data/rows/…/RUN.json", About: "each run's report as measure wrote it, at the address that a row's report field names", Schema: schemaAddress("report")}
	reports.Size, reports.Each = s.sizeOf(w, func(m *measured) string { return m.File })
	samples := offered{Address: "data/rows/…/RUN.N.samples.jsonl.gz", About: "each request of row N of a run, with the arrival of each chunk, at the address that a row's samples field names", Schema: schemaAddress("sample")}
	samples.Size, samples.Each = s.sizeOf(w, func(m *measured) string { return path.Join(path.Dir(m.File), m.Row.Samples.File) })
	v.Files = append(v.Files,
		offered{Address: tableFile, Link: tableFile, About: "every row's main figures with their intervals, as one table; empty is missing", Kind: "CSV"},
		offered{Address: moduleFile, Link: moduleFile, About: "models with their recipes and rows, as an ES module: the same data", Kind: "JavaScript"},
		reports, samples,
		offered{Address: offlineFile, Link: offlineFile, About: "the explorer with every row that ranks as one page, which works from your disk without a network", Kind: "HTML"},
		offered{Address: "feed.xml", Link: "feed.xml", About: "what was measured and withdrawn, the newest first", Kind: "Atom"},
	)
	for i := range v.Files {
		f := &v.Files[i]
		if f.Link != "" {
			f.Size = format.Bytes(float64(s.out.files[f.Link]))
		}
	}
	v.Examples = s.examples(w)
	return s.write(&page{
		Address: "downloads/", Kind: "downloads", Section: elsewhere, Title: "Downloads",
		Description: "Every row, recipe, model, device and gap as JSON with its schema, as CSV and as an ES module.", Main: v,
	})
}

// sizeOf adds up the files of rows, each once, and says how many there are.
func (s *site) sizeOf(w *world, file func(*measured) string) (size, each string) {
	seen := map[string]bool{}
	var sum int64
	for _, m := range w.rows {
		name := file(m)
		if n, ok := s.out.files[name]; ok && !seen[name] {
			seen[name] = true
			sum += n
		}
	}
	return format.Bytes(float64(sum)), "in " + format.Plural(len(seen), "file", "files")
}

// examples are a command for each file, which a test runs as they stand.
func (s *site) examples(w *world) []command {
	at := s.homeAddress()
	id := "ID"
	if len(w.rows) > 0 {
		id = newestFirst(w.rows)[0].ID
	}
	ask := func(name, file, filter string) command {
		return command{name, fmt.Sprintf("curl -s %s%s |\n  %s", at, file, filter)}
	}
	out := []command{
		ask("What there is", api.Folder+"index.json", `jq -r '.files[].address'`),
		ask("The rows that rank, the most output tok/s/GPU first", api.Folder+"rows.json",
			`jq -r '[.rows[] | select(.ranks)] | sort_by(-.figures.output_tok_s_per_gpu)[] |`+"\n"+
				`    [.id, .recipe, .concurrency, .figures.output_tok_s_per_gpu, .figures.ttft_ms.p99] | @tsv'`),
		ask("Each gate's answer about one row, with its reason", rowFile(id), `jq -r '.gates[] | "\(.gate): \(.answer). \(.reason)"'`),
		ask("How each recipe that nobody has measured is launched", api.Folder+"recipes.json", `jq -r '.recipes[] | select(.rows == []) | "\(.id): \(.launch | join(" "))"'`),
		ask("Which models are offered in fp8", api.Folder+"models.json", `jq -r '.models[] | select(.weights | index("fp8")) | .name'`),
		ask("Devices by bandwidth, GB/s", api.Folder+"targets.json", `jq -r '.targets[] | select(.count == 1) | [.id, .bandwidth_gb_s] | @tsv'`),
		ask("The command that closes the first gap", api.Folder+"gaps.json", `jq -r '.gaps[0].command'`),
		ask("What was withdrawn, and why", api.Folder+"withdrawn.json", `jq -r '.withdrawn[] | [.date, .id, .reason] | @tsv'`),
		ask("The first columns of the table", tableFile, `cut -d, -f1-3,7-9`),
		{"Models with their rows, as a module", fmt.Sprintf("curl -so models.mjs %s%s &&\n  node --input-type=module -e 'import { models } from \"./models.mjs\";\n    for (const m of models) console.log(m.id, m.recipes.flatMap((r) => r.rows).length)'", at, moduleFile)},
	}
	return out
}
