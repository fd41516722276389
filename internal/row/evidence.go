package row

import "strings"

// Evidence is one line of a report's evidence file: the run's own line first
// (Row = -1), then one a row, written when that row completes. It keeps what a later
// gate may ask of rows measured today.
type Evidence struct {
	Row     int64          `json:"row"`
	Zero    string         `json:"zero"` // wall time of the row's zero, RFC 3339 with ns, UTC
	Process *ProcessRecord `json:"process,omitempty"`
	Devices []DeviceSample `json:"devices,omitempty"`
	Apps    []DeviceApp    `json:"apps,omitempty"` // processes that hold device memory, before and after
	Metrics []MetricSample `json:"metrics,omitempty"`
	Watched []MetricSample `json:"watched,omitempty"` // the server's metrics as a receipt's watch read them beside it
	Pool    *MemoryPool    `json:"pool,omitempty"`
	Capture []CaptureStats `json:"capture,omitempty"` // one a repeat
	Raw     []RawText      `json:"raw,omitempty"`     // what tools and server printed, as it was

	// From schema 2 on, so that the row's id covers them: what the run saw beside the row and
	// put into its notes, and how many rows it planned, where it knew.
	Notes   []string `json:"notes,omitempty"`
	Planned int64    `json:"planned,omitempty"`

	Unread map[string]string `json:"unread,omitempty"`
}

// ours begins the names of the series that only the embedded engine exposes.
const ours = "rowproof:"

// Simulated says whether a reading shows the embedded engine, whatever it calls itself.
func (e *Evidence) Simulated() bool {
	for _, m := range e.Metrics {
		for name := range m.Values {
			if strings.HasPrefix(name, ours) {
				return true
			}
		}
	}
	return false
}

// When a reading was taken.
const (
	Before = "before"
	During = "during"
	After  = "after"
)

// ProcessRecord is the server's process as the host shows it.
type ProcessRecord struct {
	PID         int64             `json:"pid"`
	StartedAt   string            `json:"started_at"`
	CommandLine []string          `json:"command_line"`
	Environment map[string]string `json:"environment"` // an allow list; a secret is "(masked)"
	Tree        []int64           `json:"tree"`        // the pids below it
	Packages    map[string]string `json:"packages"`
}

// DeviceSample is one device at one moment. A nil was not reported.
type DeviceSample struct {
	At          int64    `json:"at"` // µs since the row's zero
	When        string   `json:"when"`
	Index       int64    `json:"index"`
	PowerW      *float64 `json:"power_w"`
	PowerLimitW *float64 `json:"power_limit_w"`
	MemoryUsed  *int64   `json:"memory_used_bytes"`
	SMClock     *int64   `json:"sm_clock_mhz"`
	MemoryClock *int64   `json:"memory_clock_mhz"`
	MemoryMax   *int64   `json:"memory_clock_max_mhz"` // the clock that MemoryClock should be at under load
	Temperature *int64   `json:"temperature_c"`
	Throttle    string   `json:"throttle"` // the active event bits of an NVIDIA driver, in hex

	// Violations are the names under which amd-smi says that a device is slowed down, such
	// as ppt and hbm_thermal; empty where it says that it is not, nil where it does not say.
	Violations []string `json:"violations,omitzero"`
}

// DeviceApp is a process that holds memory on a device. An empty table may only mean
// that a container hides the others' processes; Evidence.Unread["apps"] says so.
type DeviceApp struct {
	At          int64  `json:"at"`
	When        string `json:"when"`
	Index       int64  `json:"index"` // of the device; -1 when the tool names one that it does not list
	PID         int64  `json:"pid"`
	Name        string `json:"name"`
	MemoryBytes *int64 `json:"memory_bytes"`
	Ours        bool   `json:"ours"` // in the server's process tree
}

// MetricSample is the server's metrics at one moment: series as exposed, without
// histogram buckets and interpreter statistics.
type MetricSample struct {
	At     int64              `json:"at"`
	When   string             `json:"when"`
	Values map[string]float64 `json:"values"`
}

// MemoryPool is the memory that the server set aside, as it says itself, over all its
// devices.
type MemoryPool struct {
	WeightBytes int64 `json:"weight_bytes"`
	CacheBytes  int64 `json:"cache_bytes"` // for keys and values
	Tokens      int64 `json:"tokens"`      // that these hold
}

// CaptureStats is what the capture says of itself in one repeat.
type CaptureStats struct {
	Repeat          int64  `json:"repeat"`
	Stamps          string `json:"stamps"`
	Reads           int64  `json:"reads"`
	SharedStamps    int64  `json:"shared_stamps"`
	Unstamped       int64  `json:"unstamped"`
	ClockSteps      int64  `json:"clock_steps"`
	Connections     int64  `json:"connections"`
	ServerStartedAt string `json:"server_started_at"`

	// Dispatch lateness: from the time at which a timed request was to go (its enqueueing,
	// without the wait for a slot) to the time just before its first byte was written.
	DispatchP50 int64 `json:"dispatch_p50_us,omitempty"`
	DispatchP99 int64 `json:"dispatch_p99_us"`
	DispatchMax int64 `json:"dispatch_max_us,omitempty"`

	SweepP99 int64 `json:"sweep_p99_us,omitempty"` // how late the thread that reads was woken: scheduler delay
	SweepMax int64 `json:"sweep_max_us,omitempty"` // and how late at most: a stop of the whole client shows here alone
	CPU      int64 `json:"cpu_us,omitempty"`       // of the whole process, in Wall
	Wall     int64 `json:"wall_us,omitempty"`      // from the first request to the end of the last

	Drops      int64 `json:"drops,omitempty"`       // packets that the ring had no room for
	Blocks     int64 `json:"blocks,omitempty"`      // of the ring
	BlocksUsed int64 `json:"blocks_used,omitempty"` // the most that stood filled at once

	LateConnections int64 `json:"late_connections,omitempty"` // opened after the clock had started
	SpilledBytes    int64 `json:"spilled_bytes,omitempty"`    // of answers, kept in a temporary file
}

// RawText is one tool's output.
type RawText struct {
	When string `json:"when"`
	Name string `json:"name"`
	Text string `json:"text"`
}
