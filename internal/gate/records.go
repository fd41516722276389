package gate

import (
	"slices"
	"strconv"
	"strings"

	"rowproof/internal/row"
)

// How far readings may lie outside the requests of their row, in µs: the sampler reads
// once before the first and once after the last, and waits for a slow tool.
const (
	spanSlack  = 120_000_000
	coresSlack = 1.05   // of CPU time
	tick       = 10_000 // on each core: time may be counted in ticks of 100 Hz
)

// records says which of a row's evidence cannot be, or "": a device that the receipt does
// not list, a reading from long before or after the row, a count below 0, or more CPU
// time than the host's cores have in that time.
func (in *Input) records() string {
	ev := in.Evidence
	if ev == nil || in.Row.Proof.Source != nil {
		return ""
	}
	last := int64(0)
	for i := range in.Samples {
		last = max(last, ended(&in.Samples[i]))
	}
	outside := func(what string, at int64) string {
		if at >= -spanSlack && at <= last+spanSlack {
			return ""
		}
		return what + " was read " + number(float64(at)/1e6) + " s after the row's zero, and its requests took until " + number(float64(last)/1e6) + " s"
	}
	for i := range ev.Devices {
		d := &ev.Devices[i]
		known := slices.ContainsFunc(in.Report.Receipt.Devices, func(l row.Device) bool { return l.Index == d.Index })
		if len(in.Report.Receipt.Devices) > 0 && !known {
			return "device " + itoa(d.Index) + " was read, and the receipt lists none of that index"
		}
		if text := outside("device "+itoa(d.Index), d.At); text != "" {
			return text
		}
	}
	for i := range ev.Metrics {
		if text := outside("the server's metrics", ev.Metrics[i].At); text != "" {
			return text
		}
	}
	cores := in.Report.Receipt.Host.Cores
	for i := range ev.Capture {
		k := &ev.Capture[i]
		for _, c := range []struct {
			name string
			n    int64
		}{
			{"repeat", k.Repeat}, {"reads", k.Reads}, {"shared_stamps", k.SharedStamps}, {"unstamped", k.Unstamped}, {"clock_steps", k.ClockSteps},
			{"connections", k.Connections}, {"dispatch_p50_us", k.DispatchP50}, {"dispatch_p99_us", k.DispatchP99}, {"dispatch_max_us", k.DispatchMax},
			{"sweep_p99_us", k.SweepP99}, {"sweep_max_us", k.SweepMax}, {"cpu_us", k.CPU}, {"wall_us", k.Wall}, {"drops", k.Drops}, {"blocks", k.Blocks},
			{"blocks_used", k.BlocksUsed}, {"late_connections", k.LateConnections}, {"spilled_bytes", k.SpilledBytes},
		} {
			if c.n < 0 {
				return "capture." + c.name + " of repeat " + itoa(k.Repeat) + " is " + itoa(c.n) + ", and nothing is counted below 0"
			}
		}
		if k.Wall > 0 && cores > 0 && !elsewhere(&in.Report.Receipt) && in.Report.Receipt.Taken == nil && float64(k.CPU) > coresSlack*float64(cores)*float64(k.Wall+tick) {
			return "repeat " + itoa(k.Repeat) + " took " + itoa(k.CPU) + " µs of CPU in " + itoa(k.Wall) + " µs on " + count(cores, "core")
		}
	}
	return ""
}

// commanded says what of the workload the command that is stated does not name, or "":
// whoever wants to measure the row again has nothing else.
func (in *Input) commanded() string {
	command := in.Report.Tool.Command
	if len(command) == 0 {
		return "tool.command is empty: nobody can measure this again"
	}
	w := &in.Row.Workload
	if in.Row.Import != nil {
		return "" // its flags say what the tool's file does not, and no more
	}
	if w.OpenLoop() || w.Prompts.Kind != row.PromptsRandom {
		return ""
	}
	cell := itoa(w.ISL) + ":" + itoa(w.OSL)
	if text, ok := flagOf(command, "cells"); ok && !listed(text, cell) {
		return "tool.command measures --cells " + text + ", and the row is of " + cell
	}
	c := itoa(*w.Load.Concurrency)
	if text, ok := flagOf(command, "concurrency"); ok && !listed(text, c) {
		if _, searched := flagOf(command, "slo"); !searched {
			return "tool.command measures --concurrency " + text + ", and the row is of " + c
		}
	}
	if text, ok := flagOf(command, "repeats"); ok && text != itoa(w.Repeats) {
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			return "tool.command measures --repeats " + text + ", and the row has " + itoa(w.Repeats)
		}
	}
	return ""
}

// listed says whether one of the texts between commas is so.
func listed(list, one string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(s string) bool { return strings.TrimSpace(s) == one })
}

// flagOf is the value of a flag in a command, as --name value or --name=value.
func flagOf(command []string, name string) (value string, ok bool) {
	for i, a := range command {
		text := strings.TrimLeft(a, "-")
		if len(text) == len(a) {
			continue
		}
		if text == name && i+1 < len(command) {
			value, ok = command[i+1], true
		} else if v, found := strings.CutPrefix(text, name+"="); found {
			value, ok = v, true
		}
	}
	return value, ok
}
