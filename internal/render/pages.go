package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"strconv"

	"rowproof/internal/render/format"
	"rowproof/internal/row"
	"rowproof/internal/tradeoff"
	"rowproof/internal/version"
)

func (s *site) newFrame() frame {
	return frame{
		Base: s.opts.Base, Origin: s.opts.Origin, Demo: s.opts.Demo, Policy: policy,
		Style: s.assets.style, Icon: s.assets.icon, Lean: s.assets.lean.address, Held: s.assets.lean.integrity,
		Version: version.Release,
		Nav: []navItem{
			{"Cells", ""}, {"Compare", "compare/"}, {"Recipes", "recipes/"}, {"Gaps", "gaps/"}, {"Roofline", "roofline/"},
			{"Method", "methodology/"}, {"Before you launch", "before-you-launch/"},
		},
	}
}

// writePages writes all pages but those of rows, which readRows has written.
func (s *site) writePages(w *world) error {
	compared := w.compared()
	w.gaps = tradeoff.Gaps(tradeoff.Catalog(*w.catalog), compared)
	return errors.Join(
		s.writeHomes(w),
		s.writeRecipes(w, compared),
		s.writeCompare(w),
		s.writeGaps(w),
		s.writeArticles(w),
		s.writeCalculator(w),
		s.writeYourFile(),
		s.writeWithdrawn(w),
		s.writeChanges(w),
		s.write(&page{Address: "404.html", Kind: "missing", Section: elsewhere, Title: "No such page", Description: "This address has no page.", Main: w}),
		s.writeData(w),
		s.siteMap(),
	)
}

// writeArticles writes the Markdown pages.
func (s *site) writeArticles(w *world) error {
	for _, name := range articles {
		a := w.articles[name]
		err := s.write(&page{Address: name + "/", Kind: "article", Section: elsewhere, Title: a.Title, Description: a.Lead, Main: a})
		if err != nil {
			return err
		}
	}
	return nil
}

// writeCalculator writes the roofline calculator and what its script asks questions with.
func (s *site) writeCalculator(w *world) error {
	p := &page{
		Address: "roofline/", Kind: "roofline", Section: "roofline/", Title: "Roofline calculator",
		Description: "How fast a device could possibly run a model.",
	}
	v := s.newCalculator(w)
	if v != nil {
		var err error
		if v.Data, err = s.writeCalculatorData(w); err != nil {
			return err
		}
		v.Full, v.FullIntegrity = s.assets.full.address, s.assets.full.integrity
		p.Description = "How fast a device could possibly run a model: " + v.Answer
	}
	p.Main = v
	return s.write(p)
}

// withdrawnView lists the rows that are out of every ranking.
type withdrawnView struct{ Rows []withdrawnRow }

type withdrawnRow struct{ ID, Address, Name, Date, Reason string }

func (s *site) writeWithdrawn(w *world) error {
	v := &withdrawnView{}
	for _, m := range w.rows {
		if m.Withdrawn != nil {
			v.Rows = append(v.Rows, withdrawnRow{m.ID, m.address(), s.titleOf(m) + ", " + m.shape().String() + ", " + m.load(), m.Withdrawn.Date, m.Withdrawn.Reason})
		}
	}
	return s.write(&page{
		Address: "withdrawn/", Kind: "withdrawn", Section: elsewhere, Title: "Withdrawn rows",
		Description: "Rows that turned out to be wrong, with the reason. They stand in no ranking or chart, and are never deleted.", Main: v,
	})
}

// published is one row as /data/rows.json gives it.
type published struct {
	ID          string            `json:"id"`
	Page        string            `json:"page"`
	Report      string            `json:"report"`
	Verdict     string            `json:"verdict"`
	Recipe      string            `json:"recipe"`
	Engine      string            `json:"engine"`
	Version     string            `json:"engine_version"`
	MeasuredAt  string            `json:"measured_at"`
	Protocol    string            `json:"protocol"`
	ISL         int64             `json:"isl"`
	OSL         int64             `json:"osl"`
	Concurrency *int64            `json:"concurrency"`
	RequestRate *string           `json:"request_rate"` // of an open loop; concurrency is then the most under way
	Prompts     string            `json:"prompts"`
	State       string            `json:"state"` // of the prompts
	Repeats     int64             `json:"repeats"`
	PerUser     *float64          `json:"tok_s_per_user"`
	Roof        *float64          `json:"roof_share"`
	Figures     *row.Figures      `json:"figures"`
	Missing     map[string]string `json:"missing"`
}

// writeData writes every row as CSV, JSON and an ES module over the same data.
func (s *site) writeData(w *world) error {
	out := make([]published, 0, len(w.rows))
	var table bytes.Buffer
	c := csv.NewWriter(&table)
	head := []string{"id", "verdict", "recipe", "engine_version", "measured_at", "protocol", "isl", "osl", "concurrency", "request_rate", "prompts", "state", "repeats"}
	type field struct {
		name string
		pick func(*measured) estimate
	}
	fields := []field{
		{"output_tok_s_per_gpu", (*measured).perGPU},
		{"tok_s_per_user", (*measured).perUser},
	}
	for _, l := range []struct {
		name string
		dist func(*row.Figures) *row.Dist
	}{
		{"ttft_ms", ttft}, {"tpot_ms", func(f *row.Figures) *row.Dist { return f.TPOT }},
		{"itl_ms", itl}, {"e2e_ms", func(f *row.Figures) *row.Dist { return f.E2E }},
	} {
		for _, q := range []quantile{p50, p90, p99} {
			fields = append(fields, field{l.name + "_" + q.name, func(m *measured) estimate { return latency(l.dist(&m.Figures), q, m.Missing, l.name) }})
		}
	}
	for _, f := range fields {
		head = append(head, f.name, f.name+"_low", f.name+"_high")
	}
	if err := c.Write(head); err != nil {
		return err
	}
	for _, m := range w.rows {
		p := published{
			ID: m.ID, Page: m.address(), Report: m.File, Verdict: m.sign(), Recipe: m.Key.String(),
			Engine: m.Report.Receipt.Engine.Name, Version: m.Report.Receipt.Engine.Version, MeasuredAt: m.Report.MeasuredAt,
			Protocol: m.Workload.Protocol, ISL: m.Workload.ISL, OSL: m.Workload.OSL, Concurrency: m.Workload.Load.Concurrency,
			RequestRate: m.Workload.Load.RequestRate, Prompts: m.Workload.Prompts.Kind, State: m.Workload.Prompts.State,
			Repeats: m.Workload.Repeats, PerUser: m.perUser().Value, Figures: &m.Figures, Missing: m.Missing,
		}
		if r := m.decodeRoof(); r.Missing == "" {
			p.Roof = &r.Share
		}
		out = append(out, p)
		concurrency, rate := "", ""
		if p.RequestRate != nil {
			rate = *p.RequestRate
		}
		if p.Concurrency != nil {
			concurrency = strconv.FormatInt(*p.Concurrency, 10)
		}
		line := []string{p.ID, p.Verdict, p.Recipe, p.Version, p.MeasuredAt, p.Protocol, strconv.FormatInt(p.ISL, 10), strconv.FormatInt(p.OSL, 10), concurrency, rate, p.Prompts, p.State, strconv.FormatInt(p.Repeats, 10)}
		for _, f := range fields {
			line = append(line, ends(f.pick(m))...)
		}
		if err := c.Write(line); err != nil {
			return err
		}
	}
	c.Flush()
	data, err := json.MarshalIndent(map[string]any{"rows": out}, "", " ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	models, err := json.MarshalIndent(w.catalog.Models, "", " ")
	if err != nil {
		return err
	}
	rows, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		return err
	}
	var module bytes.Buffer
	module.WriteString("// Every published row and every model, as an ES module: import { rows, models } from \"./models.js\".\nexport const rows = ")
	module.Write(rows)
	module.WriteString(";\nexport const models = ")
	module.Write(models)
	module.WriteString(";\n")
	return errors.Join(
		s.out.write("data/rows.csv", table.Bytes()),
		s.out.write("data/rows.json", data),
		s.out.write("data/models.js", module.Bytes()),
	)
}

// ends are a figure and its interval as recorded; empty where missing.
func ends(e estimate) []string {
	out := []string{"", "", ""}
	if e.Value != nil {
		out[0] = format.Exact(*e.Value)
	}
	if e.Interval != nil {
		out[1], out[2] = format.Exact(e.Interval[0]), format.Exact(e.Interval[1])
	}
	return out
}
