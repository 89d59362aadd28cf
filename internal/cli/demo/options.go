package demo

import (
	"cmp"
	"io"
	"log/slog"
	"time"
)

// Options configures [Run]. The zero value runs everything silently.
type Options struct {
	// Records bounds the reports, from the first of the file; 0 is all 10,000.
	Records int
	// Concurrency is the worker's number of concurrent steps, by default 100.
	Concurrency int
	// Batch is the number of tasks per submission, by default 500.
	Batch int
	// Patience is how long to wait for a settled task before the open ones count as lost, by default one minute.
	Patience time.Duration

	// Progress receives the progress; nil shows none.
	Progress io.Writer
	// IsTerminal reports whether Progress can redraw a line.
	IsTerminal bool

	// Logger is the worker's, by default slog.Default().
	Logger *slog.Logger

	// Command is how to type the program in the summary, by default "tasker".
	Command string
	// ServerURL locates the tasks for these commands; "" omits them.
	ServerURL string
}

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
	o.Command = cmp.Or(o.Command, "tasker")
	return o
}
