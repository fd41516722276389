package render

import (
	"io/fs"
	"syscall"
)

// stampOf tells whether a file is the one that was seen before, unwritten since: its change
// time moves with every write and no program can set it back.
func stampOf(info fs.FileInfo) (stamp, bool) {
	t, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	return stamp{Inode: t.Ino, Size: t.Size, Modified: t.Mtim.Nano(), Changed: t.Ctim.Nano(), Mode: uint32(info.Mode())}, true
}
