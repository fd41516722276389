package host

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"rowproof/internal/row"
)

// The columns that nvidia-smi is asked for. Answers are read by position: newer drivers
// print other names than they were asked for.
const (
	colIndex = iota
	colName
	colUUID
	colDriver
	colSMClock
	colMemoryClock
	colMemoryMax
	colPower
	colPowerLimit
	colTemperature
	colMemoryUsed
	colMemoryTotal
	colThrottle
	columns
)

const queryColumns = "index,name,uuid,driver_version,clocks.current.sm,clocks.current.memory,clocks.max.memory," +
	"power.draw,power.limit,temperature.gpu,memory.used,memory.total,"

// Drivers from 535 on call the last column by the first name, older ones by the second.
var throttleNames = []string{"clocks_event_reasons.active", "clocks_throttle_reasons.active"}

const appColumns = "gpu_uuid,pid,process_name,used_gpu_memory"

// smi asks nvidia-smi.
type smi struct {
	m        *machine
	program  string
	throttle string // the name that this driver knows; "" before the first query
}

// query returns one line of cells a device, and what the tool printed.
func (s *smi) query(ctx context.Context) (cells [][]string, raw string, err error) {
	for _, name := range throttleNames {
		if s.throttle != "" && s.throttle != name {
			continue
		}
		raw, err = s.m.run(ctx, "", nil, s.program, "--query-gpu="+queryColumns+name, "--format=csv")
		if err == nil {
			s.throttle = name
			break
		}
		// Only a column that the driver does not know is worth another try.
		if said := err.Error() + raw; !strings.Contains(said, "not a valid field") {
			break
		}
	}
	if err != nil {
		return nil, raw, err
	}
	_, body, _ := strings.Cut(raw, "\n") // the header
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		c, err := splitDevice(line)
		if err != nil {
			return nil, raw, err
		}
		cells = append(cells, c)
	}
	if len(cells) == 0 {
		return nil, raw, errors.New("nvidia-smi lists no device")
	}
	return cells, raw, nil
}

// splitDevice splits a line into its columns. A comma inside the name adds cells in
// the middle; the others are found from both ends.
func splitDevice(line string) ([]string, error) {
	f := strings.Split(line, ", ")
	extra := len(f) - columns
	if extra < 0 {
		return nil, fmt.Errorf("nvidia-smi answered %d columns where %d were asked for: %q", len(f), columns, line)
	}
	name := strings.Join(f[colName:colName+1+extra], ", ")
	out := append([]string{f[0], name}, f[colName+1+extra:]...)
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out, nil
}

// reported says whether a cell holds a value; tools put a reason in brackets otherwise.
func reported(cell string) bool {
	return cell != "" && !strings.HasPrefix(cell, "[") && cell != "N/A"
}

// number reads a cell with or without its unit.
func number(cell string) (float64, bool) {
	if !reported(cell) {
		return 0, false
	}
	digits, _, _ := strings.Cut(cell, " ")
	v, err := strconv.ParseFloat(digits, 64)
	return v, err == nil
}

func floatCell(cell string) *float64 {
	if v, ok := number(cell); ok {
		return &v
	}
	return nil
}

func intCell(cell string) *int64 {
	if v, ok := number(cell); ok {
		n := int64(v)
		return &n
	}
	return nil
}

// mibCell reads a cell of MiB as bytes.
func mibCell(cell string) *int64 {
	if v, ok := number(cell); ok {
		n := int64(v) << 20
		return &n
	}
	return nil
}

func textCell(cell string) string {
	if reported(cell) {
		return cell
	}
	return ""
}

// device makes a receipt's device from its cells.
func device(c []string) (row.Device, error) {
	index, err := strconv.ParseInt(c[colIndex], 10, 64)
	if err != nil {
		return row.Device{}, fmt.Errorf("nvidia-smi gives the index of a device as %q", c[colIndex])
	}
	return row.Device{
		Index: index, Name: textCell(c[colName]), UUID: textCell(c[colUUID]),
		MemoryBytes: mibCell(c[colMemoryTotal]), Driver: textCell(c[colDriver]),
	}, nil
}

// deviceSample makes one reading from a device's cells.
func deviceSample(c []string, at int64, when string) (row.DeviceSample, error) {
	index, err := strconv.ParseInt(c[colIndex], 10, 64)
	if err != nil {
		return row.DeviceSample{}, fmt.Errorf("nvidia-smi gives the index of a device as %q", c[colIndex])
	}
	return row.DeviceSample{
		At: at, When: when, Index: index,
		PowerW: floatCell(c[colPower]), PowerLimitW: floatCell(c[colPowerLimit]), MemoryUsed: mibCell(c[colMemoryUsed]),
		SMClock: intCell(c[colSMClock]), MemoryClock: intCell(c[colMemoryClock]), MemoryMax: intCell(c[colMemoryMax]),
		Temperature: intCell(c[colTemperature]), Throttle: textCell(c[colThrottle]),
	}, nil
}

// app is a process that holds memory on a device.
type app struct {
	uuid   string // of the device; its indexKey where the tool goes by that
	pid    int64
	name   string
	memory *int64
}

// apps lists the processes that hold device memory, and what the tool printed.
func (s *smi) apps(ctx context.Context) ([]app, string, error) {
	raw, err := s.m.run(ctx, "", nil, s.program, "--query-compute-apps="+appColumns, "--format=csv")
	if err != nil {
		return nil, raw, err
	}
	var out []app
	_, body, _ := strings.Cut(raw, "\n")
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		// A name may hold commas: uuid and pid stand left of it, the memory right.
		f := strings.Split(line, ", ")
		if len(f) < 4 {
			return nil, raw, fmt.Errorf("nvidia-smi lists a process as %q", line)
		}
		pid, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return nil, raw, fmt.Errorf("nvidia-smi gives a process's pid as %q", f[1])
		}
		out = append(out, app{f[0], pid, strings.Join(f[2:len(f)-1], ", "), mibCell(f[len(f)-1])})
	}
	return out, raw, nil
}

// indexKey stands for a device's UUID where a tool names it by its index.
func indexKey(index int64) string { return "#" + strconv.FormatInt(index, 10) }

// appRows turns the processes into evidence, with the devices' indexes for their UUIDs.
// Those without a name are of another namespace, where pids mean other processes.
func appRows(apps []app, devices []row.Device, p *process, at int64, when string) []row.DeviceApp {
	out := make([]row.DeviceApp, 0, len(apps))
	for _, a := range apps {
		if !reported(a.name) {
			continue
		}
		r := row.DeviceApp{At: at, When: when, Index: -1, PID: a.pid, Name: maskText(a.name), MemoryBytes: a.memory, Ours: p.holds(a.pid)}
		for _, d := range devices {
			if d.UUID == a.uuid || indexKey(d.Index) == a.uuid {
				r.Index = d.Index
			}
		}
		out = append(out, r)
	}
	return out
}

// whyNoApps says why the process table proves nothing; "" when it may be believed.
func whyNoApps(name string, apps []app, samples []row.DeviceSample) string {
	for _, a := range apps {
		if !reported(a.name) {
			return fmt.Sprintf("%s lists process %d without a name: it belongs to another process namespace, so whose it is cannot be told", name, a.pid)
		}
	}
	if len(apps) > 0 {
		return ""
	}
	for _, s := range samples {
		if s.MemoryUsed == nil || *s.MemoryUsed > idleBytes {
			return name + " lists no process though device memory is in use or not reported: a container hides the processes of others"
		}
	}
	return ""
}

const idleBytes = row.IdleBytes

// devices reads the devices and which of them the server's processes use.
func (s *smi) devices(ctx context.Context, p *process, zero int64, when string, r *reading) []row.Device {
	cells, raw, err := s.query(ctx)
	r.raw(when, "nvidia-smi --query-gpu", raw)
	if err != nil {
		r.unread["devices"] = err.Error()
		return nil
	}
	at := (monotonic() - zero) / 1000
	var out []row.Device
	for _, c := range cells {
		d, err := device(c)
		if err != nil {
			r.unread["devices"] = err.Error()
			return nil
		}
		sample, _ := deviceSample(c, at, when) // fails as device does
		r.devices = append(r.devices, sample)
		if d.MemoryBytes == nil {
			r.unread[fmt.Sprintf("devices[%d].memory_bytes", d.Index)] = "the driver does not report it (" + c[colMemoryTotal] + "), as for memory shared with the system"
		}
		if sample.PowerW == nil {
			r.unread[fmt.Sprintf("devices[%d].power_w", d.Index)] = "the driver does not report it (" + c[colPower] + ")"
		}
		if sample.PowerLimitW == nil {
			r.unread[fmt.Sprintf("devices[%d].power_limit_w", d.Index)] = "the driver does not report it (" + c[colPowerLimit] + ")"
		}
		if sample.MemoryClock == nil {
			r.unread[fmt.Sprintf("devices[%d].memory_clock_mhz", d.Index)] = "the driver does not report it (" + c[colMemoryClock] + ")"
		}
		if sample.Throttle == "" {
			r.unread[fmt.Sprintf("devices[%d].throttle", d.Index)] = "the driver does not report it (" + c[colThrottle] + ")"
		}
		out = append(out, d)
	}

	apps, raw, err := s.apps(ctx)
	r.raw(when, "nvidia-smi --query-compute-apps", raw)
	r.take(nvidiaSMI, apps, err, out, p, at, when)
	return out
}

// take keeps the processes that a tool of that name listed on the devices that r has
// just been given, and says which of these the server uses.
func (r *reading) take(name string, apps []app, err error, devices []row.Device, p *process, at int64, when string) {
	if err != nil {
		r.unread["apps"] = err.Error()
	} else if why := whyNoApps(name, apps, r.devices[len(r.devices)-len(devices):]); why != "" {
		r.unread["apps"] = why
	}
	rows := appRows(apps, devices, p, at, when)
	r.apps = append(r.apps, rows...)
	r.markUsed(devices, rows, p)
}

// sample reads the devices alone.
func (s *smi) sample(ctx context.Context) ([]row.DeviceSample, error) {
	cells, _, err := s.query(ctx)
	var out []row.DeviceSample
	for _, c := range cells {
		one, bad := deviceSample(c, 0, "")
		if bad != nil {
			return nil, bad
		}
		out = append(out, one)
	}
	return out, err
}

// modes reads what of a device is set once: whether its driver stays loaded, whether its
// memory is checked for errors, and whether it is divided.
func (s *smi) modes(ctx context.Context, devices []row.Device, r *reading) {
	const names = "persistence_mode,ecc.mode.current,mig.mode.current"
	raw, err := s.m.run(ctx, "", nil, s.program, "--query-gpu=index,"+names, "--format=csv,noheader")
	if err != nil {
		r.unread["devices[].modes"] = err.Error()
		return
	}
	r.raw(row.Before, "nvidia-smi --query-gpu="+names, raw)
	for line := range strings.Lines(raw) {
		f := strings.Split(strings.TrimSpace(line), ", ")
		for i := range devices {
			d := &devices[i]
			if len(f) != 4 || f[0] != strconv.FormatInt(d.Index, 10) {
				continue
			}
			d.Persisted, d.ECC = textCell(f[1]), textCell(f[2])
			if f[3] == "Enabled" {
				d.Partition = "MIG Enabled"
			}
			for k, field := range []string{"persistence", "ecc", "partition"} {
				if !reported(f[k+1]) {
					r.unread[fmt.Sprintf("devices[%d].%s", d.Index, field)] = "the driver does not report it (" + f[k+1] + ")"
				}
			}
		}
	}
}

func (s *smi) links(ctx context.Context, r *reading) {
	s.m.topology(ctx, r, s.program, nvidiaSMI, "topo", "-m")
}

// markRisen takes those devices for the server's whose memory has risen since before it was
// started, where no process tells.
func (r *reading) markRisen(devices []row.Device, before *row.BeforeLaunch) {
	if r.unread["apps"] == "" {
		return
	}
	var risen []int
	for i := range devices {
		if devices[i].Processes != nil {
			return
		}
		was, now := before.Of(devices[i].Index), (*int64)(nil)
		for _, s := range r.devices {
			if s.Index == devices[i].Index {
				now = s.MemoryUsed
			}
		}
		if was != nil && now != nil && *now-*was > idleBytes {
			risen = append(risen, i)
		}
	}
	for _, i := range risen {
		devices[i].Used = true
		r.unread["devices[].used"] = "taken from the memory that the launch put into use, since the devices' processes cannot be seen"
	}
}

// markUsed says which devices the server uses. Where the processes cannot be seen, the
// only device there is must be the one if its memory is in use.
func (r *reading) markUsed(devices []row.Device, apps []row.DeviceApp, p *process) {
	seen := false
	for _, a := range apps {
		if !a.Ours {
			continue
		}
		for i := range devices {
			if devices[i].Index == a.Index {
				devices[i].Used, seen = true, true
				devices[i].Processes = append(devices[i].Processes, a.Name)
			}
		}
	}
	if seen || p == nil {
		return
	}
	if len(devices) == 1 && len(apps) == 0 {
		used := r.devices[len(r.devices)-1].MemoryUsed
		if used != nil && *used > idleBytes {
			devices[0].Used = true
			r.unread["devices[].used"] = "taken from the memory in use on the only device, since its processes cannot be seen"
			return
		}
	}
	r.unread["devices[].used"] = "no process of the server's tree is listed on any device"
}
