package load

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
)

// Work runs polling workers of the SDK in sequence until stop is closed. Each lives 5 to 15 seconds and drains.
func Work(ctx context.Context, stop <-chan struct{}, client *tasker.Client, h *Handlers, name string,
	rng *rand.Rand,
) error {
	return WorkOver(ctx, nil, stop, client, h, name, rng)
}

// WorkOver is Work for workers that get their steps by a transport; nil are polls.
func WorkOver(ctx context.Context, by worker.Transport, stop <-chan struct{}, client *tasker.Client, h *Handlers,
	name string, rng *rand.Rand,
) error {
	for round := 0; ; round++ {
		life, end := context.WithTimeout(ctx, 5*time.Second+time.Duration(rng.Int64N(int64(10*time.Second))))
		w := worker.New(client, &worker.Options{
			Name: fmt.Sprintf("%s-%d", name, round), Namespaces: []string{namespace},
			Concurrency: 4 + rng.IntN(20), PollWait: 2 * time.Second,
			DrainTimeout: 200 * time.Millisecond, Logger: slog.New(slog.DiscardHandler), Transport: by,
		})
		h.register(w, name)
		ended := make(chan struct{})
		go func() {
			// An unreported result is not a fault: the server may be down at the end of the worker.
			_ = w.Run(life)
			close(ended)
		}()
		select {
		case <-ended:
		case <-stop:
		}
		end()
		<-ended
		select {
		case <-stop:
			return nil
		default:
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
}
