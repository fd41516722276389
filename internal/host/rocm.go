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

// rocmTool asks rocm-smi, which amd-smi has replaced. It tells no reason for a slowdown,
// no highest memory clock, and of processes not on which device they are.
type rocmTool struct {
	m       *machine
	program string
}

var rocmFlags = []string{
	"--showproductname", "--showuniqueid", "--showdriverversion", "--showmeminfo", "vram",
	"--showpower", "--showmaxpower", "--showclocks", "--showtemp", "--json",
}

// cards is one reading: the devices by index, and what is of the whole system.
func (t *rocmTool) cards(ctx context.Context) (indexes []int64, cards map[int64]any, system any, raw string, err error) {
	v, raw, err := t.m.ask(ctx, t.program, rocmFlags...)
	if err != nil {
		return nil, nil, nil, raw, err
	}
	all, _ := v.(map[string]any)
	cards = map[int64]any{}
	for name, c := range all {
		if digits, ok := strings.CutPrefix(name, "card"); ok {
			if i, err := strconv.ParseInt(digits, 10, 64); err == nil {
				indexes, cards[i] = append(indexes, i), c
			}
		}
	}
	if len(indexes) == 0 {
		return nil, nil, nil, raw, errors.New("rocm-smi lists no device")
	}
	slices.Sort(indexes)
	return indexes, cards, all["system"], raw, nil
}

func rocmSample(index int64, c any) row.DeviceSample {
	return row.DeviceSample{
		Index: index,
		PowerW: quantityIn(firstOf(under(c, "Current Socket Graphics Package Power (W)"), under(c, "Average Graphics Package Power (W)"),
			under(c, "Average Power (W)")), "W"),
		PowerLimitW: quantityIn(firstOf(under(c, "Max Graphics Package Power (W)"), under(c, "Max Power (W)")), "W"),
		MemoryUsed:  bytesOf(under(c, "VRAM Total Used Memory (B)")),
		SMClock:     wholeIn(under(c, "sclk clock speed:"), "MHz"),
		MemoryClock: wholeIn(under(c, "mclk clock speed:"), "MHz"),
		Temperature: wholeIn(firstOf(under(c, "Temperature (Sensor junction) (C)"), under(c, "Temperature (Sensor edge) (C)")), "C"),
	}
}

func (t *rocmTool) sample(ctx context.Context) ([]row.DeviceSample, error) {
	indexes, cards, _, _, err := t.cards(ctx)
	var out []row.DeviceSample
	for _, i := range indexes {
		out = append(out, rocmSample(i, cards[i]))
	}
	return out, err
}

func (t *rocmTool) devices(ctx context.Context, p *process, zero int64, when string, r *reading) []row.Device {
	indexes, cards, system, raw, err := t.cards(ctx)
	r.raw(when, "rocm-smi", raw)
	if err != nil {
		r.unread["devices"] = err.Error()
		return nil
	}
	at := (monotonic() - zero) / 1000
	var out []row.Device
	for _, i := range indexes {
		c := cards[i]
		s := rocmSample(i, c)
		d := row.Device{
			Index: i,
			Name: wordOf(under(c, "Card Series"), under(c, "Card series"), under(c, "Device Name"),
				under(c, "Card Model"), under(c, "Card model")),
			UUID:        wordOf(under(c, "Unique ID")),
			Driver:      wordOf(under(system, "Driver version")),
			MemoryBytes: bytesOf(under(c, "VRAM Total Memory (B)")),
		}
		r.add(rocmSMI, &d, s, at, when)
		r.unread[fmt.Sprintf("devices[%d].throttle", i)] = "rocm-smi does not tell why a device is slowed down; amd-smi does"
		out = append(out, d)
	}
	apps, raw, err := t.apps(ctx, indexes)
	r.raw(when, "rocm-smi --showpids", raw)
	r.take(rocmSMI, apps, err, out, p, at, when)
	if err == nil && len(indexes) > 1 && len(apps) > 0 {
		r.unread["apps"] = "rocm-smi does not tell on which of the devices a process is; amd-smi does"
	}
	return out
}

// apps lists the processes: on the only device, or on one that is not known.
func (t *rocmTool) apps(ctx context.Context, indexes []int64) ([]app, string, error) {
	v, raw, err := t.m.ask(ctx, t.program, "--showpids", "--json")
	if err != nil {
		// Without a process it says so and prints no JSON.
		if strings.Contains(strings.ToLower(raw), "no kfd pids") {
			return nil, raw, nil
		}
		return nil, raw, err
	}
	system, _ := under(v, "system").(map[string]any)
	device := ""
	if len(indexes) == 1 {
		device = indexKey(indexes[0])
	}
	var out []app
	for key, said := range system {
		digits, ok := strings.CutPrefix(key, "PID")
		text, isText := said.(string)
		if !ok || !isText {
			continue
		}
		pid, err := strconv.ParseInt(digits, 10, 64)
		// A name may hold commas: the four numbers stand right of it.
		f := strings.Split(text, ", ")
		if err != nil || len(f) < 5 {
			return nil, raw, fmt.Errorf("rocm-smi lists a process as %s: %q", key, text)
		}
		name := strings.Join(f[:len(f)-4], ", ")
		if strings.EqualFold(name, "unknown") {
			name = "[N/A]"
		}
		memory := bytesOf(f[len(f)-3])
		if memory != nil && *memory == 0 {
			continue
		}
		out = append(out, app{device, pid, name, memory})
	}
	slices.SortFunc(out, func(a, b app) int { return int(a.pid - b.pid) })
	return out, raw, nil
}

func (t *rocmTool) links(ctx context.Context, r *reading) {
	t.m.topology(ctx, r, t.program, rocmSMI, "--showtopo")
}
