package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"rowproof/internal/loadgen"
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

// largestCalibration is how many bytes the file may hold; few thousand do.
const largestCalibration = 1 << 20

// calibrations reads the file. One that is missing holds none: it is a cache. So does one
// that is not as keepCalibration writes it, and why says so.
func calibrations() (all []hostCalibration, why string) {
	name, err := calibrationFile()
	if err != nil {
		return nil, ""
	}
	data, err := readRegular(name, largestCalibration)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ""
	}
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		if err = d.Decode(&all); err == nil && d.More() {
			err = errors.New("more than one JSON value")
		}
	}
	for i := range all {
		if err == nil {
			err = all[i].check(all[:i])
		}
	}
	if err != nil {
		return nil, name + " is ignored, and measure selftest writes it anew: " + reasonOf(err)
	}
	return all, ""
}

// readRegular reads a regular file of at most so many bytes: a device or a pipe may never
// end, or never begin.
func readRegular(name string, most int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, fmt.Errorf("more than %d bytes", most)
	}
	return data, err
}

// check holds a calibration against what measure selftest can have written beside others.
func (c *hostCalibration) check(others []hostCalibration) error {
	for _, text := range []string{c.Build, c.Boot} {
		if text == "" || len(text) > 128 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
			return fmt.Errorf("build or boot: expected a short name, found %.40q", text)
		}
	}
	if !slices.Contains([]string{loadgen.StampsRing, loadgen.StampsKernel, loadgen.StampsRead}, c.Stamps) {
		return fmt.Errorf("stamps: expected ring, ktime or read, found %.40q", c.Stamps)
	}
	if slices.ContainsFunc(others, func(o hostCalibration) bool { return o.Stamps == c.Stamps }) {
		return errors.New("stamps: " + c.Stamps + " twice")
	}
	if at, err := time.Parse(time.RFC3339, c.MeasuredAt); err != nil || at.UTC().Format(time.RFC3339) != c.MeasuredAt {
		return fmt.Errorf("measured_at: expected a time such as 2026-11-30T18:20:00Z, found %.40q", c.MeasuredAt)
	}
	const mostStreams, mostGaps, longest = 1 << 20, 1 << 40, int64(time.Hour)
	last := int64(0)
	for _, l := range c.Levels {
		if l.Streams <= last || l.Streams > mostStreams || l.Gaps < 0 || l.Gaps > mostGaps {
			return fmt.Errorf("levels: expected more streams at each, and gaps of 0 or more, found %d streams after %d and %d gaps", l.Streams, last, l.Gaps)
		}
		last = l.Streams
		for _, e := range []row.ErrorDist{l.ITLErrorNS, l.TTFTErrorNS} {
			if e.P50 < 0 || e.P99 < e.P50 || e.Max < e.P99 || e.Max > longest {
				return fmt.Errorf("errors with %d streams: expected p50, p99 and max in ns, each 0 or more and no less than the one before, found %d, %d, %d", l.Streams, e.P50, e.P99, e.Max)
			}
		}
	}
	return nil
}

// calibrated finds the errors with at least so many streams, of this build, this boot
// and this source of stamps: those of the least such level. nil: there are none, and why
// tells where the file is at fault.
func calibrated(streams int64, stamps string) (t *row.Selftest, why string) {
	all, why := calibrations()
	for _, c := range all {
		if c.Boot == "" || c.Boot != bootID() || c.Build != thisBuild() || c.Stamps != stamps {
			continue
		}
		for _, l := range c.Levels {
			if l.Streams >= streams && l.Gaps > 0 {
				return &row.Selftest{
					Streams: l.Streams, ITLErrorNS: l.ITLErrorNS, TTFTErrorNS: l.TTFTErrorNS, Gaps: l.Gaps,
					Levels: c.Levels, MeasuredAt: c.MeasuredAt, Boot: c.Boot, Stamps: c.Stamps, Revision: version.Read().Revision,
				}, ""
			}
		}
	}
	return nil, why
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
	before, _ := calibrations()
	all := slices.DeleteFunc(before, func(old hostCalibration) bool { return old.Stamps == stamps || old.Boot != c.Boot })
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
