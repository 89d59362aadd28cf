package store

import (
	"bytes"

	"github.com/taskerhq/tasker/internal/model/task"
)

// WasHanded reports whether a leased step changed only in the fields of claiming or starting it: state, key, attempts,
// token, worker, times and the lease. Then one short statement saves it. A new column of steps must be stored by that
// statement, or be compared here.
func WasHanded(was task.Step, s *task.Step) bool {
	if !s.State.Leased() {
		return false
	}
	// was is a copy: with these fields made equal, all must be.
	was.State, was.Queue, was.Key = s.State, task.Leases, s.Key
	was.Attempts, was.Token, was.WorkerNo = s.Attempts, s.Token, s.WorkerNo
	was.AssignedAt, was.StartedAt, was.FinishedAt, was.LeaseUntil = s.AssignedAt, s.StartedAt, 0, s.LeaseUntil
	was.Progress, was.Note = 0, ""
	return same(was, s)
}

// WasSettled reports whether a step outside every queue changed only in the fields of completing or failing it: state,
// time and result. Like WasHanded it selects the short statement for the most frequent change.
func WasSettled(was task.Step, s *task.Step) bool {
	if s.Queue != task.NoQueue {
		return false
	}
	was.State, was.Queue, was.Key, was.LeaseUntil = s.State, task.NoQueue, 0, 0
	was.FinishedAt, was.Result = s.FinishedAt, s.Result
	return same(was, s)
}

// same compares the fields that SaveSteps stores, not the immutable ones: IDs, ordinal, template and route.
func same(a task.Step, b *task.Step) bool {
	return a.State == b.State && a.OpenParents == b.OpenParents && a.Queue == b.Queue && a.Key == b.Key &&
		a.Attempts == b.Attempts &&
		a.MaxAttempts == b.MaxAttempts && a.Timeout == b.Timeout && a.Token == b.Token && a.WorkerNo == b.WorkerNo &&
		a.ReadyAt == b.ReadyAt && a.AssignedAt == b.AssignedAt && a.StartedAt == b.StartedAt &&
		a.FinishedAt == b.FinishedAt &&
		a.LeaseUntil == b.LeaseUntil && a.Progress == b.Progress && a.Note == b.Note && a.Priority == b.Priority &&
		bytes.Equal(a.Result, b.Result)
}
