package memory_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/memory"
	"github.com/taskerhq/tasker/internal/testkit/brokertest"
)

// mutant is a driver with one mistake, which the suite must find.
type mutant struct {
	// failing subtest; "" for the suite itself
	found   string
	send    func(driver.Driver, context.Context, string, []driver.Message) []error
	receive func(driver.Receiver, context.Context, int) ([]driver.Message, error)
	ack     func(driver.Receiver, context.Context, []driver.Message) error
	close   func(*mutantReceiver) error
	open    func(context.Context)
}

var mutants = map[string]mutant{
	"loses headers": {found: "BytesSurvive",
		send: func(d driver.Driver, ctx context.Context, to string, messages []driver.Message) []error {
			messages = slices.Clone(messages)
			for i := range messages {
				messages[i].Headers = nil
			}
			return d.Send(ctx, to, messages, driver.Limits{})
		}},
	"confirms what is missing": {found: "MissingDestination",
		send: func(d driver.Driver, ctx context.Context, to string, messages []driver.Message) []error {
			d.Send(ctx, to, messages, driver.Limits{})
			return nil
		}},
	"confirms what it did not send": {found: "ConfirmedSurvivesStop",
		send: func(d driver.Driver, ctx context.Context, to string, messages []driver.Message) []error {
			errs := d.Send(ctx, to, messages, driver.Limits{})
			for i := range errs {
				if errs[i] != nil && strings.Contains(errs[i].Error(), "lost") {
					errs[i] = nil
				}
			}
			return errs
		}},
	"calls a refusal uncertain": {found: "RefusedForAMoment",
		send: func(d driver.Driver, ctx context.Context, to string, messages []driver.Message) []error {
			errs := d.Send(ctx, to, messages, driver.Limits{})
			for i := range errs {
				errs[i] = driver.ErrUncertain
			}
			return errs
		}},
	"begins after its turn": {found: "TurnIsOver",
		send: func(d driver.Driver, ctx context.Context, to string, messages []driver.Message) []error {
			return d.Send(ctx, to, messages, driver.Limits{})
		}},
	"reverses batches": {found: "OrderWithinKey",
		receive: func(r driver.Receiver, ctx context.Context, max int) ([]driver.Message, error) {
			batch, err := r.Receive(ctx, max)
			slices.Reverse(batch)
			return batch, err
		}},
	"loses what is cancelled": {found: "CancelledReceiveIsSafe",
		receive: func(r driver.Receiver, ctx context.Context, max int) ([]driver.Message, error) {
			if ctx.Err() == nil {
				return r.Receive(ctx, max)
			}
			late, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			_, _ = r.Receive(late, max)
			return nil, ctx.Err()
		}},
	"forgets the mark": {found: "RedeliveryIsMarked",
		receive: func(r driver.Receiver, ctx context.Context, max int) ([]driver.Message, error) {
			batch, err := r.Receive(ctx, max)
			for i := range batch {
				batch[i].Redelivered = false
			}
			return batch, err
		}},
	"changes positions": {found: "PositionsIdentify",
		receive: func(r driver.Receiver, ctx context.Context, max int) ([]driver.Message, error) {
			batch, err := r.Receive(ctx, max)
			for i := range batch {
				batch[i].Position += time.Now().String()
			}
			return batch, err
		}},
	"acknowledges at once": {found: "CloseGivesBack",
		receive: func(r driver.Receiver, ctx context.Context, max int) ([]driver.Message, error) {
			batch, err := r.Receive(ctx, max)
			if err == nil {
				err = r.Ack(ctx, batch)
			}
			return batch, err
		}},
	"never acknowledges": {found: "AckIsForGood",
		ack: func(driver.Receiver, context.Context, []driver.Message) error { return nil }},
	"stays open": {found: "ClosedIsClosed",
		close: func(*mutantReceiver) error { return nil }},
	"leaks a goroutine": {
		open: func(context.Context) { go func() { select {} }() }},
}

type mutantDriver struct {
	driver.Driver
	mutant mutant
}

func (d mutantDriver) Open(ctx context.Context, queue string) (driver.Receiver, error) {
	if d.mutant.open != nil {
		d.mutant.open(ctx)
	}
	r, err := d.Driver.Open(ctx, queue)
	if err != nil {
		return nil, err
	}
	return &mutantReceiver{r, d.mutant}, nil
}

func (d mutantDriver) Send(ctx context.Context, to string, messages []driver.Message, limits driver.Limits) []error {
	if d.mutant.send != nil {
		return d.mutant.send(d.Driver, ctx, to, messages)
	}
	return d.Driver.Send(ctx, to, messages, limits)
}

type mutantReceiver struct {
	driver.Receiver
	mutant mutant
}

func (r *mutantReceiver) Receive(ctx context.Context, max int) ([]driver.Message, error) {
	if r.mutant.receive != nil {
		return r.mutant.receive(r.Receiver, ctx, max)
	}
	return r.Receiver.Receive(ctx, max)
}

func (r *mutantReceiver) Ack(ctx context.Context, messages []driver.Message) error {
	if r.mutant.ack != nil {
		return r.mutant.ack(r.Receiver, ctx, messages)
	}
	return r.Receiver.Ack(ctx, messages)
}

func (r *mutantReceiver) Close() error {
	if r.mutant.close != nil {
		return r.mutant.close(r)
	}
	return r.Receiver.Close()
}

// suite runs the conformance suite with the mistake of a mutant.
func suite(t *testing.T, m mutant, patience time.Duration) {
	t.Helper()
	b := memory.New(&memory.Options{MaxSize: 11 << 20})
	var queues atomic.Int64
	brokertest.Run(t, brokertest.Broker{
		Open: func(ctx context.Context, url string) (driver.Driver, error) {
			d, err := b.Open(ctx, url)
			return mutantDriver{d, m}, err
		},
		URL: "memory://local",
		NewQueue: func(*testing.T) string {
			name := "queue-" + time.Unix(queues.Add(1), 0).UTC().Format("150405")
			b.Declare(name)
			return name
		},
		Missing:  "missing",
		Refuse:   func(*testing.T, string) { b.FailSends(10, nil) },
		Accept:   func(*testing.T, string) { b.FailSends(0, nil) },
		Cut:      func(*testing.T) { b.Disconnect() },
		Stop:     func(*testing.T) { b.Stop() },
		Start:    func(*testing.T) { b.Start() },
		TooLarge: 12 << 20,
		Patience: patience,
	})
}

// TestMutant runs in its own process: see TestSuiteFindsMistakes.
func TestMutant(t *testing.T) {
	name, ok := os.LookupEnv("BROKER_MUTANT")
	if !ok {
		t.Skip("it fails on purpose, in a process that TestSuiteFindsMistakes starts")
	}
	suite(t, mutants[name], 200*time.Millisecond)
}

func TestSuiteFindsMistakes(t *testing.T) {
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			run := "^TestMutant$"
			want := "--- FAIL: TestMutant"
			if m.found != "" {
				run += "/^" + m.found + "$"
				want += "/" + m.found
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", run, "-test.timeout", "1m")
			cmd.Env = append(os.Environ(), "BROKER_MUTANT="+name)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), want) {
				t.Fatalf("the suite does not find that a driver %s (%v):\n%s", name, err, out)
			}
		})
	}
}
