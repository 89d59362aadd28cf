package local

import (
	"context"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// dispatched explains an assigned step that waits in the queue of its worker. ok is false for any other step.
func (x *explainer) dispatched(ctx context.Context, s *task.Step) (why, next string, ok bool, err error) {
	w, err := x.b.rows.FindWorkerByNo(ctx, s.WorkerNo)
	if err != nil {
		return "", "", false, ToError(err)
	}
	expires, ok := x.b.engine.DispatchOf(s, x.tpl, w)
	if !ok {
		return "", "", false, nil
	}
	why = fmt.Sprintf("It was dispatched to worker %s over RabbitMQ %s ago, and waits in its queue. The message expires "+
		"at %s, in %s.", w.Name, x.now.Sub(s.AssignedAt).Round(time.Second), clock(expires), x.until(expires))
	switch {
	case w.State == task.WorkerDead:
		why += " The worker is dead."
	case w.State == task.WorkerUnhealthy:
		why += " The worker is unhealthy."
	}
	return why, "The worker takes it from the queue when it has a free slot. If the message expires first, the attempt " +
		"fails and counts; without RabbitMQ's report of that, at " + clock(s.LeaseUntil) + ".", true, nil
}

// expiredDispatch names the worker whose queue a step has waited in for too long, "" if its last attempt ended
// otherwise.
func (x *explainer) expiredDispatch(ctx context.Context, a *task.Attempt) (string, error) {
	if a == nil || a.Outcome != task.DispatchExpired {
		return "", nil
	}
	worker, err := x.worker(ctx, a.WorkerNo)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(" It was dispatched to worker %s at %s and waited in its queue for too long: no attempt began.",
		worker, clock(a.AssignedAt)), nil
}
