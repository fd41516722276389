package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"rowproof/internal/row"
)

// Metrics reads the server's metrics once, as before a row. Its time counts from zero, in
// CLOCK_MONOTONIC nanoseconds.
func Metrics(ctx context.Context, ref ServerRef, zero int64) (row.MetricSample, error) {
	s := newScraper(ref)
	defer s.client.CloseIdleConnections()
	values, err := s.scrape(ctx, kept)
	return row.MetricSample{At: (monotonic() - zero) / 1000, When: row.Before, Values: values}, err
}

// Watch reads the devices and the metrics of a server about once a second, and hands over
// what each stretch of so long brought, until ctx ends or the server's process does. The
// processes on the devices are read at the ends of each stretch. It returns why it ended; ""
// where ctx did. Times count from zero as those of a Sampler.
func Watch(ctx context.Context, ref ServerRef, zero int64, stretch time.Duration, take func(row.Evidence)) string {
	return watch(ctx, thisMachine(), ref, zero, stretch, take)
}

func watch(ctx context.Context, m *machine, ref ServerRef, zero int64, stretch time.Duration, take func(row.Evidence)) string {
	born := time.Time{}
	if ref.PID != 0 {
		born, _ = m.startedAt(ref.PID)
	}
	for {
		s := newSampler(m, ref)
		s.Start(ctx, zero)
		why := m.outlive(ctx, ref.PID, born, stretch)
		ev := s.Stop()
		ev.Raw = nil // of each stretch as of the first reading
		if why != "" {
			delete(ev.Unread, "metrics."+row.After)
			delete(ev.Unread, "metrics."+row.During)
		}
		for i := range ev.Devices {
			ev.Devices[i].When = row.During
		}
		for i := range ev.Apps {
			ev.Apps[i].When = row.During
		}
		for i := range ev.Metrics {
			k := &ev.Metrics[i]
			k.When = row.During
			for name := range k.Values {
				if bare, _, _ := strings.Cut(name, "{"); !keptDuring(bare) {
					delete(k.Values, name)
				}
			}
		}
		take(ev)
		if why != "" || ctx.Err() != nil {
			return why
		}
	}
}

// outlive waits for so long, or until ctx or a process ends; it says that the process did.
func (m *machine) outlive(ctx context.Context, pid int64, born time.Time, stretch time.Duration) string {
	end := time.NewTimer(stretch)
	defer end.Stop()
	look := time.NewTicker(min(stretch, time.Second) / 4)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return ""
		case <-end.C:
			return ""
		case <-look.C:
			if born.IsZero() {
				continue
			}
			if now, err := m.startedAt(pid); err != nil || m.dead(pid) {
				return fmt.Sprintf("the server's process %d ended", pid)
			} else if now.Sub(born).Abs() > 2*time.Second {
				return fmt.Sprintf("the server's process %d ended, and its number is another's now", pid)
			}
		}
	}
}

// dead says whether a process has ended and only waits to be asked how.
func (m *machine) dead(pid int64) bool {
	f, err := m.stat(pid)
	return err != nil || f[0] == "Z" || f[0] == "X"
}

// PortsOf are the ports on which a process, or one below it, listens, in order.
func PortsOf(pid int64) ([]uint16, error) { return thisMachine().portsOf(pid) }

func (m *machine) portsOf(pid int64) ([]uint16, error) {
	if _, err := os.Stat(m.path("proc", fmt.Sprint(pid))); err != nil {
		return nil, fmt.Errorf("there is no process %d on this host", pid)
	}
	held := map[string]bool{}
	for _, p := range append([]int64{pid}, m.below(pid)...) {
		dir := m.path("proc", fmt.Sprint(p), "fd")
		fds, err := os.ReadDir(dir)
		if err != nil && p == pid {
			return nil, fmt.Errorf("what process %d has open cannot be seen: it belongs to another user", pid)
		}
		for _, fd := range fds {
			to, _ := os.Readlink(filepath.Join(dir, fd.Name()))
			if inode, ok := strings.CutPrefix(to, "socket:["); ok {
				held[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	var ports []uint16
	for _, table := range []string{"tcp", "tcp6"} {
		s, err := m.read("proc", fmt.Sprint(pid), "net", table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(s) {
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != "0A" || !held[f[9]] { // LISTEN
				continue
			}
			_, hex, _ := strings.Cut(f[1], ":")
			if n, err := strconv.ParseUint(hex, 16, 16); err == nil {
				ports = append(ports, uint16(n))
			}
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports), nil
}
