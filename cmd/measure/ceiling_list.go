package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"rowproof/internal/catalog"
	"rowproof/internal/roofline"
)

// listKnown prints every model and every device that the verb knows by name.
func listKnown(s streams, known *catalog.Catalog, asJSON bool) int {
	if asJSON {
		return printJSON(s, struct {
			Models  map[string]*roofline.Model  `json:"models"`
			Targets map[string]*roofline.Target `json:"targets"`
		}{known.Models, known.Targets})
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tparameters\tread\tweights\tcontext\tHugging Face id")
	for _, id := range sortedKeys(known.Models) {
		m := known.Models[id]
		n := m.Params()
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", id, inBillions(n.Total), inBillions(n.Read),
			strings.Join(m.Weights, " "), roofline.Number(float64(m.Architecture.MaxContext)), strings.Join(m.Repositories[:min(1, len(m.Repositories))], ""))
	}
	fmt.Fprintln(w)
	fmt.Fprintln(w, "TARGET\tGB\tGB/s\tdense TFLOP/s\tlink GB/s\tname\tas its tool calls it")
	for _, id := range devices(known) {
		t := known.Targets[id]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", id, t.MemoryGB, t.BandwidthGBs, peaks(t), orDash(string(t.LinkGBs)), t.Name, t.Device)
	}
	w.Flush()
	fmt.Fprintln(s.out, "\n--model takes the name and every Hugging Face id of a model too, --target the name of a\ndevice and what its own tool calls it. DEVICE-xN is N of a device. Bandwidth is in 10⁹\nbytes a second, a link's in one direction.")
	return exitOK
}

// peaks lists a device's dense peaks, widest type first.
func peaks(t *roofline.Target) string {
	var list []string
	for _, name := range []string{"bf16", "fp16", "int8", "fp8", "fp4"} {
		if v := t.PeakTFLOPs[name]; v != "" && !(name == "fp16" && v == t.PeakTFLOPs["bf16"]) {
			list = append(list, name+" "+string(v))
		}
	}
	return orDash(strings.Join(list, ", "))
}

func orDash(s string) string {
	if s == "" {
		return "—"
	}
	return s
}
