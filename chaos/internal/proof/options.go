package proof

import (
	"errors"
	"io"
	"time"
)

// Options is what can be set about a run.
type Options struct {
	Seed uint64
	// Load is the least time under load and faults; Kills how many nodes have to
	// be killed in it, at least. Every kind of fault strikes at least once.
	Load  time.Duration
	Kills int
	// Unsafe lets PostgreSQL lose commits when it crashes; of failovers, see RunFailovers.
	Unsafe bool
	// Redis lets the nodes dispatch through one, which goes wrong too.
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
	// recoveryLimit bounds how long a node may take after a fault to accept a
	// task and have it carried out.
	recoveryLimit = 45 * time.Second
)
