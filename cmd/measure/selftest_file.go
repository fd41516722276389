package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"rowproof/internal/row"
	"rowproof/internal/rowfile"
	"rowproof/internal/version"
)

// hostCalibration is what measure selftest found of one source of stamps: the client's error
// by how many streams there are. It holds for one build and one boot of one host.
type hostCalibration struct {
	Build      string              `json:"build"`
	Boot       string              `json:"boot"`
	Stamps     string              `json:"stamps"`
	MeasuredAt string              `json:"measured_at"`
	Levels     []row.SelftestLevel `json:"levels"`
}

// calibrationFile keeps the calibrations of this host, one a source of stamps.
func calibrationFile() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "rowproof", "selftest.json"), err
}

// calibrations reads the file. One that is missing or not ours holds none: it is a cache.
func calibrations() []hostCalibration {
	name, err := calibrationFile()
	if err != nil {
		return nil
	}
	data, err := os.ReadFile(name)
	var all []hostCalibration
	if err != nil || json.Unmarshal(data, &all) != nil {
		return nil
	}
	return all
}

// calibrated finds the errors with at least so many streams, of this build, this boot
// and this source of stamps: those of the least such level. nil: there are none.
func calibrated(streams int64, stamps string) *row.Selftest {
	for _, c := range calibrations() {
		if c.Boot == "" || c.Boot != bootID() || c.Build != thisBuild() || c.Stamps != stamps {
			continue
		}
		slices.SortFunc(c.Levels, func(a, b row.SelftestLevel) int { return cmp.Compare(a.Streams, b.Streams) })
		for _, l := range c.Levels {
			if l.Streams >= streams && l.Gaps > 0 {
				return &row.Selftest{
					Streams: l.Streams, ITLErrorNS: l.ITLErrorNS, TTFTErrorNS: l.TTFTErrorNS, Gaps: l.Gaps,
					Levels: c.Levels, MeasuredAt: c.MeasuredAt, Boot: c.Boot, Stamps: c.Stamps, Revision: version.Read().Revision,
				}
			}
		}
	}
	return nil
}

// keepCalibration puts one into the file, in place of an older one of its stamps.
func keepCalibration(stamps string, at time.Time, levels []row.SelftestLevel) (name string, err error) {
	c := hostCalibration{Build: thisBuild(), Boot: bootID(), Stamps: stamps, MeasuredAt: at.UTC().Format(time.RFC3339), Levels: levels}
	if c.Boot == "" {
		return "", errors.New("this system does not name its boot, so a calibration would outlive it")
	}
	if name, err = calibrationFile(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", err
	}
	all := slices.DeleteFunc(calibrations(), func(old hostCalibration) bool { return old.Stamps == stamps || old.Boot != c.Boot })
	data, err := json.MarshalIndent(append(all, c), "", " ")
	if err != nil {
		return "", err
	}
	return name, rowfile.WriteFile(name, append(data, '\n'))
}

// bootID names the boot of this host; "" where the system does not say.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// thisBuild is the revision that this program was built from, or, where changes were not
// committed or no revision is known, the SHA-256 of its file.
var thisBuild = sync.OnceValue(func() string {
	if r := version.Read().Revision; r != "" && !strings.HasSuffix(r, "-dirty") {
		return r
	}
	sum, err := executableSHA256()
	if err != nil {
		return "unknown at " + time.Now().Format(time.RFC3339Nano) // equals no other
	}
	return "sha256:" + sum
})

func executableSHA256() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(exe)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
