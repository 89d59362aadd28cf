// Package carrier connects the inbox with brokers: it reads sources and sends letters back through package broker, and
// decodes what messages say of their failures. It is the same for every driver, so a new broker needs no code here.
//
// Retries, reconnection and the circuit breaker are package broker's; what a message means is package format's; what is
// stored, and when a message may be acknowledged, is the inbox's. This package only translates between the three.
package carrier

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/broker"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/format"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

const (
	// sendTimeout bounds one try of a batch, and sendTries how often it is tried: together less than the inbox waits.
	sendTimeout, sendTries = 3 * time.Second, 2
	// reportEvery is how often the state of a source is looked at.
	reportEvery = time.Second
)

// Carrier is an inbox.Carrier over the drivers of one name. It keeps one connection for each URL to which letters are
// sent, until Close: letters of many sources of one broker share it. Reading has connections of its own, so that a
// blocked read never delays a send. It is safe for concurrent use.
type Carrier struct {
	registry driver.Registry
	name     string

	mu      sync.Mutex
	targets map[string]*broker.Target
}

var _ inbox.Carrier = (*Carrier)(nil)

// New returns a carrier over the driver of a name. It opens nothing; connections are made when they are needed.
func New(registry driver.Registry, name string) *Carrier {
	return &Carrier{registry: registry, name: name, targets: map[string]*broker.Target{}}
}

// Close closes the connections for sending, and returns their errors joined. Reading ends with its context.
func (c *Carrier) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, t := range c.targets {
		errs = append(errs, t.Close())
	}
	clear(c.targets)
	return errors.Join(errs...)
}

// dial returns how to connect to a URL. The registry hides passwords in the errors.
func (c *Carrier) dial(url string) broker.Dial {
	return func(ctx context.Context) (driver.Driver, error) { return c.registry.Open(ctx, c.name, url) }
}

// target returns the connection to a URL.
func (c *Carrier) target(url string) *broker.Target {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.targets[url] == nil {
		c.targets[url] = broker.NewTarget(c.dial(url), &broker.TargetOptions{Timeout: sendTimeout, Tries: sendTries})
	}
	return c.targets[url]
}

// Exists implements inbox.Sender. It asks the broker each time: a queue may be made after a redrive was refused.
func (c *Carrier) Exists(ctx context.Context, source *deadletter.Source, destination string) (bool, error) {
	exists, _, err := c.target(source.URL).Stat(ctx, destination)
	return exists, err
}

// Send implements inbox.Sender. The lineage is in the headers of the content; a broker without headers drops them, and
// the letter is then recognised by its content.
func (c *Carrier) Send(ctx context.Context, source *deadletter.Source, destination string,
	letters []inbox.Outgoing,
) []error {
	messages := make([]driver.Message, len(letters))
	for i, l := range letters {
		messages[i] = driver.Message{Key: l.Content.Key, Headers: l.Content.Headers, Payload: l.Content.Payload,
			MessageID: l.Letter.MessageID}
	}
	errs := make([]error, len(letters))
	for i, r := range c.target(source.URL).Send(ctx, destination, messages) {
		switch r.Outcome {
		case broker.Sent:
		case broker.Uncertain:
			errs[i] = fmt.Errorf("%w: %w", inbox.ErrUncertain, r.Err)
		default:
			errs[i] = r.Err
		}
	}
	return errs
}

// Read implements inbox.Carrier. It returns when ctx has ended and the batch that was being captured is acknowledged or
// left to the broker.
func (c *Carrier) Read(ctx context.Context, source *deadletter.Source,
	capture func(context.Context, []inbox.Arrival) error, report func(error),
) {
	s := broker.NewSource(c.dial(source.URL), source.Queue, nil)
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { reportStatus(watching, s, report) })
	err := s.Run(ctx, func(ctx context.Context, batch []driver.Message) error {
		arrivals := make([]inbox.Arrival, len(batch))
		for i := range batch {
			arrivals[i] = arrival(batch[i], source)
		}
		return capture(ctx, arrivals)
	})
	stop()
	watch.Wait()
	if err != nil {
		report(err)
	}
}

// reportStatus reports the state of a source every second: its last error, or nil when it is connected. The caller logs
// changes only.
func reportStatus(ctx context.Context, s *broker.Source, report func(error)) {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch st := s.Status(); st.State {
		case broker.Connected:
			report(nil)
		case broker.Lost:
			report(errors.New(st.LastError))
		case broker.Blocked:
			report(fmt.Errorf("%w: %s", inbox.ErrBlocked, st.LastError))
		}
	}
}

// arrival decodes a message. Without a time of failure in it, the time at which the broker took the message stands for
// it.
func arrival(m driver.Message, source *deadletter.Source) inbox.Arrival {
	d := format.Decode(m, source.Format)
	a := inbox.Arrival{
		Report: inbox.Report{MessageID: d.MessageID, Origin: d.Origin, Handler: d.Handler, Content: d.Content,
			Failure: d.Failure, Stack: d.Stack, Attempts: d.Attempts, FailedAt: d.LastAt, Letter: d.Letter},
		Format: d.Format, Position: m.Position, Replays: d.Replays, Undecoded: d.Undecoded,
	}
	if a.FailedAt == 0 && !m.Time.IsZero() {
		a.FailedAt = task.At(m.Time)
	}
	return a
}
