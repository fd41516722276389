package render

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// stamp is what tells that a file was not written since it was last looked at.
type stamp struct {
	Inode             uint64
	Size              int64
	Modified, Changed int64 // ns
	Mode              uint32
}

func (s stamp) dir() bool { return fs.FileMode(s.Mode).IsDir() }

// tick is more than the grain of any file system's times. A file written within a tick
// after it was looked at may keep the times that it had.
const tick = 10 * time.Millisecond

// settled says whether a file that was looked at then can't have been written since
// without its times telling.
func (s stamp) settled(then time.Time) bool {
	return max(s.Modified, s.Changed) < then.Add(-tick).UnixNano()
}

// stamped is a file or folder with its stamp.
type stamped struct {
	Path  string // slash-separated, below the folder that the list is of
	Stamp stamp
}

// errUnstamped is why a folder is built from without a cache.
var errUnstamped = errors.New("holds what has no stamp")

// stampTree lists what lies at and below the named files and folders of root, in order of
// path. What isn't there isn't listed. A link has no stamp of what it leads to, nor has a
// system without change times any.
func stampTree(root string, tops ...string) ([]stamped, error) {
	var mu sync.Mutex
	var all []stamped
	var failed error
	var wait sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	var walk func(path string, info fs.FileInfo)
	walk = func(path string, info fs.FileInfo) {
		st, ok := stampOf(info)
		var entries []os.DirEntry
		var err error
		if ok && info.IsDir() {
			entries, err = os.ReadDir(filepath.Join(root, path))
		} else if !ok || !info.Mode().IsRegular() {
			err = errUnstamped
		}
		found := []stamped{{path, st}}
		for _, e := range entries {
			below := e.Name()
			if path != "." {
				below = path + "/" + below
			}
			in, infoErr := e.Info()
			switch {
			case infoErr != nil:
				err = errors.Join(err, infoErr)
			case in.IsDir():
				select {
				case free <- struct{}{}:
					wait.Go(func() {
						walk(below, in)
						<-free
					})
				default:
					walk(below, in)
				}
			default:
				st, ok := stampOf(in)
				if !ok || !in.Mode().IsRegular() {
					err = errUnstamped
				}
				found = append(found, stamped{below, st})
			}
		}
		mu.Lock()
		all = append(all, found...)
		failed = errors.Join(failed, err)
		mu.Unlock()
	}
	for _, top := range tops {
		info, err := os.Lstat(filepath.Join(root, top))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		walk(top, info)
	}
	wait.Wait()
	slices.SortFunc(all, func(a, b stamped) int { return strings.Compare(a.Path, b.Path) })
	return all, failed
}

// unwritten says whether everything of a list still is as it was: no file was written,
// and no folder gained or lost one.
func unwritten(root string, list []stamped) bool {
	var differs atomic.Bool
	const batch = 256
	parallel((len(list)+batch-1)/batch, func(i int) {
		for _, f := range list[i*batch : min((i+1)*batch, len(list))] {
			if differs.Load() {
				return
			}
			info, err := os.Lstat(root + "/" + f.Path)
			if err != nil {
				differs.Store(true)
				return
			}
			if st, ok := stampOf(info); !ok || st != f.Stamp {
				differs.Store(true)
				return
			}
		}
	})
	return !differs.Load()
}
