package main

import (
	"fmt"
	"os"

	"rowproof/internal/engine"
	"rowproof/internal/loadgen"
	"rowproof/internal/prompts"
	"rowproof/internal/row"
)

// readDataset reads the dataset, and tells every item that is wrong.
func (o *benchOptions) readDataset(name string, output int64, wrong func(string, ...any)) {
	o.datasetFile = name
	f, err := os.Open(name)
	if err != nil {
		wrong("--dataset %s: %s; want a file of JSON lines, or of ShareGPT's conversations", name, reasonOf(err))
		return
	}
	defer f.Close()
	d, err := prompts.ReadDataset(f, output)
	if err != nil {
		told("--dataset "+name, err, wrong)
		return
	}
	chats := 0
	for i := range d.Items {
		if d.Items[i].Messages != nil {
			chats++
		}
	}
	if chats > 0 && !engine.IsChat(o.endpoint) {
		wrong("--dataset %s: messages in %d of %s; want a chat's route for them, such as --endpoint %s", name, chats, countOf(len(d.Items), "item"), engine.PathChat)
	}
	o.dataset = d
}

// describeDataset puts the dataset into a row's workload; how long its prompts are the
// server will say.
func (o *benchOptions) describeDataset(w *row.Workload) {
	var osl []int64
	for i := range o.dataset.Items {
		osl = append(osl, o.dataset.Items[i].Output)
	}
	stateLengths(w, nil, osl)
	w.Prompts.Kind, w.Prompts.SHA256 = row.PromptsDataset, &o.dataset.SHA256
}

// enough says that a dataset has too few prompts for a run, or "": each is sent once, by
// the warm-up, the timed requests and those that keep streams full behind them.
func (o *benchOptions) enough() string {
	if o.dataset == nil || o.repeatPrompts {
		return ""
	}
	need := int64(0)
	for _, p := range o.plan() {
		w := &p.workload
		if w.Requests == nil {
			return "" // as many as a duration takes
		}
		need += w.Repeats * (untimed(&p) + *w.Requests + 2*p.concurrency)
	}
	have := int64(len(o.dataset.Items))
	if need <= have {
		return ""
	}
	return fmt.Sprintf("--dataset %s: %s, and this run sends about %d, each once; want a larger file, fewer by --num-prompts, --concurrency or --repeats, or --repeat-prompts to send them again",
		o.datasetFile, countOf(int(have), "prompt"), need)
}

// untimed is how many requests come before the timed ones of a repeat.
func untimed(p *planned) int64 {
	if p.rate != "" {
		return p.workload.Warmup
	}
	return p.workload.Warmup * p.concurrency
}

// datasetRequests are prompts of a dataset. A run sends each once, and where there are no
// more the load ends; a row of warm prompts sends all of them over and over.
type datasetRequests struct {
	srv     *server
	p       *planned
	dataset *prompts.Dataset
	draw    *prompts.Draw // of the run's prompts
	times   func(repeat int) *prompts.Arrivals
	deals   []*prompts.Deal // by repeat
}

func (r *datasetRequests) build(repeat int) func(int) loadgen.Call {
	w, times := &r.p.workload, r.times(repeat)
	draw := r.draw
	if w.Prompts.State == row.Warm {
		draw, repeat = prompts.NewDraw(r.dataset), 0 // the same in the same order, over and over
	}
	deal := draw.Deal(r.p.seed, repeat)
	r.deals = append(r.deals, deal)
	return func(seq int) loadgen.Call {
		it := r.item(deal, seq)
		if it == nil || r.p.ends(seq) {
			return loadgen.Call{}
		}
		p := engine.Prompt{Text: it.Prompt}
		for _, m := range it.Messages {
			p.Messages = append(p.Messages, engine.Message{Role: m.Role, Content: m.Content})
		}
		c := engine.Request(w.Endpoint, r.srv.model, p, 0, int(it.Output), r.srv.options(w))
		if times != nil {
			c.At = times.At(seq)
		}
		return c
	}
}

// item is the seq-th prompt of a repeat; nil where there are no more.
func (r *datasetRequests) item(deal *prompts.Deal, seq int) *prompts.Item {
	switch {
	case r.p.workload.Prompts.State == row.Warm:
		return deal.Item(seq % deal.Len())
	case seq >= deal.Len():
		return nil
	}
	return deal.Item(seq)
}

func (r *datasetRequests) asked(repeat int, samples []row.Sample) (notes []string) {
	deal, sent := r.deals[repeat], 0
	for i := range samples {
		s := &samples[i]
		s.WantOSL = &r.item(deal, int(s.I)).Output
		sent = max(sent, int(s.I)+1)
	}
	if r.p.workload.Prompts.State == row.Warm {
		return nil
	}
	if deal.Sent(sent); sent == deal.Len() {
		notes = append(notes, fmt.Sprintf("the dataset has no prompt left: %d were sent in repeat %d", sent, repeat))
	}
	return notes
}

// stateDataset puts the lengths of the timed requests into the row's workload: outputs as
// they were asked, prompts as the server counted them.
func stateDataset(w *row.Workload, samples []row.Sample) {
	var isl, osl []int64
	for i := range samples {
		s := &samples[i]
		if s.Phase != row.PhaseTimed {
			continue
		}
		osl = append(osl, *s.WantOSL)
		if s.ISL != nil {
			isl = append(isl, *s.ISL)
		}
	}
	if len(osl) > 0 {
		stateLengths(w, isl, osl)
	}
	for i := range samples {
		s := &samples[i]
		s.WantOSL = own(*s.WantOSL, w.OSL)
	}
}
