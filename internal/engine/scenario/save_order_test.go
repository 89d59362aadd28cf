package scenario_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

// saveOrder is the order in which a unit of work stores its changes, from its tasks on. Transactions that lock rows
// of two tables in different orders can block each other. What precedes it depends on the verb: inserted rows, turns,
// signals.
var saveOrder = []string{
	"SaveTasks", "SaveContext", "SaveSteps",
	"AddCases", "RecurCases", "SaveCases", "AddTally",
	"AddPermits", "Refund", "FreePasses", "FreePermits", "Signal",
	"WakeFanOuts", "MarkChildren",
	"AddAttempts", "AddEvents", "AddSends", "SaveCheckpoint", "DropCheckpoint", "ChangeWaits", "AddLog", "AddActs",
	"OpenOutage", "SaveOutage",
	"Workers", "SaveWorker",
}

// unscripted are calls that no script makes; they have their own tests.
var unscripted = []string{"AddSends", "AddLog", "Refund"}

// unordered drops calls that follow a saved outage by design: the act on it, and further outages.
func unordered(calls []string) []string {
	outage := slices.Index(calls, "SaveOutage")
	if outage < 0 {
		return calls
	}
	return append(slices.Clone(calls[:outage+1]), slices.DeleteFunc(slices.Clone(calls[outage+1:]),
		func(c string) bool { return c == "AddActs" || c == "OpenOutage" || c == "SaveOutage" })...)
}

func TestSaveOrder(t *testing.T) {
	t.Parallel()
	rank := map[string]int{}
	for i, call := range saveOrder {
		rank[call] = i + 1
	}
	seen := map[string]bool{}
	for _, script := range scripts(t, ".") {
		s := &journalled{Database: memstore.New(nil), open: map[engine.Handle]*[]string{}}
		run(t, script.text, s, func() engine.Database { return s })
		for _, calls := range s.done {
			for _, c := range calls {
				seen[c] = true
			}
			from := len(calls)
			for i, c := range calls {
				if c == "SaveTasks" {
					from = i
				}
			}
			end := unordered(calls[from:])
			for i := 1; i < len(end); i++ {
				if rank[end[i]] < rank[end[i-1]] {
					t.Errorf("%s: %s comes after %s: %s", script.name, end[i], end[i-1], strings.Join(calls, " "))
				}
			}
		}
	}
	for _, call := range saveOrder {
		if !seen[call] && !slices.Contains(unscripted, call) {
			t.Errorf("no script calls %s: its place in the order is not proved", call)
		}
	}
}

// journalled keeps the calls that store or lock rows, for each committed transaction.
type journalled struct {
	engine.Database

	mu   sync.Mutex
	open map[engine.Handle]*[]string
	done [][]string
}

func (j *journalled) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	var last *[]string
	err := j.Database.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		h := tx.Handle()
		last = new([]string)
		j.mu.Lock()
		j.open[h] = last
		j.mu.Unlock()
		defer func() {
			j.mu.Lock()
			delete(j.open, h)
			j.mu.Unlock()
		}()
		return fn(ctx, journalledTx{tx, j})
	})
	if err == nil && last != nil {
		j.mu.Lock()
		j.done = append(j.done, *last)
		j.mu.Unlock()
	}
	return err
}

func (j *journalled) note(tx engine.Tx, call string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	calls := j.open[tx.Handle()]
	if calls != nil && (len(*calls) == 0 || (*calls)[len(*calls)-1] != call) {
		*calls = append(*calls, call)
	}
}

func noted[T any](ctx context.Context, j *journalled, tx engine.Tx, call string,
	do func(context.Context, engine.Tx, T) error, rows T,
) error {
	j.note(tx, call)
	return do(ctx, tx, rows)
}

type journalledTx struct {
	engine.Tx
	j *journalled
}

func (tx journalledTx) SaveTasks(ctx context.Context, rows []*task.Task) error {
	tx.j.note(tx, "SaveTasks")
	return tx.Tx.SaveTasks(ctx, rows)
}

func (tx journalledTx) SaveContext(ctx context.Context, t *task.Task) error {
	tx.j.note(tx, "SaveContext")
	return tx.Tx.SaveContext(ctx, t)
}

func (tx journalledTx) SaveSteps(ctx context.Context, rows []*task.Step) error {
	tx.j.note(tx, "SaveSteps")
	return tx.Tx.SaveSteps(ctx, rows)
}

func (tx journalledTx) AddAttempts(ctx context.Context, rows []task.Attempt) error {
	tx.j.note(tx, "AddAttempts")
	return tx.Tx.AddAttempts(ctx, rows)
}

func (tx journalledTx) AddEvents(ctx context.Context, rows []task.Event) error {
	tx.j.note(tx, "AddEvents")
	return tx.Tx.AddEvents(ctx, rows)
}

func (tx journalledTx) Workers(ctx context.Context, nos []int64) ([]*task.Worker, error) {
	tx.j.note(tx, "Workers")
	return tx.Tx.Workers(ctx, nos)
}

func (tx journalledTx) SaveWorker(ctx context.Context, w *task.Worker) error {
	tx.j.note(tx, "SaveWorker")
	return tx.Tx.SaveWorker(ctx, w)
}

func (j *journalled) CaseStore() engine.CaseStore { return journalledCases{j.Database.CaseStore(), j} }

type journalledCases struct {
	engine.CaseStore
	j *journalled
}

func (s journalledCases) AddCases(ctx context.Context, tx engine.Tx, rows []*task.Case) error {
	return noted(ctx, s.j, tx, "AddCases", s.CaseStore.AddCases, rows)
}

func (s journalledCases) RecurCases(ctx context.Context, tx engine.Tx, rows []*task.Case) error {
	return noted(ctx, s.j, tx, "RecurCases", s.CaseStore.RecurCases, rows)
}

func (s journalledCases) SaveCases(ctx context.Context, tx engine.Tx, rows []*task.Case) error {
	return noted(ctx, s.j, tx, "SaveCases", s.CaseStore.SaveCases, rows)
}

func (j *journalled) GroupRows() engine.GroupRows { return journalledGroups{j.Database.GroupRows(), j} }

type journalledGroups struct {
	engine.GroupRows
	j *journalled
}

func (s journalledGroups) AddTally(ctx context.Context, tx engine.Tx, rows *deadletter.Tally) error {
	return noted(ctx, s.j, tx, "AddTally", s.GroupRows.AddTally, rows)
}

func (s journalledGroups) AddSends(ctx context.Context, tx engine.Tx, rows []deadletter.Send) error {
	return noted(ctx, s.j, tx, "AddSends", s.GroupRows.AddSends, rows)
}

func (j *journalled) GateStore() engine.GateStore { return journalledGates{j.Database.GateStore(), j} }

type journalledGates struct {
	engine.GateStore
	j *journalled
}

func (s journalledGates) AddPermits(ctx context.Context, tx engine.Tx, rows []engine.Permit) error {
	return noted(ctx, s.j, tx, "AddPermits", s.GateStore.AddPermits, rows)
}

func (s journalledGates) Refund(ctx context.Context, tx engine.Tx, rows []engine.Pass) error {
	return noted(ctx, s.j, tx, "Refund", s.GateStore.Refund, rows)
}

func (s journalledGates) FreePasses(ctx context.Context, tx engine.Tx, rows []task.ID) error {
	return noted(ctx, s.j, tx, "FreePasses", s.GateStore.FreePasses, rows)
}

func (s journalledGates) FreePermits(ctx context.Context, tx engine.Tx, rows []task.ID) error {
	return noted(ctx, s.j, tx, "FreePermits", s.GateStore.FreePermits, rows)
}

func (s journalledGates) Signal(ctx context.Context, tx engine.Tx, rows []engine.Gate) error {
	return noted(ctx, s.j, tx, "Signal", s.GateStore.Signal, rows)
}

func (j *journalled) ChildStore() engine.ChildStore {
	return journalledChildren{j.Database.ChildStore(), j}
}

type journalledChildren struct {
	engine.ChildStore
	j *journalled
}

func (s journalledChildren) WakeFanOuts(ctx context.Context, tx engine.Tx, rows []*task.Step) error {
	return noted(ctx, s.j, tx, "WakeFanOuts", s.ChildStore.WakeFanOuts, rows)
}

func (s journalledChildren) MarkChildren(ctx context.Context, tx engine.Tx, rows []engine.ChildMark) error {
	return noted(ctx, s.j, tx, "MarkChildren", s.ChildStore.MarkChildren, rows)
}

func (j *journalled) CheckpointStore() engine.CheckpointStore {
	return journalledCheckpoints{j.Database.CheckpointStore(), j}
}

type journalledCheckpoints struct {
	engine.CheckpointStore
	j *journalled
}

func (s journalledCheckpoints) SaveCheckpoint(ctx context.Context, tx engine.Tx, c *task.Checkpoint) error {
	return noted(ctx, s.j, tx, "SaveCheckpoint", s.CheckpointStore.SaveCheckpoint, c)
}

func (s journalledCheckpoints) DropCheckpoint(ctx context.Context, tx engine.Tx, step task.ID) error {
	return noted(ctx, s.j, tx, "DropCheckpoint", s.CheckpointStore.DropCheckpoint, step)
}

func (j *journalled) WaitStore() engine.WaitStore { return journalledWaits{j.Database.WaitStore(), j} }

type journalledWaits struct {
	engine.WaitStore
	j *journalled
}

func (s journalledWaits) ChangeWaits(ctx context.Context, tx engine.Tx, put []task.StepWait, drop []task.ID) error {
	s.j.note(tx, "ChangeWaits")
	return s.WaitStore.ChangeWaits(ctx, tx, put, drop)
}

func (j *journalled) LogStore() engine.LogStore { return journalledLogs{j.Database.LogStore(), j} }

type journalledLogs struct {
	engine.LogStore
	j *journalled
}

func (s journalledLogs) AddLog(ctx context.Context, tx engine.Tx, l *task.AttemptLog, kept int) error {
	s.j.note(tx, "AddLog")
	return s.LogStore.AddLog(ctx, tx, l, kept)
}

func (j *journalled) ActStore() engine.ActStore { return journalledActs{j.Database.ActStore(), j} }

type journalledActs struct {
	engine.ActStore
	j *journalled
}

func (s journalledActs) AddActs(ctx context.Context, tx engine.Tx, rows []task.Act) error {
	return noted(ctx, s.j, tx, "AddActs", s.ActStore.AddActs, rows)
}

func (j *journalled) OutageStore() engine.OutageStore {
	return journalledOutages{j.Database.OutageStore(), j}
}

type journalledOutages struct {
	engine.OutageStore
	j *journalled
}

func (s journalledOutages) OpenOutage(ctx context.Context, tx engine.Tx, route int64) (*task.Outage, error) {
	s.j.note(tx, "OpenOutage")
	return s.OutageStore.OpenOutage(ctx, tx, route)
}

func (s journalledOutages) SaveOutage(ctx context.Context, tx engine.Tx, o *task.Outage) error {
	return noted(ctx, s.j, tx, "SaveOutage", s.OutageStore.SaveOutage, o)
}
