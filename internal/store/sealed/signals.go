package sealed

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/kit/vault"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (d *database) SignalStore() engine.SignalStore {
	return &signals{d.Database.SignalStore(), d.seals}
}

// signals are for steps of any template, so their payloads are encrypted whole.
type signals struct {
	engine.SignalStore
	seals *Seals
}

func ofSignal(name task.SignalName) vault.Place {
	return vault.Place{Kind: vault.Signal, ID: name.Namespace + "\x00" + name.ID}
}

func (s *signals) AddSignal(ctx context.Context, tx engine.Tx, one *task.Signal) (*task.Signal, error) {
	stored := *one
	if len(one.Payload) > 0 {
		var err error
		if stored.Payload, err = s.seals.sealed(sensitive.All(), one.Payload, ofSignal(one.SignalName)); err != nil {
			return nil, err
		}
	}
	return s.SignalStore.AddSignal(ctx, tx, &stored)
}

// SignalsNamed implements engine.SignalStore. A payload becomes a result: an undecryptable one is an error for now.
func (s *signals) SignalsNamed(ctx context.Context, tx engine.Tx, names []task.SignalName) ([]task.Signal, error) {
	list, err := s.SignalStore.SignalsNamed(ctx, tx, names)
	for i := range list {
		if err != nil {
			return nil, err
		}
		list[i].Payload, err = s.seals.must(list[i].Payload, ofSignal(list[i].SignalName))
	}
	return list, err
}
