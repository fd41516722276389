// Package api is what the site gives to programs: the forms of its JSON files under
// api/v1/, the units of their figures, and the JSON Schema of each form and of the
// report, made from the Go structs themselves. A field is added freely; one that is
// renamed, dropped or changes its meaning raises the number in Folder.
package api

import (
	"rowproof/internal/roofline"
	"rowproof/internal/row"
)

// Folder holds the files, below the site's base.
const Folder = "api/v1/"

// Index lists the files, so that a program begins here.
type Index struct {
	API    string `json:"api"`    // v1
	Report string `json:"report"` // the form of the reports that this version writes, such as rowproof/1
	Newest string `json:"newest"` // the day of the newest row; "" without rows
	Rows   int64  `json:"rows"`
	Files  []File `json:"files"`
}

// File is one file, or with ID in its address one a row.
type File struct {
	Address string `json:"address"` // below the site's base
	Schema  string `json:"schema"`  // of its form, likewise; "" where it is no JSON
	About   string `json:"about"`
}

// Models is models.json.
type Models struct {
	Models []Model `json:"models"`
}

// Model is a model of the catalogue, or one that rows were measured with before it left.
type Model struct {
	ID   string `json:"id"`
	Page string `json:"page"` // below the site's base
	*roofline.Model
}

// Targets is targets.json.
type Targets struct {
	Targets []Target `json:"targets"`
}

// Target is a device and how many of them.
type Target struct {
	ID string `json:"id"`
	*roofline.Target
}

// Recipes is recipes.json.
type Recipes struct {
	Recipes []Recipe `json:"recipes"`
}

// Recipe is a cell on one engine, with everything needed to launch it again.
type Recipe struct {
	ID       string   `json:"id"` // MODEL/TARGET/STRATEGY/ENGINE
	Model    string   `json:"model"`
	Target   string   `json:"target"`
	Strategy string   `json:"strategy"`
	GPUs     int64    `json:"gpus"` // over all pools
	Page     string   `json:"page"` // with the place on it
	Rows     []string `json:"rows"` // the ids of its rows; none: nothing is measured
	*row.Recipe
}

// Rows is rows.json.
type Rows struct {
	Units map[string]string `json:"units"` // of each figure, by name
	Rows  []Row             `json:"rows"`
}

// Row is one published row.
type Row struct {
	ID          string  `json:"id"`
	Page        string  `json:"page"`   // below the site's base
	File        string  `json:"file"`   // the same row with each gate's reason, likewise
	Report      string  `json:"report"` // the run's report, likewise
	Samples     *string `json:"samples"`
	Verdict     string  `json:"verdict"` // verified, imported, withdrawn, or in a demo unverified
	Recipe      string  `json:"recipe"`
	Engine      string  `json:"engine"`
	Version     string  `json:"engine_version"`
	MeasuredAt  string  `json:"measured_at"` // RFC 3339, UTC
	Protocol    string  `json:"protocol"`    // sustained or passes; they never share a front
	ISL         int64   `json:"isl"`
	OSL         int64   `json:"osl"`
	Concurrency *int64  `json:"concurrency"`
	RequestRate *string `json:"request_rate"` // of an open loop; concurrency is then the most under way
	Prompts     string  `json:"prompts"`      // random, dataset or trace
	State       string  `json:"state"`        // of the prompts: cold or warm
	Repeats     int64   `json:"repeats"`
	Ranks       bool    `json:"ranks"` // may stand in a ranking or a front
	Random      bool    `json:"random_weights"`

	PerUser   *float64          `json:"tok_s_per_user"` // 1000 ÷ TPOT p50
	RoofShare *float64          `json:"roof_share"`     // measured ÷ hard roof of the decode step
	Figures   *row.Figures      `json:"figures"`
	Missing   map[string]string `json:"missing"` // figure → why it is null
	Gates     map[string]string `json:"gates"`   // gate → its answer
}

// RowFile is rows/ID.json.
type RowFile struct {
	Units map[string]string `json:"units"`
	Row   Row               `json:"row"`
	Gates []Gate            `json:"gates"`
}

// Gate is what one gate answers of the row.
type Gate struct {
	Gate     string     `json:"gate"`
	Answer   string     `json:"answer"` // pass, warn, fail, cannot be judged, does not apply or not asked
	Blocks   bool       `json:"blocks"` // keeps the row from being verified
	Reason   string     `json:"reason"`
	Mend     string     `json:"mend"` // the command or change that would open it; "" when none
	Compared []Compared `json:"compared"`
}

// Compared is one figure beside what it was held against.
type Compared struct {
	Name    string `json:"name"`
	Found   string `json:"found"`
	Against string `json:"against"`
}

// Gaps is gaps.json.
type Gaps struct {
	Basis string `json:"basis"` // how GPU-minutes are estimated
	Gaps  []Gap  `json:"gaps"`
}

// Gap is something that nobody has measured, with the command that would.
type Gap struct {
	Rank       int64    `json:"rank"`
	Kind       string   `json:"kind"` // recipe, load, shape or rank
	Recipe     string   `json:"recipe"`
	Shape      string   `json:"shape"` // ISL:OSL
	Loads      []int64  `json:"loads"`
	What       string   `json:"what"`
	Why        string   `json:"why"`
	Changes    []string `json:"changes"` // recommendations that it could change
	GPUs       int64    `json:"gpus"`
	GPUMinutes *int64   `json:"gpu_minutes"` // estimated; null where no roof could be computed
	Basis      string   `json:"basis"`
	Command    string   `json:"command"`
	Page       string   `json:"page"`
}

// WithdrawnRows is withdrawn.json.
type WithdrawnRows struct {
	Withdrawn []Withdrawn `json:"withdrawn"`
}

// Withdrawn is a row that is out of every ranking.
type Withdrawn struct {
	ID     string `json:"id"`
	Page   string `json:"page"`
	Recipe string `json:"recipe"`
	Date   string `json:"date"`
	Reason string `json:"reason"`
}
