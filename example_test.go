package tasker_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/embedded"
	"github.com/taskerhq/tasker/worker"
)

// withWorker opens an engine with a worker that has the handlers of register, and calls do. A program would use its own
// client, and run its worker as long as it lives.
func withWorker(register func(*worker.Worker), do func(context.Context, *tasker.Client) error) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	client, err := embedded.Open(ctx, "memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	w := worker.New(client, &worker.Options{Logger: slog.New(slog.DiscardHandler)})
	register(w)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	err = do(ctx, client)
	stop()
	if err := errors.Join(err, <-ended, client.Close()); err != nil {
		log.Fatal(err)
	}
}

// charge registers a handler that charges cards, up to a limit.
func charge(w *worker.Worker) {
	worker.Handle(w, "charge", func(_ context.Context, cents int) (string, error) {
		if cents > 10_000 {
			return "", worker.NonRetryable(&tasker.Failure{Code: "declined", Message: "card declined"})
		}
		return fmt.Sprintf("charged %d cents", cents), nil
	})
}

// A submission with options. The second one is the same work, so there is one task.
func ExampleClient_Submit() {
	withWorker(charge, func(ctx context.Context, client *tasker.Client) error {
		task := tasker.NewHandlerTask("charge", 4200,
			tasker.WithPriority(tasker.High), tasker.WithIdempotencyKey("order-17"), tasker.WithTags("web"))
		first, err := client.Submit(ctx, task)
		if err != nil {
			return err
		}
		again, err := client.Submit(ctx, task)
		fmt.Println(first.Created, again.Created, first.TaskUUID == again.TaskUUID)
		return err
	})
	// Output: true false true
}

// The failure of a task is an error with all that the worker reported.
func ExampleClient_Result() {
	withWorker(charge, func(ctx context.Context, client *tasker.Client) error {
		for _, cents := range []int{4200, 99_000} {
			task, err := client.Submit(ctx, tasker.NewHandlerTask("charge", cents))
			if err != nil {
				return err
			}
			var receipt string
			var failure *tasker.Failure
			switch err := client.Result(ctx, task.TaskUUID, "", &receipt); {
			case errors.As(err, &failure):
				fmt.Println("failed with code", failure.Code)
			case err != nil:
				return err
			default:
				fmt.Println(receipt)
			}
		}
		return nil
	})
	// Output:
	// charged 4200 cents
	// failed with code declined
}
