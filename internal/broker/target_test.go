package broker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker/internal/broker"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/memory"
)

var never time.Time

func newTarget(t *testing.T, o *broker.TargetOptions) (*memory.Broker, *broker.Target) {
	t.Helper()
	b := memory.New(&memory.Options{MaxSize: 1000})
	b.Declare("q")
	target := broker.NewTarget(func(ctx context.Context) (driver.Driver, error) { return b.Open(ctx, "") }, o)
	t.Cleanup(func() { _ = target.Close() })
	return b, target
}

func keyed(n int) []driver.Message {
	out := make([]driver.Message, n)
	for i := range out {
		out[i] = driver.Message{Key: fmt.Append(nil, i%2), Payload: fmt.Append(nil, i)}
	}
	return out
}

func outcomes(t *testing.T, results []broker.Result) string {
	t.Helper()
	s := ""
	for _, r := range results {
		if (r.Err == nil) != (r.Outcome == broker.Sent) {
			t.Errorf("%s has the error %v", r.Outcome, r.Err)
		}
		s += map[broker.Outcome]string{broker.Sent: "s", broker.Failed: "f", broker.Unavailable: "a",
			broker.Uncertain: "u", broker.Untried: "n"}[r.Outcome]
	}
	return s
}

func received(t *testing.T, b *memory.Broker) string {
	t.Helper()
	d, err := b.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	got, err := d.Peek(t.Context(), "q", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	s := ""
	for _, m := range got {
		s += string(m.Payload) + " "
	}
	return s
}

func TestSend(t *testing.T) {
	t.Parallel()
	b, target := newTarget(t, &broker.TargetOptions{Batch: 3})
	messages := keyed(8)
	messages[4].Payload = make([]byte, 2000)
	if got := outcomes(t, target.Send(t.Context(), "q", messages, never)); got != "ssssfsss" {
		t.Errorf("the outcomes are %s", got)
	}
	if got := received(t, b); got != "0 1 2 3 5 6 7 " {
		t.Errorf("received %s", got)
	}
	results := target.Send(t.Context(), "missing", keyed(2), never)
	if outcomes(t, results) != "ff" || !errors.Is(results[0].Err, driver.ErrNotFound) {
		t.Errorf("to a missing queue: %v", results)
	}
	if got := target.Send(t.Context(), "q", nil, never); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
	if exists, depth, err := target.Stat(t.Context(), "q"); !exists || depth != 7 || err != nil {
		t.Errorf("Stat returned %t, %d, %v", exists, depth, err)
	}
	if got := target.Status(); got.State != broker.Connected || got.Messages != 7 {
		t.Errorf("the status is %+v", got)
	}
}

func TestTransientFailuresAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, target := newTarget(t, nil)
		b.FailSends(3, nil) // of 0, of 1, and of one of them again
		if got := outcomes(t, target.Send(t.Context(), "q", keyed(6), never)); got != "ssssss" {
			t.Errorf("the outcomes are %s", got)
		}
		order := received(t, b)
		if order != "1 3 5 0 2 4 " { // in order within each key
			t.Errorf("received %s", order)
		}
	})
}

func TestUncertainHoldsItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, target := newTarget(t, &broker.TargetOptions{Batch: 1})
		b.LoseConfirms(1)
		results := target.Send(t.Context(), "q", keyed(5), never)
		if got := outcomes(t, results); got != "usnsn" || !errors.Is(results[2].Err, driver.ErrBehind) {
			t.Errorf("the outcomes are %s: %v", got, results)
		}
		if got := received(t, b); got != "0 1 3 " {
			t.Errorf("received %s", got)
		}
	})
}

func TestKeyStaysBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, target := newTarget(t, &broker.TargetOptions{Batch: 2, Tries: 2})
		b.FailSends(3, nil) // 0 and 1, and then 0
		if got := outcomes(t, target.Send(t.Context(), "q", keyed(6), never)); got != "asnsns" {
			t.Errorf("the outcomes are %s", got)
		}
		if got := received(t, b); got != "1 3 5 " {
			t.Errorf("received %s", got)
		}
	})
}

func TestTargetReconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, target := newTarget(t, nil)
		for i := range 3 {
			if got := outcomes(t, target.Send(t.Context(), "q", keyed(2), never)); got != "ss" {
				t.Errorf("round %d: the outcomes are %s", i, got)
			}
			b.Disconnect()
		}
	})
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, target := newTarget(t, nil)
		b.Stop()
		for range 2 {
			if got := outcomes(t, target.Send(t.Context(), "q", keyed(3), never)); got != "aaa" {
				t.Fatalf("the outcomes are %s", got)
			}
		}
		began := time.Now()
		results := target.Send(t.Context(), "q", keyed(1), never)
		if !errors.Is(results[0].Err, broker.ErrOpen) || time.Since(began) != 0 {
			t.Fatalf("after %v: %v", time.Since(began), results)
		}
		if got := target.Status(); got.State != broker.Blocked {
			t.Errorf("the status is %+v", got)
		}
		b.Start()
		time.Sleep(10 * time.Second)
		if got := outcomes(t, target.Send(t.Context(), "q", keyed(3), never)); got != "sss" {
			t.Fatalf("the outcomes are %s", got)
		}
		if got := target.Status(); got.State != broker.Connected {
			t.Errorf("the status is %+v", got)
		}
	})
}

// Permanent refusals do not count against the broker.
func TestBreakerIgnoresRefusals(t *testing.T) {
	t.Parallel()
	_, target := newTarget(t, nil)
	for range 20 {
		if got := outcomes(t, target.Send(t.Context(), "missing", keyed(1), never)); got != "f" {
			t.Fatalf("the outcome is %s", got)
		}
	}
}

func TestTimeoutIsUncertain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, target := newTarget(t, &broker.TargetOptions{Each: time.Second})
		if got := outcomes(t, target.Send(t.Context(), "q", keyed(1), never)); got != "s" {
			t.Fatalf("the outcome is %s", got)
		}
		b.Slow(time.Minute)
		if got := outcomes(t, target.Send(t.Context(), "q", []driver.Message{{}, {}}, never)); got != "uu" {
			t.Fatalf("the outcomes are %s", got)
		}
	})
}

func TestEndedContext(t *testing.T) {
	t.Parallel()
	b, target := newTarget(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := outcomes(t, target.Send(ctx, "q", keyed(3), never)); got != "nnn" {
		t.Fatalf("the outcomes are %s", got)
	}
	if got := received(t, b); got != "" {
		t.Fatalf("received %s", got)
	}
	if got := outcomes(t, target.Send(t.Context(), "q", keyed(3), never)); got != "sss" {
		t.Fatalf("later the outcomes are %s", got)
	}
}

func TestConcurrentSends(t *testing.T) {
	t.Parallel()
	b, target := newTarget(t, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got := outcomes(t, target.Send(t.Context(), "q", keyed(2), never)); got != "ss" {
					t.Errorf("the outcomes are %s", got)
				}
			}
		})
	}
	for range 5 {
		b.Disconnect()
	}
	wg.Wait()
	if err := target.Close(); err != nil {
		t.Fatal(err)
	}
	results := target.Send(t.Context(), "q", keyed(1), never)
	if outcomes(t, results) != "n" || !errors.Is(results[0].Err, driver.ErrClosed) {
		t.Fatalf("after Close: %v", results)
	}
}

// slow has time for one message of a call.
type slow struct{ driver.Driver }

func (slow) Send(_ context.Context, _ string, m []driver.Message, _ driver.Limits) []error {
	return append([]error{nil}, driver.Fail(len(m)-1, driver.ErrUntried)...)
}

// A batch that needs more time than one try is sent in parts.
func TestSlowDestination(t *testing.T) {
	t.Parallel()
	target := broker.NewTarget(func(context.Context) (driver.Driver, error) { return slow{}, nil },
		&broker.TargetOptions{Tries: 2})
	if got := outcomes(t, target.Send(t.Context(), "q", keyed(6), never)); got != "ssssss" {
		t.Errorf("the outcomes are %s", got)
	}
}

// The end of the turn begins no message and cuts off none. Earlier refusals are not untried.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, target := newTarget(t, &broker.TargetOptions{Batch: 1, Each: 10 * time.Second})
		b.Slow(2 * time.Second)
		began := time.Now()
		got := outcomes(t, target.Send(t.Context(), "q", keyed(6), began.Add(5*time.Second)))
		if got != "ssnnnn" { // connecting is slow too
			t.Errorf("the outcomes are %s", got)
		}
		if took := time.Since(began); took != 6*time.Second {
			t.Errorf("it took %v", took)
		}
		b.Slow(time.Second)
		b.FailSends(1000, nil)
		if got := outcomes(t, target.Send(t.Context(), "q", keyed(2), time.Now().Add(time.Second/2))); got != "an" {
			t.Errorf("after a refusal the outcomes are %s", got)
		}
	})
}

// A stopping process waits for no message.
func TestCancelledSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, target := newTarget(t, &broker.TargetOptions{Batch: 1})
		if got := outcomes(t, target.Send(t.Context(), "q", keyed(1), never)); got != "s" {
			t.Fatalf("the outcome is %s", got)
		}
		b.Slow(time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		if got := outcomes(t, target.Send(ctx, "q", keyed(3), began.Add(time.Hour))); got != "unn" {
			t.Errorf("the outcomes are %s", got)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
