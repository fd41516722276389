package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"rowproof/internal/catalog"
	"rowproof/internal/rowfile"
)

const (
	withdrawWhat = `Take published rows out of every ranking, chart and coverage, with the reason, by a line
each at the end of data/withdrawn.yaml. Nothing is deleted: a row keeps its address, its
figures and its samples, its page says that it was withdrawn, when and why, and the site's
feed tells of it. The next build of the site shows it; there is no way back.`
	withdrawExample = `measure withdraw 7ce8adf04740 --reason 'The launcher dropped --ep-size; it ran on one expert rank.'`

	withdrawnFile = "withdrawn.yaml"
	longestReason = 1000 // characters
)

var rowID = regexp.MustCompile(`^[0-9a-f]{12}$`)

func withdraw(_ context.Context, args []string, s streams) int {
	flags := newCollector("withdraw")
	root := flags.String("root", ".", "folder that holds data/")
	reason := flags.String("reason", "", "what turned out to be wrong, for whoever finds the row cited")
	usage(flags.FlagSet, "withdraw ID… --reason TEXT [--root DIR]", withdrawWhat, withdrawExample)
	if code, done := flags.parse(args, s); done {
		return code
	}
	text := strings.Join(strings.Fields(*reason), " ")
	switch n := len([]rune(text)); {
	case text == "" && flags.allKnown():
		flags.wrong("no --reason; want what turned out to be wrong, such as: %s", withdrawExample)
	case n > longestReason:
		flags.wrong("--reason is of %d characters; want at most %d", n, longestReason)
	case text != printable(text):
		flags.wrong("--reason holds control characters; want plain text")
	}
	if flags.NArg() == 0 && flags.allKnown() {
		flags.wrong("no ID was named; want the 12 hex digits of a row's page, /r/ID/")
	}
	ids := flags.Args()
	for i, id := range ids {
		switch {
		case !rowID.MatchString(id):
			flags.wrong("%s: no row's id; want the 12 hex digits of its page, /r/ID/", printable(id))
		case slices.Contains(ids[:i], id):
			flags.wrong("%s was named twice", id)
		}
	}
	data := filepath.Join(*root, "data")
	if !isDir(data) {
		flags.wrong("--root %s: no folder data in it; want the folder that holds data/, content/ and site/", *root)
	}
	if len(flags.problems) > 0 {
		return flags.refuse(s)
	}
	if refusals := withdrawRows(*root, ids, text); len(refusals) > 0 {
		return complain(s, "withdraw", exitFailed, refusals)
	}
	for _, id := range ids {
		fmt.Fprintf(s.out, "data/%s: row %s withdrawn\n", withdrawnFile, id)
	}
	return exitOK
}

// withdrawRows adds the rows to the list, or says all that speaks against it.
func withdrawRows(root string, ids []string, reason string) (refusals []string) {
	data := filepath.Join(root, "data")
	out, problems := catalog.Withdrawn(os.DirFS(data))
	for _, p := range problems {
		refusals = append(refusals, p.String())
	}
	there, err := publishedIDs(os.DirFS(root))
	if err != nil {
		return append(refusals, err.Error())
	}
	for _, id := range ids {
		if w, gone := out[id]; gone {
			refusals = append(refusals, fmt.Sprintf("%s was withdrawn on %s already: %s", id, w.Date, w.Reason))
		} else if there[id] == "" {
			refusals = append(refusals, fmt.Sprintf("no row of %s has the id %s%s", filepath.Join(root, rowsDir), id, nearestID(id, there)))
		}
	}
	if len(refusals) > 0 {
		return refusals
	}
	file := filepath.Join(data, withdrawnFile)
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return []string{err.Error()}
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	day := time.Now().UTC().Format(time.DateOnly)
	for _, id := range ids {
		text = fmt.Appendf(text, "- {id: %s, date: %s, reason: %s}\n", quotedYAML(id), quotedYAML(day), quotedYAML(reason))
	}
	if err := rowfile.WriteFile(file, text); err != nil {
		return []string{err.Error() + "; nothing was withdrawn"}
	}
	return nil
}

// quotedYAML is a text in double quotes, as JSON and YAML both read it.
func quotedYAML(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // a string is always written
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// publishedIDs are the files of the rows that are published, by id.
func publishedIDs(root fs.FS) (map[string]string, error) {
	out := map[string]string{}
	err := fs.WalkDir(root, rowsDir, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name == rowsDir {
			return fs.SkipAll
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".json") {
			return err
		}
		text, err := rowfile.ReadFile(root, name, rowfile.LargestReport)
		if err != nil {
			return err
		}
		report, _, err := rowfile.Decode(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for i := range report.Rows {
			out[report.Rows[i].ID] = name
		}
		return nil
	})
	return out, err
}

// nearestID names the id that is spelt most like one that there is not.
func nearestID(id string, there map[string]string) string {
	ids := slices.Sorted(maps.Keys(there))
	if len(ids) == 0 {
		return "; none is published"
	}
	nearestFirst(id, ids)
	if distance(id, ids[0]) > 4 {
		return ""
	}
	return "; " + ids[0] + " may be meant, of " + there[ids[0]]
}
