package task_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestCauseOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		attempts, most int
		outcome        task.Outcome
		failure        task.Failure
		want           task.CaseCause
	}{
		"LastAttempt": {3, 3, task.Failed, task.Failure{Retryable: true}, task.CauseRetriesExhausted},
		"TimedOutEachTime": {3, 3, task.TimedOut, task.Failure{Retryable: true, Code: "TIMEOUT"},
			task.CauseRetriesExhausted},
		"FinalAtOnce":       {1, 3, task.Failed, task.Failure{}, task.CauseNotRetryable},
		"FinalOfOneAttempt": {1, 1, task.Failed, task.Failure{}, task.CauseNotRetryable},
		"OneAttempt":        {1, 1, task.Failed, task.Failure{Retryable: true}, task.CauseNoRetries},
		"ReplayedOnce":      {3, 2, task.Failed, task.Failure{Retryable: true}, task.CauseRetriesExhausted},
		"ClassAllowsNoMore": {1, 3, task.Failed, task.Failure{Retryable: true, Class: failure.Resource},
			task.CauseClassLimit},
		"LostWorkers": {2, 3, task.LeaseExpired, task.Failure{Retryable: true, Code: "WORKER_LOST"},
			task.CauseLostWorkers},
		"LostItsOnlyWorker": {1, 1, task.LeaseExpired, task.Failure{Retryable: true, Code: "WORKER_LOST"},
			task.CauseLostWorkers},
		"Stale": {1, 3, task.TimedOut, task.Failure{Retryable: true, Code: task.CodeStale}, task.CauseStale},
		"Deadline": {1, 3, task.TimedOut, task.Failure{Retryable: true, Code: task.CodeDeadline},
			task.CauseDeadline},
		"StaleSaysTheWorker": {3, 3, task.Failed, task.Failure{Retryable: true, Code: task.CodeStale},
			task.CauseRetriesExhausted},
		"StaleFromFormerTimes": {1, 3, task.TimedOut, task.Failure{Code: task.CodeStale}, task.CauseStale},
	} {
		s := &task.Step{Attempts: c.attempts, MaxAttempts: c.most}
		if got := task.CauseOf(s, &task.Attempt{Outcome: c.outcome, Failure: &c.failure}); got != c.want {
			t.Errorf("%s: the cause is %s, want %s", name, got, c.want)
		}
	}
}

// TestThreadIsBounded: a case with a full thread can still be resolved.
func TestThreadIsBounded(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"Number": "x", "Bytes": strings.Repeat("x", 16<<10)} {
		c := &task.Case{Status: task.CasePending}
		n := 0
		for ; ; n++ {
			if _, err := c.Change(task.CaseChange{Notes: &text, Actor: "ada"}, 1); err != nil {
				if task.CodeOf(err) != task.TooLarge {
					t.Fatal(err)
				}
				break
			}
		}
		if len(c.Thread) != n || c.NoteCount != n || n > task.MaxNotes || c.NoteBytes > task.MaxNoteBytes ||
			n*len(text)+len(text) <= task.MaxNoteBytes && n < task.MaxNotes {
			t.Errorf("%s: the thread has %d notes, %d bytes", name, c.NoteCount, c.NoteBytes)
		}
		if _, err := c.Change(task.CaseChange{Status: task.CaseResolved, Actor: "ada"}, 2); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
