package local

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

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
		why += " The health probes of the worker fail."
	default:
		if health, reasons := x.b.engine.HealthOf(w); health != task.HealthHealthy {
			why += fmt.Sprintf(" The worker is %s: %s.", health, strings.Join(reasons, "; "))
		}
	}
	expired, err := x.expiredLately(ctx, s.WorkerNo)
	if err != nil {
		return "", "", false, err
	}
	if expired > 0 {
		why += fmt.Sprintf(" In the last hour, %s expired in its queue.", wording.Count(expired, "dispatched step"))
	}
	return why, "The worker takes it from the queue when it has a free slot. If the message expires first, the attempt " +
		"fails and counts; without RabbitMQ's report of that, at " + clock(s.LeaseUntil) + ".", true, nil
}

func (x *explainer) expiredLately(ctx context.Context, worker int64) (n int, err error) {
	list, err := x.b.engine.Expiries(ctx, x.now.Add(-time.Hour), x.now+1)
	for _, e := range list {
		if e.Worker == worker {
			n += e.Count
		}
	}
	return n, ToError(err)
}

// expiredDispatch names the worker in whose queue the last attempt expired; "" if it ended otherwise.
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
