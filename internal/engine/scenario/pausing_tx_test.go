package scenario_test

import (
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// What a transaction is asked, each after a pause. Ready is told apart: see pausing_test.go.

func (x *pausingTx) Between(route int64, after engine.Position, upTo int64, limit int) ([]*task.Step, error) {
	x.pause("Between")
	return x.Tx.Between(route, after, upTo, limit)
}

func (x *pausingTx) Due(queue int64, until task.Instant, limit int) ([]engine.Work, error) {
	x.pause("Due")
	return x.Tx.Due(queue, until, limit)
}

func (x *pausingTx) FirstDue(queue int64, after task.Instant) (task.Instant, error) {
	x.pause("FirstDue")
	return x.Tx.FirstDue(queue, after)
}

func (x *pausingTx) Held(worker int64, limit int) ([]engine.Work, error) {
	x.pause("Held")
	return x.Tx.Held(worker, limit)
}

func (x *pausingTx) Work(steps []task.ID) ([]engine.Work, error) {
	x.pause("Work")
	return x.Tx.Work(steps)
}

func (x *pausingTx) SaveSteps(steps []*task.Step) error {
	x.pause("SaveSteps")
	return x.Tx.SaveSteps(steps)
}

func (x *pausingTx) InsertTasks(tasks []*task.Task, steps []*task.Step) error {
	x.pause("InsertTasks")
	return x.Tx.InsertTasks(tasks, steps)
}

func (x *pausingTx) Contexts(ids []task.ID) ([][]byte, error) {
	x.pause("Contexts")
	return x.Tx.Contexts(ids)
}

func (x *pausingTx) Task(id task.ID) (*task.Task, error) {
	x.pause("Task")
	return x.Tx.Task(id)
}

func (x *pausingTx) Tasks(ids []task.ID) ([]*task.Task, error) {
	x.pause("Tasks")
	return x.Tx.Tasks(ids)
}

func (x *pausingTx) Steps(of []engine.Family) ([][]*task.Step, error) {
	x.pause("Steps")
	return x.Tx.Steps(of)
}

func (x *pausingTx) SaveTasks(tasks []*task.Task) error {
	x.pause("SaveTasks")
	return x.Tx.SaveTasks(tasks)
}

func (x *pausingTx) SaveContext(t *task.Task) error {
	x.pause("SaveContext")
	return x.Tx.SaveContext(t)
}

func (x *pausingTx) Overdue(until task.Instant, limit int) ([]*task.Task, error) {
	x.pause("Overdue")
	return x.Tx.Overdue(until, limit)
}

func (x *pausingTx) DeleteFinished(before task.Instant, limit int) (int, error) {
	x.pause("DeleteFinished")
	return x.Tx.DeleteFinished(before, limit)
}

func (x *pausingTx) AddAttempts(attempts []task.Attempt) error {
	x.pause("AddAttempts")
	return x.Tx.AddAttempts(attempts)
}

func (x *pausingTx) AddEvents(events []task.Event) error {
	x.pause("AddEvents")
	return x.Tx.AddEvents(events)
}

func (x *pausingTx) AddActs(acts []task.Act) error {
	x.pause("AddActs")
	return x.Tx.AddActs(acts)
}

func (x *pausingTx) TakeKeys(
	asks []engine.KeyAsk, now, expires task.Instant, patient bool,
) ([]engine.KeyAnswer, error) {
	x.pause("TakeKeys")
	return x.Tx.TakeKeys(asks, now, expires, patient)
}

func (x *pausingTx) BindKey(name engine.KeyName, to engine.Binding, expires task.Instant) error {
	x.pause("BindKey")
	return x.Tx.BindKey(name, to, expires)
}

func (x *pausingTx) DropKeys(before task.Instant, limit int) (int, error) {
	x.pause("DropKeys")
	return x.Tx.DropKeys(before, limit)
}

func (x *pausingTx) InsertTemplate(t *task.Template) (*task.Template, error) {
	x.pause("InsertTemplate")
	return x.Tx.InsertTemplate(t)
}

func (x *pausingTx) Template(def int64) (*task.Template, error) {
	x.pause("Template")
	return x.Tx.Template(def)
}

func (x *pausingTx) ExpectKnown(templates map[int64]*task.Template, routes map[int64]*task.Route) error {
	x.pause("ExpectKnown")
	return x.Tx.ExpectKnown(templates, routes)
}

func (x *pausingTx) InsertRoute(r *task.Route) error {
	x.pause("InsertRoute")
	return x.Tx.InsertRoute(r)
}

func (x *pausingTx) SaveWorker(w *task.Worker) error {
	x.pause("SaveWorker")
	return x.Tx.SaveWorker(w)
}

func (x *pausingTx) Workers(nos []int64) ([]*task.Worker, error) {
	x.pause("Workers")
	return x.Tx.Workers(nos)
}

func (x *pausingTx) ForgetWorkers(before task.Instant, limit int) (int, error) {
	x.pause("ForgetWorkers")
	return x.Tx.ForgetWorkers(before, limit)
}

func (x *pausingTx) AddCases(cases []*task.Case) error {
	x.pause("AddCases")
	return x.Tx.AddCases(cases)
}

func (x *pausingTx) Case(id task.ID) (*task.Case, error) {
	x.pause("Case")
	return x.Tx.Case(id)
}

func (x *pausingTx) PendingCases(tasks []task.ID) ([]*task.Case, error) {
	x.pause("PendingCases")
	return x.Tx.PendingCases(tasks)
}

func (x *pausingTx) CasesOf(tasks []task.ID) ([]*task.Case, error) {
	x.pause("CasesOf")
	return x.Tx.CasesOf(tasks)
}

func (x *pausingTx) DeleteCases(ids []task.ID) error {
	x.pause("DeleteCases")
	return x.Tx.DeleteCases(ids)
}

func (x *pausingTx) SaveCases(cases []*task.Case) error {
	x.pause("SaveCases")
	return x.Tx.SaveCases(cases)
}

func (x *pausingTx) RecurCases(cases []*task.Case) error {
	x.pause("RecurCases")
	return x.Tx.RecurCases(cases)
}

func (x *pausingTx) Evidence(tasks []task.ID) (map[task.ID]engine.Evidence, error) {
	x.pause("Evidence")
	return x.Tx.Evidence(tasks)
}

func (x *pausingTx) Watch(watches []engine.Watch) error {
	x.pause("Watch")
	return x.Tx.Watch(watches)
}

func (x *pausingTx) Rewatch(moves []engine.WatchMove) error {
	x.pause("Rewatch")
	return x.Tx.Rewatch(moves)
}

func (x *pausingTx) Note(key, text string) error {
	x.noted("Note", key)
	return x.Tx.Note(key, text)
}

func (x *pausingTx) DropNotes(keys []string) error {
	x.noted("DropNotes", keys...)
	return x.Tx.DropNotes(keys)
}

func (x *pausingTx) FirstNote(key, text string) error {
	x.noted("FirstNote", key)
	return x.Tx.FirstNote(key, text)
}
