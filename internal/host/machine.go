package host

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"rowproof/internal/row"
)

// machine is where readings are taken. Tests put a folder and other programs in place
// of the real ones.
type machine struct {
	root string // "/" of the readings; /proc lies below it
	run  func(ctx context.Context, dir string, env []string, name string, args ...string) (string, error)
}

func thisMachine() *machine { return &machine{root: "/", run: runTool} }

// runTool runs a program and returns its standard output. The error of one that failed
// carries what it said.
func runTool(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.WaitDelay = time.Second
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Start()
	if err == nil {
		yield(cmd.Process.Pid)
		err = cmd.Wait()
	}
	if err != nil {
		return out.String(), &toolError{name, err, firstLine(errs.String() + "\n" + out.String())}
	}
	return out.String(), nil
}

// yield lets a tool not take a core from the load generator. A refusal costs little.
func yield(pid int) { _ = syscall.Setpriority(syscall.PRIO_PROCESS, pid, 10) }

// toolError is a program that could not be run or failed.
type toolError struct {
	name string
	err  error
	said string
}

func (e *toolError) Error() string {
	text := filepath.Base(e.name) + ": " + e.err.Error()
	if e.said != "" {
		text += ": " + e.said
	}
	return text
}

func (e *toolError) Unwrap() error { return e.err }

func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			return line[:min(len(line), 300)]
		}
	}
	return ""
}

func (m *machine) path(elem ...string) string {
	return filepath.Join(append([]string{m.root}, elem...)...)
}

func (m *machine) read(elem ...string) (string, error) {
	b, err := os.ReadFile(m.path(elem...))
	return string(b), err
}

// monotonic reads CLOCK_MONOTONIC in nanoseconds, the clock of a row's zero.
func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("no CLOCK_MONOTONIC: " + err.Error())
	}
	return ts.Nano()
}

// host reads kernel, processor, memory and NUMA balancing.
func (m *machine) host(unread map[string]string) row.Host {
	var h row.Host
	if s, err := m.read("proc/sys/kernel/osrelease"); err != nil {
		unread["host.kernel"] = err.Error()
	} else {
		h.Kernel = strings.TrimSpace(s)
	}

	if s, err := m.read("proc/cpuinfo"); err != nil {
		unread["host.cpu"] = err.Error()
		unread["host.cores"] = err.Error()
	} else {
		for line := range strings.Lines(s) {
			name, value, _ := strings.Cut(line, ":")
			switch name, value = strings.TrimSpace(name), strings.TrimSpace(value); name {
			case "processor":
				h.Cores++
			case "model name", "Model":
				h.CPU = value
			}
		}
		if h.CPU == "" {
			unread["host.cpu"] = "/proc/cpuinfo names no model"
		}
	}

	if s, err := m.read("proc/meminfo"); err != nil {
		unread["host.memory_bytes"] = err.Error()
	} else {
		if kb, ok := memoryField(s, "MemTotal:"); ok {
			bytes := kb << 10
			h.MemoryBytes = &bytes
		} else {
			unread["host.memory_bytes"] = "/proc/meminfo has no MemTotal in kB"
		}
		total, ok := memoryField(s, "SwapTotal:")
		free, also := memoryField(s, "SwapFree:")
		if used := (total - free) << 10; ok && also {
			h.SwapUsedBytes = &used
		} else {
			unread["host.swap_used_bytes"] = "/proc/meminfo has no SwapTotal and SwapFree in kB"
		}
	}
	h.Governor = m.governor(unread)
	h.HugePages = m.hugePages(unread)

	switch s, err := m.read("proc/sys/kernel/numa_balancing"); {
	case os.IsNotExist(err):
		unread["host.numa_balancing"] = "this kernel has no /proc/sys/kernel/numa_balancing: it is built without NUMA balancing, or a sandbox hides it"
	case err != nil:
		unread["host.numa_balancing"] = err.Error()
	default:
		v, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		if err != nil {
			unread["host.numa_balancing"] = "/proc/sys/kernel/numa_balancing holds " + strconv.Quote(s) + ", not a number"
		} else {
			h.NUMABalancing = &v
		}
	}
	return h
}

// governor reads how the kernel sets the processors' clocks; several are joined by a
// comma.
func (m *machine) governor(unread map[string]string) string {
	files, _ := filepath.Glob(m.path("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))
	var found []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			unread["host.governor"] = err.Error()
			return ""
		}
		if g := strings.TrimSpace(string(b)); g != "" && !slices.Contains(found, g) {
			found = append(found, g)
		}
	}
	if len(found) == 0 {
		unread["host.governor"] = "this kernel does not set the processors' clocks, or a virtual machine or sandbox hides it: there is no cpufreq/scaling_governor"
	}
	slices.Sort(found)
	return strings.Join(found, ",")
}

// hugePages reads which of its choices the kernel marks.
func (m *machine) hugePages(unread map[string]string) string {
	s, err := m.read("sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil {
		unread["host.huge_pages"] = err.Error()
		return ""
	}
	_, rest, _ := strings.Cut(s, "[")
	chosen, _, ok := strings.Cut(rest, "]")
	if !ok {
		unread["host.huge_pages"] = "transparent_hugepage/enabled holds " + strconv.Quote(strings.TrimSpace(s)) + ", none of it in brackets"
	}
	return chosen
}

// limits reads what the kernel allows a process: its soft limits.
func (m *machine) limits(pid int64, h *row.Host, unread map[string]string) {
	s, err := m.read("proc", strconv.FormatInt(pid, 10), "limits")
	for _, l := range []struct {
		title, field string
		to           *string
	}{{"Max open files", "host.open_files", &h.OpenFiles}, {"Max locked memory", "host.locked_bytes", &h.LockedBytes}} {
		for line := range strings.Lines(s) {
			if rest, ok := strings.CutPrefix(line, l.title); ok && len(strings.Fields(rest)) > 0 {
				*l.to = strings.Fields(rest)[0]
			}
		}
		switch {
		case err != nil:
			unread[l.field] = err.Error()
		case *l.to == "":
			unread[l.field] = "the limits of the server's process do not name it"
		}
	}
}

// memoryField is a line of /proc/meminfo in kB.
func memoryField(meminfo, name string) (kb int64, ok bool) {
	for line := range strings.Lines(meminfo) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == name && f[2] == "kB" {
			v, err := strconv.ParseInt(f[1], 10, 64)
			return v, err == nil
		}
	}
	return 0, false
}
