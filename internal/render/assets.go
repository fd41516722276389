package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"rowproof/internal/render/kept"
)

// assets are the addresses, without base, of what pages load.
type assets struct {
	style   string
	icon    string
	lean    module              // loads by itself
	full    module              // loads for a reader's own file
	scripts map[string][]string // page kind → its modules
}

// module is a WebAssembly module: its address, and the hash that a page holds it against.
type module struct{ address, integrity string }

// readModule reads bin/NAME.wasm and puts it into the site.
func (s *site) readModule(name string) (module, error) {
	file := filepath.Join(s.opts.Root, "bin", name+".wasm")
	code, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return module{}, fmt.Errorf("%s: not there yet; build it with: make wasm", file)
	} else if err != nil {
		return module{}, err
	}
	sum := sha256.Sum256(code)
	m := module{hashed(name+".wasm", code), "sha256-" + base64.StdEncoding.EncodeToString(sum[:])}
	return m, s.out.write(m.address, code)
}

// hashed puts the content's hash into a name: site.css → assets/site-1a2b3c4d.css.
func hashed(name string, data []byte) string {
	sum := sha256.Sum256(data)
	ext := path.Ext(name)
	return "assets/" + strings.TrimSuffix(name, ext) + "-" + hex.EncodeToString(sum[:5]) + ext
}

// styleSheet joins all sheets: tokens, elements, shared parts, each page's own, and
// last the printed form, which must win.
func styleSheet(fsys fs.FS) ([]byte, error) {
	names := []string{"site/base/tokens.css", "site/base/base.css", "site/base/parts.css"}
	all, err := fs.Glob(fsys, "site/*/*.css")
	if err != nil {
		return nil, err
	}
	for _, name := range all {
		if path.Dir(name) != "site/base" {
			names = append(names, name)
		}
	}
	var b bytes.Buffer
	for _, name := range append(names, "site/base/print.css") {
		sheet, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		b.Write(sheet)
	}
	return b.Bytes(), nil
}

// buildAssets writes styles, icon, scripts and the modules, all under names that hold
// their content's hash.
func (s *site) buildAssets() error {
	sheet, err := styleSheet(s.fsys)
	if err != nil {
		return err
	}
	if sheet, err = s.minify("text/css", sheet); err != nil {
		return fmt.Errorf("site styles: %w", err)
	}
	icon, err := fs.ReadFile(s.fsys, "site/base/favicon.svg")
	if err != nil {
		return err
	}
	if icon, err = s.minify("image/svg+xml", icon); err != nil {
		return fmt.Errorf("site/base/favicon.svg: %w", err)
	}
	var noLean, noFull error
	s.assets.lean, noLean = s.readModule("lean")
	s.assets.full, noFull = s.readModule("full")
	if err := errors.Join(noLean, noFull); err != nil {
		return err
	}
	s.assets.style = hashed("site.css", sheet)
	s.assets.icon = hashed("favicon.svg", icon)
	return errors.Join(
		s.out.write(s.assets.style, sheet),
		s.out.write(s.assets.icon, icon),
		s.buildScripts(),
	)
}

// everyPage names the entry point that all pages load.
const everyPage = "site"

// buildScripts bundles one module a page kind: site/KIND/KIND.ts, and site/js/site.ts
// for every page. A warning of the bundler is an error.
func (s *site) buildScripts() error {
	found, err := fs.Glob(s.fsys, "site/*/*.ts")
	if err != nil {
		return err
	}
	var entries []string
	for _, name := range found {
		kind := strings.TrimSuffix(path.Base(name), ".ts")
		if path.Base(path.Dir(name)) == kind || name == "site/js/"+everyPage+".ts" {
			entries = append(entries, name)
		}
	}
	s.assets.scripts = map[string][]string{}
	if len(entries) == 0 {
		return nil
	}
	root, err := filepath.Abs(s.opts.Root)
	if err != nil {
		return err
	}
	made, err := s.bundle(root, entries)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(made.Files)) {
		if err := s.out.write("assets/"+name, made.Files[name]); err != nil {
			return err
		}
	}
	s.assets.scripts = made.Scripts
	return nil
}

// bundle is what the bundler made of the scripts, and what it took for it.
type bundle struct {
	Of      kept.Digest            // of what lies in site/, and which packages there are
	Taken   map[string]kept.Digest // each other file, by absolute path
	Files   map[string][]byte
	Scripts map[string][]string // by page kind
}

// bundle makes the scripts, or takes them from the last build that made them of the same.
func (s *site) bundle(root string, entries []string) (*bundle, error) {
	made := &bundle{Taken: map[string]kept.Digest{}, Files: map[string][]byte{}, Scripts: map[string][]string{}}
	const file = "scripts"
	if s.cache != nil {
		made.Of = kept.Of(s.cache.gen, root, s.cache.sumUnder("site", nil), s.cache.sum("package.json"), s.cache.sum("package-lock.json"))
		last := &bundle{}
		if kept.Read(s.cache.file(file), last) && last.Of == made.Of && s.cache.same(last.Taken) {
			return last, nil
		}
	}
	result := api.Build(api.BuildOptions{
		AbsWorkingDir:     root,
		EntryPoints:       entries,
		Outdir:            "assets",
		EntryNames:        "[name]-[hash]",
		ChunkNames:        "chunk-[hash]",
		Bundle:            true,
		Splitting:         true,
		Format:            api.FormatESModule,
		Target:            api.ES2022,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		LegalComments:     api.LegalCommentsEndOfFile,
		Metafile:          true,
		LogLevel:          api.LogLevelSilent,
	})
	var problems []error
	for _, m := range slices.Concat(result.Errors, result.Warnings) {
		place := ""
		if m.Location != nil {
			place = fmt.Sprintf("%s:%d:%d: ", m.Location.File, m.Location.Line, m.Location.Column+1)
		}
		problems = append(problems, errors.New(place+m.Text))
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	for _, f := range result.OutputFiles {
		made.Files[filepath.Base(f.Path)] = f.Contents
	}
	var meta struct {
		Inputs  map[string]struct{}
		Outputs map[string]struct{ EntryPoint string }
	}
	if err := json.Unmarshal([]byte(result.Metafile), &meta); err != nil {
		return nil, fmt.Errorf("bundler's metafile: %w", err)
	}
	for out, o := range meta.Outputs {
		if name := path.Base(out); o.EntryPoint != "" {
			kind := name[:strings.LastIndexByte(name, '-')] // KIND-HASH.js
			made.Scripts[kind] = []string{"assets/" + name}
		}
	}
	if s.cache != nil && s.cache.takes(made.Taken, root, slices.Collect(maps.Keys(meta.Inputs))) {
		// Without it, the next build only bundles again.
		_ = kept.Write(s.cache.file(file), made)
	}
	return made, nil
}

// scriptsOf lists the modules of one kind of page, the shared one first.
func (s *site) scriptsOf(kind string) []string {
	return slices.Concat(s.assets.scripts[everyPage], s.assets.scripts[kind])
}
