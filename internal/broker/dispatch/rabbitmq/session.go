package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// firstPause is the pause after the first failure. Its jitter spreads nodes that lost the same broker.
	firstPause  = 100 * time.Millisecond
	pauseJitter = 0.25
	// steady is how long a session must last to reset the pauses.
	steady         = 10 * time.Second
	connectTimeout = 15 * time.Second
	// time of a session after the end of its context, and of its closing
	stopTimeout, closeTimeout = 6 * time.Second, time.Second
)

var errLost = errors.New("the connection to RabbitMQ is lost")

func pause(ctx context.Context, failures int, limit time.Duration) error {
	r := task.Retry{Backoff: task.BackoffExponential, Base: firstPause, Max: limit, Jitter: pauseJitter}
	return clock.Sleep(ctx, r.Delay(failures, 0, rand.Float64()))
}

// keep connects and runs a session, again and again, until ctx ends. A session ends with an error when its connection
// is lost, and with nil only after ctx. The log has one line when a part loses the broker and one when it is back.
func (d *Dispatcher) keep(ctx context.Context, part string,
	session func(ctx context.Context, conn *amqp.Connection, ready func()) error,
) {
	log := d.opts.Logger.With(slog.String("part", part))
	failures, down := 0, false
	for ctx.Err() == nil {
		var since time.Time
		err := d.connected(ctx, part, session, func() {
			since = time.Now()
			d.opts.Observer.Connected(part, true)
			if down {
				log.Info("RabbitMQ is reachable again")
			}
			down = false
		})
		d.opts.Observer.Connected(part, false)
		if ctx.Err() != nil {
			return
		}
		if !since.IsZero() && time.Since(since) > steady {
			failures = 0
		}
		failures++
		if !down {
			log.Warn("RabbitMQ cannot be used; trying again", slog.Any("error", err))
		} else {
			log.Debug("RabbitMQ cannot be used", slog.Any("error", err))
		}
		down = true
		if pause(ctx, failures, d.opts.MaxPause) != nil {
			return
		}
	}
}

// connected runs one session on its own connection. After the end of ctx the session has a moment to finish; a silent
// server cannot hold it longer.
func (d *Dispatcher) connected(ctx context.Context, part string,
	session func(ctx context.Context, conn *amqp.Connection, ready func()) error, ready func(),
) error {
	bounded, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := d.opts.Dial(bounded, "tasker "+part)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Shutdown(closeTimeout)
	over, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() {
		if clock.Sleep(over, stopTimeout) == nil {
			conn.Abort()
		}
	})()
	return session(ctx, conn.Connection, ready)
}

// whileOpen returns a context that ends with ctx or with the connection; its cause says why. The caller calls stop.
func whileOpen(ctx context.Context, conn *amqp.Connection) (open context.Context, stop func()) {
	closed := conn.NotifyClose(make(chan *amqp.Error, 1))
	open, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case err := <-closed:
			if err != nil {
				cancel(fmt.Errorf("%w: %w", errLost, err))
			} else {
				cancel(errLost)
			}
		case <-open.Done():
		}
	}()
	return open, func() { cancel(nil) }
}

// refusal returns the reply code with which the server closed a channel; 0 for another error.
func refusal(err error) int {
	var refused *amqp.Error
	if errors.As(err, &refused) && refused.Server {
		return refused.Code
	}
	return 0
}
