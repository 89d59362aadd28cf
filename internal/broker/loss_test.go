package broker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/memory"
)

// The first receiver of a lossy driver reports a loss.
type lossy struct {
	driver.Driver
	opened *atomic.Int64
}

func (l lossy) Open(ctx context.Context, queue string) (driver.Receiver, error) {
	r, err := l.Driver.Open(ctx, queue)
	if err == nil && l.opened.Add(1) == 1 {
		return lossyReceiver{r}, nil
	}
	return r, err
}

type lossyReceiver struct{ driver.Receiver }

func (lossyReceiver) Receive(context.Context, int) ([]driver.Message, error) {
	return nil, &driver.LossError{Losses: []driver.Loss{{Where: "orders/0", From: 3, To: 10, Why: "retention"}}}
}

func TestLossIsCounted(t *testing.T) {
	t.Parallel()
	b := memory.New(nil)
	b.Declare("orders")
	conn, err := b.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, err := range conn.Send(t.Context(), "orders", []driver.Message{{Payload: []byte("next")}}, driver.Limits{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var opened atomic.Int64
	dial := func(ctx context.Context) (driver.Driver, error) {
		d, err := driver.Registry{"lossy": b.Open}.Open(ctx, "lossy", "memory://orders?group=orders")
		return lossy{d, &opened}, err
	}
	s := broker.NewSource(dial, "orders", nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Run(ctx, func(batch []driver.Message) func(context.Context) error {
		return func(context.Context) error {
			cancel()
			return nil
		}
	}); err != nil {
		t.Fatal(err)
	}
	st := s.Status()
	want := `receive from "orders": up to 7 messages of orders/0 were LOST before they were read, offsets 3 to 9: retention`
	if st.Gone != 7 || st.GoneWhy != want || opened.Load() != 2 {
		t.Errorf("%d are gone, because %s; it was opened %d times", st.Gone, st.GoneWhy, opened.Load())
	}
}
