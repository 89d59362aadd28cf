package tasktest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/tasktest"
	"github.com/taskerhq/tasker/worker"
)

// Order is the context of the example's tasks.
type Order struct {
	ID    int
	Cents int
}

// register is the code under test: it gives the handlers of a shop to a worker. They submit through client.
func register(w *worker.Worker, client *tasker.Client) {
	worker.Handle(w, "charge", func(ctx context.Context, o Order) (string, error) {
		if o.Cents > 10_000 {
			return "", worker.NonRetryable(&tasker.Failure{Code: "declined", Message: "card declined"})
		}
		time.Sleep(time.Hour) // the bank is slow
		_, err := client.Submit(ctx, tasker.NewHandlerTask("mail", o.ID, tasker.WithIdempotencyKey(fmt.Sprint(o.ID))))
		return fmt.Sprintf("receipt %d", o.ID), err
	})
}

// TestCharge is a unit test of a handler in an application. In the bubble of synctest the hour takes no time.
func TestCharge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := tasktest.NewClient()
		shop := func(w *worker.Worker) { register(w, client.Client) }

		paid := tasktest.Run(t, shop, tasktest.Step{Handler: "charge", Context: Order{ID: 17, Cents: 4200}})
		var receipt string
		if err := paid.Decode(&receipt); err != nil || receipt != "receipt 17" || paid.Took != time.Hour {
			t.Errorf("charged: %q, %v after %v", receipt, err, paid.Took)
		}
		if mails := client.Submitted(); len(mails) != 1 || mails[0].TaskType != "mail" {
			t.Errorf("submitted %+v, want one mail", mails)
		}

		declined := tasktest.Run(t, shop, tasktest.Step{Handler: "charge", Context: Order{ID: 18, Cents: 99_000}})
		if !declined.Final() || declined.Failure.Code != "declined" {
			t.Errorf("a large sum: %+v", declined.Failure)
		}
	})
}

func ExampleRunHandler() {
	var t testing.TB = &testing.T{} // a test has one
	retry := func(_ context.Context, job *worker.Job) (any, error) {
		if job.Attempt < 3 {
			return nil, errors.New("the bank does not answer")
		}
		return "charged", nil
	}
	for attempt := range 3 {
		out := tasktest.RunHandler(t, retry, tasktest.Step{Attempt: attempt + 1})
		fmt.Println(attempt+1, out.Status)
	}
	// Output:
	// 1 failed
	// 2 failed
	// 3 completed
}
