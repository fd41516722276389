package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rowproof/internal/row"
)

// sampleLimit bounds the readings during one row: two hours of eight devices.
const sampleLimit = 8 * 7200

// Sampler reads devices and the server's metrics around one row. Its readings during
// the row come from one nvidia-smi that runs all the while at low priority, and from
// one small request a second.
type Sampler struct {
	ref     ServerRef
	machine *machine
	tool    tool // nil: there is none, or the devices are another host's
	scraper *scraper
	proc    *process
	secrets []string
	period  time.Duration

	zero   int64
	ctx    context.Context // of the run; the reading after the row outlives it
	cancel context.CancelFunc
	each   sync.WaitGroup

	mu      sync.Mutex // over what follows
	got     reading
	metrics []row.MetricSample
	held    int // about the bytes of metrics
}

// NewSampler prepares a sampler; it starts nothing.
func NewSampler(ref ServerRef) *Sampler { return newSampler(thisMachine(), ref) }

func newSampler(m *machine, ref ServerRef) *Sampler {
	return &Sampler{ref: ref, machine: m, scraper: newScraper(ref), period: time.Second, got: reading{unread: map[string]string{}}}
}

// Start takes the reading before the row and goes on reading once a second until Stop.
// Times count from zero, the row's own zero in CLOCK_MONOTONIC nanoseconds.
func (s *Sampler) Start(ctx context.Context, zero int64) {
	s.zero = zero
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.secrets = s.machine.secretsOf(0, s.ref)
	if s.ref.Remote {
		s.start()
		return
	}
	if pid, err := s.pid(); err != nil {
		s.got.unread["process"] = err.Error()
	} else {
		s.proc = &process{pid: pid, tree: s.machine.below(pid)}
		s.secrets = s.machine.secretsOf(pid, s.ref) // now: it may be gone after the row
	}
	if tool, err := s.machine.findTool(); err != nil {
		s.got.unread["devices"] = err.Error()
	} else if s.proc == nil && !isLocal(s.ref.Base.Hostname()) {
		s.got.unread["devices"] = "the server is not on this host, so this host's devices are not its devices"
	} else {
		s.tool = tool
	}
	s.start()
}

// start takes the reading before the row and begins those during it.
func (s *Sampler) start() {
	s.around(s.ctx, row.Before)
	if s.tool != nil && s.got.unread["devices"] == "" {
		s.each.Go(s.watchDevices)
	}
	if s.got.unread["metrics"] == "" {
		s.each.Go(s.watchMetrics)
	}
}

// Stop ends the readings, takes the one after the row, and returns all of them. The
// caller sets Row, Zero and Capture.
func (s *Sampler) Stop() row.Evidence {
	s.cancel()
	s.each.Wait()
	if s.proc != nil {
		s.proc.tree = s.machine.below(s.proc.pid)
	}
	// Also after an interrupt, the state that the row ended in is worth a moment.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 15*time.Second)
	defer cancel()
	s.around(ctx, row.After)
	s.scraper.client.CloseIdleConnections()
	s.got.scrub(s.secrets)
	return row.Evidence{Devices: s.got.devices, Apps: s.got.apps, Metrics: s.metrics, Pool: s.ref.Pool, Raw: s.got.texts, Unread: s.got.unread}
}

func (s *Sampler) pid() (int64, error) {
	if s.ref.PID != 0 {
		return s.ref.PID, nil
	}
	return s.machine.find(s.ctx, s.ref.Base)
}

// around takes the reading before or after the row.
func (s *Sampler) around(ctx context.Context, when string) {
	if s.tool != nil {
		s.tool.devices(ctx, s.proc, s.zero, when, &s.got)
	}
	s.scrape(ctx, when, kept)
}

func (s *Sampler) scrape(ctx context.Context, when string, keep func(string) bool) {
	values, err := s.scraper.scrape(ctx, keep)
	at := s.since()
	size := 0
	for name := range values {
		size += len(name) + 24 // its value and its place in the map
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil && when == row.During && s.held+size > metricsHeld:
		s.got.unread["metrics."+when] = fmt.Sprintf("only the first %d readings are kept: the server's metrics are too many", len(s.metrics))
	case err == nil && len(s.metrics) < sampleLimit:
		s.held += size
		s.metrics = append(s.metrics, row.MetricSample{At: at, When: when, Values: values})
	case err == nil:
		s.got.unread["metrics."+when] = fmt.Sprintf("only the first %d readings are kept", sampleLimit)
	case ctx.Err() != nil:
		// Stop cut it short; the reading after the row follows.
	case when == row.Before:
		s.got.unread["metrics"] = err.Error()
	default:
		s.got.unread["metrics."+when] = err.Error()
	}
}

func (s *Sampler) watchMetrics() {
	// The first reading comes early: a short row has one too.
	next := time.NewTimer(s.period / 5)
	defer next.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-next.C:
			next.Reset(s.period)
			s.scrape(s.ctx, row.During, keptDuring)
		}
	}
}

// watchDevices keeps reading the devices until Stop: from one nvidia-smi that runs all
// the while, and where that one says nothing for too long (some builds hold their
// output back from a pipe), from a new one each second. AMD's tools are always asked
// anew, never two at once: where an answer takes longer than a second, readings are
// fewer.
func (s *Sampler) watchDevices() {
	if one, ok := s.tool.(*smi); ok {
		err := s.watchOne(one)
		if s.ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		s.got.unread["devices.during"] = "read by a new nvidia-smi each second, because the one that was to run all the while " + err.Error()
		s.mu.Unlock()
	}
	tick := time.NewTicker(s.period)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		read, err := s.tool.sample(s.ctx)
		if s.ctx.Err() != nil {
			return
		}
		if err == nil {
			s.keep(read)
		} else {
			s.mu.Lock()
			s.got.unread["devices.during"] = err.Error()
			s.mu.Unlock()
		}
	}
}

// silence is how many periods the lasting nvidia-smi may say nothing.
const silence = 4

// watchOne reads what one lasting nvidia-smi prints. It returns why that one is of no
// more use.
func (s *Sampler) watchOne(tool *smi) error {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool.program, "--query-gpu="+queryColumns+tool.throttle,
		"--format=csv,noheader", "-lms", fmt.Sprint(s.period.Milliseconds()))
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	yield(cmd.Process.Pid)
	var quiet atomic.Bool
	timer := time.AfterFunc(silence*s.period, func() { quiet.Store(true); cancel() })
	defer timer.Stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		timer.Reset(silence * s.period)
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		var one row.DeviceSample
		cells, err := splitDevice(line)
		if err == nil {
			one, err = deviceSample(cells, 0, row.During)
		}
		if err == nil {
			s.keep([]row.DeviceSample{one})
		} else {
			cancel()
			_ = cmd.Wait() // it was killed: its error says nothing
			return err
		}
	}
	err = cmd.Wait()
	switch {
	case quiet.Load():
		return fmt.Errorf("said nothing for %v", silence*s.period)
	case err != nil:
		return fmt.Errorf("ended: %w", err)
	}
	return errors.New("ended")
}

// keep adds one reading of the devices during the row.
func (s *Sampler) keep(read []row.DeviceSample) {
	at := s.since()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sample := range read {
		if len(s.got.devices) < sampleLimit {
			sample.At, sample.When = at, row.During
			s.got.devices = append(s.got.devices, sample)
		}
	}
}

// since is the time since the row's zero in µs.
func (s *Sampler) since() int64 { return (monotonic() - s.zero) / 1000 }
