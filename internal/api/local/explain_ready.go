package local

import (
	"context"
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

// enqueued explains a ready step: no worker serves it, or steps are ahead of it. Dead workers do not count. The
// position counts all steps that these workers take, not only the route of this one.
func (x *explainer) enqueued(ctx context.Context, s *task.Step) (why, next string, err error) {
	if p := x.b.engine.TemplatePausedBy(x.tpl); p != nil {
		why, next = x.paused(s, p)
		return why, next, nil
	}
	if s.Parked() {
		return x.parked(ctx, s)
	}
	route, err := x.b.engine.RouteOf(ctx, s.RouteID)
	if err != nil {
		return "", "", ToError(err)
	}
	if p := x.b.engine.ClosedBy(route); p != nil {
		why, next = x.paused(s, p)
		return why, next, nil
	}
	if o := x.b.engine.OutageOf(route); o != nil {
		why, next = x.outage(s, o)
		return why, next, nil
	}
	workers, err := x.b.engine.Workers(ctx, 0)
	if err != nil {
		return "", "", ToError(err)
	}
	serving, idle := x.b.serving(workers, route)
	where := routeText(route)
	if serving == 0 {
		why = fmt.Sprintf("It has been ready since %s, but no live worker serves %s", clock(s.ReadyAt), where)
		if idle != "" {
			why += " (" + idle + ")"
		}
		return why + ".", "Start a worker for " + where + "; it then gets the step at once.", nil
	}
	if why, next, err := x.limited(ctx, s, route); err != nil || why != "" {
		return why, next, err
	}
	place, err := x.b.engine.QueuePlace(ctx, s)
	if err != nil {
		return "", "", ToError(err)
	}
	why = fmt.Sprintf("It has been ready since %s and waits on %s: %s ahead of it, %s serving.", clock(s.ReadyAt), where,
		atLeast(place, "step"), wording.Count(serving, "worker"))
	return why, "The next free worker takes the first step in the queue; add workers if the queue grows.", nil
}

// serving counts the workers that take steps of a route, and names those that match it but take none: the usual answer
// to "my workers run, why does the step wait?".
func (b *Backend) serving(workers []*task.Worker, route *task.Route) (serving int, idle string) {
	var draining, cordoned, unhealthy, broken, elsewhere int
	for _, w := range workers {
		switch {
		// The order matters: a draining worker may have an open breaker too, and the drain is more important.
		case !w.Serves(*route):
			if w.State == task.WorkerActive && servesElsewhere(w, route) {
				elsewhere++
			}
		case w.State == task.WorkerDraining:
			draining++
		case w.Cordoned():
			cordoned++
		case w.State == task.WorkerUnhealthy:
			unhealthy++
		case w.State == task.WorkerActive && b.engine.BreakerOf(w) == task.BreakerOpen:
			broken++
		case w.State == task.WorkerActive:
			serving++
		}
	}
	var why []string
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			why = append(why, "1 worker "+one)
		case n > 1:
			why = append(why, wording.Count(n, "worker")+" "+many)
		}
	}
	add(draining, "is draining and claims no more steps", "are draining and claim no more steps")
	add(cordoned, "is cordoned and gets no steps until an operator uncordons it",
		"are cordoned and get no steps until an operator uncordons them")
	add(unhealthy, "is unhealthy and gets no steps until a probe succeeds",
		"are unhealthy and get no steps until a probe succeeds")
	add(broken, "has an open circuit breaker because all its recent attempts failed",
		"have an open circuit breaker because all their recent attempts failed")
	add(elsewhere, "serves this handler in other namespaces only", "serve this handler in other namespaces only")
	return serving, strings.Join(why, "; ")
}

// servesElsewhere reports whether only the namespaces keep a worker from serving a route.
func servesElsewhere(w *task.Worker, route *task.Route) bool {
	everywhere := task.Worker{Handlers: w.Handlers, Capabilities: w.Capabilities}
	return len(w.Handlers) > 0 && everywhere.Serves(*route)
}

// routeText can follow "serves", "on" and "for".
func routeText(r *task.Route) string {
	s := fmt.Sprintf("handler %q in namespace %q", r.Handler, r.Namespace)
	if len(r.Capabilities) > 0 {
		s += " with " + strings.Join(r.Capabilities, ", ")
	}
	return s
}

// leased explains a step that a worker holds. An assigned step has begun no attempt; if its worker does not start it,
// none is charged.
func (x *explainer) leased(ctx context.Context, s *task.Step) (why, next string, err error) {
	worker, err := x.worker(ctx, s.WorkerNo)
	if err != nil {
		return "", "", err
	}
	if s.State == task.StepAssigned {
		if why, next, ok, err := x.dispatched(ctx, s); ok || err != nil {
			return why, next, err
		}
		return fmt.Sprintf("It was assigned to worker %s at %s. The worker must start it before %s.",
				worker, clock(s.AssignedAt), clock(s.LeaseUntil)),
			"If the worker does not start it by then, it returns to the queue and no attempt is charged.", nil
	}
	why = fmt.Sprintf("Worker %s holds its lease until %s; attempt %d of %d has been running since %s.",
		worker, clock(s.LeaseUntil), s.Attempts, s.MaxAttempts, clock(s.StartedAt))
	if s.Progress > 0 || s.Note != "" {
		why += fmt.Sprintf(" Reported progress: %d %%", s.Progress)
		if s.Note != "" {
			why += ", " + s.Note
		}
	}
	next = "Heartbeats of the worker renew the lease."
	if d := s.Deadline(); d != 0 {
		next += fmt.Sprintf(" The attempt times out at %s, in %s.", clock(d), x.until(d))
	}
	return why, next, nil
}
