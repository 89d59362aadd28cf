// Command priority-queue is an example of a job queue with priorities, like Sidekiq: "priority-queue enqueue"
// submits jobs, "priority-queue work" is a worker pool. See README.md.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "priority-queue:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	client, err := remote.Dial(cmp.Or(os.Getenv("TASKER_SERVER"), "http://127.0.0.1:8080"),
		&remote.Options{APIKey: os.Getenv("TASKER_API_KEY")})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // only drops idle connections
	switch {
	case len(args) == 1 && args[0] == "enqueue":
		return enqueue(ctx, client)
	case len(args) == 2 && args[0] == "work":
		concurrency, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return work(ctx, client, concurrency)
	}
	return errors.New("usage: priority-queue enqueue | work CONCURRENCY")
}

// enqueue submits three jobs of each priority in one transaction, the least urgent first, and prints their UUIDs.
func enqueue(ctx context.Context, client *tasker.Client) error {
	var jobs []tasker.TaskRequest
	for _, priority := range []tasker.Priority{"low", "default", "critical"} {
		for n := range 3 {
			jobs = append(jobs, tasker.NewHandlerTask("mail", Mail{To: fmt.Sprintf("%s-%d@example.com", priority, n+1)},
				tasker.WithPriority(priority)))
		}
	}
	receipts, err := client.SubmitTasks(ctx, tasker.SubmitRequest{Tasks: jobs})
	if err != nil {
		return err
	}
	for _, r := range receipts {
		fmt.Println(r.TaskUUID)
	}
	return nil
}

// work runs jobs until ctx ends, and waits for running ones.
func work(ctx context.Context, client *tasker.Client, concurrency int) error {
	w := worker.New(client, &worker.Options{Concurrency: concurrency})
	worker.Handle(w, "mail", mail)
	worker.Handle(w, "sync_crm", syncCRM, worker.WithConcurrency(2)) // its own slots, like a capsule
	return w.Run(ctx)
}
