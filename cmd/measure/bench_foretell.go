package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rowproof/internal/gate"
	"rowproof/internal/row"
)

// closedGate are gates that will lack their evidence on any row of a server.
type closedGate struct {
	Gates []string `json:"gates"`
	Why   string   `json:"why"`
	Open  string   `json:"open"` // what would open them
}

// closing gathers closed gates, those of one reason together.
type closing []closedGate

func (c *closing) add(why, open string, gates ...string) {
	if why == "" {
		return
	}
	for i := range *c {
		if one := &(*c)[i]; one.Why == why && one.Open == open {
			one.Gates = append(one.Gates, gates...)
			return
		}
	}
	*c = append(*c, closedGate{gates, why, open})
}

const (
	openRecipe = "name what the server runs with --recipe MODEL/TARGET/STRATEGY/ENGINE; measure launch --list prints every one"
	openBeside = "run measure on the server's own host, or give --receipt FILE of measure receipt --watch, which runs beside it"
	openWatch  = "watch beside the server during the run: measure receipt --watch"
	openCached = "start vLLM with --enable-prompt-tokens-details, SGLang with --enable-cache-report, or either with its metrics on"
)

// closedGates foretells which gates will lack their evidence, why, and what would open
// them. What a gate will refuse is not among them: it can be judged.
func (s *sweep) closedGates(r *row.Report) []closedGate {
	closed := closing{}
	if r.Recipe == "" {
		closed.add("no --recipe", openRecipe, "ceiling")
	} else {
		closed.add(s.untied, openWatch, "label")
		if s.untied == "" {
			closed.add(unlabelled(r), openBeside, "label")
		}
	}
	if r.Client.Selftest == nil {
		closed.add("no selftest", "measure selftest, on this host", "client")
	}
	if s.answer != nil && (s.answer.ISL == nil || s.answer.OSL == nil) {
		closed.add("the server reports no usage", "a server whose stream ends with usage, as stream_options.include_usage asks", "lengths", "counted")
	}
	if s.answer != nil && s.answer.Cached == nil && (s.srv.metrics == "" || !row.CountsHits(s.srv.engine)) {
		gates := []string{"cold"}
		if r.Recipe != "" {
			gates = append(gates, "ceiling")
		}
		closed.add("the server tells of cached tokens neither in its usage nor in /metrics", openCached, gates...)
	}
	if r.AsItWas != nil && r.AsItWas.Recipe.Speculation != nil && s.srv.metrics == "" {
		closed.add("the recipe speculates by "+r.AsItWas.Recipe.Speculation.Method+", and the server exposes no metrics that count drafts", "switch the server's metrics on", "speculation", "ceiling")
	}
	why, open := s.untied, openWatch
	if why == "" {
		why, open = unhosted(&r.Receipt)
	}
	if why == "" && r.Recipe == "" {
		why, open = "no --recipe", openRecipe // whose target states the power limit
	}
	closed.add(why, open, "host")
	if r.AsItWas != nil {
		why, open := uncounted(&r.Receipt, r.AsItWas.Recipe.GPUs())
		closed.add(why, open, "denominator")
	}
	return closed
}

// unlabelled says what keeps gate label from judging a row of a recipe, or "": where
// something differs already, it judges.
func unlabelled(r *row.Report) string {
	var unread []string
	for _, l := range gate.Labels(r) {
		switch {
		case l.Equal:
		case l.Reported != "":
			return ""
		default:
			unread = append(unread, l.Name)
		}
	}
	if unread == nil {
		return ""
	}
	return unreadable(r.Receipt.Unread, "what the server reports of: "+strings.Join(unread, ", "), "engine.arguments", "engine.command_line", "runtime.packages", "weights.source")
}

// unreadable is the first reason of some fields, else a text.
func unreadable(unread map[string]string, text string, fields ...string) string {
	for _, f := range fields {
		if unread[f] != "" {
			return unread[f]
		}
	}
	return text
}

// unhosted says what keeps gate host from judging by a receipt, and what would open it.
func unhosted(r *row.Receipt) (why, open string) {
	used := func(d row.Device) bool {
		return d.Used || !slices.ContainsFunc(r.Devices, func(d row.Device) bool { return d.Used })
	}
	if n := r.Host.NUMABalancing; n != nil && *n != 0 && len(r.Devices) > 0 {
		return "", "" // it fails
	}
	switch {
	case len(r.Devices) == 0:
		return cmp.Or(r.Unread["devices"], "no device could be read here"), openBeside
	case r.Host.NUMABalancing == nil:
		return cmp.Or(r.Unread["host.numa_balancing"], "NUMA balancing could not be read"), "run measure where /proc/sys/kernel/numa_balancing can be read"
	}
	for _, d := range r.Devices {
		if !used(d) {
			continue
		}
		for _, field := range []string{"throttle", "power_limit_w", "memory_clock_mhz"} {
			if text := r.Unread[fmt.Sprintf("devices[%d].%s", d.Index, field)]; text != "" {
				return text, "a driver and a tool that report it"
			}
		}
		if hidden := r.Unread["apps"]; hidden != "" && r.BeforeLaunch.Of(d.Index) == nil {
			return hidden, "have bench start the server (--launch), which reads the devices beforehand, or run it where their processes can be seen"
		}
	}
	return "", ""
}

// uncounted says what keeps gate denominator from counting the devices that the server
// holds, of which the recipe has so many.
func uncounted(r *row.Receipt, gpus int64) (why, open string) {
	if slices.ContainsFunc(r.Devices, func(d row.Device) bool { return d.Used }) || int64(len(r.Devices)) == gpus {
		return "", ""
	}
	return cmp.Or(r.Unread["devices"], r.Unread["devices[].used"], "which devices the server holds is not known"), openBeside
}

// untiedBy says what keeps a receipt's file from being tied to any run, or "".
func untiedBy(f *row.ReceiptFile) string {
	if !f.Watch && f.At == f.Until {
		return "the receipt was read once and not watched"
	}
	if !slices.ContainsFunc(f.Evidence.Metrics, func(m row.MetricSample) bool { return m.Totals().Generated != nil }) {
		return cmp.Or(f.Evidence.Unread["metrics"], "the server's metrics count no generated tokens") + ", so nothing ties the receipt to a run"
	}
	return ""
}

// receiptCloses foretells which gates a receipt's file leaves without an answer, whatever
// recipe and client a run has beside it.
func receiptCloses(f *row.ReceiptFile) []closedGate {
	closed, r := closing{}, &f.Receipt
	untied := untiedBy(f)
	closed.add(untied, openWatch, "label", "host")
	if untied == "" {
		for _, field := range []string{"engine.version", "engine.arguments", "weights.source"} {
			if why := r.Unread[field]; why != "" {
				closed.add(field+": "+why, "run measure receipt where it can read the server's process", "label")
				break
			}
		}
		why, open := unhosted(r)
		closed.add(why, strings.ReplaceAll(open, openBeside, "run measure receipt where a tool of the devices can be run"), "host")
	}
	if !slices.ContainsFunc(r.Devices, func(d row.Device) bool { return d.Used }) {
		why, _ := uncounted(r, -1)
		closed.add(why, "run measure receipt where a tool of the devices sees the server's processes", "denominator")
	}
	return closed
}
