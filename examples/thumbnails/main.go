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

	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker"
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
	client, err := remote.Dial(cmp.Or(os.Getenv("TASKER_SERVER"), "http://127.0.0.1:8080"),
		&remote.Options{APIKey: os.Getenv("TASKER_API_KEY")})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // only drops idle connections
	w := worker.New(client, nil)
	w.Handle("photos.list", list)
	// As many at once as there are processors. The other steps have their own slots, and do not wait for these.
	worker.Handle(w, "photos.thumbnail", thumbnail, worker.WithConcurrency(runtime.NumCPU()))
	w.Handle("photos.sheet", sheet)
	return w.Run(ctx)
}
