package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"rowproof/internal/row"
)

// tool is a vendor's program that reads devices.
type tool interface {
	// devices reads the devices and which of them the server's processes use; nil with
	// the reason in r.unread["devices"].
	devices(ctx context.Context, p *process, zero int64, when string, r *reading) []row.Device
	// sample reads the devices alone, during a row; the caller sets At and When.
	sample(ctx context.Context) ([]row.DeviceSample, error)
	// links keeps what the tool says of how the devices are joined.
	links(ctx context.Context, r *reading)
}

const (
	nvidiaSMI = "nvidia-smi"
	amdSMI    = "amd-smi"
	rocmSMI   = "rocm-smi"
)

// toolTimeout is for one answer of a vendor's tool: some hang where a device does.
const toolTimeout = 20 * time.Second

// findTool looks for a vendor's tool on PATH. Where there are both vendors', the loaded
// driver says whose devices these are. The error says what is missing.
func (m *machine) findTool() (tool, error) {
	nvidia, _ := exec.LookPath(nvidiaSMI)
	amd, _ := exec.LookPath(amdSMI)
	rocm, _ := exec.LookPath(rocmSMI)
	if nvidia != "" && amd+rocm != "" && !m.has("proc/driver/nvidia") && m.has("sys/module/amdgpu") {
		nvidia = ""
	}
	switch {
	case nvidia != "":
		return &smi{m: m, program: nvidia}, nil
	case amd != "":
		return &amdTool{m: m, program: amd, limits: map[int64]float64{}}, nil
	case rocm != "":
		return &rocmTool{m: m, program: rocm}, nil
	}
	text := "there is none of nvidia-smi, amd-smi and rocm-smi on PATH"
	if !m.has("proc/driver/nvidia") && !m.has("dev/kfd") && !m.has("sys/module/amdgpu") {
		text += ", and no driver of NVIDIA or AMD devices is loaded"
	}
	return nil, errors.New(text)
}

func (m *machine) has(path string) bool {
	_, err := os.Stat(m.path(path))
	return err == nil
}

// ask runs a tool that answers in JSON. Warnings may stand before it; where it holds no
// JSON the error shows the first line.
func (m *machine) ask(ctx context.Context, program string, args ...string) (any, string, error) {
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	raw, err := m.run(ctx, "", nil, program, args...)
	if err != nil {
		return nil, raw, err
	}
	at := 0
	for line := range strings.Lines(raw) {
		if c := strings.TrimSpace(line); c != "" && (c[0] == '{' || c[0] == '[') {
			var v any
			// More may follow the answer, such as a newer version's notice.
			if json.NewDecoder(strings.NewReader(raw[at:])).Decode(&v) == nil {
				return v, raw, nil
			}
		}
		at += len(line)
	}
	return nil, raw, &toolError{program, errors.New("answered no JSON"), firstLine(raw)}
}

// under is what stands under the names in objects in one another; nil where there is
// none.
func under(v any, names ...string) any {
	for _, n := range names {
		o, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = o[n]
	}
	return v
}

// firstOf is the first that holds a quantity.
func firstOf(values ...any) any {
	for _, v := range values {
		if _, _, ok := quantity(v); ok {
			return v
		}
	}
	return nil
}

// quantity reads a number and its unit: 12, "12 W", "(900Mhz)", {"value": 12, "unit": "W"}.
// N/A is none.
func quantity(v any) (n float64, unit string, ok bool) {
	switch v := v.(type) {
	case float64:
		return v, "", true
	case map[string]any:
		n, own, ok := quantity(v["value"])
		if u, is := v["unit"].(string); is && u != "" {
			own = u
		}
		return n, own, ok
	case string:
		s := strings.Trim(strings.TrimSpace(v), "()")
		end := len(s)
		for i, c := range s {
			if (c < '0' || c > '9') && c != '.' && c != '-' {
				end = i
				break
			}
		}
		n, err := strconv.ParseFloat(s[:end], 64)
		return n, strings.TrimSpace(s[end:]), err == nil
	}
	return 0, "", false
}

// quantityIn is a quantity in a unit; nil where there is none or its unit is another.
func quantityIn(v any, unit string) *float64 {
	n, u, ok := quantity(v)
	if !ok || u != "" && !strings.EqualFold(u, unit) {
		return nil
	}
	return &n
}

// wholeIn is quantityIn as a whole number.
func wholeIn(v any, unit string) *int64 {
	f := quantityIn(v, unit)
	if f == nil || *f < 0 || *f > 1<<62 {
		return nil
	}
	n := int64(*f)
	return &n
}

// bytesOf is an amount of memory. AMD's tools count in powers of 1024 under the names of
// powers of 1000; a bare number is bytes.
func bytesOf(v any) *int64 {
	n, unit, ok := quantity(v)
	if !ok || n < 0 {
		return nil
	}
	shift, known := map[string]uint{"": 0, "B": 0, "KB": 10, "KIB": 10, "MB": 20, "MIB": 20, "GB": 30, "GIB": 30}[strings.ToUpper(unit)]
	if !known || n > 1<<20*1<<30 {
		return nil
	}
	b := int64(n * float64(int64(1)<<shift))
	return &b
}

// wordOf is a text that says something.
func wordOf(values ...any) string {
	for _, v := range values {
		if s, ok := v.(string); ok && reported(strings.TrimSpace(s)) {
			return strings.TrimSpace(s)
		}
	}
	return ""
}

// topology keeps what a tool of that name says of how the devices are joined.
func (m *machine) topology(ctx context.Context, r *reading, program, name string, args ...string) {
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	raw, err := m.run(ctx, "", nil, program, args...)
	if err != nil {
		r.unread["devices[].links"] = err.Error()
		return
	}
	r.raw(row.Before, strings.Join(append([]string{name}, args...), " "), raw)
}

// add keeps one device's reading by an AMD tool of that name, and what it lacks.
func (r *reading) add(name string, d *row.Device, s row.DeviceSample, at int64, when string) {
	s.At, s.When = at, when
	r.devices = append(r.devices, s)
	notReported(r, name, d, &s)
}

// notReported names what no device sample may lack without a reason.
func notReported(r *reading, name string, d *row.Device, s *row.DeviceSample) {
	say := func(missing bool, field string) {
		if missing {
			r.unread[fmt.Sprintf("devices[%d].%s", d.Index, field)] = name + " does not report it in a form that we know"
		}
	}
	say(d.UUID == "", "uuid")
	say(d.Driver == "", "driver")
	say(d.MemoryBytes == nil, "memory_bytes")
	say(s.MemoryUsed == nil, "memory_used_bytes")
	say(s.PowerW == nil, "power_w")
	say(s.PowerLimitW == nil, "power_limit_w")
	say(s.MemoryClock == nil, "memory_clock_mhz")
	say(s.MemoryMax == nil, "memory_clock_max_mhz")
}
