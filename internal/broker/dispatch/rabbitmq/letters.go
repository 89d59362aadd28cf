package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/taskerhq/tasker/internal/broker/dispatch"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/broker/driver"
	source "github.com/taskerhq/tasker/internal/broker/rabbitmq"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	letterBatch, letterPrefetch = 500, 1000
	letterLinger                = 10 * time.Millisecond
	depthEvery                  = 5 * time.Second
	// setAsideFor is how long a message that cannot be stored waits for its next try.
	setAsideFor = 30 * time.Second
)

// handleLetters handles the queue of dead letters over one connection. It returns nil only after ctx has ended.
//
// Every node consumes; each message goes to one of them. A batch is handled in one transaction and then acknowledged.
// While the database does not answer, nothing is acknowledged or given back: the retry of the batch keeps the order.
func (d *Dispatcher) handleLetters(ctx context.Context, conn *amqp.Connection, ready func()) error {
	open, stop := whileOpen(ctx, conn)
	defer stop()
	if err := d.declareShared(open, conn); err != nil {
		return err
	}
	ch, err := conn.Channel()
	if err != nil {
		return fmt.Errorf("open channel: %w", err)
	}
	if err := ch.Qos(letterPrefetch, 0, false); err != nil {
		return fmt.Errorf("set prefetch: %w", err)
	}
	queue := d.opts.Topology.DeadQueue
	deliveries, err := ch.Consume(queue, "", false, false, false, false, nil)
	if err != nil {
		return fmt.Errorf("consume from %s: %w", queue, err)
	}
	ready()
	open = giveBack(open, conn, queueSpec{name: queue})
	h := &letterHandler{Dispatcher: d, ch: ch, aside: time.NewTicker(setAsideFor)}
	defer h.aside.Stop()
	counted := time.NewTicker(depthEvery)
	defer counted.Stop()
	for {
		select {
		case first, ok := <-deliveries:
			if !ok {
				return fmt.Errorf("%w: the consumer of %s was cancelled", errLost, queue)
			}
			if err := h.handle(open, gather(first, deliveries)); err != nil {
				return err
			}
		case <-h.aside.C:
			if err := h.retryAside(open); err != nil {
				return err
			}
		case <-counted.C:
			if q, err := inspect(conn, queue); err == nil {
				d.opts.Observer.Depth(q.Messages)
			}
		case <-open.Done():
			return context.Cause(open)
		}
	}
}

// gather returns a batch: a message, and those that come within a moment. The client library delivers messages one by
// one, so without a wait it would nearly always find none.
func gather(first amqp.Delivery, source <-chan amqp.Delivery) []amqp.Delivery {
	batch := []amqp.Delivery{first}
	moment := time.NewTimer(letterLinger)
	defer moment.Stop()
	for len(batch) < letterBatch {
		select {
		case m, ok := <-source:
			if !ok {
				return batch // the next read returns the error again
			}
			batch = append(batch, m)
		case <-moment.C:
			return batch
		}
	}
	return batch
}

type letterHandler struct {
	*Dispatcher

	ch      *amqp.Channel
	aside   *time.Ticker
	refused []amqp.Delivery // not stored, and not acknowledged
}

// handle fails the dispatches of a batch, stores the other messages as letters, and acknowledges both. It returns an
// error if the connection or ctx ends.
func (h *letterHandler) handle(ctx context.Context, batch []amqp.Delivery) error {
	now := h.opts.Now()
	var dead []dispatch.Expired
	var ours, foreign, probes []amqp.Delivery
	for i := range batch {
		if batch[i].Type == probeType {
			probes = append(probes, batch[i])
			continue
		}
		e, err := dispatchOf(&batch[i], now)
		if err != nil {
			foreign = append(foreign, batch[i])
			continue
		}
		dead, ours = append(dead, e), append(ours, batch[i])
	}
	if err := h.ack(probes); err != nil {
		return err
	}
	if len(dead) > 0 {
		unknown, err := h.expire(ctx, dead, ours)
		if err != nil {
			return err
		}
		foreign = append(foreign, unknown...)
	}
	return h.store(ctx, foreign)
}

func (h *letterHandler) expire(ctx context.Context, dead []dispatch.Expired, messages []amqp.Delivery,
) (unknown []amqp.Delivery, err error) {
	var verdicts []dispatch.Verdict
	if err := h.insist(ctx, func(ctx context.Context) (err error) {
		verdicts, err = h.engine.Expire(ctx, dead)
		return err
	}); err != nil {
		return nil, err
	}
	if len(verdicts) != len(dead) { // refused as a whole; one by one, only the wrong one is
		return h.expireEach(ctx, dead, messages)
	}
	var done []amqp.Delivery
	failed, late, now := 0, 0, h.opts.Now()
	for i, v := range verdicts {
		switch v {
		case dispatch.Unknown:
			unknown = append(unknown, messages[i])
			continue
		case dispatch.Failed:
			failed++
			h.opts.Observer.Handled(max(now.Sub(dead[i].At), 0))
		default:
			late++
		}
		done = append(done, messages[i])
	}
	h.opts.Observer.Expired("failed", failed)
	h.opts.Observer.Expired("late", late)
	return unknown, h.ack(done)
}

func (h *letterHandler) expireEach(ctx context.Context, dead []dispatch.Expired, messages []amqp.Delivery,
) ([]amqp.Delivery, error) {
	if len(dead) == 1 {
		return messages, nil
	}
	var unknown []amqp.Delivery
	for i := range dead {
		more, err := h.expire(ctx, dead[i:i+1], messages[i:i+1])
		if err != nil {
			return nil, err
		}
		unknown = append(unknown, more...)
	}
	return unknown, nil
}

// store captures messages as letters and acknowledges them. It sets aside one that cannot be stored, without an
// acknowledgement, and continues with the others.
func (h *letterHandler) store(ctx context.Context, messages []amqp.Delivery) error {
	if len(messages) == 0 {
		return nil
	}
	letters := make([]driver.Message, len(messages))
	for i := range messages {
		letters[i] = source.Received(h.opts.Topology.DeadQueue, &messages[i])
	}
	stored := false
	if err := h.insist(ctx, func(ctx context.Context) error {
		err := h.engine.Capture(ctx, letters)
		stored = err == nil
		return err
	}); err != nil {
		return err
	}
	switch {
	case stored:
		h.opts.Observer.Expired("letter", len(messages))
		return h.ack(messages)
	case len(messages) == 1:
		h.refused = append(h.refused, messages[0])
		return nil
	}
	for i := range messages {
		if err := h.store(ctx, messages[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (h *letterHandler) retryAside(ctx context.Context) error {
	messages := h.refused
	h.refused = nil
	return h.store(ctx, messages)
}

// insist calls fn until the database answers: with nil, or with an error about its arguments, which is logged. It
// returns an error only if ctx ends.
func (h *letterHandler) insist(ctx context.Context, fn func(context.Context) error) error {
	for failures := 1; ; failures++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		// A transaction under way may outlive ctx.
		work, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTimeout)
		err := fn(work)
		cancel()
		switch {
		case err == nil:
			return nil
		case permanent(err):
			h.opts.Logger.Error("dead letters of the dispatch cannot be handled", slog.Any("error", err))
			return nil
		}
		h.opts.Logger.Warn("dead letters of the dispatch wait for the database", slog.Any("error", err))
		if pause(ctx, failures, maxStorePause) != nil {
			return context.Cause(ctx)
		}
	}
}

const workTimeout = 30 * time.Second

func permanent(err error) bool {
	switch codeOf(err) {
	case task.Unavailable, task.Internal, task.Conflict:
		return false
	}
	return true
}

func codeOf(err error) task.Code {
	var public *tasker.Error
	if errors.As(err, &public) {
		return task.Code(public.Code)
	}
	return task.CodeOf(err)
}

func (h *letterHandler) ack(messages []amqp.Delivery) error {
	for i := range messages {
		if err := messages[i].Ack(false); err != nil {
			return fmt.Errorf("%w: acknowledge: %w", errLost, err)
		}
	}
	return nil
}
