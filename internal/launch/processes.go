package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// processes are those that /proc shows.
func processes() []int {
	entries, _ := os.ReadDir("/proc")
	var out []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// marked are the processes that have an entry in their environment.
func marked(entry string) []int {
	var out []int
	for _, pid := range processes() {
		env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if err == nil && slices.Contains(strings.Split(string(env), "\x00"), entry) {
			out = append(out, pid)
		}
	}
	return out
}

// members are the processes of a group.
func members(of int) []int {
	return slices.DeleteFunc(processes(), func(pid int) bool { return group(pid) != of })
}

// status are the fields of a process behind its name: state, parent, group; nil where it
// is gone.
func status(pid int) []string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return nil
	}
	rest := string(text)
	if i := strings.LastIndexByte(rest, ')'); i >= 0 {
		rest = rest[i+1:]
	}
	if f := strings.Fields(rest); len(f) >= 3 {
		return f
	}
	return nil
}

// alive says whether a process still runs: one that nobody has asked after holds nothing.
func alive(pid int) bool {
	f := status(pid)
	return f != nil && f[0] != "Z" && f[0] != "X"
}

func group(pid int) int { return field(pid, 2) }

func field(pid, i int) int {
	f := status(pid)
	if f == nil {
		return 0
	}
	n, _ := strconv.Atoi(f[i])
	return n
}

// below are the processes that one started, and those that these did.
func below(pid int) []int {
	parents := map[int]int{}
	for _, p := range processes() {
		parents[p] = field(p, 1)
	}
	var out []int
	for p := range parents {
		for up, steps := parents[p], 0; up > 1 && steps < len(parents); up, steps = parents[up], steps+1 {
			if up == pid {
				out = append(out, p)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}
