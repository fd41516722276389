// Package version says which build this is: the release, the revision it was built
// from, the Go release and the form of the reports it writes.
package version

import (
	"runtime"
	"runtime/debug"

	"rowproof/internal/row"
)

// Release is the version that the next tag carries.
const Release = "0.1.0"

// Info is what `version --json` prints and what each report stores of its tool.
type Info struct {
	Version  string `json:"version"`
	Revision string `json:"revision"` // "" outside a checkout; "-dirty" with uncommitted changes
	Go       string `json:"go"`
	Schema   string `json:"schema"`
}

// Read takes the build's own stamp.
func Read() Info {
	info := Info{Version: Release, Go: runtime.Version(), Schema: row.Schema}
	if b, ok := debug.ReadBuildInfo(); ok {
		dirty := false
		for _, s := range b.Settings {
			switch s.Key {
			case "vcs.revision":
				info.Revision = s.Value
			case "vcs.modified":
				dirty = s.Value == "true"
			}
		}
		if dirty {
			info.Revision += "-dirty"
		}
	}
	return info
}
