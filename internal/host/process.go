package host

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"rowproof/internal/row"
)

// process is the server's process as /proc shows it, secrets still in it.
type process struct {
	pid     int64
	argv    []string
	env     map[string]string
	started time.Time
	tree    []int64 // the pids below it
	cwd     string
	inside  bool // it sees another file system than this process
}

// find returns the process that serves at a URL. The error says in words why it is not
// known.
func (m *machine) find(ctx context.Context, base *url.URL) (int64, error) {
	port := base.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[base.Scheme]
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%s names no port", base.Redacted())
	}
	if !isLocal(base.Hostname()) {
		return 0, errors.New("the server is not on this host")
	}
	inodes, err := m.listeners(uint16(n))
	if err != nil {
		return 0, err
	}
	if len(inodes) == 0 {
		return 0, fmt.Errorf("nothing in this network namespace listens on port %d: the port is forwarded from elsewhere", n)
	}
	holders := m.holders(inodes)
	if len(holders) == 0 {
		return 0, fmt.Errorf("port %d is listened on, but whose it is cannot be seen: it belongs to another user or to another process namespace", n)
	}
	// Workers inherit the socket: the server is the one whose parent does not hold it.
	parents := m.parents()
	slices.Sort(holders)
	top := holders[0]
	for _, pid := range holders {
		if !slices.Contains(holders, parents[pid]) {
			top = pid
			break
		}
	}
	if name, _ := m.read("proc", fmt.Sprint(top), "comm"); strings.TrimSpace(name) == "docker-proxy" {
		c, err := m.containerAt(ctx, port)
		if err != nil {
			return 0, fmt.Errorf("port %d is forwarded into a container by docker-proxy, and which one is not known: %w", n, err)
		}
		return c.pid, nil
	}
	return top, nil
}

// isLocal says whether a host name leads to this machine.
func isLocal(host string) bool {
	ips, err := net.LookupIP(host)
	if err != nil {
		return false
	}
	addrs, _ := net.InterfaceAddrs()
	for _, ip := range ips {
		if ip.IsLoopback() || ip.IsUnspecified() {
			return true
		}
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
				return true
			}
		}
	}
	return false
}

// listeners are the inodes of the sockets that listen on a port.
func (m *machine) listeners(port uint16) (map[string]bool, error) {
	out := map[string]bool{}
	var failed error
	read := 0
	for _, table := range []string{"proc/net/tcp", "proc/net/tcp6"} {
		s, err := m.read(table)
		if err != nil {
			failed = err
			continue
		}
		read++
		for line := range strings.Lines(s) {
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != "0A" { // LISTEN
				continue
			}
			_, p, ok := strings.Cut(f[1], ":")
			b, err := hex.DecodeString(p)
			if ok && err == nil && len(b) == 2 && uint16(b[0])<<8|uint16(b[1]) == port {
				out[f[9]] = true
			}
		}
	}
	if read == 0 {
		return nil, failed
	}
	return out, nil
}

// pids are the processes that /proc shows.
func (m *machine) pids() []int64 {
	entries, _ := os.ReadDir(m.path("proc"))
	var out []int64
	for _, e := range entries {
		if pid, err := strconv.ParseInt(e.Name(), 10, 64); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// holders are the processes that hold one of the sockets open.
func (m *machine) holders(inodes map[string]bool) []int64 {
	var out []int64
	for _, pid := range m.pids() {
		dir := m.path("proc", fmt.Sprint(pid), "fd")
		fds, _ := os.ReadDir(dir)
		for _, fd := range fds {
			to, err := os.Readlink(filepath.Join(dir, fd.Name()))
			if err != nil {
				continue
			}
			if inode, ok := strings.CutPrefix(to, "socket:["); ok && inodes[strings.TrimSuffix(inode, "]")] {
				out = append(out, pid)
				break
			}
		}
	}
	return out
}

// stat returns the fields of /proc/PID/stat after the name, which may hold anything.
func (m *machine) stat(pid int64) ([]string, error) {
	s, err := m.read("proc", fmt.Sprint(pid), "stat")
	if err != nil {
		return nil, err
	}
	_, rest, ok := cutLast(s, ")")
	f := strings.Fields(rest)
	if !ok || len(f) < 20 {
		return nil, fmt.Errorf("/proc/%d/stat has an unknown form", pid)
	}
	return f, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// parents maps each process to its parent.
func (m *machine) parents() map[int64]int64 {
	out := map[int64]int64{}
	for _, pid := range m.pids() {
		if f, err := m.stat(pid); err == nil {
			if parent, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				out[pid] = parent
			}
		}
	}
	return out
}

// below lists the descendants of a process, in order.
func (m *machine) below(pid int64) []int64 {
	parents := m.parents()
	out := []int64{}
	for p := range parents {
		for up, steps := parents[p], 0; up > 0 && steps < len(parents); up, steps = parents[up], steps+1 {
			if up == pid {
				out = append(out, p)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

// ticks a second of /proc/PID/stat: the kernel shows all programs 100.
const ticks = 100

// startedAt is when a process started, to the second of the kernel's own boot time.
func (m *machine) startedAt(pid int64) (time.Time, error) {
	f, err := m.stat(pid)
	if err != nil {
		return time.Time{}, err
	}
	start, err := strconv.ParseInt(f[19], 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("/proc/%d/stat gives the start as %q", pid, f[19])
	}
	s, err := m.read("proc/stat")
	if err != nil {
		return time.Time{}, err
	}
	for line := range strings.Lines(s) {
		if v, ok := strings.CutPrefix(line, "btime "); ok {
			boot, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			if err != nil {
				break
			}
			return time.Unix(boot, 0).Add(time.Duration(start) * (time.Second / ticks)).UTC(), nil
		}
	}
	return time.Time{}, errors.New("/proc/stat has no btime")
}

// process reads one process; what could not be read stands in unread.
func (m *machine) process(pid int64, unread map[string]string) *process {
	p := &process{pid: pid, tree: m.below(pid)}
	id := fmt.Sprint(pid)

	s, err := m.read("proc", id, "cmdline")
	switch {
	case err != nil:
		unread["engine.command_line"] = err.Error()
	case strings.Trim(s, "\x00 ") == "":
		unread["engine.command_line"] = fmt.Sprintf("process %d shows none", pid)
	default:
		p.argv = strings.Split(strings.TrimRight(s, "\x00"), "\x00")
		if len(p.argv) == 1 && strings.Contains(p.argv[0], "::") {
			unread["engine.command_line"] = fmt.Sprintf("process %d has retitled itself %q, which overwrites it", pid, p.argv[0])
			p.argv = nil
		}
	}

	if s, err := m.read("proc", id, "environ"); err != nil {
		unread["process.environment"] = err.Error()
	} else {
		p.env = map[string]string{}
		for entry := range strings.SplitSeq(s, "\x00") {
			if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
				p.env[name] = value
			}
		}
	}

	if p.started, err = m.startedAt(pid); err != nil {
		unread["engine.started_at"] = err.Error()
	}
	p.cwd, _ = os.Readlink(m.path("proc", id, "cwd"))
	theirs, err := os.Readlink(m.path("proc", id, "ns/mnt"))
	ours, ourErr := os.Readlink(m.path("proc/self/ns/mnt"))
	p.inside = err == nil && ourErr == nil && theirs != ours
	return p
}

// record is the process without its secrets.
func (p *process) record(packages map[string]string, secrets []string) *row.ProcessRecord {
	r := &row.ProcessRecord{
		PID: p.pid, CommandLine: maskCommand(p.argv, secrets), Environment: maskEnvironment(p.env, secrets),
		Tree: p.tree, Packages: packages,
	}
	if !p.started.IsZero() {
		r.StartedAt = p.started.Format(time.RFC3339)
	}
	return r
}

// holds says whether pid is the process or one below it.
func (p *process) holds(pid int64) bool {
	return p != nil && (p.pid == pid || slices.Contains(p.tree, pid))
}

// file is the path by which this process reaches a file of the other's.
func (m *machine) file(p *process, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join("/", p.cwd, path)
	}
	if p.inside {
		return m.path("proc", fmt.Sprint(p.pid), "root", path)
	}
	return m.path(path)
}
