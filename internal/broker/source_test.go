package broker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/taskerhq/tasker/internal/broker"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a broker and a source in a synctest bubble, where time passes instantly.
type rig struct {
	*memory.Broker
	t      *testing.T
	source *broker.Source
	stop   func()

	mu       sync.Mutex
	decoded  int // batches
	captured []string
	batches  []int
	err      error         // of captures
	takes    time.Duration // a capture
}

func newRig(t *testing.T, o *broker.SourceOptions) *rig {
	t.Helper()
	r := &rig{Broker: memory.New(nil), t: t, stop: func() {}}
	r.Declare("q")
	r.source = broker.NewSource(r.dial, "q", o)
	return r
}

func (r *rig) dial(ctx context.Context) (driver.Driver, error) {
	registry := driver.Registry{"memory": r.Open}
	return registry.Open(ctx, "memory", "memory://user:secret@local")
}

func (r *rig) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- r.source.Run(ctx, r.capture) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("Run returned %v", err)
		}
	})
}

func (r *rig) capture(batch []driver.Message) func(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decoded++
	return func(ctx context.Context) error { return r.store(ctx, batch) }
}

func (r *rig) store(ctx context.Context, batch []driver.Message) error {
	r.mu.Lock()
	takes, err := r.takes, r.err
	r.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches = append(r.batches, len(batch))
	for _, m := range batch {
		r.captured = append(r.captured, string(m.Payload))
	}
	return nil
}

func (r *rig) set(takes time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takes, r.err = takes, err
}

func (r *rig) send(from, to int) {
	r.t.Helper()
	d, err := r.Open(context.Background(), "")
	if err != nil {
		r.t.Fatal(err)
	}
	defer d.Close()
	for i := from; i <= to; i++ {
		one := []driver.Message{{Payload: fmt.Append(nil, i)}}
		for _, err := range d.Send(context.Background(), "q", one, driver.Limits{}) {
			if err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// want checks that 1..n were captured once, in order, and the depth of the queue.
func (r *rig) want(n int, depth int64) {
	r.t.Helper()
	r.mu.Lock()
	got := slices.Clone(r.captured)
	r.mu.Unlock()
	for i, p := range got {
		if p != fmt.Sprint(i+1) {
			r.t.Fatalf("capture %d is of message %s; all: %v", i+1, p, got)
		}
	}
	if len(got) != n {
		r.t.Fatalf("captured %d messages, want %d", len(got), n)
	}
	r.wantDepth(depth)
}

func (r *rig) wantDepth(depth int64) {
	r.t.Helper()
	d, err := r.Open(context.Background(), "")
	if err != nil {
		r.t.Fatal(err)
	}
	defer d.Close()
	if _, got, err := d.Stat(context.Background(), "q"); err != nil || got != depth {
		r.t.Fatalf("%d messages are left (%v), want %d", got, err, depth)
	}
}

func (r *rig) wantState(s broker.State, in string) {
	r.t.Helper()
	got := r.source.Status()
	if got.State != s || !strings.Contains(got.LastError, in) || strings.Contains(got.LastError, "secret") {
		r.t.Fatalf("the status is %+v, want %s with an error that contains %q", got, s, in)
	}
}

func TestBatchesAreCaptured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &broker.SourceOptions{Batch: 40})
		r.wantState(broker.Stopped, "")
		r.send(1, 100)
		r.run()
		time.Sleep(time.Second)
		r.want(100, 0)
		if fmt.Sprint(r.batches) != "[40 40 20]" {
			t.Errorf("the batches are %v", r.batches)
		}
		r.send(101, 101)
		time.Sleep(49 * time.Millisecond)
		r.want(100, 0) // it waits for more
		r.send(102, 102)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		r.want(102, 0)
		r.wantState(broker.Connected, "")
		if got := r.source.Status(); got.Messages != 102 || got.LastAt.IsZero() {
			t.Errorf("the status is %+v", got)
		}
		r.stop()
		r.wantState(broker.Stopped, "")
		r.want(102, 0)
	})
}

func TestNothingIsAcknowledgedBeforeCapture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.set(0, errors.New("the database is down"))
		r.send(1, 10)
		r.run()
		time.Sleep(5 * time.Minute)
		r.send(11, 20) // not received meanwhile
		r.want(0, 10)
		r.wantState(broker.Blocked, "the database is down")
		r.Disconnect() // unacknowledged messages are back
		r.wantDepth(20)
		r.set(0, nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		r.mu.Lock()
		once := slices.Compact(slices.Sorted(slices.Values(r.captured)))
		r.mu.Unlock()
		if len(once) != 20 {
			t.Fatalf("captured %d different messages of 20", len(once))
		}
		r.wantDepth(0)
		r.wantState(broker.Connected, "")
		r.stop()
	})
}

// While a full batch is stored, exactly one more is received and decoded. All stay in order, even when they go back.
func TestOneBatchAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &broker.SourceOptions{Batch: 5, Hold: time.Minute})
		wantDecoded := func(n int) {
			t.Helper()
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.decoded != n {
				t.Fatalf("%d batches are decoded, want %d", r.decoded, n)
			}
		}
		r.set(2*time.Second, nil)
		r.send(1, 22)
		r.run()
		time.Sleep(time.Second)
		wantDecoded(2)
		r.want(0, 12)
		time.Sleep(2 * time.Second)
		wantDecoded(3)
		r.want(5, 7)
		r.set(0, errors.New("the database is down"))
		time.Sleep(30 * time.Second)
		wantDecoded(4)
		r.want(10, 2)
		time.Sleep(40 * time.Second) // both batches go back, and come again
		r.set(0, nil)
		time.Sleep(5 * time.Minute)
		r.want(22, 0)
		r.stop()
	})
}

func TestHeldBatchGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &broker.SourceOptions{Hold: time.Minute})
		r.set(0, errors.New("the database is down"))
		r.send(1, 10)
		r.run()
		time.Sleep(50 * time.Second)
		r.want(0, 0)
		// Another node can read between two sessions.
		free := false
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			d, err := r.Open(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			_, depth, err := d.Stat(t.Context(), "q")
			free = free || err == nil && depth == 10
			_ = d.Close()
		}
		if !free {
			t.Fatal("the batch never went back")
		}
		r.set(0, nil)
		time.Sleep(5 * time.Minute)
		r.want(10, 0)
		r.stop()
	})
}

func TestLostConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.send(1, 5)
		r.run()
		time.Sleep(time.Second)
		r.Stop()
		time.Sleep(time.Second)
		r.wantState(broker.Lost, "connection refused")
		since := r.source.Status().Since
		time.Sleep(10 * time.Minute)
		if again := r.source.Status().Since; !again.Equal(since) {
			t.Errorf("it is lost since %v, and was since %v", again, since)
		}
		r.Start()
		r.send(6, 9)
		time.Sleep(time.Minute)
		r.want(9, 0)
		r.wantState(broker.Connected, "connection refused")
		r.stop()
	})
}

func TestQueueAppearsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.source = broker.NewSource(r.dial, "later", nil)
		r.run()
		time.Sleep(time.Minute)
		r.wantState(broker.Lost, `"later": no such queue`)
		r.Declare("later")
		time.Sleep(time.Minute)
		r.wantState(broker.Connected, "")
		r.stop()
	})
}

func TestEndDuringCapture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &broker.SourceOptions{Batch: 5})
		r.set(3*time.Second, nil)
		r.send(1, 12)
		r.run()
		time.Sleep(time.Second)
		r.stop() // waits for the capture, and begins no other
		r.want(5, 7)
	})
}

func TestEndOfADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &broker.SourceOptions{Batch: 5, Drain: time.Second})
		r.set(time.Hour, nil)
		r.send(1, 12)
		r.run()
		time.Sleep(time.Second)
		began := time.Now()
		r.stop()
		if took := time.Since(began); took != time.Second {
			t.Errorf("the drain took %v", took)
		}
		r.want(0, 12)
	})
}

func TestEndWhileBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.set(0, errors.New("the database is down"))
		r.send(1, 12)
		r.run()
		time.Sleep(time.Minute)
		r.stop()
		r.want(0, 12)
	})
}

// TestFaultsLoseNothing injects all faults of the broker in turn.
func TestFaultsLoseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, &broker.SourceOptions{Batch: 7})
		r.run()
		faults := []func(){
			func() { r.FailReceives(2, nil) },
			func() { r.FailAcks(1, nil) },
			func() { r.FailAcks(1, driver.ErrLost) },
			func() { r.DeliverTwice(3) },
			func() { r.ForgetAcks(1) },
			r.Disconnect,
			func() { r.Slow(10 * time.Millisecond) },
			func() { r.Slow(0) },
			func() { r.set(0, errors.New("no")) },
			func() { r.set(time.Millisecond, nil) },
		}
		sent := 0
		for range 10 {
			for _, fault := range faults {
				r.send(sent+1, sent+10)
				sent += 10
				time.Sleep(20 * time.Millisecond)
				fault()
				time.Sleep(30 * time.Millisecond)
			}
		}
		r.set(0, nil)
		time.Sleep(5 * time.Minute)
		r.Disconnect() // forgotten acknowledgements come again
		time.Sleep(5 * time.Minute)
		r.stop()
		r.wantDepth(0)
		seen := map[string]bool{}
		for _, p := range r.captured {
			seen[p] = true
		}
		if len(seen) != sent {
			t.Fatalf("captured %d different messages of %d", len(seen), sent)
		}
	})
}

func BenchmarkSource(b *testing.B) {
	m := memory.New(nil)
	m.Declare("q")
	d, err := m.Open(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	s := broker.NewSource(func(ctx context.Context) (driver.Driver, error) { return m.Open(ctx, "") }, "q",
		&broker.SourceOptions{Linger: time.Millisecond})
	const batch = 10_000
	messages := make([]driver.Message, batch)
	for i := range messages {
		messages[i] = driver.Message{Payload: make([]byte, 1024)}
	}
	n := 0
	for b.Loop() {
		d.Send(b.Context(), "q", messages, driver.Limits{})
		ctx, cancel := context.WithCancel(b.Context())
		left := batch
		if err := s.Run(ctx, func(got []driver.Message) func(context.Context) error {
			return func(context.Context) error {
				if left -= len(got); left == 0 {
					cancel()
				}
				return nil
			}
		}); err != nil {
			b.Fatal(err)
		}
		n += batch
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "msgs/s")
}
