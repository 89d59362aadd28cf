package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Steps that come back without a charge do so a bounded number of times in a row. Otherwise a step that brings its
// worker down would do that to every worker, forever. The number is that of the stored attempts: the row of a step,
// which is written most, need not have it.

// queuedReturns is how many times more often a step may return that waits in the queue of a worker when that dies.
// Other steps have brought the worker down: those in a queue have not run.
const queuedReturns = 10

// returns are the steps that a unit takes back from workers without a charge, as far as that is free.
type returns struct{ u *unit }

// before counts the returns of leased steps before, by step. A step with its first lease has none.
func (r returns) before(works []Work) (map[task.ID]task.Returns, error) {
	var tasks []task.ID
	for _, w := range works {
		if w.Step.Token > 1 {
			tasks = append(tasks, w.Step.TaskID)
		}
	}
	if len(tasks) == 0 {
		return nil, nil
	}
	slices.SortFunc(tasks, compareIDs)
	attempts, err := r.u.e.evidences.AttemptsSinceReset(r.u.ctx, r.u.tx, slices.Compact(tasks))
	if err != nil {
		return nil, err
	}
	of := map[task.ID][]task.Attempt{}
	for _, a := range attempts {
		of[a.StepID] = append(of[a.StepID], a)
	}
	counts := make(map[task.ID]task.Returns, len(of))
	for id, own := range of {
		counts[id] = task.ReturnsOf(id, own, nil)
	}
	return counts, nil
}

// free reports whether a step may come back from a lost worker without a charge, if so many in a row may.
// While the engine is back from an absence, workers may have had no chance: then the number does not count.
func (r returns) free(before task.Returns, workers int) bool {
	cfg := r.u.e.cfg.Leases
	return cfg.FreeRequeueFraction >= 0 && (r.u.now < r.u.e.grace() ||
		(workers < 0 || before.Workers() < workers) && (cfg.FreeReleases < 0 || before.All < cfg.FreeReleases))
}

// unstarted ends the lease of a step that its worker did not start. So many workers in a row are free; message is for
// those that are not.
func (r returns) unstarted(w Work, wait time.Duration, before task.Returns, workers int, message string) error {
	if r.free(before, workers) {
		return r.u.lose(w, task.NotStarted, wait)
	}
	w.Step.Charge()
	before.NotStarted++
	return r.u.failAfter(w, task.NotStarted, lostFailure("not_started", before, message), wait)
}

// lostFailure is the failure of a step whose worker was lost, as the last of some workers in a row. If there were
// others, the step is probably the cause.
func lostFailure(kind string, row task.Returns, message string) *task.Failure {
	if row.Workers() > 1 {
		kind, message = "worker_lost", row.String()+": "+message
	}
	return &task.Failure{Type: kind, Code: "WORKER_LOST", Retryable: true, Message: message}
}

// handBack ends a lease as its worker asks: the step is ready after a time. It is charged if it came back without a
// charge as often in a row as is free. Only a step with so many leases needs its attempts to be read.
func (r returns) handBack(w Work, outcome task.Outcome, after time.Duration) error {
	s, free := w.Step, r.u.e.cfg.Leases.FreeReleases
	if free < 0 || s.Token-int64(s.Attempts) < int64(free) {
		return r.u.uncharged(w, outcome, r.u.now.Add(after))
	}
	before, err := r.before([]Work{w})
	if err != nil {
		return err
	}
	n := before[s.ID].All
	if n < free {
		return r.u.uncharged(w, outcome, r.u.now.Add(after))
	}
	if s.State == task.StepAssigned {
		s.Charge()
	}
	return r.u.failAfter(w, outcome, &task.Failure{Type: "returned_too_often", Code: "RETURNED_TOO_OFTEN", Retryable: true,
		RetryAfterMS: after.Milliseconds(), Message: fmt.Sprintf("the step came back %d times in a row without an end: "+
			"its workers snoozed or released it, or were lost", n+1)}, 0)
}
