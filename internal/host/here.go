package host

import (
	"context"
	"time"

	"rowproof/internal/row"
)

// Devices are the accelerators of this host as its own tool lists them; nil where there
// is no tool or it fails.
func Devices(ctx context.Context) []row.Device {
	m := thisMachine()
	tool, err := m.findTool()
	if err != nil {
		return nil
	}
	return tool.devices(ctx, nil, 0, row.Before, &reading{unread: map[string]string{}})
}

// beforeLaunch reads how much of each device's memory is in use before a server is started
// here. Where a container hides the processes on the devices, that tells the server's memory
// from strangers'.
func (m *machine) beforeLaunch(ctx context.Context) *row.BeforeLaunch {
	b := &row.BeforeLaunch{At: time.Now().UTC().Format(time.RFC3339Nano), Devices: []row.DeviceMemory{}}
	tool, err := m.findTool()
	if err == nil {
		var read []row.DeviceSample
		read, err = tool.sample(ctx)
		for _, s := range read {
			b.Devices = append(b.Devices, row.DeviceMemory{Index: s.Index, MemoryUsed: s.MemoryUsed})
		}
	}
	if err != nil {
		b.Unread = err.Error()
	}
	return b
}
