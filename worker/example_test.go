package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/embedded"
	"github.com/taskerhq/tasker/worker"
)

// runExample opens an engine with a worker that has the handlers of register, and calls do. A program would use its own
// client, and run its worker as long as it lives.
func runExample(register func(*worker.Worker), do func(context.Context, *tasker.Client) error) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	client, err := embedded.Open(ctx, "memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	worker := worker.New(client, &worker.Options{Logger: slog.New(slog.DiscardHandler)})
	register(worker)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	err = do(ctx, client)
	stop()
	if err := errors.Join(err, <-ended, client.Close()); err != nil {
		log.Fatal(err)
	}
}

// Middleware translates the errors of all handlers, in one place.
func ExampleWorker_Use() {
	errNoStock := errors.New("no stock")
	runExample(func(w *worker.Worker) {
		w.Use(func(next worker.Handler) worker.Handler {
			return func(ctx context.Context, job *worker.Job) (any, error) {
				out, err := next(ctx, job)
				if errors.Is(err, errNoStock) {
					return nil, worker.NonRetryable(&tasker.Failure{Code: "no_stock", Message: err.Error()})
				}
				return out, err
			}
		})
		worker.Handle(w, "reserve", func(_ context.Context, item string) (int, error) {
			return 0, fmt.Errorf("reserve %s: %w", item, errNoStock)
		})
	}, func(ctx context.Context, client *tasker.Client) error {
		task, err := client.Submit(ctx, tasker.NewHandlerTask("reserve", "lamp"))
		if err != nil {
			return err
		}
		var failure *tasker.Failure
		if !errors.As(client.Result(ctx, task.TaskUUID, "", nil), &failure) {
			return errors.New("no failure")
		}
		fmt.Println(failure.Code, "-", failure.Message)
		return nil
	})
	// Output: no_stock - reserve lamp: no stock
}

// A slow handler with two slots for itself, and what becomes of its errors. It does not keep the worker from the steps
// of other handlers.
func ExampleHandleFunc() {
	release := make(chan struct{})
	runExample(func(w *worker.Worker) {
		worker.Handle(w, "render", func(_ context.Context, film string) (string, error) {
			<-release
			return "rendered " + film, nil
		}, worker.WithConcurrency(2), worker.WithTimeout(time.Hour), worker.WithMaxAttempts(3),
			worker.WithBackoff(time.Minute, time.Hour))
		worker.Handle(w, "greet", func(_ context.Context, name string) (string, error) {
			return "Hello, " + name, nil
		})
	}, func(ctx context.Context, client *tasker.Client) error {
		var films []tasker.TaskRequest
		for i := range 30 {
			films = append(films, tasker.NewHandlerTask("render", fmt.Sprint("film ", i)))
		}
		receipts, err := client.SubmitTasks(ctx, tasker.SubmitRequest{Tasks: films})
		if err != nil {
			return err
		}
		greeting, err := client.Submit(ctx, tasker.NewHandlerTask("greet", "world"))
		if err != nil {
			return err
		}
		var text string
		err = client.Result(ctx, greeting.TaskUUID, "", &text)
		fmt.Println(text)
		close(release)
		if err == nil {
			err = client.Result(ctx, receipts[29].TaskUUID, "", &text)
			fmt.Println(text)
		}
		return err
	})
	// Output:
	// Hello, world
	// rendered film 29
}

// A step reads the context of its task and the results of the steps before it, as types.
func ExampleParentResult() {
	type order struct {
		Items []string `json:"items"`
	}
	runExample(func(w *worker.Worker) {
		worker.Handle(w, "pack", func(_ context.Context, o order) (string, error) {
			return "box of " + strings.Join(o.Items, " and "), nil
		})
		w.Handle("ship", func(_ context.Context, job *worker.Job) (any, error) {
			o, err := worker.Context[order](job)
			if err != nil {
				return nil, err
			}
			box, err := worker.ParentResult[string](job, "pack")
			if err != nil {
				return nil, err
			}
			return fmt.Sprintf("shipped a %s: %d items", box, len(o.Items)), nil
		})
	}, func(ctx context.Context, client *tasker.Client) error {
		_, err := client.RegisterTemplate(ctx, tasker.TemplateSource{YAML: `
name: order
version: 1.0.0
steps:
- {name: pack, handler: pack}
- {name: ship, handler: ship, dependencies: [pack]}
`})
		if err != nil {
			return err
		}
		task, err := client.Submit(ctx, tasker.NewTask("order", order{Items: []string{"lamp", "bulb"}}))
		if err != nil {
			return err
		}
		var text string
		err = client.Result(ctx, task.TaskUUID, "ship", &text)
		fmt.Println(text)
		return err
	})
	// Output: shipped a box of lamp and bulb: 2 items
}

// Input that does not fit fails the step for good, and the failure says where.
func ExampleContext() {
	type order struct {
		Prices []int `json:"prices"`
	}
	runExample(func(w *worker.Worker) {
		w.Handle("sum", func(_ context.Context, job *worker.Job) (any, error) {
			o, err := worker.Context[order](job)
			return len(o.Prices), err
		})
	}, func(ctx context.Context, client *tasker.Client) error {
		task, err := client.Submit(ctx, tasker.NewHandlerTask("sum", map[string]any{"prices": []any{1, "two"}}))
		if err != nil {
			return err
		}
		var failure *tasker.Failure
		if errors.As(client.Result(ctx, task.TaskUUID, "", nil), &failure) {
			fmt.Println(failure.Type, string(failure.Details))
		}
		return nil
	})
	// Output: invalid_input {"pointer":"/context/prices/1"}
}
