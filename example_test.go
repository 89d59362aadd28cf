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
)

// exampleShop opens an engine with a worker that charges cards. A program would use its own client and worker.
func exampleShop() (client *tasker.Client, closed func()) {
	client, err := embedded.Open(context.Background(), "memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	worker := tasker.NewWorker(client, &tasker.WorkerOptions{Logger: slog.New(slog.DiscardHandler)})
	tasker.HandleFunc(worker, "charge", func(_ context.Context, cents int) (string, error) {
		if cents > 10_000 {
			return "", tasker.NonRetryable(&tasker.Failure{Code: "declined", Message: "card declined"})
		}
		return fmt.Sprintf("charged %d cents", cents), nil
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	return client, func() {
		stop()
		if err := errors.Join(<-ended, client.Close()); err != nil {
			log.Fatal(err)
		}
	}
}

// A submission with options. The second one is the same work, so there is one task.
func ExampleClient_Submit() {
	client, closed := exampleShop()
	defer closed()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	task := tasker.NewHandlerTask("charge", 4200,
		tasker.WithPriority(tasker.High), tasker.WithIdempotencyKey("order-17"), tasker.WithTags("web"))
	first, err := client.Submit(ctx, task)
	if err != nil {
		log.Fatal(err)
	}
	again, err := client.Submit(ctx, task)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(first.Created, again.Created, first.TaskUUID == again.TaskUUID)
	// Output: true false true
}

// The failure of a task is an error with all that the worker reported.
func ExampleClient_Result() {
	client, closed := exampleShop()
	defer closed()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	for _, cents := range []int{4200, 99_000} {
		task, err := client.Submit(ctx, tasker.NewHandlerTask("charge", cents))
		if err != nil {
			log.Fatal(err)
		}
		var receipt string
		var failure *tasker.Failure
		switch err := client.Result(ctx, task.TaskUUID, "", &receipt); {
		case errors.As(err, &failure):
			fmt.Println("failed with code", failure.Code)
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println(receipt)
		}
	}
	// Output:
	// charged 4200 cents
	// failed with code declined
}
