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

// deliveries are what a Transport has delivered. session.mu guards it.
type deliveries struct {
	waiting []waitingStep
	// stop ends the current Receive; nil: none has begun.
	stop context.CancelFunc
	// closed is set when nobody reports results any more: a delivery goes back to its queue.
	closed bool
}

// waitingStep is a delivered step that the server has not been asked to start. Its message stays unacknowledged.
type waitingStep struct {
	Delivery
	worker uuid.UUID // the registration that it was sent to
}

// registrationTransport is the transport in the registration; "" without a Transport.
func (o *Options) registrationTransport() string {
	if o.Transport == nil {
		return ""
	}
	return o.Transport.Name()
}

// checkQueue returns an error for a server that gave the worker no queue for its transport.
func (s *session) checkQueue(self *protocol.RegisteredWorker) error {
	if s.opts.Transport == nil || self.Queue != "" {
		return nil
	}
	return tasker.Errorf(tasker.CodeInvalid, "the server sends no steps over %s", s.opts.Transport.Name())
}

// receiveLoop keeps one Receive running until ctx ends: for a new registration, a new one.
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

// deliver takes one delivery over.
func (s *session) deliver(d waitingStep) {
	var lost *Job
	defer func() { lost.lose() }()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch i := slices.IndexFunc(s.deliveries.waiting, d.sameLease); {
	case d.worker != s.self.WorkerID:
		// The server has forgotten that registration, and with it the lease.
		d.Ack()
	case s.deliveries.closed:
		d.Release()
	case s.draining:
		lost = s.giveBack(d)
	case i >= 0:
		// The connection was lost, and the message with it; the broker knows only the new delivery.
		s.deliveries.waiting[i] = d
	default:
		s.deliveries.waiting = append(s.deliveries.waiting, d)
		s.wakeFetch()
	}
}

// sameLease reports whether two deliveries are about one lease.
func (d *waitingStep) sameLease(other waitingStep) bool {
	return d.Assignment.StepUUID == other.Assignment.StepUUID && d.Assignment.Token == other.Assignment.Token
}

// moveDeliveries ends the receipt from the queue of an earlier registration. Its deliveries are over: the server that
// does not know the worker has given its steps to others.
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
			runtime.Gosched() // deliveries that are about to come share the request
		case <-ctx.Done():
		}
	}
	return nil, false
}

// takeDeliveries removes up to as many delivered steps as there is room for. It acknowledges those that run already.
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

// holds acknowledges a delivery of a lease that the worker has started already, and reports whether it is one. The
// caller holds mu.
func (s *session) holds(d waitingStep) bool {
	job := s.held[d.Assignment.StepUUID]
	if job == nil || job.Token != d.Assignment.Token {
		return false
	}
	d.Ack()
	return true
}

// start asks the server to start the steps of batch, and runs those that the worker holds. After an error, the
// deliveries wait again: no step runs before the server has answered that it is held.
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

// waitAgain puts batch back before the deliveries that came meanwhile, unless one of them is a newer delivery of the
// same message.
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

// started runs the steps that the server answered to be held, and acknowledges the messages of all.
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

// leaveIntake gives back the delivered steps that have not started, and those that still come. The server hears first
// that the worker is leaving, or it would send the worker the same steps again.
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

// leaveGrace bounds how long a stopping worker waits until the server has heard of it.
const leaveGrace = 2 * time.Second

// giveBack returns an unstarted step to the server; its message is acknowledged when the server has it. It returns the
// job that held the step under an earlier lease, if there is one, which the caller must lose. The caller holds mu.
func (s *session) giveBack(d waitingStep) *Job {
	if s.holds(d) {
		return nil
	}
	job := s.newJob(&d.Assignment, time.Now())
	job.cancel(nil) // no handler runs
	job.message = &d.Delivery
	old := s.held[job.StepUUID]
	if old != nil {
		s.drop(old)
	}
	s.held[job.StepUUID] = job
	s.end(job, &protocol.StepResult{Status: protocol.ResultReleased})
	return old
}

// lose ends the context of a job whose lease expired unnoticed; nil is none.
func (j *Job) lose() {
	if j != nil {
		j.cancel(ErrLeaseLost)
	}
}

// closeIntake releases the deliveries whose steps could not be given back, and those that still come.
func (s *session) closeIntake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deliveries.closed = true
	for _, job := range s.done.jobs {
		job.releaseMessage()
	}
}

// ackMessage acknowledges the message that brought the job, if that has no answer yet. The caller holds mu.
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
