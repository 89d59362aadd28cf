package siege

import (
	"errors"
	"io"
	"time"
)

// Options are the settings of a run.
type Options struct {
	Seed uint64
	// Load is the least time under faults, Kills the least number of killed nodes. Every kind of fault strikes at least
	// once.
	Load  time.Duration
	Kills int
	// Unsafe lets PostgreSQL lose commits when it crashes; of failovers, see RunFailovers.
	Unsafe bool
	// Redis lets the nodes dispatch through one, which fails, too.
	Redis bool
	// Dir is for the binary and the logs. The caller removes it.
	Dir string
	// Out gets a line for each fault.
	Out io.Writer
}

// Validate reports what cannot be done.
func (o *Options) Validate() error {
	if o.Load < 0 || o.Kills < 0 {
		return errors.New("the time under load and the number of kills cannot be negative")
	}
	return nil
}

// The load.
const (
	producers   = 12
	hoarders    = 2
	ghosts      = 2
	settleLimit = 90 * time.Second
	endLimit    = 3 * time.Minute
	// recoveryLimit bounds the time from a fault until a node accepts a task and it is carried out.
	recoveryLimit = 45 * time.Second
)
