package embedded_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/embedded"
)

// Hello, world: an engine, a worker and a task in one process.
func Example() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	client, err := embedded.Open(ctx, "memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	worker := tasker.NewWorker(client, nil)
	tasker.HandleFunc(worker, "greet", func(_ context.Context, name string) (string, error) {
		return "Hello, " + name + "!", nil
	})
	go worker.Run(ctx)
	task, _ := client.Submit(ctx, tasker.NewHandlerTask("greet", "world"))
	var greeting string
	fmt.Println(client.Result(ctx, task.TaskUUID, "", &greeting), greeting)
	stop()
	// Output: <nil> Hello, world!
}
