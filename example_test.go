package tasker_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/taskerhq/tasker"
)

// charge registers a handler that charges cards, up to a limit.
func charge(w *tasker.Worker) {
	tasker.HandleFunc(w, "charge", func(_ context.Context, cents int) (string, error) {
		if cents > 10_000 {
			return "", tasker.NonRetryable(&tasker.Failure{Code: "declined", Message: "card declined"})
		}
		return fmt.Sprintf("charged %d cents", cents), nil
	})
}

// A submission with options. The second one is the same work, so there is one task.
func ExampleClient_Submit() {
	runExample(charge, func(ctx context.Context, client *tasker.Client) error {
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
	runExample(charge, func(ctx context.Context, client *tasker.Client) error {
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
