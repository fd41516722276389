package main

import (
	"fmt"
	"io"
)

// course gives the rows of a run, one after another: those of a plan, or those that a
// search goes by.
type course interface {
	next() (planned, bool)       // the row to measure; false at the end
	took(p planned, m *finished) // what it showed
	stop(w io.Writer)            // measures no further row, and says which those are
	known() []planned            // rows known beforehand
	words() string               // what is about to be measured
	answers() []sloAnswer        // of a search
}

// course is the run's.
func (o *benchOptions) course() course {
	if o.slo != nil {
		return o.search()
	}
	all := o.plan()
	return &sweepCourse{all: all, left: all}
}

// sweepCourse is a plan, row by row.
type sweepCourse struct{ all, left []planned }

func (c *sweepCourse) next() (planned, bool) {
	if len(c.left) == 0 {
		return planned{}, false
	}
	p := c.left[0]
	c.left = c.left[1:]
	return p, true
}

func (c *sweepCourse) took(planned, *finished) {}

func (c *sweepCourse) stop(w io.Writer) {
	if len(c.left) > 0 {
		fmt.Fprintf(w, "measure bench: %s not measured: --on-failure stop\n", countOf(len(c.left), "row"))
	}
	c.left = nil
}

func (c *sweepCourse) known() []planned     { return c.all }
func (c *sweepCourse) answers() []sloAnswer { return nil }

func (c *sweepCourse) words() string {
	return countOf(len(c.all), "row") + " (" + planWords(c.all) + ")"
}
