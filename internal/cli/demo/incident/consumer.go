package incident

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/memory"
	"github.com/taskerhq/tasker/internal/cli/demo"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// The queues of the application, and its name in the headers of dead letters.
const (
	workQueue = "strikes"
	deadQueue = "strikes.dlq"
	appName   = "strike-importer"
)

// attempts is how often the application tries a message before it gives it up.
const attempts = 3

// application consumes reports as a real consumer would: receive, try, give up into the dead-letter queue, acknowledge.
// One release runs at a time. It keeps count of deliveries on its own, so that the check need not trust Tasker.
type application struct {
	broker   *memory.Broker
	registry *registry

	stop  context.CancelFunc // of the release that runs; nil: none
	ended chan error

	mu       sync.Mutex
	received map[string]int // deliveries of each message, to all releases
}

// newApplication returns an application without a release.
func newApplication(b *memory.Broker) *application {
	return &application{broker: b, registry: newRegistry(), received: map[string]int{}}
}

// deploy replaces the release that runs. The release before it finishes the messages that it has received.
func (a *application) deploy(ctx context.Context, r release) error {
	if err := a.shutDown(); err != nil {
		return err
	}
	ctx, a.stop = context.WithCancel(ctx)
	a.ended = make(chan error, 1)
	go func() { a.ended <- a.consume(ctx, r) }()
	return nil
}

// shutDown ends the release that runs, and returns what it failed with.
func (a *application) shutDown() error {
	if a.stop == nil {
		return nil
	}
	a.stop()
	a.stop = nil
	return <-a.ended
}

// consume processes messages until ctx ends. A message that fails goes to the dead-letter queue; then it is
// acknowledged. A crash in between would repeat it, and never lose it. After ctx has ended the batch under way is
// finished.
func (a *application) consume(ctx context.Context, r release) (err error) {
	conn, err := a.broker.Open(ctx, "")
	if err != nil {
		return fmt.Errorf("connect to the broker: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	in, err := conn.Open(ctx, workQueue)
	if err != nil {
		return err
	}
	// A release that is replaced still sends and acknowledges what it has received.
	finishing := context.WithoutCancel(ctx)
	for {
		batch, err := in.Receive(ctx, 200)
		// The end of the release, not a fault of the broker.
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("receive from %s: %w", workQueue, err)
		}
		var dead []driver.Message
		for _, m := range batch {
			a.note(m.MessageID)
			if err := a.process(r, m); err != nil {
				dead = append(dead, deadLetter(m, err, time.Now()))
			}
		}
		if err := errors.Join(conn.Send(finishing, deadQueue, dead, driver.Limits{})...); err != nil {
			return fmt.Errorf("send to %s: %w", deadQueue, err)
		}
		if err := in.Ack(finishing, batch); err != nil {
			return fmt.Errorf("acknowledge: %w", err)
		}
	}
}

// process tries to import one report, and returns the error of the last attempt. It does not wait between attempts: the
// causes of this night do not pass.
func (a *application) process(r release, m driver.Message) (err error) {
	for range attempts {
		if err = a.attempt(r, m); err == nil {
			return nil
		}
	}
	return err
}

// attempt applies the rules of a release in order, and stores the strike if all pass.
func (a *application) attempt(r release, m driver.Message) error {
	var row demo.Row
	if err := json.Unmarshal(m.Payload, &row); err != nil {
		return fmt.Errorf("read report: %w", err)
	}
	var s strike
	for _, rule := range r.rules {
		if err := rule(&row, &s); err != nil {
			return err
		}
	}
	return a.registry.store(m.MessageID, s)
}

// deadLetter is a message with the headers in which the application tells of its failure: the convention that package
// format calls dlq_envelope. Headers of an earlier death stay before them; the last of a name counts.
func deadLetter(m driver.Message, failure error, now time.Time) driver.Message {
	header := func(name, value string) deadletter.Header { return deadletter.Header{Name: name, Value: []byte(value)} }
	return driver.Message{Key: m.Key, Payload: m.Payload, MessageID: m.MessageID,
		Headers: append(slices.Clone(m.Headers),
			header("original_topic", m.Origin), header("producer_id", appName),
			header("error", failure.Error()), header("error_type", kindOf(failure)),
			header("retry_count", strconv.Itoa(attempts-1)),
			header("failed_at", now.UTC().Format(time.RFC3339Nano)))}
}

// note counts a delivery.
func (a *application) note(message string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.received[message]++
}

// deliveries returns how often a message was delivered to the application.
func (a *application) deliveries(message string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.received[message]
}

// publish sends reports to the application, as the airports do: one message each, without keys, in one call.
func publish(ctx context.Context, b *memory.Broker, rows []demo.Row) (err error) {
	conn, err := b.Open(ctx, "")
	if err != nil {
		return fmt.Errorf("connect to the broker: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	messages := make([]driver.Message, len(rows))
	for i := range rows {
		payload, err := json.Marshal(&rows[i])
		if err != nil {
			return fmt.Errorf("write report %d: %w", rows[i].Record, err)
		}
		messages[i] = driver.Message{Payload: payload, MessageID: messageID(rows[i])}
	}
	if err := errors.Join(conn.Send(ctx, workQueue, messages, driver.Limits{})...); err != nil {
		return fmt.Errorf("send to %s: %w", workQueue, err)
	}
	return nil
}

// messageID is the identifier of the message with a report.
func messageID(r demo.Row) string { return fmt.Sprintf("strike-%05d", r.Record) }
