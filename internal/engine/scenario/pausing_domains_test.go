package scenario_test

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// pauseIn pauses only transactions of a script.
func pauseIn(tx engine.Tx, at string) {
	if x, ok := tx.(*pausingTx); ok {
		x.pause(at)
	}
}

type pausingCases struct{ engine.CaseStore }

func (s *pausingStore) CaseStore() engine.CaseStore { return pausingCases{s.Store.CaseStore()} }

func (p pausingCases) AddCases(ctx context.Context, tx engine.Tx, cases []*task.Case) error {
	pauseIn(tx, "AddCases")
	return p.CaseStore.AddCases(ctx, tx, cases)
}

func (p pausingCases) Case(ctx context.Context, tx engine.Tx, id task.ID) (*task.Case, error) {
	pauseIn(tx, "Case")
	return p.CaseStore.Case(ctx, tx, id)
}

func (p pausingCases) PendingCases(ctx context.Context, tx engine.Tx, tasks []task.ID) ([]*task.Case, error) {
	pauseIn(tx, "PendingCases")
	return p.CaseStore.PendingCases(ctx, tx, tasks)
}

func (p pausingCases) CasesOf(ctx context.Context, tx engine.Tx, tasks []task.ID) ([]*task.Case, error) {
	pauseIn(tx, "CasesOf")
	return p.CaseStore.CasesOf(ctx, tx, tasks)
}

func (p pausingCases) DeleteCases(ctx context.Context, tx engine.Tx, ids []task.ID) error {
	pauseIn(tx, "DeleteCases")
	return p.CaseStore.DeleteCases(ctx, tx, ids)
}

func (p pausingCases) SaveCases(ctx context.Context, tx engine.Tx, cases []*task.Case) error {
	pauseIn(tx, "SaveCases")
	return p.CaseStore.SaveCases(ctx, tx, cases)
}

func (p pausingCases) RecurCases(ctx context.Context, tx engine.Tx, cases []*task.Case) error {
	pauseIn(tx, "RecurCases")
	return p.CaseStore.RecurCases(ctx, tx, cases)
}

func (p pausingCases) Evidence(ctx context.Context, tx engine.Tx,
	tasks []task.ID,
) (map[task.ID]engine.Evidence, error) {
	pauseIn(tx, "Evidence")
	return p.CaseStore.Evidence(ctx, tx, tasks)
}

type pausingWatches struct{ engine.WatchStore }

func (s *pausingStore) WatchStore() engine.WatchStore { return pausingWatches{s.Store.WatchStore()} }

func (p pausingWatches) Watch(ctx context.Context, tx engine.Tx, watches []engine.Watch) error {
	pauseIn(tx, "Watch")
	return p.WatchStore.Watch(ctx, tx, watches)
}

func (p pausingWatches) Rewatch(ctx context.Context, tx engine.Tx, moves []engine.WatchMove) error {
	pauseIn(tx, "Rewatch")
	return p.WatchStore.Rewatch(ctx, tx, moves)
}

type pausingActs struct{ engine.ActStore }

func (s *pausingStore) ActStore() engine.ActStore { return pausingActs{s.Store.ActStore()} }

func (p pausingActs) AddActs(ctx context.Context, tx engine.Tx, acts []task.Act) error {
	pauseIn(tx, "AddActs")
	return p.ActStore.AddActs(ctx, tx, acts)
}

type pausingKeys struct{ engine.KeyStore }

func (s *pausingStore) KeyStore() engine.KeyStore { return pausingKeys{s.Store.KeyStore()} }

func (p pausingKeys) TakeKeys(ctx context.Context, tx engine.Tx,
	asks []engine.KeyAsk, now, expires task.Instant, patient bool,
) ([]engine.KeyAnswer, error) {
	pauseIn(tx, "TakeKeys")
	return p.KeyStore.TakeKeys(ctx, tx, asks, now, expires, patient)
}

func (p pausingKeys) BindKey(ctx context.Context, tx engine.Tx, name engine.KeyName, to engine.Binding,
	expires task.Instant,
) error {
	pauseIn(tx, "BindKey")
	return p.KeyStore.BindKey(ctx, tx, name, to, expires)
}

func (p pausingKeys) DropKeys(ctx context.Context, tx engine.Tx, before task.Instant, limit int) (int, error) {
	pauseIn(tx, "DropKeys")
	return p.KeyStore.DropKeys(ctx, tx, before, limit)
}
