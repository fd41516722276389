package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"rowproof/internal/row"
)

func parseURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// tcpTable is a /proc/net/tcp in which inode listens on port.
func tcpTable(port int, inode string) string {
	return fmt.Sprintf(`  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:%04X 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 %s 1 0 100 0 0 10 0
   1: 0100007F:%04X 0100007F:B000 01 00000000:00000000 00:00000000 00000000     0        0 99999 1 0 20 4 30 10 -1
`, port, inode, port)
}

const secret = "very-secret-value"

// vllmRoot is a host on which vLLM serves dummy weights on port 8000: pid 800, whose
// worker 805 has inherited its socket, and whose engine is 811.
func vllmRoot(t *testing.T) *fakeRoot {
	r := newRoot(t)
	r.write("proc/sys/kernel/osrelease", "6.12.0-test\n")
	r.write("proc/sys/kernel/numa_balancing", "0\n")
	r.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Test CPU @ 2 GHz\n\nprocessor\t: 1\nmodel name\t: Test CPU @ 2 GHz\n")
	r.write("proc/meminfo", "MemTotal:       131072000 kB\nMemFree:        1 kB\nSwapTotal:       8192 kB\nSwapFree:        8188 kB\n")
	for i := range 2 {
		r.write(fmt.Sprintf("sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", i), "performance\n")
	}
	r.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
	r.write("proc/stat", "cpu  1 2 3\nbtime 1796000000\n")
	r.write("proc/net/tcp", tcpTable(8000, "4711"))
	r.process(1, 0, []string{"init"}, nil)
	r.process(800, 1,
		[]string{"/opt/venv/bin/python3", "/opt/venv/bin/vllm", "serve", "models/tiny", "--load-format", "dummy", "--max-model-len=16384",
			"--enable-prompt-tokens-details", "--max-num-batched-tokens", "8192", "--api-key", secret, "--seed", "-1", "--kv_cache_dtype", "fp8",
			"--model-loader-extra-config", `{"api_token": "` + secret + `", "x": 1}`, "--served-model-name", "a", "b", "--port", "8000"},
		[]string{"VLLM_USE_V1=1", "VLLM_API_KEY=" + secret, "HF_TOKEN=hf_abcdefghijklmnopqrst", "HOME=/home/me", "CUDA_VISIBLE_DEVICES=0",
			"PYTHONPATH=/opt/extra", "DATABASE=postgres://me:pass@db/x", "HF_HOME=/hub"})
	r.process(805, 800, []string{"VLLM::APIServer_1"}, nil)
	r.process(811, 805, []string{"VLLM::EngineCore"}, nil)
	r.process(900, 1, []string{"sshd"}, nil)
	r.link("proc/800/exe", "/usr/bin/python3.12")
	r.link("proc/800/fd/7", "socket:[4711]")
	r.link("proc/805/fd/7", "socket:[4711]")
	r.link("proc/900/fd/3", "socket:[12]")
	r.write("opt/venv/bin/python3", "#!/bin/sh\n")
	r.write("srv/models/tiny/config.json", "{}\n")
	return r
}

// vllmMachine also answers the question for package versions.
func vllmMachine(t *testing.T, r *fakeRoot) *machine {
	m := r.machine()
	m.run = func(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
		if strings.HasSuffix(name, "nvidia-smi") {
			return runTool(ctx, dir, env, name, args...)
		}
		if name != r.dir+"/opt/venv/bin/python3" {
			return "", errors.New("asked " + name)
		}
		if !slices.Contains(env, "PYTHONPATH=/opt/extra") || slices.ContainsFunc(env, func(e string) bool { return strings.Contains(e, "TOKEN") }) {
			t.Errorf("the interpreter is run with %q", env)
		}
		return "vllm==0.26.0\ntorch==2.11.0\n", nil
	}
	return m
}

func TestReceiptOfAProcess(t *testing.T) {
	useSMI(t, loadDevices(t, "testdata/h200.json"))
	rec, ev := vllmMachine(t, vllmRoot(t)).receipt(context.Background(), ServerRef{
		Base: parseURL(t, "http://127.0.0.1:8000/v1"), Engine: "vllm", Version: "0.26.0", Model: "a",
	})

	memory, system, zero, swapped := int64(143771<<20), int64(131072000<<10), int64(0), int64(4<<10)
	want := row.Receipt{
		Engine: row.EngineReceipt{
			Name: "vllm", Version: "0.26.0", Model: "a", StartedAt: "2026-11-30T00:53:32Z",
			CommandLine: []string{"/opt/venv/bin/python3", "/opt/venv/bin/vllm", "serve", "models/tiny", "--load-format", "dummy", "--max-model-len=16384",
				"--enable-prompt-tokens-details", "--max-num-batched-tokens", "8192", "--api-key", "(masked)", "--seed", "-1", "--kv_cache_dtype", "fp8",
				"--model-loader-extra-config", `{"api_token": "(masked)", "x": 1}`, "--served-model-name", "a", "b", "--port", "8000"},
			Arguments: map[string]string{"model": "models/tiny", "load-format": "dummy", "max-model-len": "16384", "enable-prompt-tokens-details": "true",
				"max-num-batched-tokens": "8192", "api-key": "(masked)", "seed": "-1", "kv-cache-dtype": "fp8",
				"model-loader-extra-config": `{"api_token": "(masked)", "x": 1}`, "served-model-name": "a b", "port": "8000"},
			ArgumentsFrom: "process command line",
			Environment: map[string]string{"VLLM_USE_V1": "1", "VLLM_API_KEY": "(masked)", "HF_TOKEN": "(masked)", "CUDA_VISIBLE_DEVICES": "0",
				"PYTHONPATH": "/opt/extra", "HF_HOME": "/hub"},
		},
		Weights: row.WeightsReceipt{Source: "random", ConfigSHA256: "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356"},
		Devices: []row.Device{{Index: 0, Name: "NVIDIA H200", UUID: "GPU-00000000-0000-4000-8000-000000000001", MemoryBytes: &memory, Driver: "580.159.04", Used: true, ECC: "Enabled", Persisted: "Enabled", Processes: []string{"VLLM::EngineCore"}}},
		Host: row.Host{Kernel: "6.12.0-test", CPU: "Test CPU @ 2 GHz", Cores: 2, MemoryBytes: &system, NUMABalancing: &zero,
			Governor: "performance", HugePages: "madvise", SwapUsedBytes: &swapped, OpenFiles: "65535", LockedBytes: "unlimited"},
		Runtime: row.RuntimeReceipt{Kind: "packages", Packages: map[string]string{"vllm": "0.26.0", "torch": "2.11.0"}, Libraries: map[string]string{"libcudart": "12.8.90"}},
		Unread:  map[string]string{},
	}
	if !reflect.DeepEqual(rec, want) {
		t.Errorf("receipt\n%s\nwant\n%s", asJSON(t, rec), asJSON(t, want))
	}

	p := ev.Process
	if ev.Row != -1 || p.PID != 800 || !slices.Equal(p.Tree, []int64{805, 811}) {
		t.Errorf("evidence of row %d, process %d with %v below it; want -1, 800, [805 811]", ev.Row, p.PID, p.Tree)
	}
	wantEnv := map[string]string{"VLLM_USE_V1": "1", "VLLM_API_KEY": "(masked)", "HF_TOKEN": "(masked)", "CUDA_VISIBLE_DEVICES": "0",
		"PYTHONPATH": "/opt/extra", "HF_HOME": "/hub"}
	if !reflect.DeepEqual(p.Environment, wantEnv) {
		t.Errorf("environment %v, want %v", p.Environment, wantEnv)
	}
	if len(ev.Apps) != 1 || !ev.Apps[0].Ours || ev.Apps[0].Name != "VLLM::EngineCore" || ev.Apps[0].Index != 0 {
		t.Errorf("apps %+v", ev.Apps)
	}
	all := asJSON(t, rec) + asJSON(t, ev)
	for _, s := range []string{secret, "hf_abcdefghijklmnopqrst", "me:pass"} {
		if strings.Contains(all, s) {
			t.Errorf("the secret %q stands in the output", s)
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The process that answers is found by its socket alone: here, this test.
func TestReceiptOfThisProcess(t *testing.T) {
	noSMI(t)
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	before := time.Now()
	rec, ev := Receipt(context.Background(), ServerRef{Base: parseURL(t, s.URL)})
	if ev.Process == nil || ev.Process.PID != int64(os.Getpid()) {
		t.Fatalf("process %+v, want pid %d; unread %v", ev.Process, os.Getpid(), rec.Unread)
	}
	started, err := time.Parse(time.RFC3339, rec.Engine.StartedAt)
	if err != nil || started.After(before.Add(2*time.Second)) || before.Sub(started) > time.Hour {
		t.Errorf("started at %s, %v", rec.Engine.StartedAt, err)
	}
	if rec.Runtime.Kind != "binary" || !slices.Equal(rec.Engine.CommandLine, os.Args) {
		t.Errorf("runtime %s, command line %q", rec.Runtime.Kind, rec.Engine.CommandLine)
	}
	if rec.Host.Kernel == "" || rec.Host.Cores == 0 || rec.Host.MemoryBytes == nil {
		t.Errorf("host %+v", rec.Host)
	}
	if !strings.HasPrefix(rec.Unread["devices"], "there is none of nvidia-smi, amd-smi and rocm-smi on PATH") || rec.Devices == nil || len(rec.Devices) != 0 {
		t.Errorf("devices %v, unread %q", rec.Devices, rec.Unread["devices"])
	}
}

func TestWhyAProcessIsNotKnown(t *testing.T) {
	r := vllmRoot(t)
	m := vllmMachine(t, r)
	noSMI(t)
	proxied := vllmRoot(t)
	proxied.write("proc/800/comm", "docker-proxy\n")
	unseen := newRoot(t)
	unseen.write("proc/net/tcp6", tcpTable(8000, "77"))
	for _, c := range []struct {
		name string
		m    *machine
		ref  ServerRef
		says string
	}{
		{"elsewhere", m, ServerRef{Base: parseURL(t, "http://192.0.2.1:8000")}, "the server is not on this host"},
		{"forwarded", m, ServerRef{Base: parseURL(t, "http://127.0.0.1:8001")}, "nothing in this network namespace listens on port 8001"},
		{"proxied", proxied.machine(), ServerRef{Base: parseURL(t, "http://localhost:8000")}, "forwarded into a container by docker-proxy, and which one is not known: there is neither docker nor podman"},
		{"unseen", unseen.machine(), ServerRef{Base: parseURL(t, "http://[::1]:8000")}, "whose it is cannot be seen"},
		{"ended", m, ServerRef{Base: parseURL(t, "http://127.0.0.1:8000"), PID: 4000}, "there is no process 4000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec, ev := c.m.receipt(context.Background(), c.ref)
			for _, field := range []string{"engine.command_line", "engine.started_at", "runtime.packages"} {
				if !strings.Contains(rec.Unread[field], c.says) {
					t.Errorf("%s: %q, want %q", field, rec.Unread[field], c.says)
				}
			}
			if ev.Process != nil || rec.Engine.CommandLine != nil || rec.Weights.Source != "unknown" {
				t.Errorf("process %v, command line %v, weights %v", ev.Process, rec.Engine.CommandLine, rec.Weights)
			}
		})
	}
}

func TestARetitledProcessHasNoCommandLine(t *testing.T) {
	noSMI(t)
	rec, _ := vllmMachine(t, vllmRoot(t)).receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000"), PID: 811})
	if rec.Engine.CommandLine != nil || !strings.Contains(rec.Unread["engine.command_line"], `retitled itself "VLLM::EngineCore"`) {
		t.Errorf("%q, unread %q", rec.Engine.CommandLine, rec.Unread["engine.command_line"])
	}
}

// Workers of a tensor-parallel server are children of its engine, one a device: each
// device's process tells its rank, and a stranger's process makes none the server's.
func TestTwoDevices(t *testing.T) {
	r := vllmRoot(t)
	r.process(821, 811, []string{"VLLM::Worker_TP0"}, nil)
	r.process(822, 811, []string{"VLLM::Worker_TP1"}, nil)
	d := loadDevices(t, "testdata/h200-x2.json")
	useSMI(t, d)
	rec, ev := vllmMachine(t, r).receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000")})
	if len(rec.Devices) != 2 || len(rec.Unread) != 1 { // engine.version alone
		t.Fatalf("devices %s, unread %v", asJSON(t, rec.Devices), rec.Unread)
	}
	for i, d := range rec.Devices {
		if want := fmt.Sprintf("VLLM::Worker_TP%d", i); !d.Used || d.Index != int64(i) || !slices.Equal(d.Processes, []string{want}) {
			t.Errorf("device %d: %s", i, asJSON(t, d))
		}
	}
	if !slices.Equal(ev.Process.Tree, []int64{805, 811, 821, 822}) || len(ev.Apps) != 2 || !ev.Apps[0].Ours || !ev.Apps[1].Ours {
		t.Errorf("tree %v, apps %s", ev.Process.Tree, asJSON(t, ev.Apps))
	}
	joined := slices.ContainsFunc(ev.Raw, func(r row.RawText) bool { return r.Name == "nvidia-smi topo -m" && strings.Contains(r.Text, "NV18") })
	if !joined {
		t.Errorf("how the devices are joined is not kept: %s", asJSON(t, ev.Raw))
	}

	d.Apps[1]["pid"], d.Apps[1]["process_name"] = "900", "sshd"
	useSMI(t, d)
	rec, _ = vllmMachine(t, r).receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000")})
	if !rec.Devices[0].Used || rec.Devices[1].Used || rec.Devices[1].Processes != nil {
		t.Errorf("a stranger's device counts as the server's: %s", asJSON(t, rec.Devices))
	}
}

// Of eight devices the server uses the last four in two stages of two; what another
// process does on the first makes none of them the server's.
func TestFourOfEightDevices(t *testing.T) {
	r := vllmRoot(t)
	two := loadDevices(t, "testdata/h200-x2.json")
	d := fakeDevices{Topo: two.Topo}
	uuid := func(i int) string { return fmt.Sprintf("GPU-00000000-0000-4000-8000-0000000000%02d", i) }
	for i := range 8 {
		g := maps.Clone(two.GPUs[0])
		g["index"], g["uuid"] = fmt.Sprint(i), uuid(i)
		if i < 4 {
			g["memory.used"], g["power.draw"] = "4 MiB", "[N/A]"
		}
		d.GPUs = append(d.GPUs, g)
	}
	app := func(pid, device int, name string) {
		d.Apps = append(d.Apps, map[string]string{"gpu_uuid": uuid(device), "pid": fmt.Sprint(pid), "process_name": name, "used_gpu_memory": "131390 MiB"})
	}
	app(900, 0, "python3")
	for i := range 4 {
		name := fmt.Sprintf("VLLM::Worker_PP%d_TP%d", i/2, i%2)
		r.process(830+i, 811, []string{name}, nil)
		app(830+i, 4+i, name)
		if i > 0 {
			app(830+i, 4, name) // a worker that keeps a context on the first one too
		}
	}
	app(7, 99, "python3") // on a device that is not listed
	useSMI(t, d)
	rec, ev := vllmMachine(t, r).receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000")})
	for i, d := range rec.Devices {
		if d.Index != int64(i) || d.Used != (i >= 4) {
			t.Errorf("device %d: %s", i, asJSON(t, d))
		}
	}
	if len(rec.Devices) != 8 {
		t.Fatalf("%d devices", len(rec.Devices))
	}
	if got := rec.Devices[4].Processes; !slices.Equal(got, []string{"VLLM::Worker_PP0_TP0", "VLLM::Worker_PP0_TP1", "VLLM::Worker_PP1_TP0", "VLLM::Worker_PP1_TP1"}) {
		t.Errorf("processes on device 4: %q", got)
	}
	if got := rec.Devices[7].Processes; !slices.Equal(got, []string{"VLLM::Worker_PP1_TP1"}) {
		t.Errorf("processes on device 7: %q", got)
	}
	if !strings.Contains(rec.Unread["devices[0].power_w"], "does not report it") || rec.Unread["devices[7].power_w"] != "" {
		t.Errorf("unread %v", rec.Unread)
	}
	if last := ev.Apps[len(ev.Apps)-1]; last.Index != -1 || last.Ours {
		t.Errorf("a process on a device that is not listed: %s", asJSON(t, last))
	}
}

// Where a container hides the processes, memory in use on several devices does not tell
// whose it is.
func TestHiddenProcessesOfSeveralDevices(t *testing.T) {
	d := loadDevices(t, "testdata/h200-x2.json")
	d.Apps = nil
	useSMI(t, d)
	rec, ev := vllmMachine(t, vllmRoot(t)).receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000")})
	if rec.Devices[0].Used || rec.Devices[1].Used || !strings.Contains(rec.Unread["devices[].used"], "no process of the server's tree") ||
		!strings.Contains(ev.Unread["apps"], "a container hides") {
		t.Errorf("devices %s, unread %v", asJSON(t, rec.Devices), ev.Unread)
	}
}

// A reading from before the launch tells it: what has risen since is the server's, and what
// was in use before is not.
func TestHiddenProcessesAfterALaunch(t *testing.T) {
	d := loadDevices(t, "testdata/h200-x2.json")
	d.Apps = nil
	launched := d.GPUs[1]["memory.used"]
	d.GPUs[1]["memory.used"] = "4 MiB"
	useSMI(t, d)
	m := vllmMachine(t, vllmRoot(t))
	before := m.beforeLaunch(context.Background())
	if a, b := before.Of(0), before.Of(1); a == nil || *a < 100<<30 || b == nil || *b != 4<<20 || before.Unread != "" {
		t.Fatalf("before the launch: %s", asJSON(t, before))
	}
	d.GPUs[1]["memory.used"] = launched
	useSMI(t, d)
	rec, _ := m.receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000"), Before: before})
	if rec.Devices[0].Used || !rec.Devices[1].Used || !strings.Contains(rec.Unread["devices[].used"], "the memory that the launch put into use") {
		t.Errorf("devices %s, unread %v", asJSON(t, rec.Devices), rec.Unread)
	}
	if rec.BeforeLaunch != before {
		t.Errorf("the receipt states %s", asJSON(t, rec.BeforeLaunch))
	}
	noSMI(t)
	if b := m.beforeLaunch(context.Background()); len(b.Devices) != 0 || b.Unread == "" {
		t.Errorf("without a tool: %s", asJSON(t, b))
	}
}

// A GPU that shares the system's memory reports none of its own: that is neither 0 nor
// no device.
func TestMemoryNotReported(t *testing.T) {
	useSMI(t, loadDevices(t, "testdata/gb10.json"))
	rec, ev := vllmMachine(t, vllmRoot(t)).receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000")})
	if len(rec.Devices) != 1 || rec.Devices[0].Name != "NVIDIA GB10" || rec.Devices[0].MemoryBytes != nil || rec.Devices[0].Used {
		t.Errorf("devices %+v", rec.Devices)
	}
	for field, says := range map[string]string{
		"devices[0].memory_bytes":     "does not report it",
		"devices[0].power_limit_w":    "does not report it",
		"devices[0].memory_clock_mhz": "does not report it",
		"devices[].used":              "no process of the server's tree",
		"devices[0].ecc":              "does not report it ([N/A])",
	} {
		if !strings.Contains(rec.Unread[field], says) {
			t.Errorf("%s: %q, want %q", field, rec.Unread[field], says)
		}
	}
	d := ev.Devices[0]
	if d.PowerW == nil || *d.PowerW != 3.10 || d.PowerLimitW != nil || d.MemoryUsed != nil || *d.SMClock != 208 || d.Throttle != "0x0000000000000001" {
		t.Errorf("sample %s", asJSON(t, d))
	}
	a := ev.Apps[0]
	if a.PID != 4242 || a.Name != "/opt/engine/python3, --serve" || a.Ours || *a.MemoryBytes != 6590<<20 {
		t.Errorf("app %s", asJSON(t, a))
	}
}

func TestContainersHideProcesses(t *testing.T) {
	d := loadDevices(t, "testdata/h200.json")
	d.Apps = nil
	useSMI(t, d)
	rec, ev := vllmMachine(t, vllmRoot(t)).receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000")})
	if !strings.Contains(ev.Unread["apps"], "a container hides") || !strings.Contains(rec.Unread["devices[].used"], "memory in use on the only device") {
		t.Errorf("unread %v", ev.Unread)
	}
	if !rec.Devices[0].Used {
		t.Error("the only device, with 132 GiB in use, counts as unused")
	}

	d.Apps = []map[string]string{{"gpu_uuid": d.GPUs[0]["uuid"], "pid": "811", "process_name": "[Not Found]", "used_gpu_memory": "134956 MiB"}}
	useSMI(t, d)
	rec, ev = vllmMachine(t, vllmRoot(t)).receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000")})
	if len(ev.Apps) != 0 || !rec.Devices[0].Used || !strings.Contains(ev.Unread["apps"], "another process namespace") {
		t.Errorf("apps %v, unread %v", ev.Apps, ev.Unread)
	}

	d.Apps, d.GPUs[0]["memory.used"] = nil, "4 MiB"
	useSMI(t, d)
	_, ev = vllmMachine(t, vllmRoot(t)).receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000")})
	if ev.Unread["apps"] != "" {
		t.Errorf("an idle device without processes is believed, not %q", ev.Unread["apps"])
	}
}

// A device that is divided shares its clocks and its power with other slices.
func TestADividedDevice(t *testing.T) {
	d := loadDevices(t, "testdata/h200.json")
	d.GPUs[0]["mig.mode.current"] = "Enabled"
	useSMI(t, d)
	rec, _ := vllmMachine(t, vllmRoot(t)).receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000")})
	if rec.Devices[0].Partition != "MIG Enabled" {
		t.Errorf("device %s", asJSON(t, rec.Devices[0]))
	}
}

func TestOlderDriversKnowTheOtherColumn(t *testing.T) {
	d := loadDevices(t, "testdata/h200.json")
	d.Unknown = []string{"clocks_event_reasons.active"}
	useSMI(t, d)
	_, ev := vllmMachine(t, vllmRoot(t)).receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000")})
	if len(ev.Devices) != 1 || ev.Devices[0].Throttle != "0x0000000000000000" {
		t.Errorf("devices %s, unread %v", asJSON(t, ev.Devices), ev.Unread)
	}
}

func TestADriverThatFails(t *testing.T) {
	useSMI(t, fakeDevices{Fails: "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."})
	rec, _ := vllmMachine(t, vllmRoot(t)).receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000")})
	if !strings.Contains(rec.Unread["devices"], "couldn't communicate with the NVIDIA driver") {
		t.Errorf("unread %q", rec.Unread["devices"])
	}
}

func TestNUMABalancing(t *testing.T) {
	for _, c := range []struct{ text, want, says string }{
		{"0\n", "0", ""},
		{"2\n", "2", ""},
		{"", "null", "not a number"},
		{"absent", "null", "has no /proc/sys/kernel/numa_balancing"},
	} {
		r := newRoot(t)
		if c.text != "absent" {
			r.write("proc/sys/kernel/numa_balancing", c.text)
		}
		unread := map[string]string{}
		h := r.machine().host(unread)
		if got := asJSON(t, h.NUMABalancing); got != c.want || !strings.Contains(unread["host.numa_balancing"], c.says) || (c.says == "") != (unread["host.numa_balancing"] == "") {
			t.Errorf("%q reads %s, unread %q", c.text, got, unread["host.numa_balancing"])
		}
	}
}

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		argv string
		want map[string]string
	}{
		{"python -u -m sglang.launch_server --model-path /m --tp 2 --enable-metrics", map[string]string{"model-path": "/m", "tp": "2", "enable-metrics": "true"}},
		{"vllm serve org/name --tensor-parallel-size=2", map[string]string{"model": "org/name", "tensor-parallel-size": "2"}},
		{"python3 -X dev -m vllm.entrypoints.openai.api_server --model x --model y", map[string]string{"model": "y"}},
		{"/usr/bin/llama-server -m a.gguf -ngl 99 --temp -0.5 --no-mmap", map[string]string{"m": "a.gguf", "ngl": "99", "temp": "-0.5", "no-mmap": "true"}},
		{"python3", map[string]string{}},
		{"", map[string]string{}},
	} {
		if got := row.ArgumentsOf(strings.Fields(c.argv)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s\ngives %v, want %v", c.argv, got, c.want)
		}
	}
}

func TestSecretsAreMasked(t *testing.T) {
	const s = "s3cretvalue"
	for _, argv := range [][]string{
		{"x", "--api-key", s},
		{"x", "--api-key", s, s},
		{"x", "--api_key=" + s},
		{"x", "-key=" + s},
		{"x", "--key", "12345"},
		{"x", "--auth-token-value", s},
		{"x", "--admin-api-key", s, "--port", "1"},
		{"env", "HF_TOKEN=" + s, "x"},
		{"x", "--url", "https://me:" + s + "@host/x"},
		{"x", "--header", "Authorization: Bearer " + s},
		{"x", "--config", `{"aws_secret": "` + s + `"}`},
		{"x", "--config", `{"k": {"API-KEY":"` + s + `\"x"}}`},
		{"x", "--note", "the value " + s + " of the environment"},
		{"x", "--hf", "hf_" + s + s},
	} {
		if got := strings.Join(maskCommand(argv, secretsOf(map[string]string{"MY_PASSWORD": s})), " "); strings.Contains(got, s) || strings.Contains(got, "12345") {
			t.Errorf("%q shows the secret", got)
		}
	}
	plain := []string{"vllm", "serve", "m", "--max-num-batched-tokens", "8192", "--tokenizer", "t", "--long-prefill-token-threshold", "2048", "--speculative-config", `{"num_speculative_tokens": 3}`, "A=b"}
	if got := maskCommand(plain, nil); !slices.Equal(got, plain) {
		t.Errorf("%q is masked to %q", plain, got)
	}
}

func TestWeights(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	r := newRoot(t)
	r.write("srv/local/config.json", "{}\n")
	r.write("srv/local/model.safetensors", string(safetensors("{}")))
	r.write("models/x.gguf", "GGUF")
	r.write("hub/hub/models--org--name/refs/main", commit)
	r.write("hub/hub/models--org--name/snapshots/"+commit+"/config.json", "{}\n")
	p := &process{pid: 5, cwd: "/srv", env: map[string]string{"HF_HOME": "/hub"}}
	const sum = "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356"
	for _, c := range []struct {
		name string
		args map[string]string
		want row.WeightsReceipt
		says map[string]string
	}{
		{"a folder", map[string]string{"model": "local"}, row.WeightsReceipt{Source: "file", ConfigSHA256: sum, HeadersSHA256: shaOf(safetensors("{}")), Files: 1}, nil},
		{"a folder's config alone", map[string]string{"model": "local", "load-format": "dummy"}, row.WeightsReceipt{Source: "random", ConfigSHA256: sum}, nil},
		{"as a server reports it", map[string]string{"model_path": "/srv/local", "load_format": "dummy"}, row.WeightsReceipt{Source: "random", ConfigSHA256: sum}, nil},
		{"a file", map[string]string{"m": "/models/x.gguf"}, row.WeightsReceipt{Source: "file"}, map[string]string{"weights.config_sha256": "one file", "weights.headers_sha256": "ends inside its header"}},
		{"a repository", map[string]string{"model": "org/name"}, row.WeightsReceipt{Source: "repository", Revision: commit, ConfigSHA256: sum}, nil},
		{"a revision", map[string]string{"model": "org/name", "revision": commit}, row.WeightsReceipt{Source: "repository", Revision: commit, ConfigSHA256: sum}, nil},
		{"an unknown revision", map[string]string{"model": "org/other"}, row.WeightsReceipt{Source: "repository"},
			map[string]string{"weights.revision": "given none", "weights.config_sha256": "no such file"}},
		{"gone", map[string]string{"model": "/srv/gone"}, row.WeightsReceipt{Source: "unknown"}, map[string]string{"weights.source": "not there now"}},
		{"not named", map[string]string{}, row.WeightsReceipt{Source: "unknown"}, map[string]string{"weights.source": "names its model"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			unread := map[string]string{}
			if got := r.machine().weights(c.args, p, unread); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			for field, says := range c.says {
				if !strings.Contains(unread[field], says) {
					t.Errorf("%s: %q, want %q", field, unread[field], says)
				}
			}
			if c.says == nil && len(unread) != 0 {
				t.Errorf("unread %v", unread)
			}
		})
	}
}

// In a container the interpreter cannot be run; the folder that its libraries are
// mapped from tells the versions.
func TestPackagesOfAContainer(t *testing.T) {
	r := vllmRoot(t)
	r.link("proc/800/ns/mnt", "mnt:[2]")
	r.link("proc/self/ns/mnt", "mnt:[1]")
	r.write("proc/800/maps", "7f00-7f01 r-xp 00000000 08:01 12 /usr/lib/python3/dist-packages/torch/lib/libtorch.so\n7f02-7f03 rw-p 0 00:00 0\n")
	r.write("proc/800/root/usr/lib/python3/dist-packages/torch-2.11.0+cu128.dist-info/METADATA", "")
	r.write("proc/800/root/usr/lib/python3/dist-packages/flashinfer_python-0.6.14.dist-info/METADATA", "")
	r.write("proc/800/root/usr/lib/python3/dist-packages/requests-2.0.dist-info/METADATA", "")
	m := vllmMachine(t, r)
	got, err := m.packages(context.Background(), m.process(800, map[string]string{}))
	if want := map[string]string{"torch": "2.11.0+cu128", "flashinfer-python": "0.6.14"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("packages %v, %v; want %v", got, err, want)
	}
}

// The port of another listener must not lead to this process.
func TestTwoListeners(t *testing.T) {
	a, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := a.Addr().(*net.TCPAddr).Port
	a.Close()
	if pid, err := thisMachine().find(context.Background(), parseURL(t, fmt.Sprintf("http://127.0.0.1:%d", port))); err == nil {
		t.Errorf("a closed port leads to process %d", pid)
	}
}
