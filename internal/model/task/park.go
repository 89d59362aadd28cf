package task

import "time"

// A parked step is ready, but a pause or a limit holds it back. It stays enqueued in a queue of its holder instead of
// its route, so no claim, dispatcher or worker sees it, and the index of the queues finds the next one to release.
//
// The number of this queue is far below zero and contains the holder's number, in a range for each kind.
const (
	parkedTemplates int64 = -1 << 40
	parkedLimits    int64 = -1 << 62
	// The largest numbers of holders, which keep the ranges apart. Those of limits are hashes.
	maxTemplate int64 = 1<<61 - 1
	maxLimit    int64 = 1<<61 - 1
)

// ParkedTemplate is the queue of the parked steps of a template.
func ParkedTemplate(def int64) int64 { return parkedTemplates - min(max(def, 1), maxTemplate) }

// ParkedLimit is the queue of the steps that wait at a limit's gate.
func ParkedLimit(gate int64) int64 { return parkedLimits - min(max(gate, 1), maxLimit) }

// LimitOf returns the gate of a queue; false for other queues.
func LimitOf(queue int64) (int64, bool) {
	id := parkedLimits - queue
	return id, id > 0 && id <= maxLimit
}

// TemplateOf returns the template of a queue of parked steps; false for other queues.
func TemplateOf(queue int64) (int64, bool) {
	id := parkedTemplates - queue
	return id, id > 0 && id <= maxTemplate
}

// ParkedTemplates returns the exclusive bounds of the queues of templates.
func ParkedTemplates() (above, below int64) {
	return parkedTemplates - maxTemplate - 1, parkedTemplates
}

// ParkingQueue reports whether a queue is for parked steps.
func ParkingQueue(queue int64) bool { return queue < parkedTemplates }

// Parked reports whether something holds the enqueued step back.
func (s *Step) Parked() bool { return s.State == StepEnqueued && ParkingQueue(s.Queue) }

// OnRoute reports whether the step can be claimed.
func (s *Step) OnRoute() bool { return s.State == StepEnqueued && !ParkingQueue(s.Queue) }

// Park moves an enqueued step to a parking queue, at the place of its ready time.
func (s *Step) Park(queue int64, by Scheduling) error {
	switch {
	case s.State != StepEnqueued:
		return Errorf(WrongState, "a step that is %s cannot be parked", s.State)
	case !ParkingQueue(queue):
		return Errorf(Internal, "queue %d is not one of parked steps", queue)
	}
	s.Queue, s.Key = queue, by.ParkedKey(s.Priority, s.ReadyAt)
	return nil
}

// Release moves a parked step to its route, as ready from now.
func (s *Step) Release(now Instant, by Scheduling) error {
	if !s.Parked() {
		return Errorf(WrongState, "a step that is %s in queue %d cannot be released", s.State, s.Queue)
	}
	s.ReadyAt = now
	s.Queue, s.Key = s.RouteID, by.Key(s.Priority, now)
	return nil
}

// No queue of a worker has the step.
func errParked(s *Step) error {
	return Errorf(WrongState, "step %s is parked and cannot be claimed", s.ID)
}

// ParkedKey is constant, so checks for long waits skip parked steps: where the order bounds the wait, a level is an
// advantage of a part of that bound.
func (s Scheduling) ParkedKey(level int, ready Instant) int64 {
	if s.Mode == Aging || s.MaxWait <= 0 {
		return s.Key(level, ready)
	}
	return int64(ready.Add(s.MaxWait / MaxPriority * time.Duration(MaxPriority-level)))
}
