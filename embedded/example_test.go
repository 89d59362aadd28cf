package embedded_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/embedded"
	"github.com/taskerhq/tasker/worker"
)

// Hello, world: an engine, a worker and a task in one process.
func Example() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	client, err := embedded.Open(ctx, "memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	w := worker.New(client, nil)
	worker.Handle(w, "greet", func(_ context.Context, name string) (string, error) {
		return "Hello, " + name + "!", nil
	})
	go w.Run(ctx)
	task, _ := client.Submit(ctx, tasker.NewHandlerTask("greet", "world"))
	var greeting string
	fmt.Println(client.Result(ctx, task.TaskUUID, "", &greeting), greeting)
	stop()
	// Output: <nil> Hello, world!
}
