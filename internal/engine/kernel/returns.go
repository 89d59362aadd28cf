package kernel

import (
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Uncharged returns in a row are bounded, so that a step cannot kill every worker. Attempts provide their number,
// because the row of a step is written most.

// queuedReturns is the factor for steps in a dead worker's queue: other steps killed it.
const queuedReturns = 10

type returns struct{ u *Unit }

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
	slices.SortFunc(tasks, CompareIDs)
	attempts, err := r.u.E.Evidences.AttemptsSinceReset(r.u.Ctx, r.u.Tx, slices.Compact(tasks))
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

// After an absence of the engine the number of returns does not count, because workers had no chance.
func (r returns) free(before task.Returns, workers int) bool {
	cfg := r.u.E.Cfg.Leases
	return cfg.FreeRequeueFraction >= 0 && (r.u.Now < r.u.E.Grace() ||
		(workers < 0 || before.Workers() < workers) && (cfg.FreeReleases < 0 || before.All < cfg.FreeReleases))
}

// workers is the number of free returns in a row; message is for charged ones.
func (r returns) unstarted(w Work, wait time.Duration, before task.Returns, workers int, message string) error {
	if r.free(before, workers) {
		return r.u.lose(w, task.NotStarted, wait)
	}
	w.Step.Charge()
	before.NotStarted++
	return r.u.failAfter(w, task.NotStarted, lostFailure("not_started", before, message), wait)
}

// lostFailure blames the step if it lost several workers in a row.
func lostFailure(kind string, row task.Returns, message string) *task.Failure {
	if row.Workers() > 1 {
		kind, message = "worker_lost", row.String()+": "+message
	}
	return &task.Failure{Type: kind, Code: "WORKER_LOST", Retryable: true, Message: message}
}

// handBack makes the step ready after a time. It is charged after too many free returns in a row. Only a step with
// many leases needs a read of its attempts.
func (r returns) handBack(w Work, outcome task.Outcome, after time.Duration) error {
	s, free := w.Step, r.u.E.Cfg.Leases.FreeReleases
	if free < 0 || s.Token-int64(s.Attempts) < int64(free) {
		return r.u.uncharged(w, outcome, r.u.Now.Add(after))
	}
	before, err := r.before([]Work{w})
	if err != nil {
		return err
	}
	n := before[s.ID].All
	if n < free {
		return r.u.uncharged(w, outcome, r.u.Now.Add(after))
	}
	if s.State == task.StepAssigned {
		s.Charge()
	}
	return r.u.failAfter(w, outcome, &task.Failure{Type: "returned_too_often", Code: "RETURNED_TOO_OFTEN", Retryable: true,
		RetryAfterMS: after.Milliseconds(), Message: fmt.Sprintf("the step came back %d times in a row without an end: "+
			"its workers snoozed or released it, or were lost", n+1)}, 0)
}
