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

// Options configure an incident. The zero value runs all of it silently.
type Options struct {
	// Letters is the number of reports, at least MinLetters; 0 is all 10,000.
	Letters int
	// Observe is the observation of each wave, by default one second.
	Observe time.Duration
	// Patience bounds a wait without progress, by default 30 seconds.
	Patience time.Duration
	// Out receives the story; nil is silent.
	Out io.Writer
	// Next runs between two steps of the story; nil continues immediately. An error ends Run.
	Next func(ctx context.Context) error
	// Command is how to type the program, by default "tasker".
	Command string
	// ServerURL locates the inbox for commands; "" omits the flag.
	ServerURL string
}

// driverName names the broker's driver, sourceName the source of the dead-letter queue.
const driverName, sourceName = "memory", "strikes"

// MinLetters lets the canary meet the wrong fix and leaves a rest.
const MinLetters = 2 * canary

// Incident is a broker with an application, to be played once.
type Incident struct {
	broker *memory.Broker
}

// New returns an incident that has not begun.
func New() *Incident {
	b := memory.New(nil)
	b.Declare(workQueue, deadQueue)
	return &Incident{broker: b}
}

// Drivers connect a node to the broker.
func (i *Incident) Drivers() driver.Registry { return driver.Registry{driverName: i.broker.Open} }

// Run plays the incident on the empty inbox of a running node with the Drivers. It blocks. An error means an
// incomplete story; faults of Tasker are in the Summary.
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

// night is one run; its methods are the steps of the story in order, and share their findings.
type night struct {
	opts  Options
	inbox deadletters.Backend
	app   *application
	rows  []demo.Row
	tell  *narrator

	started time.Time
	halted  *deadletters.Redrive // by the canary
}

// play tells the story and checks the outcome. Between two steps the reader may look around; changes then may fail
// a later step.
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

// await waits for done, and fails if done's number stays the same for Patience.
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
