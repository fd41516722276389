package chart

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestDrawingsAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "charts")
	e := NewEngine("../../..", dir)
	narrow, wide, err := e.Scatter(linearSpec())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := filepath.Glob(dir + "/*")
	if err != nil || len(kept) != 2 {
		t.Fatalf("%d drawings kept (%v), want 2", len(kept), err)
	}
	again := NewEngine("../../..", dir)
	n2, w2, err := again.Scatter(linearSpec())
	if err != nil || n2 != narrow || w2 != wide {
		t.Errorf("drawn from the cache it differs (%v)", err)
	}
	if again.vm != nil {
		t.Error("ECharts was loaded though all was kept")
	}
	other := linearSpec()
	other.Series[0].Points[0].X.At = 90
	if _, _, err := again.Scatter(other); err != nil {
		t.Fatal(err)
	}
	if kept, err = filepath.Glob(dir + "/*"); err != nil || len(kept) != 4 {
		t.Errorf("%d drawings kept (%v) after another was drawn, want 4", len(kept), err)
	}
	if left, err := filepath.Glob(dir + "/.kept-*"); err != nil || len(left) != 0 {
		t.Errorf("left %v (%v)", left, err)
	}
}

func TestWithoutECharts(t *testing.T) {
	_, _, err := NewEngine(t.TempDir(), "").Scatter(linearSpec())
	if err == nil || !strings.Contains(err.Error(), "npm ci --ignore-scripts") {
		t.Errorf("error %v does not say how to get ECharts", err)
	}
}

func TestWhatEChartsMayNotBringIn(t *testing.T) {
	p := linearSpec().at(Narrow, 320)
	for _, raw := range []string{
		`<svg><image href="x"></image></svg>`,
		`<svg><rect fill="#fff"></rect></svg>`,
		`<svg><path d="M0 0" stroke="#fff"></path></svg>`,
		`<svg><text fill="#fff" transform="translate(1 2)">x</text></svg>`,
		`<svg><path ecmeta_series_index="99" ecmeta_data_index="0"></path></svg>`,
		`<svg><path`,
	} {
		if out, err := p.clean(raw); err == nil {
			t.Errorf("%s passed as %s", raw, out)
		}
	}
}
