package row

import "slices"

// power is the mean power in W of the server's devices while the windows lasted: each
// one's readings are averaged, then the devices summed. Where no process tells which are
// the server's, all are.
func power(ev *Evidence, windows []window) (*float64, string) {
	if ev == nil {
		return nil, "no power reading"
	}
	readings := map[int64][]float64{}
	var devices []int64
	any := false
	used := ev.usedDevices()
	for _, s := range ev.Devices {
		if s.PowerW == nil || len(used) > 0 && !slices.Contains(used, s.Index) {
			continue
		}
		any = true
		if !slices.Contains(devices, s.Index) {
			devices = append(devices, s.Index)
		}
		for _, w := range windows {
			if w.holds(s.At) {
				readings[s.Index] = append(readings[s.Index], *s.PowerW)
				break
			}
		}
	}
	if !any {
		return nil, "no power reading"
	}
	slices.Sort(devices)
	sum := 0.0
	for _, d := range devices {
		m := mean(readings[d])
		if m == nil {
			return nil, "no power reading of device " + itoa(d) + " within the timed windows"
		}
		sum += *m
	}
	return &sum, ""
}

// usedDevices are the indexes of the devices on which a process of the server held
// memory; none where the processes could not be seen.
func (e *Evidence) usedDevices() []int64 {
	var used []int64
	for _, a := range e.Apps {
		if a.Ours && !slices.Contains(used, a.Index) {
			used = append(used, a.Index)
		}
	}
	return used
}
