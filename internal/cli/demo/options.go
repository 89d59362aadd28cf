package demo

import (
	"io"
	"log/slog"
	"time"
)

// Options configures [Run]. The zero value runs everything, silently.
type Options struct {
	// Records bounds how many reports are submitted, from the first of the
	// file. 0 means all 10,000.
	Records int
	// Concurrency is how many steps the worker in this process runs at once.
	// Defaults to 100.
	Concurrency int
	// Batch is how many tasks go into one submission. Defaults to 500.
	Batch int
	// Patience is how long to wait without any task settling before what is
	// open is counted as lost. Defaults to one minute.
	Patience time.Duration

	// Progress receives the progress of the run; nil shows none.
	Progress io.Writer
	// IsTerminal reports whether Progress can redraw a line.
	IsTerminal bool

	// Logger is the worker's; nil means slog.Default().
	Logger *slog.Logger

	// Command is how the summary spells the program in what to type next.
	// Defaults to "tasker".
	Command string
	// ServerURL is where those commands find the work; empty leaves them out, because nothing is left to work with.
	ServerURL string
}

// withDefaults fills what was left out.
func (o Options) withDefaults() Options {
	if o.Concurrency <= 0 {
		o.Concurrency = 100
	}
	if o.Batch <= 0 {
		o.Batch = 500
	}
	if o.Patience <= 0 {
		o.Patience = time.Minute
	}
	if o.Command == "" {
		o.Command = "tasker"
	}
	return o
}
