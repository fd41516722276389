package loadgen

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// spareDescriptors is what a run opens beside its connections: files, rings, what asks
// for the server's metrics, and a second descriptor for each connection that is just
// being opened.
const spareDescriptors = 192

// Lacks says what this host lacks for a run of so many connections to one server at once,
// a sentence each with the command that mends it. What it may raise by itself it raises.
func Lacks(connections int) []string {
	need := connections + openDescriptors() + spareDescriptors
	return lacks(need, raiseDescriptors(need), connections, localPorts("/proc/sys/net/ipv4/"))
}

// lacks compares what is needed with what there is; 0 is no limit.
func lacks(need, found, connections int, ports portRange) (out []string) {
	if found > 0 && found < need {
		out = append(out, fmt.Sprintf("%d connections need %d file descriptors, and this process may have %d: run `sudo prlimit --pid $$ --nofile=%d:%d` in this shell first, or give its container `--ulimit nofile=%d:%d`",
			connections, need, found, need, need, need, need))
	}
	if n := ports.count(); n > 0 && n < connections {
		out = append(out, fmt.Sprintf("%d connections to one server need as many local ports, and this host has %d (%d to %d): `sudo sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"` gives more",
			connections, n, ports.low, ports.high))
	}
	return out
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
