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

// The application's queues, and its name in headers of dead letters.
const (
	workQueue = "strikes"
	deadQueue = "strikes.dlq"
	appName   = "strike-importer"
)

// attempts bounds the application's tries of a message.
const attempts = 3

// application consumes like a real consumer: receive, try, move to the dead-letter queue, acknowledge. One release
// runs at a time. It counts deliveries itself, so that the check need not trust Tasker.
type application struct {
	broker   *memory.Broker
	registry *registry

	stop  context.CancelFunc // of the running release; nil: none
	ended chan error

	mu       sync.Mutex
	received map[string]int // deliveries of each message to all releases
}

func newApplication(b *memory.Broker) *application {
	return &application{broker: b, registry: newRegistry(), received: map[string]int{}}
}

// deploy replaces the running release, which finishes its received messages.
func (a *application) deploy(ctx context.Context, r release) error {
	if err := a.shutDown(); err != nil {
		return err
	}
	ctx, a.stop = context.WithCancel(ctx)
	a.ended = make(chan error, 1)
	go func() { a.ended <- a.consume(ctx, r) }()
	return nil
}

func (a *application) shutDown() error {
	if a.stop == nil {
		return nil
	}
	a.stop()
	a.stop = nil
	return <-a.ended
}

// consume processes messages until ctx ends. A failed message is acknowledged after its move to the dead-letter
// queue: a crash in between repeats it and never loses it. It finishes the current batch after ctx ends.
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
	// A replaced release still acknowledges its messages.
	finishing := context.WithoutCancel(ctx)
	for {
		batch, err := in.Receive(ctx, 200)
		// The end of the release, no fault.
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

// process tries to import a report, and returns the last error. It does not wait between attempts: these causes do
// not pass.
func (a *application) process(r release, m driver.Message) (err error) {
	for range attempts {
		if err = a.attempt(r, m); err == nil {
			return nil
		}
	}
	return err
}

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

// deadLetter adds failure headers in the convention dlq_envelope of package format, behind those of earlier deaths;
// the last of a name counts.
func deadLetter(m driver.Message, failure error, now time.Time) driver.Message {
	header := func(name, value string) deadletter.Header { return deadletter.Header{Name: name, Value: []byte(value)} }
	return driver.Message{Key: m.Key, Payload: m.Payload, MessageID: m.MessageID,
		Headers: append(slices.Clone(m.Headers), header("original_topic", m.Origin), header("producer_id", appName),
			header("error", failure.Error()), header("error_type", kindOf(failure)),
			header("retry_count", strconv.Itoa(attempts-1)), header("failed_at", now.UTC().Format(time.RFC3339Nano)))}
}

func (a *application) note(message string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.received[message]++
}

func (a *application) deliveries(message string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.received[message]
}

// publish sends reports as the airports do: one message each, without keys, in one call.
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

func messageID(r demo.Row) string { return fmt.Sprintf("strike-%05d", r.Record) }
