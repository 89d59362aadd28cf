package worker

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/backoff"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Times that a stopping worker waits, after DrainTimeout.
const (
	stopGrace   = 5 * time.Second  // for handlers whose context has ended
	settleGrace = 10 * time.Second // for the last results to be reported, at least
	drainGrace  = 5 * time.Second
)

// session is one Run of a Worker. Four parts share it: fetching (one goroutine per poll, or two for a Transport), the
// handlers, settling and heartbeats (one goroutine each). mu guards their state, and they wake each other with
// signals. Lock order: enrol before mu. No call of the Backend and no handler runs with mu held. The fields above mu
// are set before the parts start.
type session struct {
	backend      protocol.Backend
	codec        *tasker.Client
	server       string
	opts         Options
	log          *slog.Logger
	handlers     map[string]*registered
	registration protocol.WorkerRegistration
	values       context.Context // Run's, without its end: parent of the handlers' contexts

	fetchWake   signal // there may be room for another poll
	settleWake  signal // there is a result to report
	settleAgain signal // a failed report is worth another try now
	beatWake    signal // a heartbeat is due now
	drainWake   signal // the condition that drain awaits may hold
	stopFetch   context.CancelFunc

	enrol sync.Mutex // held while registering; before mu

	mu         sync.Mutex
	self       protocol.RegisteredWorker
	held       map[uuid.UUID]*Job // assigned, and neither settled nor lost
	running    int
	done       results
	settling   int
	asked      int // steps polled for, without an answer yet
	limit      int // of one poll or start
	deliveries deliveries
	outage     *outage // while polls fail, else nil
	// draining is set once and stays: no more steps are accepted.
	draining   bool
	lastBatch  stepBatch
	unreported int // results dropped since draining
	due        *time.Timer
	nextDue    time.Time // when due fires; zero: never
	heard      time.Time // when the server last answered a heartbeat
	spoken     time.Time // when a server last answered about leases
	unanswered bool      // since then such a call failed without an answer
	outliving  bool      // the log has the message that steps outlive their leases
}

type results struct {
	jobs []*Job
	list []protocol.StepResult
}

func (r *results) add(job *Job, result protocol.StepResult) {
	r.jobs = append(r.jobs, job)
	r.list = append(r.list, result)
}

// signal wakes one waiter; a signal without a waiter is kept.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

// send wakes the waiter, or leaves the wake-up for the next. It never blocks, so it may be called with mu held.
func (s signal) send() {
	select {
	case s <- struct{}{}:
	default:
	}
}

func (s signal) clear() {
	select {
	case <-s:
	default:
	}
}

func newSession(ctx context.Context, w *Worker, g handlerGroup) *session {
	opts := w.opts
	opts.Name, opts.Concurrency = g.name, g.concurrency
	return &session{
		backend: w.backend, codec: w.codec, server: w.server, opts: opts, log: opts.Logger.With("worker", opts.Name),
		handlers: g.handlers, registration: opts.registration(g.handlers),
		values:    context.WithoutCancel(ctx),
		fetchWake: newSignal(), settleWake: newSignal(), settleAgain: newSignal(),
		beatWake: newSignal(), drainWake: newSignal(),
		held: make(map[uuid.UUID]*Job), limit: maxFetch,
	}
}

func (o *Options) registration(handlers map[string]*registered) protocol.WorkerRegistration {
	return protocol.WorkerRegistration{
		Name:         o.Name,
		Namespaces:   o.Namespaces,
		Handlers:     slices.Sorted(maps.Keys(handlers)),
		Capabilities: o.Capabilities,
		Capacity:     o.Concurrency,
		Host:         hostname(),
		Version:      buildVersion(),
		Transport:    o.registrationTransport(),
	}
}

func (s *session) run(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	return s.work(ctx)
}

// begin checks the broker before it registers: the server must not send steps to a worker that cannot receive.
func (s *session) begin(ctx context.Context) error {
	if t := s.opts.Transport; t != nil {
		if err := t.Check(ctx, s.log); err != nil {
			return fmt.Errorf("connect worker %s: %w", s.opts.Name, err)
		}
	}
	if err := s.register(ctx); err != nil {
		return err
	}
	s.announce()
	return nil
}

func (s *session) work(ctx context.Context) error {
	// Settling and heartbeats outlive ctx: they end with the drain.
	life, end := context.WithCancel(s.values)
	var parts sync.WaitGroup
	fetching, stop := context.WithCancel(ctx)
	s.stopFetch = stop
	parts.Go(func() { s.settleLoop(life) })
	parts.Go(func() { s.beatLoop(life) })
	if s.opts.Transport == nil {
		s.fetch(fetching)
	} else {
		parts.Go(func() { s.receiveLoop(fetching) })
		s.startLoop(fetching)
	}
	stop()
	if s.opts.Transport != nil {
		s.leaveIntake(life)
	}

	err := s.drain(life)
	end()
	s.closeIntake()
	parts.Wait()
	s.mu.Lock()
	if s.due != nil {
		s.due.Stop()
	}
	s.mu.Unlock()
	return err
}

// register retries while the server is unavailable, and returns when the server refuses or ctx ends.
func (s *session) register(ctx context.Context) error {
	var pause backoff.Pauses
	for {
		self, err := s.backend.RegisterWorker(ctx, s.registration)
		if err == nil {
			err = s.checkQueue(self)
		}
		if err == nil {
			s.mu.Lock()
			s.self, s.heard = *self, time.Now()
			s.mu.Unlock()
			s.note(nil)
			return nil
		}
		if !tasker.ErrorCode(err).Temporary() || ctx.Err() != nil {
			return fmt.Errorf("register worker %s: %w", s.opts.Name, err)
		}
		s.log.Warn("server does not answer", "verb", "register", "error", err)
		if !pause.Wait(ctx, tasker.ErrorRetryAfter(err)) {
			return fmt.Errorf("register worker %s: %w", s.opts.Name, ctx.Err())
		}
	}
}

// registerAgain handles a CodeNotFound for the worker called old. The part of the session that notices first does it
// for all.
func (s *session) registerAgain(ctx context.Context, old uuid.UUID) {
	s.enrol.Lock()
	defer s.enrol.Unlock()
	if s.me().WorkerID != old {
		return
	}
	s.log.Warn("server does not know the worker any more, registering again", "worker_id", old)
	if err := s.register(ctx); err != nil {
		if ctx.Err() == nil {
			// The caller's next try fails too and leads here again, after a pause.
			s.log.Error("server refuses the worker", "error", err)
		}
		return
	}
	s.moveDeliveries()
}

func (s *session) me() protocol.RegisteredWorker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.self
}

// leaseOf is how long a lease lasts without renewal; 0 means without end.
func leaseOf(r *protocol.RegisteredWorker) time.Duration {
	return time.Duration(r.LeaseSeconds) * time.Second
}
