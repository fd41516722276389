package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"rowproof/internal/render/kept"
)

// cache is what earlier builds found out, so that a build works out only what changed. All
// of it stands under hashes of what it comes from: gen itself, and every file that was
// read. What cannot be read back, or might be of other input, is as if it were not there,
// so a site never depends on it. Each of its methods works on a nil cache, which keeps
// nothing.
type cache struct {
	dir    string // of all builds
	root   string
	site   string      // names what is kept of this site: its folder, base, origin and admission
	gen    kept.Digest // of the program
	before []stamped
	hashes map[string]summed // by path below root

	mu      sync.Mutex
	stale   bool                 // input was written while it was read
	old     map[string]*standing // what the site's folder holds, by path
	new     map[string]*standing // what this build puts there
	beside  []string             // input outside data/, content/ and site/
	reports map[string]bool      // names of records in use
}

// summed is a file's stamp with its hash.
type summed struct {
	Stamp stamp
	Sum   kept.Digest
}

// standing is a file of the site that a later build may take over.
type standing struct {
	Key   kept.Digest // of all that it was made from
	Stamp stamp
	Links *pageLinks // nil of what is not a page
}

// inputs are the folders and files that every build reads.
var inputs = []string{"data", "content", "site", "bin/lean.wasm", "bin/full.wasm", "package.json", "package-lock.json"}

// openCache looks at every input. A nil cache says that nothing may be kept: no folder was
// given for it, or this system or the input cannot tell what was written since.
func openCache(o Options, dest string) *cache {
	if o.Cache == "" {
		return nil
	}
	name := kept.Of(dest, o.Base, o.Origin, o.Demo)
	c := &cache{dir: o.Cache, root: o.Root, site: hex.EncodeToString(name[:8])}
	return c
}

// siteState is what a whole build came from and led to.
type siteState struct {
	Program, Site string // paths
	Of            stamp  // the program
	Made          time.Time
	Now           string
	Inputs        []stamped // below the root
	Beside        []stamped // by absolute path: what scripts and charts are made from
	Outputs       []stamped // below the site's folder
	Result        Result
}

func (c *cache) file(name string) string { return filepath.Join(c.dir, name) }

// unchanged is the result of the last build, where nothing was written since: neither
// input nor site nor program, and the day is the same.
func (c *cache) unchanged(o Options, dest string) *Result {
	if c == nil {
		return nil
	}
	var st siteState
	if !kept.Read(c.file(c.site+".state"), &st) || st.Now > o.Now || day(st.Now) != day(o.Now) {
		return nil
	}
	program, err := os.Executable()
	if err != nil || program != st.Program || dest != st.Site {
		return nil
	}
	if !unwritten("", []stamped{{program, st.Of}}) || !unwritten("", st.Beside) || !unwritten(o.Root, st.Inputs) || !unwritten(dest, st.Outputs) {
		return nil
	}
	r := st.Result
	r.Unchanged = true
	return &r
}

func day(now string) string { return now[:min(len(now), len("2006-01-02"))] }

// read looks at every input and hashes what was written since it was last hashed. It
// answers nil where nothing may be kept.
func (c *cache) read() *cache {
	if c == nil {
		return nil
	}
	program, err := os.Executable()
	if err != nil {
		return nil
	}
	at := time.Now()
	if c.before, err = stampTree(c.root, inputs...); err != nil {
		return nil
	}
	info, err := os.Lstat(program)
	if err != nil {
		return nil
	}
	own, ok := stampOf(info)
	if !ok {
		return nil
	}
	var memo map[string]summed
	kept.Read(c.file("hashes"), &memo)
	list := append(slices.Clone(c.before), stamped{program, own})
	sums := make([]summed, len(list))
	errs := make([]error, len(list))
	parallel(len(list), func(i int) {
		f := list[i]
		if f.Stamp.dir() {
			return
		}
		path := f.Path
		if path != program {
			path = filepath.Join(c.root, path)
		}
		if known, ok := memo[f.Path]; ok && known.Stamp == f.Stamp {
			sums[i] = known
			return
		}
		sums[i].Sum, errs[i] = hashFile(path)
		sums[i].Stamp = f.Stamp
	})
	if errors.Join(errs...) != nil {
		return nil
	}
	c.hashes = make(map[string]summed, len(list))
	next := make(map[string]summed, len(list))
	for i, f := range list {
		if f.Stamp.dir() {
			continue
		}
		c.hashes[f.Path] = sums[i]
		if f.Stamp.settled(at) {
			next[f.Path] = sums[i]
		}
	}
	c.gen = sums[len(sums)-1].Sum
	if len(next) != len(memo) || !sameHashes(next, memo) {
		// Without it, the next build only hashes again.
		_ = kept.Write(c.file("hashes"), next)
	}
	c.old, c.new = map[string]*standing{}, map[string]*standing{}
	kept.Read(c.file(c.site+".files"), &c.old)
	c.reports = map[string]bool{}
	return c
}

func sameHashes(a, b map[string]summed) bool {
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

func hashFile(path string) (kept.Digest, error) {
	f, err := os.Open(path)
	if err != nil {
		return kept.Digest{}, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return kept.Digest{}, err
	}
	return kept.Digest(h.Sum(nil)), nil
}

// sum is the hash of an input file; nothing of one that isn't there.
func (c *cache) sum(path string) kept.Digest { return c.hashes[path].Sum }

// known is an input file as it was hashed.
func (c *cache) known(path string) (summed, bool) {
	if c == nil {
		return summed{}, false
	}
	h, ok := c.hashes[path]
	return h, ok
}

// has says whether there is such a file in the cache.
func (c *cache) has(name string) bool {
	_, err := os.Lstat(c.file(name))
	return err == nil
}

// puts notes what a file of the new site was made from.
func (c *cache) puts(path string, key kept.Digest, links *pageLinks) {
	c.mu.Lock()
	c.new[path] = &standing{Key: key, Links: links}
	c.mu.Unlock()
}

// sumUnder sums up the input below a folder, but for what is left out.
func (c *cache) sumUnder(folder string, without func(path string) bool) kept.Digest {
	var parts []any
	for _, f := range c.before {
		if !f.Stamp.dir() && strings.HasPrefix(f.Path, folder+"/") && !(without != nil && without(f.Path)) {
			parts = append(parts, f.Path, c.sum(f.Path))
		}
	}
	return kept.Of(parts...)
}

// still says whether input files are as they were when they were hashed; where one is
// not, nothing of this build is kept.
func (c *cache) still(paths ...string) bool {
	for _, p := range paths {
		want, ok := c.hashes[p]
		info, err := os.Lstat(filepath.Join(c.root, p))
		if !ok && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		same := false
		if err == nil && ok {
			st, stamped := stampOf(info)
			same = stamped && st == want.Stamp
		}
		if !same {
			c.mu.Lock()
			c.stale = true
			c.mu.Unlock()
			return false
		}
	}
	return true
}

// done keeps what the build led to, if its input is as it was at the start.
func (c *cache) done(o Options, out *output, result *Result) {
	if c == nil || c.stale {
		return
	}
	after, err := stampTree(c.root, inputs...)
	if err != nil || !slices.Equal(after, c.before) {
		return
	}
	st := siteState{Site: out.dest, Now: o.Now, Inputs: after, Result: *result}
	if st.Program, err = os.Executable(); err != nil {
		return
	}
	look := func(list *[]stamped, root, path string) bool {
		info, err := os.Lstat(filepath.Join(root, path))
		if err != nil {
			return false
		}
		s, ok := stampOf(info)
		*list = append(*list, stamped{path, s})
		return ok
	}
	var own []stamped
	if !look(&own, "", st.Program) || c.hashes[st.Program].Stamp != own[0].Stamp {
		return
	}
	st.Of = own[0].Stamp
	slices.Sort(c.beside)
	for _, path := range slices.Compact(c.beside) {
		if !look(&st.Beside, "", path) {
			return
		}
	}
	if st.Outputs, err = stampTree(out.dest, "."); err != nil {
		return
	}
	files := make(map[string]*standing, len(c.new))
	for _, f := range st.Outputs {
		if k := c.new[f.Path]; k != nil {
			k.Stamp = f.Stamp
			files[f.Path] = k
		}
	}
	// What was written within a tick could be written again without its times telling.
	st.Made = time.Now()
	for _, list := range [][]stamped{st.Inputs, st.Beside, st.Outputs} {
		for _, f := range list {
			if !f.Stamp.settled(st.Made) {
				time.Sleep(2 * tick)
				st.Made = time.Now()
			}
		}
	}
	if !unwritten(c.root, st.Inputs) || !unwritten("", st.Beside) || !unwritten(out.dest, st.Outputs) {
		return
	}
	if kept.Write(c.file(c.site+".files"), files) == nil {
		_ = kept.Write(c.file(c.site+".state"), &st)
	}
	c.forget()
}

// forget removes the records of reports that are no longer there.
func (c *cache) forget() {
	entries, err := os.ReadDir(c.file("reports"))
	if err != nil {
		return
	}
	for _, e := range entries {
		if !c.reports[e.Name()] {
			os.Remove(c.file("reports/" + e.Name()))
		}
	}
}

// takes notes the files outside site/ that scripts were made from, and their packages'
// own descriptions, which say where a name leads. It answers false where one can't be read.
func (c *cache) takes(taken map[string]kept.Digest, root string, names []string) bool {
	for _, name := range names {
		if strings.HasPrefix(name, "site/") {
			continue
		}
		file := filepath.Join(root, filepath.FromSlash(name))
		paths := []string{file}
		if before, after, ok := strings.Cut(file, "/node_modules/"); ok {
			parts := strings.SplitN(after, "/", 3)
			if strings.HasPrefix(after, "@") && len(parts) > 1 {
				parts[0] += "/" + parts[1]
			}
			paths = append(paths, before+"/node_modules/"+parts[0]+"/package.json")
		}
		for _, p := range paths {
			if _, ok := taken[p]; ok {
				continue
			}
			sum, err := hashFile(p)
			if err != nil {
				return false
			}
			taken[p] = sum
		}
	}
	c.beside = append(c.beside, slices.Collect(maps.Keys(taken))...)
	return true
}

// same says whether files are as they were when scripts were made from them.
func (c *cache) same(taken map[string]kept.Digest) bool {
	for p, want := range taken {
		if sum, err := hashFile(p); err != nil || sum != want {
			return false
		}
	}
	c.beside = append(c.beside, slices.Collect(maps.Keys(taken))...)
	return true
}

// jsonDigest sums up a value by its JSON; not of one that has none.
func jsonDigest(v ...any) (kept.Digest, bool) {
	data, err := json.Marshal(v)
	return sha256.Sum256(data), err == nil
}
