// Command thumbnails is an example of work on images: "thumbnails work" is the worker, "thumbnails photos" makes
// sample photos. See README.md.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"

	"github.com/taskerhq/tasker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "thumbnails:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case slices.Equal(args, []string{"photos"}):
		return makePhotos("photos", 24)
	case slices.Equal(args, []string{"work"}):
		return work(ctx)
	}
	return errors.New("usage: thumbnails photos | work")
}

func work(ctx context.Context) error {
	client, err := tasker.Dial(cmp.Or(os.Getenv("TASKER_SERVER"), "http://127.0.0.1:8080"),
		&tasker.DialOptions{APIKey: os.Getenv("TASKER_API_KEY")})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // only drops idle connections
	worker := tasker.NewWorker(client, nil)
	worker.Handle("photos.list", list)
	// As many as processors. The other steps have separate slots.
	tasker.HandleFunc(worker, "photos.thumbnail", thumbnail, tasker.WithConcurrency(runtime.NumCPU()))
	worker.Handle("photos.sheet", sheet)
	return worker.Run(ctx)
}
