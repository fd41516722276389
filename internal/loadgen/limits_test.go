package loadgen

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestLacksNameWhatIsNeededAndFoundAndTheCommand(t *testing.T) {
	ports := portRange{low: 32768, high: 60999}
	for name, c := range map[string]struct {
		need, found, connections int
		ports                    portRange
		want                     [][]string
	}{
		"enough":         {1216, 1216, 1024, ports, nil},
		"no limit":       {1216, 0, 1024, portRange{}, nil},
		"descriptors":    {1216, 1024, 1024, ports, [][]string{{"1024 connections need 1216 file descriptors", "may have 1024", "sudo prlimit --pid $$ --nofile=1216:1216", "--ulimit nofile=1216:1216"}}},
		"of one":         {64, 20, 1, ports, [][]string{{"1 connection needs 64 file descriptors"}}},
		"ports":          {300, 400, 28233, ports, [][]string{{"28233 connections", "has 28232 (32768 to 60999)", "sysctl -w net.ipv4.ip_local_port_range"}}},
		"reserved ports": {300, 400, 28232, portRange{32768, 60999, 1}, [][]string{{"has 28231"}}},
		"both":           {2, 1, 2, portRange{5, 5, 0}, [][]string{{"file descriptors"}, {"local ports"}}},
	} {
		got := lacks(c.need, c.found, c.connections, c.ports)
		if len(got) != len(c.want) {
			t.Errorf("%s: %q, want %d", name, got, len(c.want))
			continue
		}
		for i, want := range c.want {
			for _, w := range want {
				if !strings.Contains(got[i], w) {
					t.Errorf("%s: %q does not say %q", name, got[i], w)
				}
			}
		}
	}
}

func TestLocalPortsAreReadAsTheSystemWritesThem(t *testing.T) {
	dir := t.TempDir() + "/"
	if got := localPorts(dir); got.count() != 0 {
		t.Errorf("%+v of nothing", got)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("ip_local_port_range", "1000\t1099\n")
	if got := localPorts(dir); got.count() != 100 {
		t.Errorf("%+v", got)
	}
	write("ip_local_reserved_ports", "8,1000-1009,1050,1090-2000\n")
	if got := localPorts(dir); got.count() != 100-10-1-10 {
		t.Errorf("%+v", got)
	}
	write("ip_local_reserved_ports", "\n")
	if got := localPorts(dir); got.count() != 100 {
		t.Errorf("%+v", got)
	}
	write("ip_local_port_range", "many\n")
	if got := localPorts(dir); got.count() != 0 {
		t.Errorf("%+v", got)
	}
}

func TestThisHostHasRoomForAFewAndNotForAllThereAre(t *testing.T) {
	if got := Lacks(8); got != nil {
		t.Errorf("%q", got)
	}
	if got := Lacks(1 << 30); len(got) == 0 && runtime.GOOS != "windows" {
		t.Error("a thousand million connections lack nothing")
	}
}
