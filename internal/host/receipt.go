package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"

	"rowproof/internal/row"
)

const fromCommandLine = "process command line"

// Receipt reads the host and the server once, before the first row. The evidence is
// the run's own line (Row = -1): the process as found, what the tools printed, and why
// a reading is missing. The caller sets its Zero; times in it count from the call.
func Receipt(ctx context.Context, ref ServerRef) (row.Receipt, row.Evidence) {
	return thisMachine().receipt(ctx, ref)
}

func (m *machine) receipt(ctx context.Context, ref ServerRef) (row.Receipt, row.Evidence) {
	zero := monotonic()
	unread := map[string]string{}
	rec := row.Receipt{
		Engine: row.EngineReceipt{
			Name: ref.Engine, Version: ref.Version, Model: ref.Model,
			ArgumentsFrom: ref.ArgumentsFrom,
		},
		Devices: []row.Device{},
		Host:    m.host(unread),
		Runtime: row.RuntimeReceipt{Kind: "unknown", Packages: map[string]string{}},
		Unread:  unread,

		BeforeLaunch: ref.Before,
	}
	if ref.Version == "" {
		unread["engine.version"] = "the server does not say"
	}
	ev := row.Evidence{Row: -1}
	r := &reading{unread: unread}

	p := m.server(ctx, ref, unread)
	pid := int64(0)
	if p != nil {
		pid = p.pid
	}
	secrets := m.secretsOf(pid, ref)
	rec.Engine.Arguments = maskArguments(ref.Arguments, secrets)
	if p != nil {
		m.limits(p.pid, &rec.Host, unread)
		rec.Runtime = m.runtime(ctx, p, r)
		ev.Process = p.record(rec.Runtime.Packages, secrets)
		rec.Engine.StartedAt = ev.Process.StartedAt
		if p.env != nil {
			rec.Engine.Environment = ev.Process.Environment
		}
		if p.argv != nil {
			rec.Engine.CommandLine = ev.Process.CommandLine
		}
	}

	// Arguments are read from the masked command line, so that no secret is among them.
	line := row.ArgumentsOf(rec.Engine.CommandLine)
	switch {
	case rec.Engine.Arguments != nil:
	case rec.Engine.CommandLine != nil:
		rec.Engine.Arguments, rec.Engine.ArgumentsFrom = line, fromCommandLine
	default:
		rec.Engine.Arguments = map[string]string{}
		unread["engine.arguments"] = "the server does not report them, and its command line could not be read"
	}
	settings := line
	if first(line, modelArguments...) == "" {
		settings = rec.Engine.Arguments
	}
	rec.Weights = m.weights(settings, p, unread)
	if ref.Engine == "embedded" {
		rec.Weights = row.WeightsReceipt{Source: weightsUnknown}
		unread["weights.source"] = "the embedded engine has no weights"
		delete(unread, "weights.revision")
		delete(unread, "weights.config_sha256")
		delete(unread, "runtime.libraries") // nor does it use a device
	}

	if tool, err := m.findTool(); err != nil {
		unread["devices"] = err.Error()
	} else if p == nil && !isLocal(ref.Base.Hostname()) {
		unread["devices"] = "the server is not on this host, so this host's devices are not its devices"
	} else if devices := tool.devices(ctx, p, zero, row.Before, r); devices != nil {
		rec.Devices = devices
		r.markRisen(devices, ref.Before)
		if s, ok := tool.(*smi); ok {
			s.modes(ctx, devices, r)
		}
		if len(devices) > 1 {
			tool.links(ctx, r)
		}
	}
	r.scrub(secrets)
	for i := range rec.Devices {
		for k, title := range rec.Devices[i].Processes {
			rec.Devices[i].Processes[k] = scrub(title, secrets)
		}
	}
	ev.Devices, ev.Apps, ev.Raw = r.devices, r.apps, r.texts
	ev.Unread = maps.Clone(unread)
	return rec, ev
}

// server finds the server's process and reads it; nil with the reason in unread.
func (m *machine) server(ctx context.Context, ref ServerRef, unread map[string]string) *process {
	pid := ref.PID
	if pid == 0 {
		var err error
		if pid, err = m.find(ctx, ref.Base); err != nil {
			for _, field := range []string{"engine.command_line", "engine.started_at", "runtime.kind", "runtime.packages"} {
				unread[field] = err.Error()
			}
			return nil
		}
	} else if _, err := os.Stat(m.path("proc", fmt.Sprint(pid))); err != nil {
		for _, field := range []string{"engine.command_line", "engine.started_at", "runtime.kind", "runtime.packages"} {
			unread[field] = fmt.Sprintf("there is no process %d on this host", pid)
		}
		return nil
	}
	return m.process(pid, unread)
}

// boxed says why the image of a server is not known that runs in the container in which we
// run too; "" where neither is in one.
func (m *machine) boxed(p *process) string {
	switch {
	case p.env["KUBERNETES_SERVICE_HOST"] != "":
		return "we run in the server's own pod, which does not know its image; kubectl get pod NAME -o jsonpath='{.status.containerStatuses[*].imageID}' does"
	case m.has(".dockerenv") || m.has("run/.containerenv"):
		return "we run in the server's own container, which does not know its image; docker or podman on its host do"
	}
	return ""
}

// runtime says what a process runs from.
func (m *machine) runtime(ctx context.Context, p *process, r *reading) row.RuntimeReceipt {
	out := row.RuntimeReceipt{Kind: "packages"}
	var err error
	out.Packages, err = m.packages(ctx, p)
	if err != nil {
		out.Packages = map[string]string{}
		r.unread["runtime.packages"] = err.Error()
		out.Kind = "unknown"
		if errors.Is(err, errNotPython) {
			out.Kind = "binary"
		}
	}
	out.Libraries = m.libraries(p, r.unread)
	if image, ok, err := m.apptainer(p); ok {
		out.Kind, out.Image = "image", image
		if err != nil {
			r.unread["runtime.image"] = err.Error()
		}
	} else if p.inside {
		c, err := m.containerOf(ctx, p.pid)
		switch {
		case err != nil:
			r.unread["runtime.image"] = err.Error()
		case c == nil:
			r.unread["runtime.image"] = "the server sees another file system, but its control group names no container"
		default:
			out.Kind = "image"
			r.raw(row.Before, "image inspect", c.inspects)
			if out.Image, err = c.image(); err != nil {
				r.unread["runtime.image"] = err.Error()
			}
		}
	} else if why := m.boxed(p); why != "" {
		r.unread["runtime.image"] = why
	}
	if out.Kind == "unknown" {
		r.unread["runtime.kind"] = r.unread["runtime.packages"]
	}
	return out
}
