package row

import "slices"

// power is the mean power of all devices in W while the windows lasted: each device's
// readings are averaged, then the devices summed.
func power(ev *Evidence, windows []window) (*float64, string) {
	if ev == nil {
		return nil, "no power reading"
	}
	readings := map[int64][]float64{}
	var devices []int64
	any := false
	for _, s := range ev.Devices {
		if s.PowerW == nil {
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
