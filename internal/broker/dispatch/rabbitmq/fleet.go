package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/model/task"
)

const drainTimeout = 3 * time.Second

var errOverdue = errors.New("RabbitMQ does not confirm messages in time")

// session dispatches over one connection: a set of goroutines for each group of workers with the same routes.
type session struct {
	*Dispatcher

	conn  *amqp.Connection
	pub   *publisher
	backs *givenBack
	sets  map[string]*set

	mu       sync.Mutex
	declared map[string]bool // queues of workers; false: to be declared again
}

func (d *Dispatcher) dispatch(ctx context.Context, conn *amqp.Connection, ready func()) error {
	open, stop := whileOpen(ctx, conn)
	defer stop()
	if err := d.declareShared(open, conn); err != nil {
		return err
	}
	pub, err := newPublisher(conn, d.opts.InFlight, d.opts.ConfirmTimeout)
	if err != nil {
		return err
	}
	s := &session{Dispatcher: d, conn: conn, pub: pub, backs: newGivenBack(d), sets: map[string]*set{},
		declared: map[string]bool{}}
	ready()
	err = s.run(open)
	// Published steps are confirmed or given back even after the end of ctx.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	pub.drain(last)
	s.backs.close(last)
	return err
}

// run follows the list of workers until ctx ends, and returns its cause.
func (s *session) run(ctx context.Context) error {
	working, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		for _, set := range s.sets {
			set.wait()
		}
	}()
	tick := time.NewTicker(s.opts.Refresh)
	defer tick.Stop()
	for {
		if err := s.refresh(working); err != nil && ctx.Err() == nil {
			s.opts.Logger.Debug("the list of workers cannot be read", slog.Any("error", err))
		}
		select {
		case <-tick.C:
		case <-s.noticed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if s.pub.overdue(time.Now()) {
			return errOverdue
		}
	}
}

func (s *session) refresh(ctx context.Context) error {
	fleet, err := s.engine.Fleet(ctx)
	if err != nil {
		return err
	}
	members := map[string][]*member{}
	for i := range fleet {
		w := &fleet[i]
		if w.State.Leaving() || w.Waits || w.State == task.WorkerUnhealthy {
			continue
		}
		depth, err := s.declare(ctx, s.opts.Queue(w.ID))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			s.opts.Logger.Warn("the queue of a worker cannot be declared; it gets no steps until that succeeds",
				slog.String("worker", w.Name), slog.String("worker_id", w.ID.String()), slog.Any("error", err))
			continue
		}
		w.Facts.Depth = depth
		health, _ := s.opts.Health.Health(w.Facts, task.At(s.opts.Now()))
		members[w.Routes] = append(members[w.Routes],
			&member{id: w.ID, queue: s.opts.Queue(w.ID), worker: w, health: health})
	}
	for routes, list := range members {
		if s.sets[routes] == nil {
			s.sets[routes] = newSet(s)
		}
		s.sets[routes].update(ctx, list)
	}
	for routes, set := range s.sets {
		if members[routes] == nil {
			set.update(ctx, nil)
			set.wait()
			delete(s.sets, routes)
		}
	}
	return nil
}

func (s *session) declare(ctx context.Context, queue string) (int, error) {
	s.mu.Lock()
	known := s.declared[queue]
	s.mu.Unlock()
	if known {
		q, err := inspect(s.conn, queue)
		if err == nil || refusal(err) != amqp.NotFound {
			return q.Messages, err
		}
	}
	if err := s.declareWorker(ctx, s.conn, queue); err != nil {
		return 0, fmt.Errorf("declare queue %s: %w", queue, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.declared[queue] = true
	return 0, nil
}

// forget makes the next refresh declare a lost queue again.
func (s *session) forget(queue string) {
	s.mu.Lock()
	s.declared[queue] = false
	s.mu.Unlock()
	s.Notice()
}
