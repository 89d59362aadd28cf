// Command order is an example of a workflow with a payment, a stock, an approval, shipping and compensation. This
// program is its worker; see README.md.
package main

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		slog.Error("the worker has ended", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	client, err := remote.Dial(cmp.Or(os.Getenv("TASKER_SERVER"), "http://127.0.0.1:8080"),
		&remote.Options{APIKey: os.Getenv("TASKER_API_KEY")})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // only drops idle connections
	worker := worker.New(client, nil)
	NewShop(map[string]int{"lamp": 100, "piano": 2}).Register(worker)
	slog.Info("the worker of the shop takes orders; stop it with Ctrl-C")
	return worker.Run(ctx)
}
