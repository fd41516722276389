package gate_test

import (
	"strings"
	"testing"

	"rowproof/internal/rowtest"
)

// Moving to the server's own host is advised where measure did not see the server's
// process, and nowhere else: there, what stood in the way is told.
func TestRemediesFollowFromWhereMeasureRan(t *testing.T) {
	mends := func(plant func(m *made)) map[string]string {
		m := make1(1, rowtest.Options{})
		plant(m)
		out := map[string]string{}
		for _, r := range judge(t, m.files(t), nil)[0] {
			if r.Answer.Blocks() {
				out[r.Gate] = r.Mend
			}
		}
		return out
	}
	blind := func(m *made) {
		m.report.Receipt.Engine.Version = ""
		m.report.Receipt.Devices = nil
		for i := range m.evidence {
			m.evidence[i].Devices = nil
		}
		m.report.Receipt.Unread = map[string]string{
			"engine.version": "the server does not say",
			"devices":        "there is no nvidia-smi on PATH",
		}
	}
	here := mends(blind)
	if here["label"] != "engine.version: the server does not say" || here["host"] != "there is no nvidia-smi on PATH" {
		t.Errorf("on the server's host: %q", here)
	}
	away := mends(func(m *made) {
		blind(m)
		m.report.Receipt.Engine.StartedAt, m.report.Receipt.Engine.CommandLine = "", nil
	})
	for _, name := range []string{"label", "host"} {
		if !strings.HasPrefix(away[name], "run measure on the server's own host") {
			t.Errorf("elsewhere, %s: %q", name, away[name])
		}
	}
}
