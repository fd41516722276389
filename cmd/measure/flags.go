package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// collector is a flag set whose wrong values are gathered, so that a caller hears of
// all of them at once.
type collector struct {
	*pflag.FlagSet
	*gathered
}

type gathered struct {
	problems []string
	unknown  []string // names of flags that there are not
}

func newCollector(verb string) collector {
	fs := pflag.NewFlagSet(verb, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.SortFlags = false
	return collector{fs, &gathered{}}
}

func (c collector) wrong(format string, a ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, a...))
}

// allKnown says that what stands between the flags are arguments, and none the value of a
// flag that there is not.
func (c collector) allKnown() bool { return len(c.unknown) == 0 }

// read parses a command line. What is wrong with a flag is gathered, and reading goes on;
// the error is pflag.ErrHelp, or of what could not be read on from and was gathered too.
func (c collector) read(args []string) error {
	for {
		c.problems = nil
		err := c.try(args)
		var missing *pflag.NotExistError
		if errors.As(err, &missing) && !slices.Contains(c.unknown, missing.GetSpecifiedName()) && len(missing.GetSpecifiedShortnames()) == 0 {
			// Known from here on, so that the flags after it are read too.
			name := missing.GetSpecifiedName()
			c.String(name, "", "")
			f := c.Lookup(name)
			f.NoOptDefVal, f.Hidden = " ", true
			c.unknown = append(c.unknown, name)
			continue
		}
		if err != nil && !errors.Is(err, pflag.ErrHelp) {
			c.wrong("%v; see measure %s --help", err, c.Name())
		}
		for _, name := range c.unknown {
			c.wrong("--%s: no such flag; %ssee measure %s --help", name, nearestFlag(c.FlagSet, name, c.unknown), c.Name())
		}
		return err
	}
}

// try parses once, with every flag's own complaint gathered.
func (c collector) try(args []string) error {
	plain := map[*pflag.Flag]pflag.Value{}
	c.VisitAll(func(f *pflag.Flag) {
		plain[f] = f.Value
		f.Value = &gatherer{f.Value, f.Name, c.gathered}
	})
	defer func() {
		for f, v := range plain {
			f.Value = v
		}
	}()
	return c.Parse(args)
}

// gatherer is a flag's value whose error is gathered.
type gatherer struct {
	pflag.Value
	name string
	*gathered
}

func (g *gatherer) Set(s string) error {
	if err := g.Value.Set(s); err != nil {
		want := err.Error()
		switch g.Type() {
		case "bool":
			want = "want true or false"
		case "duration":
			want = "want a time such as 20ms"
		case "int":
			want = "want a whole number"
		}
		g.problems = append(g.problems, fmt.Sprintf("--%s %s: %s", g.name, echo(g.name, s), want))
	}
	return nil
}

func (c collector) help(w io.Writer) {
	c.SetOutput(w)
	c.Usage()
}

// parse reads a verb's command line. done is true when the verb should return code at
// once: help was asked for, or what is wrong cannot be read on from.
func (c collector) parse(args []string, s streams) (code int, done bool) {
	switch err := c.read(args); {
	case err == nil:
		return exitOK, false
	case errors.Is(err, pflag.ErrHelp):
		c.help(s.out)
		return exitOK, true
	}
	return c.refuse(s), true
}

// refuse tells all that is wrong with a command line.
func (c collector) refuse(s streams) int {
	see := "see measure " + c.Name() + " --help"
	problems := c.problems
	if !slices.ContainsFunc(problems, func(p string) bool { return strings.HasSuffix(p, see) }) {
		problems = append(problems, see)
	}
	return complain(s, c.Name(), exitUsage, problems)
}

// value is one flag of a collector. set returns what would have been accepted, or "".
type value struct {
	name, text, kind string
	set              func(string) string
	gathered         *gathered
}

func (v *value) String() string { return v.text }
func (v *value) Type() string   { return v.kind }
func (v *value) Set(s string) error {
	v.text = s
	if want := v.set(s); want != "" {
		v.gathered.problems = append(v.gathered.problems, fmt.Sprintf("--%s %s: want %s", v.name, echo(v.name, s), want))
	}
	return nil
}

func (c collector) add(name, def, kind, help string, set func(string) string) {
	c.Var(&value{name: name, text: def, kind: kind, set: set, gathered: c.gathered}, name, help)
}

func (c collector) count(name string, p *int64, least int64, help string) {
	c.add(name, strconv.FormatInt(*p, 10), "N", help, func(s string) string {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < least || n > 1_000_000 {
			return "a whole number from " + strconv.FormatInt(least, 10) + " to 1000000"
		}
		*p = n
		return ""
	})
}

func (c collector) port(p *uint16, def uint16, least int64, help string) {
	*p = def
	c.add("port", strconv.Itoa(int(def)), "N", help, func(s string) string {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < least || n > 65535 {
			return "a whole number from " + strconv.FormatInt(least, 10) + " to 65535"
		}
		*p = uint16(n)
		return ""
	})
}

func (c collector) choice(name string, p *string, def string, choices []string, help string) {
	*p = def
	c.add(name, def, "NAME", help, func(s string) string {
		if !slices.Contains(choices, s) {
			return strings.Join(choices, " or ")
		}
		*p = s
		return ""
	})
}

func (c collector) span(name string, p *time.Duration, def, help string, whole bool) {
	c.add(name, def, "TIME", help, func(s string) string {
		d, err := time.ParseDuration(s)
		switch {
		case err != nil || d <= 0:
			return "a time above zero such as 90s or 5m"
		case whole && d%time.Second != 0:
			return "whole seconds such as 30s"
		}
		*p = d
		return ""
	})
}
