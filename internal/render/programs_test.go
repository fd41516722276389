package render

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rowproof/internal/render/api"
	"rowproof/internal/rowtest"
)

// held is a file and the form that it must have.
type held struct {
	Schema string `json:"schema"`
	File   string `json:"file"`
	Lines  bool   `json:"lines"`
}

// validate has ajv hold files against the schemas of a built site: its complaints, a list
// a file.
func validate(t *testing.T, out string, cases []held) [][]string {
	t.Helper()
	schemas := map[string]string{}
	for _, f := range api.Forms {
		schemas[f.Name] = filepath.Join(out, schemaAddress(f.Name))
	}
	asked, err := json.Marshal(map[string]any{"schemas": schemas, "cases": cases})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "testdata/validate.mjs")
	cmd.Stdin = bytes.NewReader(asked)
	var told bytes.Buffer
	cmd.Stderr = &told
	answer, err := cmd.Output()
	if err != nil {
		t.Fatalf("the validator: %v\n%s", err, told.String())
	}
	var said [][]string
	if err := json.Unmarshal(answer, &said); err != nil || len(said) != len(cases) {
		t.Fatalf("the validator answers %d of %d cases: %v", len(said), len(cases), err)
	}
	return said
}

// formOf is the schema that a published file must hold to; "" for files that have none.
func formOf(t *testing.T, out, name string) held {
	t.Helper()
	h := held{File: filepath.Join(out, name)}
	switch {
	case strings.HasPrefix(name, api.Folder+"schema/"):
	case strings.HasPrefix(name, api.Folder+"rows/"):
		h.Schema = "row"
	case strings.HasPrefix(name, api.Folder):
		h.Schema = strings.TrimSuffix(strings.TrimPrefix(name, api.Folder), ".json")
	case strings.HasPrefix(name, "data/rows/") && strings.HasSuffix(name, ".json"):
		h.Schema = "report"
	case strings.HasSuffix(name, ".samples.jsonl.gz"):
		h.Schema, h.Lines = "sample", true
		h.File = unpacked(t, h.File)
	}
	return h
}

func unpacked(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "unpacked")
	if err := os.WriteFile(to, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return to
}

// Every file that the site gives to programs, and every report and samples file that it
// publishes, holds to its schema; all forms occur.
func TestPublishedFilesHoldToTheirSchemas(t *testing.T) {
	root := newRoot(t)
	kept, _ := addReport(t, root, 1, rowtest.Options{})
	gone, _ := addReport(t, root, 2, another())
	write(t, root, "data/withdrawn.yaml", "- id: \""+gone.Rows[0].ID+"\"\n  date: 2026-11-30\n  reason: a flag was dropped\n")
	out, _, err := build(t, root, nil)
	if err != nil {
		t.Fatal(err)
	}
	var cases []held
	forms := map[string]bool{}
	err = fs.WalkDir(os.DirFS(out), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".jsonl.gz")) {
			if h := formOf(t, out, name); h.Schema != "" {
				cases, forms[h.Schema] = append(cases, h), true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range api.Forms {
		if !forms[f.Name] {
			t.Errorf("no file of the form %s is published", f.Name)
		}
	}
	for _, complaints := range validate(t, out, cases) {
		for _, c := range complaints {
			t.Error(c)
		}
	}

	// The schemas refuse what is not of their form, so that holding to them says something.
	var planted []held
	plant := func(schema, file, old, new string) {
		text := read(t, out, file)
		if !strings.Contains(text, old) {
			t.Fatalf("%s has no %s", file, old)
		}
		to := filepath.Join(t.TempDir(), "planted.json")
		if err := os.WriteFile(to, []byte(strings.Replace(text, old, new, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		planted = append(planted, held{Schema: schema, File: to})
	}
	rows := api.Folder + "rows.json"
	plant("rows", rows, `"isl":128`, `"isl":"128"`)
	plant("rows", rows, `"isl":128,`, ``)
	plant("rows", rows, `"isl":128`, `"isl":128,"extra":1`)
	plant("rows", rows, `"verdict":"verified"`, `"verdict":null`)
	plant("rows", rows, `"units":{`, `"unit":{`)
	plant("row", rowFile(kept.Rows[0].ID), `"blocks":false`, `"blocks":0`)
	plant("models", api.Folder+"models.json", `"hidden":`, `"hidden":0.5,"wide":`)
	plant("targets", api.Folder+"targets.json", `"bandwidth_gb_s":`, `"bandwidth_gb_s":"fast","b":`)
	for i, complaints := range validate(t, out, planted) {
		if len(complaints) == 0 {
			t.Errorf("planted defect %d, of the form %s, passes", i, planted[i].Schema)
		}
	}
}

// Each report of the repository holds to the schema that the site gives of reports.
func TestEveryReportHoldsToTheSchema(t *testing.T) {
	s := theSite(t)
	files, err := filepath.Glob(filepath.Join(repository, "data/rows/*/*/*/*/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []held
	for _, f := range files {
		cases = append(cases, held{Schema: "report", File: f})
	}
	for _, complaints := range validate(t, s.out, cases) {
		for _, c := range complaints {
			t.Error(c)
		}
	}
}

// What programs are told of a row is what its report says: figures with a unit each, each
// null with its reason, every gate's answer.
func TestWhatProgramsAreTold(t *testing.T) {
	s := theSite(t)
	var rows api.Rows
	if err := json.Unmarshal([]byte(read(t, s.out, api.Folder+"rows.json")), &rows); err != nil {
		t.Fatal(err)
	}
	want := &s.reports[0].Rows[0]
	at := slices.IndexFunc(rows.Rows, func(r api.Row) bool { return r.ID == want.ID })
	if at < 0 {
		t.Fatalf("rows.json lacks %s", want.ID)
	}
	r := rows.Rows[at]
	if *r.Figures.TTFT.P50 != *want.Figures.TTFT.P50 || *r.Figures.OutputTokPerSecPerGPU != *want.Figures.OutputTokPerSecPerGPU {
		t.Errorf("figures %+v; the report has %+v", r.Figures, want.Figures)
	}
	if got, asked := *r.PerUser, 1000 / *want.Figures.TPOT.P50; got != asked {
		t.Errorf("tok/s/user %v; 1000 ÷ TPOT p50 is %v", got, asked)
	}
	if r.Gates["recompute"] != "pass" || len(r.Gates) < 19 {
		t.Errorf("gates answer %v", r.Gates)
	}
	var figures map[string]any
	text, err := json.Marshal(r.Figures)
	if err == nil {
		err = json.Unmarshal(text, &figures)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range figures {
		if name == "intervals" {
			continue
		}
		if rows.Units[name] == "" {
			t.Errorf("figure %s has no unit", name)
		}
		if value == nil && r.Missing[name] == "" {
			t.Errorf("figure %s is null without a reason", name)
		}
	}
	var one api.RowFile
	if err := json.Unmarshal([]byte(read(t, s.out, r.File)), &one); err != nil {
		t.Fatal(err)
	}
	if one.Row.ID != want.ID || len(one.Gates) != len(r.Gates) {
		t.Errorf("%s is of row %s with %d gates", r.File, one.Row.ID, len(one.Gates))
	}
	for _, g := range one.Gates {
		if g.Reason == "" || g.Answer != r.Gates[g.Gate] {
			t.Errorf("gate %+v; rows.json says %q", g, r.Gates[g.Gate])
		}
	}
	for _, file := range []string{r.Page + "index.html", r.Report, *r.Samples} {
		if _, err := os.Stat(filepath.Join(s.out, file)); err != nil {
			t.Error(err)
		}
	}
}
