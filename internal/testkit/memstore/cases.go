package memstore

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// casesOf returns the cases of a task, oldest first. It scans every case: a test has few, and an index could be wrong.
func (s *state) casesOf(id task.ID) []*task.Case {
	var list []*task.Case
	for _, c := range s.cases {
		if c.TaskID == id {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, compareCases)
	return list
}

// compareCases orders cases by ID, and thus by time of creation.
func compareCases(a, b *task.Case) int { return compareIDs(a.ID, b.ID) }

// pendingCase returns the only pending case of a task, or nil.
func (s *state) pendingCase(of task.ID) *task.Case {
	for _, c := range s.cases {
		if c.TaskID == of && c.Status == task.CasePending {
			return c
		}
	}
	return nil
}

func (t *tx) setCase(c *task.Case) {
	put(t, casesTable, c.ID, c)
	t.touched[c.TaskID] = true
}

// AddCases implements engine.CaseRows. It ignores a second pending case of a task, like the unique index of SQL stores.
func (*Store) AddCases(ctx context.Context, within engine.Tx, cases []*task.Case) error {
	t := in(within)
	for _, c := range cases {
		switch {
		// IDs are unique, so a repeated ID is a bug of the engine.
		case t.s.cases[c.ID] != nil:
			return task.Errorf(task.Internal, "add case %s: it exists", c.ID)
		case c.Status == task.CasePending && t.s.pendingCase(c.TaskID) != nil:
			continue
		}
		t.setCase(cloneCase(c))
	}
	return nil
}

// Case implements engine.CaseRows. A bare case has neither a snapshot nor the failure, as in SQL.
func (*Store) Case(ctx context.Context, within engine.Tx, id task.ID) (*task.Case, error) {
	t := in(within)
	return bareCase(t.s.cases[id]), nil
}

// PendingCases implements engine.CaseRows. A repeated ID gives one case, like IN in SQL.
func (*Store) PendingCases(ctx context.Context, within engine.Tx, tasks []task.ID) ([]*task.Case, error) {
	t := in(within)
	var out []*task.Case
	for _, id := range slices.CompactFunc(slices.SortedFunc(slices.Values(tasks), compareIDs), func(a, b task.ID) bool {
		return a == b
	}) {
		if c := t.s.pendingCase(id); c != nil {
			out = append(out, bareCase(c))
		}
	}
	return out, nil
}

// CasesOf implements engine.CaseRows. The order is not part of the contract.
func (*Store) CasesOf(ctx context.Context, within engine.Tx, tasks []task.ID) ([]*task.Case, error) {
	t := in(within)
	var out []*task.Case
	for _, id := range slices.CompactFunc(slices.SortedFunc(slices.Values(tasks), compareIDs), func(a, b task.ID) bool {
		return a == b
	}) {
		out = append(out, clones(t.s.casesOf(id), bareCase)...)
	}
	return out, nil
}

// DeleteCases implements engine.CaseRows. It ignores an unknown ID.
func (*Store) DeleteCases(ctx context.Context, within engine.Tx, ids []task.ID) error {
	t := in(within)
	for _, id := range ids {
		if c := t.s.cases[id]; c != nil {
			drop(t, casesTable, id)
			t.touched[c.TaskID] = true
		}
	}
	return nil
}

// SaveCases implements engine.CaseRows. It keeps fields that are fixed at the opening.
func (*Store) SaveCases(ctx context.Context, within engine.Tx, cases []*task.Case) error {
	t := in(within)
	for _, from := range cases {
		old := t.s.cases[from.ID]
		if old == nil {
			return task.Errorf(task.Internal, "save case %s: it does not exist", from.ID)
		}
		if other := t.s.pendingCase(old.TaskID); from.Status == task.CasePending && other != nil && other.ID != from.ID {
			return task.Errorf(task.Internal, "save case %s: its task has another one that is pending", from.ID)
		}
		row := cloneCase(old)
		row.Status, row.Notes, row.Metadata = from.Status, from.Notes, slices.Clone(from.Metadata)
		row.ResolvedAt, row.ResolvedBy, row.ResolvedKey, row.UpdatedAt = from.ResolvedAt, from.ResolvedBy, from.ResolvedKey,
			from.UpdatedAt
		row.Recovery, row.Replays, row.NoteCount, row.NoteBytes = from.Recovery, from.Replays, from.NoteCount, from.NoteBytes
		for _, n := range from.Thread {
			// The thread is append-only and numbered from 1, so its length is the last stored number.
			if n.No > len(row.Thread) {
				row.Thread = append(row.Thread, n)
			}
		}
		t.setCase(row)
	}
	return nil
}

// RecurCases implements engine.CaseRows. An occurrence must have the next number, so a lost update shows.
func (*Store) RecurCases(ctx context.Context, within engine.Tx, cases []*task.Case) error {
	t := in(within)
	for _, from := range cases {
		old := t.s.cases[from.ID]
		if old == nil || from.Occurrences != old.Occurrences+1 {
			return task.Errorf(task.Internal, "add occurrence %d of case %s: it does not follow the last one", from.Occurrences,
				from.ID)
		}
		row := cloneCase(old)
		row.Former = keptOccurrences(append(row.Former, old.Latest()), from.Occurrences)
		latest := from.Latest()
		latest.Snapshot, latest.Group = slices.Clone(latest.Snapshot), from.Group
		row.Recur(latest)
		t.setCase(row)
	}
	return nil
}

// keptOccurrences removes former occurrences beyond the bounds in number and bytes, but always keeps the first.
func keptOccurrences(former []task.Occurrence, latest int) []task.Occurrence {
	bytes := 0
	for i := len(former) - 1; i > 0; i-- {
		if bytes += len(former[i].Snapshot); former[i].No < task.KeptFrom(latest) || bytes > task.OccurrenceBytes {
			return slices.Delete(former, 1, i+1)
		}
	}
	return former
}

// Evidence implements engine.Evidences.
func (*Store) Evidence(ctx context.Context, within engine.Tx, tasks []task.ID) (map[task.ID]engine.Evidence, error) {
	t := in(within)
	out := map[task.ID]engine.Evidence{}
	for _, id := range tasks {
		row := t.s.tasks[id]
		if row == nil {
			continue
		}
		out[id] = engine.Evidence{Context: slices.Clone(row.Context), Failures: t.s.lastFailures(id)}
	}
	return out, nil
}

// WorkerName implements engine.Evidences.
func (*Store) WorkerName(_ context.Context, within engine.Tx, no int64) (string, error) {
	if w := in(within).s.workers[no]; w != nil {
		return w.Name, nil
	}
	return "", nil
}

// ChargedAttempts implements engine.Evidences.
func (*Store) ChargedAttempts(ctx context.Context, within engine.Tx, tasks []task.ID) ([]task.Attempt, error) {
	t := in(within)
	var out []task.Attempt
	for _, id := range tasks {
		for _, a := range t.s.attempts[id] {
			if a.Failure != nil {
				a.Failure = nil
				out = append(out, a)
			}
		}
	}
	return out, nil
}

// AttemptsSinceReset implements engine.Evidences.
func (*Store) AttemptsSinceReset(_ context.Context, within engine.Tx, tasks []task.ID) ([]task.Attempt, error) {
	t := in(within)
	var out []task.Attempt
	for _, id := range tasks {
		for _, a := range t.s.attempts[id] {
			if a.FinishedAt > task.LastReset(a.StepID, t.s.acts[id]) {
				a.Failure = nil
				out = append(out, a)
			}
		}
	}
	return out, nil
}

// lastFailures returns the last failed attempts of a task's steps, the most recent first.
func (s *state) lastFailures(id task.ID) []task.Attempt {
	var last []task.Attempt
	seen := map[task.ID]bool{}
	for _, a := range slices.Backward(s.attempts[id]) {
		if a.Failure != nil && !seen[a.StepID] {
			seen[a.StepID] = true
			last = append(last, cloneAttempt(a))
		}
	}
	return last
}

// Watch implements engine.WatchStore. A second call replaces the task's watch.
func (*Store) Watch(ctx context.Context, within engine.Tx, watches []engine.Watch) error {
	t := in(within)
	for _, w := range watches {
		put(t, watchesTable, w.Task, w.At)
	}
	return nil
}

// Rewatch implements engine.WatchStore. It skips a watch that has changed since the read.
func (*Store) Rewatch(ctx context.Context, within engine.Tx, moves []engine.WatchMove) error {
	t := in(within)
	for _, m := range moves {
		// The watch was read outside of this transaction; its task may have moved since.
		if at, ok := t.s.watches[m.Task]; !ok || at != m.At {
			continue
		}
		if m.Next == 0 {
			drop(t, watchesTable, m.Task)
		} else {
			put(t, watchesTable, m.Task, m.Next)
		}
	}
	return nil
}

// DropNotes implements engine.NoteStore. It ignores an unknown key.
func (*Store) DropNotes(ctx context.Context, within engine.Tx, keys []string) error {
	t := in(within)
	for _, key := range keys {
		drop(t, notesTable, key)
	}
	return nil
}

// Note implements engine.NoteStore.
func (*Store) Note(ctx context.Context, within engine.Tx, key, text string) error {
	t := in(within)
	put(t, notesTable, key, text)
	return nil
}

// FirstNote implements engine.NoteStore. The first caller decides.
func (*Store) FirstNote(ctx context.Context, within engine.Tx, key, text string) error {
	t := in(within)
	if _, kept := t.s.notes[key]; kept {
		return nil
	}
	put(t, notesTable, key, text)
	return nil
}
