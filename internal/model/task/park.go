package task

import "time"

// A parked step is ready in every respect but one: something that is not a parent holds it back, such as a pause or a
// limit. It stays enqueued, and stands in a queue of what holds it instead of its route. So no claim, no dispatcher and
// no worker sees it, and the index of the queues finds the next one to release.
//
// The number of such a queue is far below zero and contains the number of the holder, whose kind has a range of its
// own.
const (
	parkedTemplates int64 = -1 << 40
	parkedLimits    int64 = -1 << 62
	// The largest numbers of holders, so that ranges do not meet. Those of limits are hashes.
	maxTemplate int64 = 1<<61 - 1
	maxLimit    int64 = 1<<61 - 1
)

// ParkedTemplate is the queue of the parked steps of a template.
func ParkedTemplate(def int64) int64 { return parkedTemplates - min(max(def, 1), maxTemplate) }

// ParkedLimit is the queue of the steps that wait at the gate of a limit.
func ParkedLimit(gate int64) int64 { return parkedLimits - min(max(gate, 1), maxLimit) }

// LimitOf returns the number of the gate whose queue it is; false for another queue.
func LimitOf(queue int64) (int64, bool) {
	id := parkedLimits - queue
	return id, id > 0 && id <= maxLimit
}

// TemplateOf returns the number of the template whose queue of parked steps it is; false for another queue.
func TemplateOf(queue int64) (int64, bool) {
	id := parkedTemplates - queue
	return id, id > 0 && id <= maxTemplate
}

// ParkedTemplates returns the numbers between which those of the queues of templates are.
func ParkedTemplates() (above, below int64) {
	return parkedTemplates - maxTemplate - 1, parkedTemplates
}

// ParkingQueue reports whether a number is that of a queue of parked steps.
func ParkingQueue(queue int64) bool { return queue < parkedTemplates }

// Parked reports whether the step is enqueued and something holds it back.
func (s *Step) Parked() bool { return s.State == StepEnqueued && ParkingQueue(s.Queue) }

// OnRoute reports whether the step is ready and may be claimed.
func (s *Step) OnRoute() bool { return s.State == StepEnqueued && !ParkingQueue(s.Queue) }

// Park moves an enqueued step to a parking queue, where the order gives it a place as if it had come when it became
// ready.
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

// Release moves a parked step to its route, as ready from now on: its place there is that of a step that has just
// come.
func (s *Step) Release(now Instant, by Scheduling) error {
	if !s.Parked() {
		return Errorf(WrongState, "a step that is %s in queue %d cannot be released", s.State, s.Queue)
	}
	s.ReadyAt = now
	s.Queue, s.Key = s.RouteID, by.Key(s.Priority, now)
	return nil
}

// errParked refuses a worker: no queue that it reads has the step.
func errParked(s *Step) error {
	return Errorf(WrongState, "step %s is parked and cannot be claimed", s.ID)
}

// ParkedKey returns the sort key of a parked step of a level that became ready at a time. It never changes, so that no
// check for long waits has to look at parked steps: where the order bounds the wait, a level is an advantage of a part
// of that bound.
func (s Scheduling) ParkedKey(level int, ready Instant) int64 {
	if s.Mode == Aging || s.MaxWait <= 0 {
		return s.Key(level, ready)
	}
	return int64(ready.Add(s.MaxWait / MaxPriority * time.Duration(MaxPriority-level)))
}
