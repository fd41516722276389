package main

import (
	"strings"

	"rowproof/internal/loadgen"
)

// checkLimits refuses a run whose connections this host cannot hold, or whose stamps it
// does not give, before anything is started or asked.
func (o *benchOptions) checkLimits() error {
	if lacks := loadgen.Lacks(int(o.mostStreams())); len(lacks) > 0 {
		return refuse(exitUsage, "%s; or ask for fewer streams", strings.Join(lacks, "\n"))
	}
	if err := loadgen.StampsLack(o.stamps); err != nil {
		return refuse(exitUsage, "%v", err)
	}
	return nil
}
