package memstore

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// tx is one transaction: it changes the writer's state directly and keeps a journal. One goroutine uses it, until the
// function that got it ends.
type tx struct {
	s       *state
	journal []change
	touched map[task.ID]bool // tasks to check at the commit
	after   []func()         // to be called after a commit
	failed  []func(bool)     // to be called after a rollback
}

var _ engine.Tx = (*tx)(nil)

func (t *tx) Handle() engine.Handle { return t }

// AfterCommit always succeeds: this store runs every transaction itself.
func (t *tx) AfterCommit(fn func()) bool {
	t.after = append(t.after, fn)
	return true
}

func (t *tx) AfterRollback(fn func(sure bool)) { t.failed = append(t.failed, fn) }

// in returns the transaction behind a Tx. It panics for another kind of store.
func in(of engine.Tx) *tx { return of.Handle().(*tx) }

// CaseStore implements engine.Database.
func (s *Store) CaseStore() engine.CaseStore { return s }

// WatchStore implements engine.Database.
func (s *Store) WatchStore() engine.WatchStore { return s }

// ExpiryStore implements engine.Database.
func (s *Store) ExpiryStore() engine.ExpiryStore { return s }

// NoteStore implements engine.Database.
func (s *Store) NoteStore() engine.NoteStore { return s }

// ActStore implements engine.Database.
func (s *Store) ActStore() engine.ActStore { return s }

// KeyStore implements engine.Database.
func (s *Store) KeyStore() engine.KeyStore { return s }

// QueueStore implements engine.Database.
func (s *Store) QueueStore() engine.QueueStore { return s }

// GroupRows implements engine.Database: the reference model has tasks and cases, and no inbox.
func (s *Store) GroupRows() engine.GroupRows { return noGroups{} }

type noGroups struct{}

func (noGroups) AddTally(context.Context, engine.Tx, *deadletter.Tally) error { return nil }

func (noGroups) AddSends(context.Context, engine.Tx, []deadletter.Send) error {
	return nil
}

// KeepSettings implements engine.SettingsKeeper: there are no views.
func (s *Store) KeepSettings(context.Context, map[string]int64) error { return nil }

// change is one entry of the journal. redo runs twice, once on each state; undo once, on the writer's state. Neither
// may read anything but its arguments.
type change struct{ redo, undo func(*state) }

// do makes a change and records it. undo must have been made before: it restores the present state.
func (t *tx) do(c change) {
	c.redo(t.s)
	t.journal = append(t.journal, c)
}

// rollback undoes the changes, the last one first.
func (t *tx) rollback() {
	for _, c := range slices.Backward(t.journal) {
		c.undo(t.s)
	}
	t.journal = nil
}

func (t *tx) setTask(id task.ID, row *task.Task) {
	old := t.s.tasks[id]
	t.touched[id] = true
	t.do(change{
		redo: func(s *state) { s.setTask(id, row) },
		undo: func(s *state) { s.setTask(id, old) },
	})
}

func (t *tx) setStep(id task.ID, row *task.Step) {
	old := t.s.steps[id]
	if row != nil {
		t.touched[row.TaskID] = true
	}
	t.do(change{
		redo: func(s *state) { s.setStep(id, row) },
		undo: func(s *state) { s.setStep(id, old) },
	})
}

// put stores a value in another table. The value must not be changed afterwards.
func put[K comparable, V any](t *tx, table func(*state) map[K]V, k K, v V) {
	t.do(change{
		redo: func(s *state) { table(s)[k] = v },
		undo: restore(t, table, k),
	})
}

func drop[K comparable, V any](t *tx, table func(*state) map[K]V, k K) {
	t.do(change{
		redo: func(s *state) { delete(table(s), k) },
		undo: restore(t, table, k),
	})
}

// restore returns the undo of a change to k that comes next.
func restore[K comparable, V any](t *tx, table func(*state) map[K]V, k K) func(*state) {
	old, existed := table(t.s)[k]
	return func(s *state) {
		if existed {
			table(s)[k] = old
		} else {
			delete(table(s), k)
		}
	}
}

func attemptsTable(s *state) map[task.ID][]task.Attempt { return s.attempts }
func eventsTable(s *state) map[task.ID][]task.Event     { return s.events }
func actsTable(s *state) map[task.ID][]task.Act         { return s.acts }
func keysTable(s *state) map[engine.KeyName]binding     { return s.keys }
func templatesTable(s *state) map[int64]*task.Template  { return s.templates }
func routesTable(s *state) map[int64]*task.Route        { return s.routes }
func workersTable(s *state) map[int64]*task.Worker      { return s.workers }
func casesTable(s *state) map[task.ID]*task.Case        { return s.cases }
func watchesTable(s *state) map[task.ID]task.Instant    { return s.watches }
func notesTable(s *state) map[string]string             { return s.notes }
func lastActTable(s *state) map[string]int64            { return s.lastAct }
func lastWorkerTable(s *state) map[string]int64         { return s.lastWorker }
