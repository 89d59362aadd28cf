package broker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/memory"
	"github.com/taskerhq/tasker/internal/testkit/brokertest"
)

// A too large message is recorded before the source moves on, is looked at again after Hold, and is captured under a
// higher bound. It is never acknowledged otherwise.
func TestLargeMessagesAreLeft(t *testing.T) {
	t.Parallel()
	b := memory.New(nil)
	b.Declare("orders")
	dial := func(ctx context.Context) (driver.Driver, error) {
		return driver.Registry{"memory": b.Open}.Open(ctx, "memory", "memory:")
	}
	conn, err := dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	brokertest.Send(t, conn, "orders", driver.Message{Payload: []byte("a")}, driver.Message{Payload: make([]byte, 11)},
		driver.Message{Payload: make([]byte, 9), Key: []byte("ke")}, driver.Message{Payload: []byte("b")})

	var mu sync.Mutex
	seen, captured, failed := map[string]int{}, map[string]int{}, false
	run := func(bound int, enough func() bool) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s := broker.NewSource(dial, "orders", &broker.SourceOptions{MaxBytes: bound, Hold: time.Millisecond,
			Left: func(_ context.Context, messages []driver.Left) error {
				mu.Lock()
				defer mu.Unlock()
				if !failed {
					failed = true
					return fmt.Errorf("%w: the database is down", broker.ErrNotStored)
				}
				for _, m := range messages {
					if m.Bytes != 11 {
						t.Errorf("a message of %d bytes is left", m.Bytes)
					}
					seen[m.Position]++
				}
				if enough() {
					cancel()
				}
				return nil
			}})
		err := s.Run(ctx, func(batch []driver.Message) func(context.Context) error {
			return func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				for _, m := range batch {
					captured[m.Position]++
				}
				if enough() {
					cancel()
				}
				return nil
			}
		})
		if err != nil || !errors.Is(ctx.Err(), context.Canceled) {
			t.Fatalf("the source has ended: %v, %v", err, ctx.Err())
		}
	}
	run(10, func() bool { return len(captured) == 2 && seen["orders@2"] > 2 && seen["orders@3"] > 2 })
	for at, times := range captured {
		if times != 1 || seen[at] > 0 {
			t.Errorf("%s was captured %d times, and left %d times", at, times, seen[at])
		}
	}
	run(11, func() bool { return len(captured) == 4 })
	if _, depth, err := conn.Stat(t.Context(), "orders"); err != nil || depth != 0 {
		t.Errorf("%d messages are there at the end: %v", depth, err)
	}
}
