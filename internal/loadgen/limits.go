package loadgen

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// besideConnections is how many descriptors a run has beside its connections at most: the
// runtime's poller (2) and a run's own (3), rings of this run and of the one before (2),
// an answer's bytes beyond the bound (1), connections that ask for the server's metrics
// and names (4), tools that read devices, or an engine of our own, and their pipes (10),
// files read and written (6), and the eight streams of a short selftest before the run.
const besideConnections = 36

// dialsAtOnce bounds the connections that are just being opened, each of which has a
// second descriptor for a moment: a listen backlog is often 128.
const dialsAtOnce = 64

// Lacks says what this host lacks for a run of so many connections to one server at once,
// a sentence each with the command that mends it. What it may raise by itself it raises.
func Lacks(connections int) []string {
	need := connections + min(connections, dialsAtOnce) + openDescriptors() + besideConnections
	return lacks(need, raiseDescriptors(need), connections, localPorts("/proc/sys/net/ipv4/"))
}

// lacks compares what is needed with what there is; 0 is no limit.
func lacks(need, found, connections int, ports portRange) (out []string) {
	if found > 0 && found < need {
		out = append(out, fmt.Sprintf("%s %d file descriptors, and this process may have %d: run `sudo prlimit --pid $$ --nofile=%d:%d` in this shell first, or give its container `--ulimit nofile=%d:%d`",
			needing(connections), need, found, need, need, need, need))
	}
	if n := ports.count(); n > 0 && n < connections {
		out = append(out, fmt.Sprintf("%d connections to one server need as many local ports, and this host has %d (%d to %d): `sudo sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"` gives more",
			connections, n, ports.low, ports.high))
	}
	return out
}

func needing(connections int) string {
	if connections == 1 {
		return "1 connection needs"
	}
	return strconv.Itoa(connections) + " connections need"
}

// portRange is which ports this host gives to connections it opens, but for those that
// it keeps for others.
type portRange struct{ low, high, reserved int }

// count is 0 where the system does not say.
func (r portRange) count() int {
	if r.high == 0 {
		return 0
	}
	return r.high - r.low + 1 - r.reserved
}

func localPorts(folder string) (r portRange) {
	text, err := os.ReadFile(folder + "ip_local_port_range")
	if err != nil {
		return portRange{}
	}
	if _, err := fmt.Sscan(string(text), &r.low, &r.high); err != nil {
		return portRange{}
	}
	text, _ = os.ReadFile(folder + "ip_local_reserved_ports")
	for part := range strings.SplitSeq(strings.TrimSpace(string(text)), ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		a, errA := strconv.Atoi(first)
		b, errB := strconv.Atoi(last)
		if errA == nil && errB == nil {
			r.reserved += max(0, min(b, r.high)-max(a, r.low)+1)
		}
	}
	return r
}
