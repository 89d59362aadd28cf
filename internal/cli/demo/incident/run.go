package incident

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/memory"
	"github.com/taskerhq/tasker/internal/cli/demo"
)

// Options configure an incident. The zero value runs all of it, silently.
type Options struct {
	// Letters is the number of reports that arrive, from MinLetters. 0 means all 10,000.
	Letters int
	// Observe is how long a redrive observes each wave. Defaults to one second.
	Observe time.Duration
	// Patience bounds a wait in which nothing happens. Defaults to 30 seconds.
	Patience time.Duration
	// Out receives the story; nil tells none.
	Out io.Writer
	// Next is called between two steps of the story; nil goes on at once. An error ends Run.
	Next func(ctx context.Context) error
	// Command is how the program is typed. Defaults to "tasker".
	Command string
	// ServerURL is where those commands find the inbox; empty leaves the flag out.
	ServerURL string
}

// driverName is the driver of the broker, and sourceName the source that reads the dead-letter queue.
const driverName, sourceName = "memory", "strikes"

// MinLetters is the least number of reports: the canary has to meet the wrong fix, and something has to be left.
const MinLetters = 2 * canary

// Incident is a broker with an application. New makes one, and Run plays it once.
type Incident struct {
	broker *memory.Broker
}

// New returns an incident that has not begun.
func New() *Incident {
	b := memory.New(nil)
	b.Declare(workQueue, deadQueue)
	return &Incident{broker: b}
}

// Drivers returns what a node needs to reach the broker.
func (i *Incident) Drivers() driver.Registry { return driver.Registry{driverName: i.broker.Open} }

// Run plays the incident on the inbox of a node that has the Drivers and runs its loops. The inbox must be empty. It
// blocks. An error means that the story could not be told to its end; what Tasker did wrong is in the Summary.
func (i *Incident) Run(ctx context.Context, inbox deadletters.Backend, opts Options) (sum Summary, err error) {
	rows, err := demo.Rows()
	if err != nil {
		return Summary{}, err
	}
	if opts.Letters > 0 {
		rows = rows[:min(max(opts.Letters, MinLetters), len(rows))]
	}
	if opts.Observe <= 0 {
		opts.Observe = time.Second
	}
	if opts.Patience <= 0 {
		opts.Patience = 30 * time.Second
	}
	n := &night{opts: opts, inbox: inbox, rows: rows, app: newApplication(i.broker),
		tell: &narrator{out: opts.Out, program: opts.Command, server: opts.ServerURL}}
	defer func() { err = errors.Join(err, n.app.shutDown()) }()
	return n.play(ctx)
}

// night is one run of an incident. Its methods are the steps of the story, in the order of play; they share what they
// have found out here.
type night struct {
	opts  Options
	inbox deadletters.Backend
	app   *application
	rows  []demo.Row
	tell  *narrator

	started time.Time
	halted  *deadletters.Redrive // by the canary
}

// play tells the story and checks its outcome. Between two steps the reader may look around; a change that the reader
// makes meanwhile may make a later step fail.
func (n *night) play(ctx context.Context) (Summary, error) {
	for _, step := range []func(context.Context) error{n.fail, n.look, n.ask, n.sendCanary, n.diagnose, n.correct} {
		if err := step(ctx); err != nil {
			return Summary{}, err
		}
		if n.opts.Next != nil {
			if err := n.opts.Next(ctx); err != nil {
				return Summary{}, err
			}
		}
	}
	return n.finish(ctx)
}

// await waits until done reports true. It gives up when the number that done returns has not changed for a while.
func (n *night) await(ctx context.Context, what string, done func(context.Context) (int, bool, error)) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	last, since := -1, time.Now()
	for {
		now, ready, err := done(ctx)
		if err != nil || ready {
			return err
		}
		if now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) > n.opts.Patience {
			return fmt.Errorf("%s: nothing has happened for %s, after %d", what, n.opts.Patience, now)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
