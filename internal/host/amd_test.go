package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rowproof/internal/row"
)

// amdAnswers answers for amd-smi from a folder of testdata/amd. A version that does not
// know a flag fails as its argument parser does.
func amdAnswers(t *testing.T, folder string, unknown ...string) func(context.Context, string, []string, string, ...string) (string, error) {
	return func(_ context.Context, _ string, _ []string, name string, args ...string) (string, error) {
		if filepath.Base(name) != amdSMI {
			return "", &toolError{name, errors.New("not here"), ""}
		}
		for _, u := range unknown {
			if slices.Contains(args, u) {
				return "", &toolError{name, errors.New("exit status 2"), "amd-smi metric: error: unrecognized arguments: " + u}
			}
		}
		if args[0] == "topology" {
			return "LINK TYPE TABLE: XGMI\n", nil
		}
		b, err := os.ReadFile(filepath.Join("testdata/amd", folder, args[0]+".json"))
		if err != nil {
			t.Errorf("asked %q", args)
		}
		return string(b), nil
	}
}

func amdReceipt(t *testing.T, folder string, unknown ...string) (row.Receipt, row.Evidence) {
	useTools(t, amdSMI)
	m := vllmRoot(t).machine()
	m.run = amdAnswers(t, folder, unknown...)
	return m.receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000"), Engine: "vllm", Version: "0.26.0"})
}

func TestAMDDevices(t *testing.T) {
	rec, ev := amdReceipt(t, "mi300x")
	if len(rec.Devices) != 2 {
		t.Fatalf("devices %s, unread %v", asJSON(t, rec.Devices), rec.Unread)
	}
	for i, d := range rec.Devices {
		if d.Index != int64(i) || d.Name != "AMD Instinct MI300X OAM" || d.UUID != "00000000-0000-1000-8000-00000000000"+string(rune('0'+i)) ||
			*d.MemoryBytes != 196592<<20 || d.Driver != "6.16.6" || !d.Used || d.Partition != "SPX NPS1" || !slices.Equal(d.Processes, []string{"VLLM::EngineCore"}) {
			t.Errorf("device %s", asJSON(t, d))
		}
		s := ev.Devices[i]
		if *s.PowerW != 702 || *s.PowerLimitW != 750 || *s.MemoryUsed != 171234<<20 || *s.SMClock != 2093 || *s.MemoryClock != 1300 ||
			*s.MemoryMax != 1300 || *s.Temperature != 67 || s.Throttle != "" {
			t.Errorf("sample %s", asJSON(t, s))
		}
	}
	if v := ev.Devices[0].Violations; v == nil || len(v) != 0 {
		t.Errorf("device 0 is slowed down by %q, want none", v)
	}
	if v := ev.Devices[1].Violations; !slices.Equal(v, []string{"hbm_thermal", "low_utilization", "ppt"}) {
		t.Errorf("device 1 is slowed down by %q", v)
	}
	// What holds no memory is on no device.
	if len(ev.Apps) != 3 || !ev.Apps[0].Ours || ev.Apps[2].PID != 900 || ev.Apps[2].Ours || ev.Apps[2].Index != 1 {
		t.Errorf("apps %s", asJSON(t, ev.Apps))
	}
	for field := range rec.Unread {
		if strings.HasPrefix(field, "devices") {
			t.Errorf("%s: %s", field, rec.Unread[field])
		}
	}
	if !slices.ContainsFunc(ev.Raw, func(r row.RawText) bool { return r.Name == "amd-smi topology" }) {
		t.Error("how the devices are joined is not kept")
	}
}

// The version before names flags and fields otherwise.
func TestAMDDevicesOfAnOlderVersion(t *testing.T) {
	rec, ev := amdReceipt(t, "mi300x-6.3", "--violation", "--partition")
	if len(rec.Devices) != 1 || rec.Devices[0].Name != "MI300X" || rec.Devices[0].Driver != "6.10.5" || !rec.Devices[0].Used {
		t.Fatalf("devices %s, unread %v", asJSON(t, rec.Devices), rec.Unread)
	}
	s := ev.Devices[0]
	if *s.PowerLimitW != 650 || !slices.Equal(s.Violations, []string{"gfx_clk_below_host_limit"}) {
		t.Errorf("sample %s", asJSON(t, s))
	}
	if *ev.Apps[0].MemoryBytes != 170000<<20 {
		t.Errorf("apps %s", asJSON(t, ev.Apps))
	}
}

// What a device does not report has a reason, and is neither 0 nor "not slowed down".
func TestAMDDeviceThatReportsLess(t *testing.T) {
	rec, ev := amdReceipt(t, "radeon")
	s := ev.Devices[0]
	if s.Violations != nil || *s.SMClock != 2774 || *s.MemoryClock != 1258 || *s.MemoryMax != 1259 {
		t.Errorf("sample %s", asJSON(t, s))
	}
	if said := rec.Unread["devices[0].throttle"]; !strings.Contains(said, `throttle_status "THROTTLED" without a reason`) {
		t.Errorf("throttle: %q", said)
	}
	if said := ev.Unread["apps"]; !strings.Contains(said, "amd-smi lists no process though device memory is in use") {
		t.Errorf("apps: %q", said)
	}
	if !rec.Devices[0].Used || !strings.Contains(rec.Unread["devices[].used"], "memory in use on the only device") {
		t.Errorf("device %s, unread %v", asJSON(t, rec.Devices[0]), rec.Unread)
	}
}

func TestAMDAnswersThatWeDoNotKnow(t *testing.T) {
	for text, says := range map[string]string{
		`{"cards": []}`:          "neither a list of devices nor gpu_data",
		`[{"device": 0}]`:        "a device without its number",
		`[]`:                     "lists no device",
		"Segmentation fault\n":   "answered no JSON: Segmentation fault",
		`[{"gpu": 0, "power": 7`: "answered no JSON",
	} {
		useTools(t, amdSMI)
		m := vllmRoot(t).machine()
		m.run = func(context.Context, string, []string, string, ...string) (string, error) { return text, nil }
		rec, _ := m.receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000")})
		if !strings.Contains(rec.Unread["devices"], says) || len(rec.Devices) != 0 {
			t.Errorf("%s: unread %q, want %q", text, rec.Unread["devices"], says)
		}
	}
}

func TestROCmSMI(t *testing.T) {
	useTools(t, rocmSMI)
	for _, c := range []struct {
		file    string
		devices int
	}{{"one.json", 1}, {"two.json", 2}} {
		m := vllmRoot(t).machine()
		m.run = func(_ context.Context, _ string, _ []string, name string, args ...string) (string, error) {
			file := c.file
			switch {
			case filepath.Base(name) != rocmSMI:
				return "", errors.New("not here")
			case args[0] == "--showpids":
				file = "pids.json"
			}
			b, err := os.ReadFile("testdata/amd/rocm-smi/" + file)
			return string(b), err
		}
		rec, ev := m.receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000")})
		if len(rec.Devices) != c.devices {
			t.Fatalf("%s: devices %s, unread %v", c.file, asJSON(t, rec.Devices), rec.Unread)
		}
		d, s := rec.Devices[0], ev.Devices[0]
		if d.Name != "Instinct MI210" || d.UUID != "0x0000000000000011" || d.Driver != "6.3.6" || *d.MemoryBytes != 68702699520 ||
			*s.PowerW != 287 || *s.PowerLimitW != 300 || *s.MemoryClock != 1600 || *s.SMClock != 1700 || s.MemoryMax != nil || s.Violations != nil {
			t.Errorf("%s: %s %s", c.file, asJSON(t, d), asJSON(t, s))
		}
		if !strings.Contains(rec.Unread["devices[0].throttle"], "does not tell why") || rec.Unread["devices[0].memory_clock_max_mhz"] == "" {
			t.Errorf("%s: unread %v", c.file, rec.Unread)
		}
		if len(ev.Apps) != 2 || ev.Apps[0].PID != 811 || ev.Apps[1].Name != "odd, name" || *ev.Apps[1].MemoryBytes != 1<<30 {
			t.Errorf("%s: apps %s", c.file, asJSON(t, ev.Apps))
		}
		if c.devices == 1 && (!d.Used || ev.Unread["apps"] != "") {
			t.Errorf("one device: %s, unread %v", asJSON(t, d), ev.Unread)
		}
		if c.devices == 2 && (d.Used || *ev.Devices[1].PowerW != 141 || !strings.Contains(ev.Unread["apps"], "on which of the devices")) {
			t.Errorf("two devices: %s, unread %v", asJSON(t, d), ev.Unread)
		}
	}
}

// During a row there is never more than one of AMD's tools at work, and its readings carry
// the limit that was read before the row.
func TestSamplerOfAMDDevices(t *testing.T) {
	useTools(t, amdSMI)
	m := thisMachine()
	answer := amdAnswers(t, "mi300x")
	var at, most atomic.Int64
	asked := make(chan struct{}, 100)
	m.run = func(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
		n := at.Add(1)
		defer at.Add(-1)
		if n > most.Load() {
			most.Store(n)
		}
		if args[0] == "metric" {
			asked <- struct{}{}
		}
		return answer(ctx, dir, env, name, args...)
	}
	ref, _ := metricsServer(t)
	s := newSampler(m, ref)
	s.period = 10 * time.Millisecond
	s.Start(context.Background(), monotonic())
	for range 4 { // before, and the third during has begun: two are kept
		<-asked
	}
	ev := s.Stop()
	during := 0
	for _, d := range ev.Devices {
		if d.When == row.During {
			during++
		}
		if *d.PowerW != 702 || *d.PowerLimitW != 750 || d.Violations == nil {
			t.Errorf("%s", asJSON(t, d))
		}
	}
	if during < 4 || most.Load() != 1 {
		t.Errorf("%d readings during the row, %d tools at once; want 4 or more, 1", during, most.Load())
	}
	if why := ev.Unread["devices.during"]; why != "" {
		t.Error(why)
	}
}

// Where both vendors' tools lie on PATH, the loaded driver tells whose devices these are.
func TestWhichTool(t *testing.T) {
	useTools(t, nvidiaSMI, amdSMI, rocmSMI)
	r := newRoot(t)
	if tool, err := r.machine().findTool(); err != nil || tool.(*smi) == nil {
		t.Errorf("%T, %v", tool, err)
	}
	r.write("sys/module/amdgpu/version", "6.16.6\n")
	if tool, err := r.machine().findTool(); err != nil || tool.(*amdTool) == nil {
		t.Errorf("%T, %v", tool, err)
	}
	noSMI(t)
	if _, err := newRoot(t).machine().findTool(); err == nil || !strings.Contains(err.Error(), "and no driver of NVIDIA or AMD devices is loaded") {
		t.Error(err)
	}
	if _, err := r.machine().findTool(); err == nil || strings.Contains(err.Error(), "no driver") {
		t.Error(err)
	}
}
