// Package chart draws what the pages show: scatter and ladder by ECharts at build
// time, and gauge, histogram and in-row bar by its own hand. Each drawing is an
// SVG element as text, ready to stand in a page: it has no style attribute and no
// colour of its own (colours are var(--name) of the site's tokens, so one drawing
// serves both themes), its text is 12 px, and it is the same bytes on every run.
//
// Charts with axes are drawn twice, 296 and 720 px wide, with the classes narrow and
// wide; the site's style shows the one that fits and never scales either. Gauge and bar
// are one drawing each.
//
// ECharts runs inside a Go JavaScript engine (see Engine). It draws axes, grid, lines
// and marks; names of axes and direct labels are placed here, since an engine without
// fonts cannot measure them.
package chart
