package rabbitmq

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/broker/dispatch"

	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/worker/protocol"
)

const (
	// longWait bounds a request for steps of one worker; then another may be better. fullWait applies to a worker
	// without a free slot: another one may get one first.
	longWait, fullWait = time.Second, 50 * time.Millisecond
	// soon is the pause after an immediate empty answer.
	soon               = 20 * time.Millisecond
	maxStorePause      = 5 * time.Second
	askers, moreAskers = 2, 4
)

// member is a worker of a set. Its id and queue never change; mu of the set guards the rest.
type member struct {
	id       task.ID
	queue    string
	worker   *dispatch.Worker
	health   task.WorkerHealth
	reserved int // steps that it is being asked for
	turn     int64
}

// set are the workers with the same routes. Its goroutines choose the best one, request steps for it, and publish them,
// without waiting for confirms.
type set struct {
	session *session
	running sync.WaitGroup

	mu      sync.Mutex
	members []*member
	turns   int64
	stops   []context.CancelFunc
}

func newSet(s *session) *set { return &set{session: s} }

func (s *set) update(ctx context.Context, list []*member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := map[task.ID]*member{}
	for _, m := range s.members {
		before[m.id] = m
	}
	for i, m := range list {
		if was := before[m.id]; was != nil { // the same object: it counts requests under way
			was.worker, was.health = m.worker, m.health
			list[i] = was
		}
	}
	s.members = list
	want := 0
	switch {
	case len(list) == 1:
		want = askers
	case len(list) > 1:
		want = moreAskers
	}
	for len(s.stops) > want {
		s.stops[len(s.stops)-1]()
		s.stops = s.stops[:len(s.stops)-1]
	}
	for len(s.stops) < want {
		ctx, stop := context.WithCancel(ctx)
		s.stops = append(s.stops, stop)
		s.running.Go(func() { s.run(ctx) })
	}
}

func (s *set) wait() {
	s.mu.Lock()
	for _, stop := range s.stops {
		stop()
	}
	s.stops = nil
	s.mu.Unlock()
	s.running.Wait()
}

// run publishes steps until ctx ends. While the broker has blocked publishers it requests none.
func (s *set) run(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		err := s.round(ctx)
		if err == nil {
			failures = 0
			continue
		}
		failures++
		s.session.opts.Logger.Debug("the engine gives no steps", slog.Any("error", err))
		_ = pause(ctx, failures, maxStorePause)
	}
}

func (s *set) round(ctx context.Context) error {
	asking, end := s.session.pub.open(ctx)
	defer end()
	if asking.Err() != nil {
		return nil
	}
	m, n, wait := s.reserve()
	if m == nil {
		_ = clock.Sleep(ctx, fullWait)
		return nil
	}
	began := time.Now()
	steps, leaving, err := s.session.engine.Dispatch(asking, m.id, n, wait)
	s.release(m, n, leaving)
	if err != nil {
		if ctx.Err() != nil || asking.Err() != nil {
			return nil
		}
		if codeOf(err) == task.NotFound { // forgotten: the next refresh does not list it
			s.release(m, 0, true)
			s.session.Notice()
		}
		return err
	}
	for i := range steps {
		s.send(ctx, m, &steps[i])
	}
	if len(steps) == 0 && time.Since(began) < soon {
		_ = clock.Sleep(ctx, soon)
	}
	return nil
}

func (s *set) reserve() (*member, int, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]candidate, len(s.members))
	for i, m := range s.members {
		capacity := m.worker.Capacity
		if capacity == 0 {
			capacity = s.session.opts.Prefetch
		}
		list[i] = candidate{health: m.health, held: s.session.engine.Held(m.worker) + m.reserved, capacity: capacity,
			asked: m.turn}
	}
	best := choose(list)
	if best < 0 {
		return nil, 0, 0
	}
	m, n, wait := s.members[best], chunk(&list[best], len(list)-1), longWait
	if list[best].free() == 0 {
		wait = fullWait
	}
	s.turns++
	m.turn = s.turns
	m.reserved += n
	return m, n, wait
}

// release ends a reservation. A leaving worker is not asked again before the next refresh.
func (s *set) release(m *member, n int, leaving bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.reserved -= n
	if leaving {
		m.health = task.HealthUnhealthy
	}
}

func (s *set) send(ctx context.Context, m *member, step *dispatch.Dispatch) {
	ses := s.session
	lease := protocol.LeaseRef{StepUUID: step.StepUUID, Token: step.Token}
	message, err := messageOf(m.id, step, ses.opts.Now())
	if err != nil {
		ses.opts.Logger.Error("a step cannot be dispatched", slog.Any("error", err))
		ses.backs.add(m.id, lease)
		return
	}
	worker, queue := m.id, m.queue
	ses.pub.publish(ctx, queue, message, func(o outcome) {
		ses.opts.Observer.Published(words[o], 1)
		switch o {
		case returned:
			ses.forget(queue)
			ses.backs.add(worker, lease)
		case refused:
			ses.backs.add(worker, lease)
		case uncertain: // left to the message or the end of the lease
		case published:
		}
	})
}
