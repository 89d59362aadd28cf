// Package carrier connects the inbox with brokers of every driver. It only translates: package broker retries,
// reconnects and has the circuit breaker, package format interprets messages, and the inbox decides when a message is
// stored and acknowledged.
package carrier

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/broker"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/format"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	sendTries   = 2 // per letter and turn
	maxPosition = 1024
	reportEvery = time.Second
)

// Carrier is an seam.Carrier over a driver. Until Close it keeps one connection for sending per namespace and broker
// URL. Sources without a URL send to the hosts of their destinations, each with a circuit breaker per namespace.
// Readers have other connections, so that a blocked read never delays a send. It is safe for concurrent use.
type Carrier struct {
	registry driver.Registry
	name     string
	targets  targets

	mu      sync.Mutex
	reading map[queue]*broker.Source
}

var _ seam.Carrier = (*Carrier)(nil)

// New returns a carrier over a driver. It connects on first use.
func New(registry driver.Registry, name string) *Carrier {
	return &Carrier{registry: registry, name: name, targets: targets{byPlace: map[place]*entry{}},
		reading: map[queue]*broker.Source{}}
}

// Close closes the connections for sending. Reading ends with its context.
func (c *Carrier) Close() error { return c.targets.close() }

// The registry hides passwords in errors.
func (c *Carrier) dial(url string) broker.Dial {
	return func(ctx context.Context) (driver.Driver, error) { return c.registry.Open(ctx, c.name, url) }
}

// target returns the connection for letters of a source to a destination. The caller calls done.
func (c *Carrier) target(source *deadletter.Source, destination string) (target *broker.Target, done func()) {
	return c.targets.take(placeOf(source, destination), func() *broker.Target {
		return broker.NewTarget(c.dial(source.URL), &broker.TargetOptions{Tries: sendTries})
	})
}

// Exists implements seam.Sender. It asks the broker each time: a queue may be made after a redrive was refused.
func (c *Carrier) Exists(ctx context.Context, source *deadletter.Source, destination string) (bool, error) {
	t, done := c.target(source, destination)
	defer done()
	exists, _, err := t.Stat(ctx, destination)
	return exists, refusal(err)
}

func refusal(err error) error {
	if !errors.Is(err, driver.ErrRefused) {
		return err
	}
	return fmt.Errorf("%w: %s", seam.ErrRefused, strings.TrimPrefix(err.Error(), driver.ErrRefused.Error()+": "))
}

// Depth implements seam.Carrier, on the connection for sending, so a blocked read does not delay it.
func (c *Carrier) Depth(ctx context.Context, source *deadletter.Source) (int64, error) {
	t, done := c.target(source, source.Queue)
	defer done()
	exists, depth, err := t.Stat(ctx, source.Queue)
	if err != nil || !exists {
		return 0, refusal(err)
	}
	held, _ := c.held(source) // after the answer: what left the broker since counts twice rather than not at all
	return depth + held, nil
}

// OnTheWay implements seam.Carrier.
func (c *Carrier) OnTheWay(source *deadletter.Source) bool {
	_, ok := c.held(source)
	return ok
}

// held counts messages in the reader of a source. ok is false where the broker counts them, or another node reads.
func (c *Carrier) held(source *deadletter.Source) (n int64, ok bool) {
	c.mu.Lock()
	s := c.reading[queueOf(source)]
	c.mu.Unlock()
	if s == nil {
		return 0, false
	}
	return s.Held()
}

type queue struct{ url, name string }

func queueOf(source *deadletter.Source) queue { return queue{source.URL, source.Queue} }

// Lag implements seam.Carrier.
func (c *Carrier) Lag(ctx context.Context, source *deadletter.Source) (map[int32]int64, error) {
	t, done := c.target(source, source.Queue)
	defer done()
	parts, err := t.Lag(ctx, source.Queue)
	if err != nil || parts == nil {
		return nil, err
	}
	lag := make(map[int32]int64, len(parts))
	for _, p := range parts {
		lag[p.Partition] = p.Lag
	}
	return lag, nil
}

// Breaker implements seam.Carrier. Sources of one broker and namespace share a breaker.
func (c *Carrier) Breaker(source *deadletter.Source) task.BreakerState {
	if source.URL == "" {
		return ""
	}
	t, done := c.target(source, source.Queue)
	defer done()
	return t.Breaker()
}

// Send implements seam.Sender. A letter begun within the turn has driver.MessageTime. A broker without headers drops
// the lineage; then the inbox recognises the letter by its content.
func (c *Carrier) Send(ctx context.Context, source *deadletter.Source, destination string,
	letters []seam.Outgoing,
) []error {
	messages := make([]driver.Message, len(letters))
	for i, l := range letters {
		messages[i] = driver.Message{Key: l.Content.Key, Headers: l.Content.Headers, Payload: l.Content.Payload,
			MessageID: l.Letter.MessageID, SendID: l.SendID}
	}
	t, done := c.target(source, destination)
	defer done()
	until, _ := ctx.Deadline()
	work, cancel := outlive(ctx)
	defer cancel()
	errs := make([]error, len(letters))
	for i, r := range t.Send(work, destination, messages, until) {
		errs[i] = outcome(r)
	}
	return errs
}

// outlive returns a context that ends with the cancellation of ctx, but not at its deadline, the end of the turn.
func outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			cancel()
		}
	})
	return work, func() {
		stop()
		cancel()
	}
}

func outcome(r broker.Result) error {
	switch {
	case r.Repeated: // the broker may have forgotten the first time, for example in a failover
		return seam.ErrRepeated
	case r.Outcome == broker.Uncertain:
		return fmt.Errorf("%w: %w", seam.ErrUnknown, r.Err)
	case r.Outcome == broker.Untried:
		return fmt.Errorf("%w: %w", seam.ErrNotTried, r.Err)
	case driver.Permanent(r.Err):
		return forGood{r.Err}
	}
	return r.Err
}

type forGood struct{ error }

// Is matches seam.ErrForGood; Unwrap has the rest.
func (forGood) Is(target error) bool { return target == seam.ErrForGood }

func (e forGood) Unwrap() error { return e.error }

// Read implements seam.Carrier. It returns after the end of ctx, once the batch under way is acknowledged or left.
func (c *Carrier) Read(ctx context.Context, source *deadletter.Source, of seam.ReadOptions,
	capture func([]seam.Arrival) (store func(context.Context) error), report func(error),
) {
	s := broker.NewSource(c.dial(source.URL), source.Queue, &broker.SourceOptions{Batch: of.Batch, MaxBytes: of.MaxBytes,
		Left: func(ctx context.Context, messages []driver.Left) error {
			return sure(of.Left(ctx, oversized(messages)))
		}})
	c.mu.Lock()
	c.reading[queueOf(source)] = s
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.reading[queueOf(source)] == s {
			delete(c.reading, queueOf(source))
		}
	}()
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { reportStatus(watching, s, report) })
	err := s.Run(ctx, func(batch []driver.Message) func(context.Context) error {
		store := capture(arrivals(batch, source))
		return func(ctx context.Context) error { return sure(store(ctx)) }
	})
	stop()
	watch.Wait()
	if err != nil {
		report(err)
	}
}

// oversized describes messages left on the broker. Without a position their headers do not identify them, as the broker
// changes some.
func oversized(messages []driver.Left) []deadletter.Oversized {
	list := make([]deadletter.Oversized, len(messages))
	for i, m := range messages {
		o := deadletter.Oversized{Position: m.Position, Bytes: m.Bytes, Offset: -1, Deliveries: m.Deliveries}
		if o.Position == "" || task.TextFault(o.Position, maxPosition) != "" {
			o.Position = deadletter.Identify(m.Position, m.MessageID, deadletter.Content{Key: m.Key, Payload: m.Payload})
		}
		if m.Log.To > 0 {
			o.Partition, o.Offset = m.Log.Partition, m.Log.From
		}
		list[i] = o
	}
	return list
}

// sure marks errors after which nothing is stored. A database error may hide a commit.
func sure(err error) error {
	if !errors.Is(err, seam.ErrPartly) {
		switch task.CodeOf(err) {
		case task.NotFound, task.Exhausted, task.Invalid, task.TooLarge, task.Conflict:
			return fmt.Errorf("%w: %w", broker.ErrNotStored, err)
		}
	}
	return err
}

// Peek implements seam.Carrier, on its own connection.
func (c *Carrier) Peek(ctx context.Context, source *deadletter.Source, max int) ([]seam.Arrival, error) {
	d, err := c.dial(source.URL)(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	messages, err := d.Peek(ctx, source.Queue, max)
	if errors.Is(err, driver.ErrNoPeek) {
		err = seam.ErrNoPeek
	}
	return arrivals(messages, source), err
}

func arrivals(messages []driver.Message, source *deadletter.Source) []seam.Arrival {
	list := make([]seam.Arrival, len(messages))
	for i := range messages {
		list[i] = Arrival(messages[i], source)
	}
	return list
}

// LogParts implements seam.LogReader.
func (c *Carrier) LogParts(ctx context.Context, source *deadletter.Source, topic string, since, before time.Time) (
	[]model.ReplayPart, error,
) {
	t, done := c.target(source, topic)
	defer done()
	found, err := t.LogParts(ctx, topic, since, before)
	if err != nil {
		return nil, logError(err)
	}
	parts := make([]model.ReplayPart, len(found))
	for i, p := range found {
		parts[i] = model.ReplayPart{Partition: p.Partition, From: p.From, To: p.To, Next: p.From}
	}
	return parts, nil
}

// ReadLog implements seam.LogReader.
func (c *Carrier) ReadLog(ctx context.Context, source *deadletter.Source, topic string, part model.ReplayPart,
	max int,
) ([]seam.LogEntry, int64, error) {
	t, done := c.target(source, topic)
	defer done()
	found, next, err := t.ReadLog(ctx, topic, driver.LogPart{Partition: part.Partition,
		From: part.Next, To: part.To}, max)
	if lost := driver.Lost(err); lost > 0 {
		return nil, next, &seam.GoneError{Messages: lost, Why: err.Error()}
	}
	if err != nil {
		return nil, next, logError(err)
	}
	entries := make([]seam.LogEntry, len(found))
	for i, e := range found {
		entries[i] = seam.LogEntry{Offset: e.Offset, Key: e.Key, Headers: e.Headers, Size: e.Message.Size(),
			Arrival: func() seam.Arrival { return Arrival(e.Message, source) }}
		if !e.Time.IsZero() {
			entries[i].At = task.At(e.Time)
		}
	}
	return entries, next, nil
}

func logError(err error) error {
	switch {
	case errors.Is(err, driver.ErrNoLog):
		return seam.ErrNoLog
	case driver.Permanent(err):
		return fmt.Errorf("%w: %w", seam.ErrForGood, err)
	}
	return err
}

func reportStatus(ctx context.Context, s *broker.Source, report func(error)) {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	gone := int64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		st := s.Status()
		if st.Gone > gone {
			report(&seam.GoneError{Messages: st.Gone - gone, Why: st.GoneWhy})
			gone = st.Gone
		}
		switch st.State {
		case broker.Connected:
			report(nil)
		case broker.Lost:
			report(errors.New(st.LastError))
		case broker.Blocked:
			report(fmt.Errorf("%w: %s", seam.ErrBlocked, st.LastError))
		}
	}
}

// Arrival decodes a message. Its default time of failure is that of the broker.
func Arrival(m driver.Message, source *deadletter.Source) seam.Arrival {
	convention := source.Format
	if source.Intake != nil { // a job that looks like a dead letter is a job
		convention = format.Raw
	}
	d := format.Decode(m, convention)
	a := seam.Arrival{
		Report: seam.Report{MessageID: d.MessageID, Origin: d.Origin, Handler: d.Handler, Content: d.Content,
			Failure: d.Failure, Stack: d.Stack, Details: d.Details, Attempts: d.Attempts,
			FailedAt: d.LastAt, FirstAt: d.FirstAt, Letter: d.Letter},
		Format: d.Format, Position: m.Position, Replays: d.Replays, Undecoded: d.Undecoded,
		Redelivered: m.Redelivered, Receiver: m.Receiver,
	}
	if a.FailedAt == 0 && !m.Time.IsZero() {
		a.FailedAt = task.At(m.Time)
	}
	return a
}
