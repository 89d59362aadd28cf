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
	"hash/crc32"
	"net/url"
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

// Carrier is an inbox.Carrier over the drivers of one name. It keeps one connection for each URL of a broker to which
// letters are sent, until Close: letters of many sources of one broker share it. Sources without a URL send to the
// hosts of their destinations; each host has a circuit breaker of its own, so that one that is down stops no others.
// Reading has connections of its own, so that a blocked read never delays a send. It is safe for concurrent use.
type Carrier struct {
	registry driver.Registry
	name     string

	mu      sync.Mutex
	targets map[string]*broker.Target
	reading map[string]*broker.Source // by queueOf
}

var _ inbox.Carrier = (*Carrier)(nil)

// New returns a carrier over the driver of a name. It opens nothing; connections are made when they are needed.
func New(registry driver.Registry, name string) *Carrier {
	return &Carrier{registry: registry, name: name, targets: map[string]*broker.Target{},
		reading: map[string]*broker.Source{}}
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

// hosts bounds the connections of sources without a URL: their targets may allow any number of hosts. Beyond it, hosts
// share one.
const hosts = 1024

// target returns the connection by which letters of a source are sent to a destination.
func (c *Carrier) target(source *deadletter.Source, destination string) *broker.Target {
	key := source.URL
	if u, err := url.Parse(destination); key == "" && err == nil && u.Host != "" {
		key = fmt.Sprintf("host %d", crc32.ChecksumIEEE([]byte(u.Host))%hosts)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.targets[key] == nil {
		c.targets[key] = broker.NewTarget(c.dial(source.URL),
			&broker.TargetOptions{Timeout: sendTimeout, Tries: sendTries})
	}
	return c.targets[key]
}

// Exists implements inbox.Sender. It asks the broker each time: a queue may be made after a redrive was refused.
func (c *Carrier) Exists(ctx context.Context, source *deadletter.Source, destination string) (bool, error) {
	exists, _, err := c.target(source, destination).Stat(ctx, destination)
	return exists, err
}

// Depth implements inbox.Carrier. It uses the connection for sending, so a blocked read does not delay it.
func (c *Carrier) Depth(ctx context.Context, source *deadletter.Source) (int64, error) {
	exists, depth, err := c.target(source, source.Queue).Stat(ctx, source.Queue)
	if err != nil || !exists {
		return 0, err
	}
	held, _ := c.held(source) // after the answer: what has left the broker since then counts twice, and not never
	return depth + held, nil
}

// OnTheWay implements inbox.Carrier.
func (c *Carrier) OnTheWay(source *deadletter.Source) bool {
	_, ok := c.held(source)
	return ok
}

// held returns what the reader of a source holds. ok is false where the broker counts that, or another node reads.
func (c *Carrier) held(source *deadletter.Source) (n int64, ok bool) {
	c.mu.Lock()
	s := c.reading[queueOf(source)]
	c.mu.Unlock()
	if s == nil {
		return 0, false
	}
	return s.Held()
}

// queueOf is a queue of a broker.
func queueOf(source *deadletter.Source) string { return source.URL + " " + source.Queue }

// Lag implements inbox.Carrier.
func (c *Carrier) Lag(ctx context.Context, source *deadletter.Source) (map[int32]int64, error) {
	parts, err := c.target(source, source.Queue).Lag(ctx, source.Queue)
	if err != nil || parts == nil {
		return nil, err
	}
	lag := make(map[int32]int64, len(parts))
	for _, p := range parts {
		lag[p.Partition] = p.Lag
	}
	return lag, nil
}

// Breaker implements inbox.Carrier. Sources of one broker share a breaker.
func (c *Carrier) Breaker(source *deadletter.Source) task.BreakerState {
	if source.URL == "" {
		return ""
	}
	return c.target(source, source.Queue).Breaker()
}

// Send implements inbox.Sender. The lineage is in the headers of the content; a broker without headers drops them, and
// the letter is then recognised by its content.
func (c *Carrier) Send(ctx context.Context, source *deadletter.Source, destination string,
	letters []inbox.Outgoing,
) []error {
	messages := make([]driver.Message, len(letters))
	for i, l := range letters {
		messages[i] = driver.Message{Key: l.Content.Key, Headers: l.Content.Headers, Payload: l.Content.Payload,
			MessageID: l.Letter.MessageID, SendID: sendID(l.Letter)}
		if l.Copy {
			messages[i].SendID += "/copy"
		}
	}
	errs := make([]error, len(letters))
	for i, r := range c.target(source, destination).Send(ctx, destination, messages) {
		switch r.Outcome {
		case broker.Sent:
			if r.Repeated { // and the broker may have forgotten the first time, in a failover for example
				errs[i] = fmt.Errorf("%w: it was sent again after a try without an answer", inbox.ErrUncertain)
			}
		case broker.Uncertain:
			errs[i] = fmt.Errorf("%w: %w", inbox.ErrUncertain, r.Err)
		case broker.Unavailable:
			errs[i] = r.Err
			if errors.Is(r.Err, broker.ErrOpen) || errors.Is(r.Err, driver.ErrUntried) {
				errs[i] = fmt.Errorf("%w: %w", inbox.ErrNotTried, r.Err)
			}
		default:
			errs[i] = r.Err
		}
	}
	return errs
}

// sendID identifies one send of a letter: of its redrive, and the number that it has among the letter's sends. A send
// that is tried again after a crash has the same; the letter counts it once it is recorded.
func sendID(l *deadletter.Letter) string {
	return fmt.Sprintf("%s/%s/%d", l.ID, l.Redrive, l.Replays+1)
}

// Read implements inbox.Carrier. It returns when ctx has ended and the batch that was being captured is acknowledged or
// left to the broker.
func (c *Carrier) Read(ctx context.Context, source *deadletter.Source, size int,
	capture func([]inbox.Arrival) (store func(context.Context) error), report func(error),
) {
	s := broker.NewSource(c.dial(source.URL), source.Queue, &broker.SourceOptions{Batch: size})
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
		arrivals := make([]inbox.Arrival, len(batch))
		for i := range batch {
			arrivals[i] = Arrival(batch[i], source)
		}
		return sure(capture(arrivals))
	})
	stop()
	watch.Wait()
	if err != nil {
		report(err)
	}
}

// sure marks errors that are answers: then nothing is stored. An error of the database may hide a commit.
func sure(store func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := store(ctx)
		if errors.Is(err, inbox.ErrPartly) {
			return err
		}
		switch task.CodeOf(err) {
		case task.NotFound, task.Exhausted, task.Invalid, task.TooLarge, task.Conflict:
			return fmt.Errorf("%w: %w", broker.ErrNotStored, err)
		}
		return err
	}
}

// Peek implements inbox.Carrier, on a connection of its own.
func (c *Carrier) Peek(ctx context.Context, source *deadletter.Source, max int) ([]inbox.Arrival, error) {
	d, err := c.dial(source.URL)(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }() // nothing was sent
	p, ok := d.(driver.Peeker)
	if !ok {
		return nil, inbox.ErrNoPeek
	}
	messages, err := p.Peek(ctx, source.Queue, max)
	if err != nil {
		return nil, err
	}
	arrivals := make([]inbox.Arrival, len(messages))
	for i, m := range messages {
		arrivals[i] = Arrival(m, source)
	}
	return arrivals, nil
}

// LogParts implements inbox.LogReader.
func (c *Carrier) LogParts(ctx context.Context, source *deadletter.Source, topic string, since, before time.Time) (
	[]deadletter.ReplayPart, error,
) {
	found, err := c.target(source, topic).LogParts(ctx, topic, since, before)
	if err != nil {
		return nil, logError(err)
	}
	parts := make([]deadletter.ReplayPart, len(found))
	for i, p := range found {
		parts[i] = deadletter.ReplayPart{Partition: p.Partition, From: p.From, To: p.To, Next: p.From}
	}
	return parts, nil
}

// ReadLog implements inbox.LogReader.
func (c *Carrier) ReadLog(ctx context.Context, source *deadletter.Source, topic string, part deadletter.ReplayPart,
	max int,
) ([]inbox.LogEntry, int64, error) {
	found, next, err := c.target(source, topic).ReadLog(ctx, topic, driver.LogPart{Partition: part.Partition,
		From: part.Next, To: part.To}, max)
	if lost := driver.Lost(err); lost > 0 {
		return nil, next, &inbox.GoneError{Messages: lost, Why: err.Error()}
	}
	if err != nil {
		return nil, next, logError(err)
	}
	entries := make([]inbox.LogEntry, len(found))
	for i, e := range found {
		entries[i] = inbox.LogEntry{Offset: e.Offset, Key: e.Key, Headers: e.Headers,
			Arrival: func() inbox.Arrival { return Arrival(e.Message, source) }}
		if !e.Time.IsZero() {
			entries[i].At = task.At(e.Time)
		}
	}
	return entries, next, nil
}

// logError tells what a retry does not change.
func logError(err error) error {
	switch {
	case errors.Is(err, driver.ErrNoLog):
		return inbox.ErrNoLog
	case driver.Permanent(err):
		return fmt.Errorf("%w: %w", inbox.ErrForGood, err)
	}
	return err
}

// reportStatus reports the state of a source every second: its last error, or nil when it is connected. The caller logs
// changes only.
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
			report(&inbox.GoneError{Messages: st.Gone - gone, Why: st.GoneWhy})
			gone = st.Gone
		}
		switch st.State {
		case broker.Connected:
			report(nil)
		case broker.Lost:
			report(errors.New(st.LastError))
		case broker.Blocked:
			report(fmt.Errorf("%w: %s", inbox.ErrBlocked, st.LastError))
		}
	}
}

// Arrival decodes a message. Without a time of failure in it, the time at which the broker took the message stands for
// it.
func Arrival(m driver.Message, source *deadletter.Source) inbox.Arrival {
	convention := source.Format
	if source.Intake != nil { // a job that looks like a dead letter is a job
		convention = format.Raw
	}
	d := format.Decode(m, convention)
	a := inbox.Arrival{
		Report: inbox.Report{MessageID: d.MessageID, Origin: d.Origin, Handler: d.Handler, Content: d.Content,
			Failure: d.Failure, Stack: d.Stack, Details: d.Details, Attempts: d.Attempts,
			FailedAt: d.LastAt, FirstAt: d.FirstAt, Letter: d.Letter},
		Format: d.Format, Position: m.Position, Replays: d.Replays, Undecoded: d.Undecoded,
		Redelivered: m.Redelivered, Exact: m.Exact,
	}
	if a.FailedAt == 0 && !m.Time.IsZero() {
		a.FailedAt = task.At(m.Time)
	}
	return a
}
