package worker

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/wire"
	"github.com/taskerhq/tasker/internal/kit/backoff"
	"github.com/taskerhq/tasker/worker/protocol"
)

// deliveries are guarded by session.mu.
type deliveries struct {
	waiting []waitingStep
	// stop ends the current Receive; nil: none has begun.
	stop context.CancelFunc
	// closed is set when nobody reports results any more: a delivery returns to its queue.
	closed bool
}

// waitingStep is a delivered step whose start the server has not been asked for. Its message stays unacknowledged.
type waitingStep struct {
	Delivery
	worker uuid.UUID
}

func (o *Options) registrationTransport() string {
	if o.Transport == nil {
		return ""
	}
	return o.Transport.Name()
}

// checkQueue returns an error if the server assigned no queue to the worker's transport.
func (s *session) checkQueue(self *protocol.RegisteredWorker) error {
	if s.opts.Transport == nil || self.Queue != "" {
		return nil
	}
	return tasker.Errorf(tasker.CodeInvalid, "the server sends no steps over %s", s.opts.Transport.Name())
}

func (s *session) receiveLoop(ctx context.Context) {
	for ctx.Err() == nil {
		s.mu.Lock()
		self := s.self
		receiving, stop := context.WithCancel(ctx)
		s.deliveries.stop = stop
		s.mu.Unlock()
		s.opts.Transport.Receive(receiving, Subscription{
			WorkerID: self.WorkerID, Queue: self.Queue, Prefetch: s.opts.Concurrency, Logger: s.log,
			Deliver: func(d Delivery) { s.deliver(waitingStep{d, self.WorkerID}) },
		})
		stop()
	}
}

func (s *session) deliver(d waitingStep) {
	var lost *Job
	defer func() { lost.lose() }()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch i := slices.IndexFunc(s.deliveries.waiting, d.sameLease); {
	case d.worker != s.self.WorkerID:
		// The server has forgotten that registration and its leases.
		d.Ack()
	case s.deliveries.closed:
		d.Release()
	case s.draining:
		lost = s.giveBack(d)
	case i >= 0:
		// The connection was lost with the message; the broker accepts answers to the new delivery only.
		s.deliveries.waiting[i] = d
	default:
		s.deliveries.waiting = append(s.deliveries.waiting, d)
		s.wakeFetch()
	}
}

func (d *waitingStep) sameLease(other waitingStep) bool {
	return d.Assignment.StepUUID == other.Assignment.StepUUID && d.Assignment.Token == other.Assignment.Token
}

// moveDeliveries ends the receipt from an earlier registration's queue and drops its deliveries: the server has
// assigned their steps to others.
func (s *session) moveDeliveries() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deliveries.stop == nil {
		return
	}
	s.deliveries.stop()
	for _, d := range s.deliveries.waiting {
		d.Ack()
	}
	s.deliveries.waiting = nil
}

// startLoop starts delivered steps until ctx ends. Steps that arrive during one request share the next.
func (s *session) startLoop(ctx context.Context) {
	var pause backoff.Pauses
	for {
		batch, ok := s.awaitDeliveries(ctx)
		if !ok {
			return
		}
		err := s.start(ctx, batch)
		s.answered(len(batch))
		if err == nil {
			pause = backoff.Pauses{}
			continue
		}
		if ctx.Err() != nil {
			return
		}
		if tasker.ErrorCode(err) == tasker.CodeNotFound {
			s.registerAgain(ctx, batch[0].worker)
		} else {
			s.log.Warn("start steps", "steps", len(batch), "error", err)
		}
		if !pause.Wait(ctx, tasker.ErrorRetryAfter(err)) {
			return
		}
	}
}

// awaitDeliveries blocks until there are delivered steps and room for them, and takes them. They count as asked for
// until they are answered.
func (s *session) awaitDeliveries(ctx context.Context) ([]waitingStep, bool) {
	for ctx.Err() == nil {
		if batch := s.takeDeliveries(); len(batch) > 0 {
			return batch, true
		}
		select {
		case <-s.fetchWake:
			runtime.Gosched() // imminent deliveries share the request
		case <-ctx.Done():
		}
	}
	return nil, false
}

// takeDeliveries takes as many delivered steps as there is room for, and acknowledges those that already run.
func (s *session) takeDeliveries() []waitingStep {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deliveries.waiting = slices.DeleteFunc(s.deliveries.waiting, s.holds)
	n := min(s.room(), s.limit, len(s.deliveries.waiting))
	if n <= 0 {
		return nil
	}
	batch := slices.Clone(s.deliveries.waiting[:n])
	s.deliveries.waiting = slices.Delete(s.deliveries.waiting, 0, n)
	s.asked += n
	return batch
}

// holds acknowledges a delivery whose lease the worker has already started, and reports whether it is one. The caller
// holds mu.
func (s *session) holds(d waitingStep) bool {
	job := s.held[d.Assignment.StepUUID]
	if job == nil || job.Token != d.Assignment.Token {
		return false
	}
	d.Ack()
	return true
}

// start asks the server to start batch, and runs the steps that the worker holds. After an error the deliveries wait
// again: no step runs before the server confirms its lease.
func (s *session) start(ctx context.Context, batch []waitingStep) error {
	refs := make([]protocol.LeaseRef, len(batch))
	for i := range batch {
		refs[i] = protocol.LeaseRef{StepUUID: batch[i].Assignment.StepUUID, Token: batch[i].Assignment.Token}
	}
	answers, err := s.backend.Start(ctx, protocol.StartRequest{WorkerID: batch[0].worker, Steps: refs})
	if ctx.Err() == nil {
		s.note(err)
	}
	if err == nil {
		err = wire.SameLength("start steps", len(batch), len(answers))
	}
	switch {
	case err == nil:
		s.started(ctx, batch, answers)
		return nil
	case wire.RefusedWhole(err) && len(batch) > 1:
		half := len(batch) / 2
		if err := s.start(ctx, batch[:half]); err != nil {
			s.waitAgain(batch[half:])
			return err
		}
		return s.start(ctx, batch[half:])
	case wire.RefusedWhole(err):
		s.log.Error("the server refuses a delivered step", "step_uuid", refs[0].StepUUID, "error", err)
		batch[0].Reject()
		return nil
	}
	s.waitAgain(batch)
	return err
}

// waitAgain puts batch before the deliveries that came meanwhile, except where one of them repeats the message.
func (s *session) waitAgain(batch []waitingStep) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if batch[0].worker != s.self.WorkerID {
		for _, d := range batch {
			d.Ack()
		}
		return
	}
	newer := s.deliveries.waiting
	s.deliveries.waiting = slices.DeleteFunc(batch, func(d waitingStep) bool {
		return slices.ContainsFunc(newer, d.sameLease)
	})
	s.deliveries.waiting = append(s.deliveries.waiting, newer...)
}

func (s *session) started(ctx context.Context, batch []waitingStep, answers []protocol.LeaseAnswer) {
	held := make([]protocol.Assignment, 0, len(batch))
	for i := range answers {
		a := &answers[i]
		if a.Status != protocol.LeaseHeld {
			s.log.Info("a delivered step is over", "step_uuid", batch[i].Assignment.StepUUID, "status", a.Status)
			continue
		}
		step := batch[i].Assignment
		step.State, step.DeadlineAt = tasker.StepInProgress, a.DeadlineAt
		if a.LeaseExpiresAt != nil {
			step.LeaseExpiresAt = *a.LeaseExpiresAt
		}
		held = append(held, step)
	}
	s.accept(held, ctx.Err() == nil)
	for _, d := range batch {
		d.Ack()
	}
}

// leaveIntake returns the delivered steps that have not started, and later ones. It first tells the server that the
// worker is leaving, which would otherwise send the same steps again.
func (s *session) leaveIntake(life context.Context) {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(life, leaveGrace)
	defer cancel()
	if err := s.beat(ctx); err != nil {
		s.log.Warn("tell the server that the worker is stopping", "error", err)
	}
	var lost []*Job
	s.mu.Lock()
	for _, d := range s.deliveries.waiting {
		lost = append(lost, s.giveBack(d))
	}
	s.deliveries.waiting = nil
	s.mu.Unlock()
	for _, job := range lost {
		job.lose()
	}
}

// leaveGrace bounds the time in which a stopping worker tells the server that it leaves.
const leaveGrace = 2 * time.Second

// giveBack returns an unstarted step to the server and then acknowledges its message. It returns the job of an
// earlier lease of the step, which the caller must lose, or nil. The caller holds mu.
func (s *session) giveBack(d waitingStep) *Job {
	if s.holds(d) {
		return nil
	}
	job := s.newJob(&d.Assignment, time.Now())
	job.cancel(nil)
	job.message = &d.Delivery
	old := s.held[job.StepUUID]
	if old != nil {
		s.drop(old)
	}
	s.held[job.StepUUID] = job
	s.end(job, &protocol.StepResult{Status: protocol.ResultReleased})
	return old
}

func (j *Job) lose() {
	if j != nil {
		j.cancel(ErrLeaseLost)
	}
}

// closeIntake releases deliveries whose steps could not be returned, and later ones.
func (s *session) closeIntake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deliveries.closed = true
	for _, job := range s.done.jobs {
		job.releaseMessage()
	}
}

// ackMessage acknowledges the message of the job, unless it has an answer. The caller holds mu.
func (j *Job) ackMessage() {
	if d := j.message; d != nil {
		j.message = nil
		d.Ack()
	}
}

// releaseMessage is ackMessage for a step that no server has taken back.
func (j *Job) releaseMessage() {
	if d := j.message; d != nil {
		j.message = nil
		d.Release()
	}
}
