package letters

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/broker/redisurl"
	"github.com/taskerhq/tasker/redisqueue"
)

// The environment of an application.
const (
	// ApplicationVariable makes a program the application: the URL of Redis.
	ApplicationVariable = "TASKER_CHAOS_APPLICATION"
	spoolVariable       = "TASKER_CHAOS_SPOOL"
	doneVariable        = "TASKER_CHAOS_DONE"
)

const jobs = "jobs"

// fate: each seventh job fails for good, and each fifth at the first attempt.
func fate(n, attempt int) error {
	switch {
	case n%7 == 0:
		return redisqueue.Permanent(errors.New("it cannot be done"))
	case n%5 == 0 && attempt == 1:
		return errors.New("not now")
	}
	return nil
}

// Application runs jobs with package redisqueue until ctx ends. It records completed ones in a file.
func Application(ctx context.Context, log io.Writer) (err error) {
	target, err := redisurl.Parse(os.Getenv(ApplicationVariable))
	if err != nil {
		return err
	}
	target.Option.DisableCache = true
	target.Option.Dialer.Timeout = time.Second
	client, err := connect(ctx, target.Option)
	if err != nil {
		return err
	}
	defer client.Close()
	done, err := os.OpenFile(os.Getenv(doneVariable), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer done.Close()
	logger := slog.New(slog.NewTextHandler(log, nil))
	letters, err := redisqueue.OpenDeadLetters(redisqueue.DeadLetterOptions{Client: client,
		Dir: os.Getenv(spoolVariable), Timeout: 500 * time.Millisecond, Logger: logger,
		Breaker: redisqueue.BreakerConfig{FailureThreshold: 2, RecoveryTimeout: time.Second}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, letters.Close()) }()
	consumer, err := redisqueue.NewConsumer(redisqueue.ConsumerOptions{Client: client, Queue: jobs,
		Lease: 3 * time.Second, Logger: logger,
		HandlerOptions: redisqueue.HandlerOptions{Letters: letters,
			Retry: redisqueue.RetryPolicy{Base: 30 * time.Millisecond}},
		Handler: func(_ context.Context, job redisqueue.Job) (any, error) {
			n := order(string(job.Payload))
			time.Sleep(time.Duration(n%5) * time.Millisecond) // long enough to be killed in it
			if err := fate(n, job.Attempt); err != nil {
				return nil, err
			}
			_, err := fmt.Fprintf(done, "%d\n", n) // one write, which outlives the process
			return nil, err
		},
	})
	if err != nil {
		return err
	}
	return consumer.Run(ctx)
}

func connect(ctx context.Context, o rueidis.ClientOption) (rueidis.Client, error) {
	for {
		client, err := rueidis.NewClient(o)
		if err == nil {
			return client, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
