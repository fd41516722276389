package render

import (
	"testing"

	"rowproof/internal/row"
)

// Whose device memory was in use before a run started its server stands with the receipt,
// also where nobody could tell; a run that started none says nothing of it.
func TestReceiptTellsOfMemoryBeforeTheLaunch(t *testing.T) {
	used := int64(4 << 20)
	for _, c := range []struct {
		before     *row.BeforeLaunch
		text, note string
	}{
		{&row.BeforeLaunch{Devices: []row.DeviceMemory{{Index: 0, MemoryUsed: &used}, {Index: 1}}}, "device 0: 4.19\u00a0MB, device 1: not told", ""},
		{&row.BeforeLaunch{Unread: "nvidia-smi is not here"}, "—", "nvidia-smi is not here"},
		{nil, "", ""},
	} {
		m := &measured{Report: &row.Report{Receipt: row.Receipt{BeforeLaunch: c.before}}}
		var got fact
		for _, f := range receiptFacts(m) {
			if f.Name == "In use before the launch" {
				got = f
			}
		}
		if got.Text != c.text || got.Note != c.note {
			t.Errorf("%+v is shown as %q, %q; want %q, %q", c.before, got.Text, got.Note, c.text, c.note)
		}
	}
}
