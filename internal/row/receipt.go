package row

// Receipt is what host and server said of themselves before the first row.
type Receipt struct {
	Engine  EngineReceipt     `json:"engine"`
	Weights WeightsReceipt    `json:"weights"`
	Devices []Device          `json:"devices"`
	Host    Host              `json:"host"`
	Runtime RuntimeReceipt    `json:"runtime"`
	Unread  map[string]string `json:"unread"` // field → why it could not be read

	// Taken is of a receipt that measure receipt took beside the server, for a run whose
	// client sat elsewhere. Nil where the run read it itself.
	Taken *Taken `json:"taken,omitempty"`

	// BeforeLaunch is of a run that started its server itself. Nil of any other, and in
	// reports from before it was read.
	BeforeLaunch *BeforeLaunch `json:"before_launch,omitempty"`

	// EvidenceSHA256 is of the run's own line in the evidence file, without its newline.
	// Reports from before it was written have none, and keep their ids.
	EvidenceSHA256 string `json:"evidence_sha256,omitempty"`
}

// IdleBytes is more than a driver keeps in use on an idle device, and less than any server.
const IdleBytes = 1 << 30

// BeforeLaunch is what memory of each device was in use before the run started its server:
// whatever was, is another's.
type BeforeLaunch struct {
	At      string         `json:"at"` // RFC 3339, UTC
	Devices []DeviceMemory `json:"devices"`
	Unread  string         `json:"unread,omitempty"` // why there is no device
}

// DeviceMemory is how much of a device's memory is in use; null where its tool does not say.
type DeviceMemory struct {
	Index      int64  `json:"index"`
	MemoryUsed *int64 `json:"memory_used_bytes"`
}

// Of is the memory in use on a device; nil where it is not known.
func (b *BeforeLaunch) Of(index int64) *int64 {
	if b == nil {
		return nil
	}
	for i := range b.Devices {
		if b.Devices[i].Index == index {
			return b.Devices[i].MemoryUsed
		}
	}
	return nil
}

// EngineReceipt is the server as it reports itself.
type EngineReceipt struct {
	Name          string            `json:"name"`
	Version       string            `json:"version"`
	Model         string            `json:"model"` // id the server serves
	StartedAt     string            `json:"started_at"`
	CommandLine   []string          `json:"command_line"` // secrets masked; null when it could not be read
	Arguments     map[string]string `json:"arguments"`
	ArgumentsFrom string            `json:"arguments_from"`

	// Environment is of the server's process: an allow list, a secret is "(masked)". Nil
	// where it could not be read, and in reports from before it was kept.
	Environment map[string]string `json:"environment,omitzero"`
}

// WeightsReceipt says what weights ran, as far as it can be known.
type WeightsReceipt struct {
	Source       string `json:"source"` // random, repository, file or unknown
	Revision     string `json:"revision"`
	ConfigSHA256 string `json:"config_sha256"`

	// HeadersSHA256 is over the headers of the files that hold the weights, in the order of
	// their names: 8 bytes of length and the JSON of a safetensors file, and of a GGUF file
	// what stands before its data. Of weights without a revision; Files is how many.
	HeadersSHA256 string `json:"headers_sha256,omitempty"`
	Files         int64  `json:"files,omitempty"`
}

// Device is one accelerator as its own tool reports it.
type Device struct {
	Index       int64  `json:"index"`
	Name        string `json:"name"`
	UUID        string `json:"uuid"`
	MemoryBytes *int64 `json:"memory_bytes"`
	Driver      string `json:"driver"`
	Used        bool   `json:"used"` // a process of the server's tree holds memory on it

	// Partition is how it is divided, in its tool's words, such as SPX NPS1 or MIG Enabled.
	Partition string `json:"partition,omitempty"`
	ECC       string `json:"ecc,omitempty"`         // Enabled or Disabled
	Persisted string `json:"persistence,omitempty"` // Enabled or Disabled: the driver stays loaded

	// Processes are the titles of the server's processes on it, such as VLLM::Worker_TP1,
	// which tell its rank.
	Processes []string `json:"processes,omitempty"`
}

// Host is the machine that served.
type Host struct {
	Kernel        string `json:"kernel"`
	CPU           string `json:"cpu"`
	Cores         int64  `json:"cores"`
	MemoryBytes   *int64 `json:"memory_bytes"`
	NUMABalancing *int64 `json:"numa_balancing"` // a bitmask: anything but 0 is on

	// Reports from before these were read have none.
	Governor      string `json:"governor,omitempty"`        // of the processors' clocks; several are joined by a comma
	HugePages     string `json:"huge_pages,omitempty"`      // transparent ones: always, madvise or never
	SwapUsedBytes *int64 `json:"swap_used_bytes,omitempty"` // of the whole host
	OpenFiles     string `json:"open_files,omitempty"`      // the limit of the server's process, or unlimited
	LockedBytes   string `json:"locked_bytes,omitempty"`    // likewise of locked memory
}

// RuntimeReceipt says what the server ran from.
type RuntimeReceipt struct {
	Kind     string            `json:"kind"` // packages, image, binary or unknown
	Image    string            `json:"image"`
	Packages map[string]string `json:"packages"`

	// Libraries are the versions in the names of the vendor's libraries that the process has
	// loaded, such as libcudart or librccl. Reports from before they were read have none.
	Libraries map[string]string `json:"libraries,omitempty"`
}

// Taken says when and where a receipt was taken that a run was given.
type Taken struct {
	At     string `json:"at"`    // RFC 3339, UTC
	Until  string `json:"until"` // of the last reading that was kept; At where it was not watched
	Host   string `json:"host"`  // the name of the machine, which need not be the client's
	SHA256 string `json:"sha256"`
}
