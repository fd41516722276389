package gate

import (
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/row"
)

// Event bits by which an NVIDIA driver says why it slows a device down.
const (
	softwarePowerCap = 0x04
	hardwareSlowdown = 0x08
	softwareThermal  = 0x20
	hardwareThermal  = 0x40
	powerBrake       = 0x80
)

var slowdowns = []struct {
	bit  uint64
	name string
}{
	{hardwareSlowdown, "hardware slowdown"}, {softwareThermal, "software thermal slowdown"},
	{hardwareThermal, "hardware thermal slowdown"}, {powerBrake, "power brake"},
}

// Violations by which amd-smi says why it slows a device down. Others, such as a graphics
// clock below the host's limit while little is asked, say nothing.
var amdSlowdowns = []struct {
	violation, name string
	capped          bool // as by the software power cap of an NVIDIA driver
}{
	{"prochot", "hardware slowdown (PROCHOT)", false},
	{"socket_thermal", "thermal slowdown of the socket", false},
	{"vr_thermal", "thermal slowdown of the voltage regulators", false},
	{"hbm_thermal", "thermal slowdown of the memory", false},
	{"gfx_clk_below_host_limit_thermal", "graphics clock held down by heat", false},
	{"gfx_clk_below_host_limit_thm", "graphics clock held down by heat", false},
	{"ppt", "power cap (PPT)", true},
}

// host holds the machine that served: nothing may have slowed it down or shared it.
func host(in *Input) Result {
	if r, ok := in.tied(); !ok {
		return r
	}
	var h hosts
	h.numa(&in.Report.Receipt.Host)
	if in.Evidence == nil || len(in.Evidence.Devices) == 0 {
		h.unknown = append(h.unknown, "device readings")
	} else {
		used := in.usedDevices()
		h.clocks(in, used)
		h.power(in, used)
		h.strangers(in, used)
	}
	switch {
	case len(h.wrong) > 0:
		return Result{Answer: Fail, Reason: strings.Join(h.wrong, "; "), Figures: h.figures, Mend: h.mend}
	case len(h.unknown) > 0:
		r := missing(strings.Join(h.unknown, ", "), hostMend(in))
		r.Figures = h.figures
		return r
	case len(h.shaky) > 0:
		return warning(strings.Join(h.shaky, "; "), h.figures...)
	}
	return pass("nothing slowed the host down, and nobody shared its devices", h.figures...)
}

// hostMend says how what is unknown of the host could be read.
func hostMend(in *Input) string {
	r := in.Report
	switch {
	case elsewhere(&r.Receipt):
		return "run measure on the server's own host, where it sees the devices and their processes"
	case len(r.Receipt.Devices) == 0:
		return r.Receipt.Unread["devices"]
	case r.AsItWas == nil:
		return recipeMend
	case in.Evidence != nil && in.Evidence.Unread["apps"] != "" && r.Receipt.BeforeLaunch == nil:
		return "have bench start the server (--launch), which reads the devices beforehand, or run it where their processes can be seen"
	}
	return ""
}

// hosts gathers what was found.
type hosts struct {
	wrong, shaky, unknown []string
	figures               []Compared
	mend                  string
}

func once(list []string, text string) []string {
	for _, t := range list {
		if t == text {
			return list
		}
	}
	return append(list, text)
}

// usedDevices are the indexes of the devices that the server uses; all of them where
// the receipt marks none.
func (in *Input) usedDevices() map[int64]bool {
	used := map[int64]bool{}
	for _, d := range in.Report.Receipt.Devices {
		if d.Used {
			used[d.Index] = true
		}
	}
	if len(used) == 0 {
		for i := range in.Evidence.Devices {
			used[in.Evidence.Devices[i].Index] = true
		}
	}
	return used
}

func (h *hosts) numa(host *row.Host) {
	if host.NUMABalancing == nil {
		h.unknown = append(h.unknown, "NUMA balancing")
		return
	}
	h.figures = append(h.figures, Compared{"numa_balancing", itoa(*host.NUMABalancing), "0"})
	if *host.NUMABalancing != 0 {
		h.wrong = append(h.wrong, "NUMA balancing is on ("+itoa(*host.NUMABalancing)+")")
		h.mend = "sudo sh -c 'echo 0 > /proc/sys/kernel/numa_balancing'"
	}
}

// clocks asks for slowdowns at any reading, and for the full memory clock during the
// row.
func (h *hosts) clocks(in *Input, used map[int64]bool) {
	during := map[int64]bool{}
	var least, full *int64
	for i := range in.Evidence.Devices {
		s := &in.Evidence.Devices[i]
		if !used[s.Index] {
			continue
		}
		device := "device " + itoa(s.Index)
		bits, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(s.Throttle), "0x"), 16, 64)
		if err != nil && s.Violations == nil {
			h.unknown = once(h.unknown, "throttle reasons of "+device)
		}
		h.violations(device, s.Violations)
		for _, b := range slowdowns {
			if bits&b.bit != 0 {
				h.wrong = once(h.wrong, device+": "+b.name)
			}
		}
		if bits&softwarePowerCap != 0 {
			h.shaky = once(h.shaky, device+": software power cap")
		}
		if s.When != row.During {
			continue
		}
		during[s.Index] = true
		most := s.MemoryMax
		if was := in.Report.AsItWas; most == nil && was != nil && was.Target.MaxMemoryClockMHz > 0 {
			most = &was.Target.MaxMemoryClockMHz
		}
		if s.MemoryClock == nil || most == nil {
			h.unknown = once(h.unknown, "memory clock of "+device)
			continue
		}
		if least == nil || *s.MemoryClock < *least {
			least, full = s.MemoryClock, most
		}
		if *s.MemoryClock < *most-1 { // amd-smi rounds the two apart
			h.wrong = once(h.wrong, device+": memory clock below its maximum")
		}
	}
	for i := range in.Evidence.Devices {
		if d := in.Evidence.Devices[i].Index; used[d] && !during[d] {
			h.unknown = once(h.unknown, "a reading of device "+itoa(d)+" during the row")
		}
	}
	if least != nil {
		h.figures = append(h.figures, Compared{"least memory clock", itoa(*least) + " MHz", itoa(*full) + " MHz"})
	}
}

// violations takes what amd-smi says of a device at one reading.
func (h *hosts) violations(device string, active []string) {
	for _, v := range active {
		for _, known := range amdSlowdowns {
			switch {
			case v != known.violation:
			case known.capped:
				h.shaky = once(h.shaky, device+": "+known.name)
			default:
				h.wrong = once(h.wrong, device+": "+known.name)
			}
		}
	}
}

// power holds the devices' power limit against the target's.
func (h *hosts) power(in *Input, used map[int64]bool) {
	was := in.Report.AsItWas
	if was == nil {
		h.unknown = append(h.unknown, "a recipe, whose target states the power limit")
		return
	}
	stated, ok := was.Target.BoardW.Float()
	if !ok {
		h.unknown = append(h.unknown, "the target's power limit")
		return
	}
	var odd *row.DeviceSample
	for i := range in.Evidence.Devices {
		s := &in.Evidence.Devices[i]
		switch {
		case !used[s.Index]:
		case s.PowerLimitW == nil:
			h.unknown = once(h.unknown, "power limit of device "+itoa(s.Index))
		case odd == nil || *s.PowerLimitW != stated:
			odd = s
		}
	}
	if odd == nil {
		return
	}
	h.figures = append(h.figures, Compared{"power limit", number(*odd.PowerLimitW) + " W", number(stated) + " W"})
	if *odd.PowerLimitW != stated {
		h.wrong = append(h.wrong, "device "+itoa(odd.Index)+": power limit "+number(*odd.PowerLimitW)+" W, the target's is "+number(stated)+" W")
	}
}

// strangers asks whose processes held device memory.
func (h *hosts) strangers(in *Input, used map[int64]bool) {
	ev := in.Evidence
	if why, ok := ev.Unread["apps"]; ok {
		h.beforeLaunch(in, used, why)
	}
	for i := range ev.Apps {
		a := &ev.Apps[i]
		if a.Ours {
			continue
		}
		who := "process " + itoa(a.PID) + " (" + a.Name + ")"
		switch {
		case used[a.Index]:
			h.wrong = once(h.wrong, "device "+itoa(a.Index)+" was shared with "+who)
		case a.Index < 0:
			h.shaky = once(h.shaky, who+" on a device that is not listed")
		default:
			h.shaky = once(h.shaky, who+" on device "+itoa(a.Index)+", which the server does not use")
		}
	}
}

// beforeLaunch tells strangers on devices whose processes are hidden, for the reason given,
// by what memory was in use before the run started the server: where none was, all that is
// in use since is the server's.
func (h *hosts) beforeLaunch(in *Input, used map[int64]bool, why string) {
	before := in.Report.Receipt.BeforeLaunch
	if before == nil {
		h.unknown = append(h.unknown, "the devices' processes ("+why+")")
		return
	}
	indexes := make([]int64, 0, len(used))
	for d := range used {
		indexes = append(indexes, d)
	}
	slices.Sort(indexes)
	for _, d := range indexes {
		was := before.Of(d)
		if was == nil {
			text := why
			if before.Unread != "" {
				text += "; before the launch: " + before.Unread
			}
			h.unknown = append(h.unknown, "the processes of device "+itoa(d)+", and the memory in use on it before the launch ("+text+")")
			continue
		}
		h.figures = append(h.figures, Compared{"memory in use on device " + itoa(d) + " before the launch", gibibytes(*was), "at most " + gibibytes(row.IdleBytes)})
		if *was > row.IdleBytes {
			h.wrong = append(h.wrong, "device "+itoa(d)+" was shared with a process that is hidden: "+gibibytes(*was)+" of its memory were in use before the server was launched")
		}
	}
}

func gibibytes(n int64) string { return number(float64(n)/(1<<30)) + " GiB" }
