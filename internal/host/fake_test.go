package host

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMain lets this test binary stand in for nvidia-smi when it is called so.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "nvidia-smi" {
		os.Exit(answerAsSMI())
	}
	os.Exit(m.Run())
}

// fakeDevices is what a stand-in answers. A field that is not given reads [N/A].
type fakeDevices struct {
	Header  map[string]string   `json:"header"` // asked for → printed
	GPUs    []map[string]string `json:"gpus"`
	Apps    []map[string]string `json:"apps"`
	Unknown []string            `json:"unknown"` // columns that the driver does not know
	Mute    bool                `json:"mute"`    // says nothing when it is to go on
	Fails   string              `json:"fails"`   // what it says before it fails
	Topo    string              `json:"topo"`    // how the devices are joined
}

const (
	envDevices = "ROWPROOF_TEST_DEVICES" // file of a fakeDevices
	envPing    = "ROWPROOF_TEST_PING"    // URL asked after the third line of a lasting query
)

// useSMI puts a stand-in first on PATH.
func useSMI(t *testing.T, d fakeDevices) {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "nvidia-smi")); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "devices.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv(envDevices, file)
}

// useTools puts programs of those names on PATH, and nothing else. They do nothing: the
// machine's run answers for them.
func useTools(t *testing.T, names ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, n := range names {
		if err := os.WriteFile(filepath.Join(dir, n), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

// noSMI leaves PATH without one.
func noSMI(t *testing.T) { t.Setenv("PATH", t.TempDir()) }

func loadDevices(t *testing.T, file string) fakeDevices {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var d fakeDevices
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func answerAsSMI() int {
	b, err := os.ReadFile(os.Getenv(envDevices))
	if err != nil {
		fmt.Println(err)
		return 9
	}
	var d fakeDevices
	if err := json.Unmarshal(b, &d); err != nil {
		fmt.Println(err)
		return 9
	}
	if d.Fails != "" {
		fmt.Println(d.Fails)
		return 9
	}
	if len(os.Args) > 1 && os.Args[1] == "topo" {
		fmt.Print(d.Topo)
		return 0
	}
	var fields []string
	var rows []map[string]string
	header, every := true, time.Duration(0)
	for i, a := range os.Args {
		if v, ok := strings.CutPrefix(a, "--query-gpu="); ok {
			fields, rows = strings.Split(v, ","), d.GPUs
		}
		if v, ok := strings.CutPrefix(a, "--query-compute-apps="); ok {
			fields, rows = strings.Split(v, ","), d.Apps
		}
		if strings.Contains(a, "noheader") {
			header = false
		}
		if a == "-lms" {
			ms, err := strconv.Atoi(os.Args[i+1])
			if err != nil {
				fmt.Println(err)
				return 9
			}
			every = time.Duration(ms) * time.Millisecond
		}
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		if slices.Contains(d.Unknown, f) {
			fmt.Printf("Field \"%s\" is not a valid field to query.\n", f)
			return 2
		}
		names[i] = f
		if n := d.Header[f]; n != "" {
			names[i] = n
		}
	}
	if header {
		fmt.Println(strings.Join(names, ", "))
	}
	for n := 1; ; n++ {
		if every == 0 || !d.Mute {
			for _, r := range rows {
				cells := make([]string, len(fields))
				for i, f := range fields {
					if cells[i] = r[f]; cells[i] == "" {
						cells[i] = "[N/A]"
					}
				}
				fmt.Println(strings.Join(cells, ", "))
			}
		}
		if every == 0 {
			return 0
		}
		if n == 3 && !d.Mute {
			if _, err := http.Get(os.Getenv(envPing)); err != nil {
				return 9
			}
		}
		time.Sleep(every)
	}
}

// fakeRoot is a root file system with a /proc that a test fills.
type fakeRoot struct {
	t   *testing.T
	dir string
}

func newRoot(t *testing.T) *fakeRoot { return &fakeRoot{t, t.TempDir()} }

func (r *fakeRoot) machine() *machine { return &machine{root: r.dir, run: runTool} }

func (r *fakeRoot) write(path, text string) {
	r.t.Helper()
	file := filepath.Join(r.dir, path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

func (r *fakeRoot) link(path, to string) {
	r.t.Helper()
	file := filepath.Join(r.dir, path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink(to, file); err != nil {
		r.t.Fatal(err)
	}
}

// process adds a process that started 12.5 s after boot.
func (r *fakeRoot) process(pid, parent int, argv, env []string) {
	r.t.Helper()
	p := fmt.Sprintf("proc/%d/", pid)
	r.write(p+"stat", fmt.Sprintf("%d (a name) with ) in it) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1250 0 0", pid, parent))
	r.write(p+"cmdline", strings.Join(argv, "\x00")+"\x00")
	r.write(p+"environ", strings.Join(env, "\x00")+"\x00")
	r.write(p+"comm", "name\n")
	r.write(p+"limits", "Limit                     Soft Limit           Hard Limit           Units     \n"+
		"Max open files            65535                1048576              files     \n"+
		"Max locked memory         unlimited            unlimited            bytes     \n")
	r.write(p+"maps", "7f00-7f01 r-xp 00000000 08:01 12 /opt/venv/lib/libcudart.so.12.8.90\n7f02-7f03 rw-p 0 00:00 0\n")
	r.link(p+"cwd", "/srv")
}
