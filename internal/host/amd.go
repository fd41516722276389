package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/row"
)

// amdTool asks amd-smi, whose answers changed their form more than once: lists bare or
// under gpu_data, values bare or with their unit, --throttle that became --violation.
type amdTool struct {
	m       *machine
	program string
	flags   []string          // of metric, as this version knows them; nil before the first reading
	limits  map[int64]float64 // W by device, as last read: metric does not tell them
}

// metricFlags are tried in order. A version that knows none of the names of violations
// is asked for all it has.
var metricFlags = [][]string{
	{"--power", "--clock", "--temperature", "--mem-usage", "--violation"},
	{"--power", "--clock", "--temperature", "--mem-usage", "--throttle"},
	{},
}

// metric is one reading of all devices.
func (a *amdTool) metric(ctx context.Context) (gpus []any, raw string, err error) {
	tries := metricFlags
	if a.flags != nil {
		tries = [][]string{a.flags}
	}
	var v any
	for _, flags := range tries {
		v, raw, err = a.m.ask(ctx, a.program, append([]string{"metric", "--json"}, flags...)...)
		if err == nil {
			a.flags = flags
			gpus, err = perGPU(v)
			return gpus, raw, err
		}
		// Only a flag that this version does not know is worth another try.
		if said := strings.ToLower(err.Error() + raw); !strings.Contains(said, "unrecognized") && !strings.Contains(said, "invalid") && !strings.Contains(said, "not valid") && !strings.Contains(said, "not recognized") {
			break
		}
	}
	return nil, raw, err
}

// perGPU is the list of devices in an answer.
func perGPU(v any) ([]any, error) {
	if o, ok := v.(map[string]any); ok {
		v = o["gpu_data"]
		if _, one := o["gpu"]; one {
			v = []any{o}
		}
	}
	list, ok := v.([]any)
	if !ok {
		return nil, errors.New("amd-smi answered in a form that we do not know: neither a list of devices nor gpu_data")
	}
	for _, g := range list {
		if i := wholeIn(under(g, "gpu"), ""); i == nil {
			return nil, errors.New("amd-smi answered in a form that we do not know: a device without its number in gpu")
		}
	}
	if len(list) == 0 {
		return nil, errors.New("amd-smi lists no device")
	}
	return list, nil
}

func gpuOf(list []any, index int64) any {
	for _, g := range list {
		if i := wholeIn(under(g, "gpu"), ""); i != nil && *i == index {
			return g
		}
	}
	return nil
}

// amdSample makes one reading from a device's metric.
func (a *amdTool) amdSample(g any) row.DeviceSample {
	power, clock := under(g, "power"), under(g, "clock")
	s := row.DeviceSample{
		Index: *wholeIn(under(g, "gpu"), ""),
		PowerW: quantityIn(firstOf(under(power, "socket_power"), under(power, "current_socket_power"),
			under(power, "average_socket_power"), under(power, "current_power")), "W"),
		MemoryUsed: bytesOf(firstOf(under(g, "mem_usage", "used_vram"), under(g, "vram", "used"))),
		Temperature: wholeIn(firstOf(under(g, "temperature", "hotspot"), under(g, "temperature", "junction"),
			under(g, "temperature", "edge")), "C"),
	}
	// A device of several dies has a clock for each: the slowest counts.
	domains, _ := clock.(map[string]any)
	for name, c := range domains {
		mhz := wholeIn(firstOf(under(c, "clk"), under(c, "cur_clk"), under(c, "current_clk")), "MHz")
		switch {
		case mhz == nil:
		case name == "gfx" || strings.HasPrefix(name, "gfx_"):
			if s.SMClock == nil || *mhz < *s.SMClock {
				s.SMClock = mhz
			}
		case name == "mem" || strings.HasPrefix(name, "mem_"):
			if s.MemoryClock == nil || *mhz < *s.MemoryClock {
				s.MemoryClock, s.MemoryMax = mhz, wholeIn(under(c, "max_clk"), "MHz")
			}
		}
	}
	if s.MemoryMax != nil && *s.MemoryMax == 0 {
		s.MemoryMax = nil // what a driver without it says
	}
	if w, ok := a.limits[s.Index]; ok {
		s.PowerLimitW = &w
	}
	s.Violations = violations(g)
	return s
}

// toldViolations are those that a reading must tell to be one of violations.
var toldViolations = []string{"prochot", "socket_thermal", "vr_thermal", "hbm_thermal", "ppt"}

// violations are the names of those that are active, in order; nil where the device does
// not report them.
func violations(g any) []string {
	section := under(g, "throttle")
	if section == nil {
		section = under(g, "violation")
	}
	const suffix = "_violation_status"
	out, told := []string{}, 0
	statuses, _ := section.(map[string]any)
	for key, v := range statuses {
		name, ok := strings.CutSuffix(key, suffix)
		if !ok {
			continue
		}
		active, reported := anyActive(v)
		if reported && slices.Contains(toldViolations, name) {
			told++
		}
		if active {
			out = append(out, name)
		}
	}
	if told == len(toldViolations) {
		slices.Sort(out)
		return out
	}
	// Older devices say only whether they are slowed down at all. That one is says nothing
	// of why, so that it cannot be judged.
	if s, _ := under(g, "power", "throttle_status").(string); s == "UNTHROTTLED" {
		return []string{}
	}
	return nil
}

// anyActive looks for a status that is active, also below: newer versions give one a die.
func anyActive(v any) (active, reported bool) {
	switch v := v.(type) {
	case string:
		s := strings.ToUpper(strings.TrimSpace(v))
		return s == "ACTIVE" || s == "TRUE", s == "ACTIVE" || s == "NOT ACTIVE" || s == "TRUE" || s == "FALSE"
	case bool:
		return v, true
	case float64:
		return v == 1, v == 0 || v == 1 // others stand for "not reported"
	case []any:
		for _, e := range v {
			a, r := anyActive(e)
			active, reported = active || a, reported || r
		}
	case map[string]any:
		if inner, ok := v["value"]; ok {
			return anyActive(inner)
		}
		for _, e := range v {
			a, r := anyActive(e)
			active, reported = active || a, reported || r
		}
	}
	return active, reported
}

func (a *amdTool) sample(ctx context.Context) ([]row.DeviceSample, error) {
	gpus, _, err := a.metric(ctx)
	var out []row.DeviceSample
	for _, g := range gpus {
		out = append(out, a.amdSample(g))
	}
	return out, err
}

// static reads what does not change within a row: names, drivers and limits.
func (a *amdTool) static(ctx context.Context, when string, r *reading) []any {
	v, raw, err := a.m.ask(ctx, a.program, "static", "--json", "--asic", "--limit", "--driver", "--vram", "--partition")
	if err != nil { // an older version knows fewer parts
		v, raw, err = a.m.ask(ctx, a.program, "static", "--json")
	}
	r.raw(when, "amd-smi static", raw)
	var gpus []any
	if err == nil {
		gpus, err = perGPU(v)
	}
	if err != nil {
		r.unread["devices[].name"] = err.Error()
	}
	for _, g := range gpus {
		limit := under(g, "limit")
		if w := quantityIn(firstOf(under(limit, "ppt0", "socket_power_limit"), under(limit, "socket_power_limit"), under(limit, "socket_power"),
			under(limit, "current_power")), "W"); w != nil {
			a.limits[*wholeIn(under(g, "gpu"), "")] = *w
		}
	}
	return gpus
}

func (a *amdTool) devices(ctx context.Context, p *process, zero int64, when string, r *reading) []row.Device {
	static := a.static(ctx, when, r)
	gpus, raw, err := a.metric(ctx)
	r.raw(when, "amd-smi metric", raw)
	if err != nil {
		r.unread["devices"] = err.Error()
		return nil
	}
	at := (monotonic() - zero) / 1000
	var listed []any
	if v, _, err := a.m.ask(ctx, a.program, "list", "--json"); err == nil {
		listed, _ = perGPU(v) // without it, the serial stands for the UUID or its lack is told below
	}
	var out []row.Device
	used := map[int64]*int64{}
	for _, g := range gpus {
		s := a.amdSample(g)
		used[s.Index] = s.MemoryUsed
		about := gpuOf(static, s.Index)
		d := row.Device{
			Index:  s.Index,
			Name:   wordOf(under(about, "asic", "market_name"), under(about, "board", "product_name")),
			UUID:   wordOf(under(gpuOf(listed, s.Index), "uuid"), under(gpuOf(listed, s.Index), "gpu_uuid"), under(about, "asic", "asic_serial")),
			Driver: wordOf(under(about, "driver", "version"), under(about, "driver", "driver_version")),
			MemoryBytes: bytesOf(firstOf(under(g, "mem_usage", "total_vram"), under(g, "vram", "total"),
				under(about, "vram", "size"))),
			Partition: strings.TrimSpace(wordOf(under(about, "partition", "accelerator_partition"), under(about, "partition", "compute_partition")) +
				" " + wordOf(under(about, "partition", "memory_partition"))),
		}
		r.add(amdSMI, &d, s, at, when)
		if s.Violations == nil {
			r.unread[fmt.Sprintf("devices[%d].throttle", d.Index)] = "amd-smi tells neither violations of this device, as those of MI300 and newer, nor that it is unthrottled" + saidThrottled(g)
		}
		out = append(out, d)
	}
	apps, raw, err := a.apps(ctx, used)
	r.raw(when, "amd-smi process", raw)
	r.take(amdSMI, apps, err, out, p, at, when)
	return out
}

func saidThrottled(g any) string {
	if s := wordOf(under(g, "power", "throttle_status")); s != "" {
		return ": throttle_status " + strconv.Quote(s) + " without a reason"
	}
	return ""
}

// apps lists the processes on the devices, of which so much memory is in use.
func (a *amdTool) apps(ctx context.Context, used map[int64]*int64) ([]app, string, error) {
	v, raw, err := a.m.ask(ctx, a.program, "process", "--json")
	if err != nil {
		return nil, raw, err
	}
	gpus, err := perGPU(v)
	if err != nil {
		return nil, raw, err
	}
	var out []app
	for _, g := range gpus {
		index := *wholeIn(under(g, "gpu"), "")
		list, ok := under(g, "process_list").([]any)
		if !ok {
			if _, said := under(g, "process_list").(string); said {
				continue // that there is none
			}
			return nil, raw, fmt.Errorf("amd-smi process gives device %d no process_list", index)
		}
		for _, e := range list {
			info := under(e, "process_info")
			if info == nil {
				info = e
			}
			if _, said := info.(string); said {
				continue
			}
			pid := wholeIn(under(info, "pid"), "")
			if pid == nil {
				return nil, raw, fmt.Errorf("amd-smi process lists a process of device %d without its pid", index)
			}
			name := wordOf(under(info, "name"))
			if name == "" {
				name = "[N/A]"
			}
			memory := bytesOf(firstOf(under(info, "memory_usage", "vram_mem"), under(info, "vram_mem"), under(info, "mem_usage"), under(info, "mem")))
			// Some versions list a process on every device, with nothing or with what it holds
			// on all of them: it is on none that has less in use.
			if memory != nil && (*memory == 0 || used[index] != nil && *memory > *used[index]+idleBytes) {
				continue
			}
			out = append(out, app{indexKey(index), *pid, name, memory})
		}
	}
	return out, raw, nil
}

func (a *amdTool) links(ctx context.Context, r *reading) {
	a.m.topology(ctx, r, a.program, amdSMI, "topology")
}
