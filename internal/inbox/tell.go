package inbox

import (
	"context"
	"errors"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// tell reports events: to listeners after the commit, and to webhooks by rows in the same transaction. It must be the
// last step of a transaction; see engine.Announce.
func (in *Inbox) tell(ctx context.Context, tx engine.Tx, events ...deadletter.Event) error {
	if len(events) == 0 {
		return nil
	}
	if err := in.StoreEvents(ctx, tx, events...); err != nil {
		return err
	}
	in.observeDiscards(tx, events)
	in.tasks.Announce(tx, events...)
	return nil
}

// StoreEvents stores the events that a webhook receives. It implements engine.EventHooks.
func (in *Inbox) StoreEvents(ctx context.Context, tx engine.Tx, events ...deadletter.Event) error {
	var stored []deadletter.Event
	for _, e := range events {
		if in.hooked(&e) {
			e.ID = in.newID()
			stored = append(stored, e)
		}
	}
	if len(stored) == 0 {
		return nil
	}
	return in.store.AddEvents(ctx, tx, stored)
}

// tellRedrive reports that a redrive has entered a new state. Counts read every item, so waves, of which there may be
// thousands, go without.
func (in *Inbox) tellRedrive(ctx context.Context, tx engine.Tx, r *deadletter.Redrive,
	was model.RedriveState, counts *model.ItemCounts,
) error {
	if r.State == was {
		return nil
	}
	return in.tell(ctx, tx, deadletter.RedriveHappened(r, was, counts, in.now()))
}

func (in *Inbox) actedOnRedrive(ctx context.Context, tx engine.Tx, r *deadletter.Redrive, was model.RedriveState,
	counts *model.ItemCounts, a act,
) error {
	a.namespace, a.of, a.from, a.to = r.Namespace, r.ID.String(), string(was), string(r.State)
	return errors.Join(in.act(ctx, tx, a), in.tellRedrive(ctx, tx, r, was, counts))
}

func (in *Inbox) actedOnReplay(ctx context.Context, tx engine.Tx, r *deadletter.Replay, was model.ReplayState, a act,
) error {
	a.namespace, a.of, a.from, a.to = r.Namespace, r.ID.String(), string(was), string(r.State)
	namespace, source := r.Namespace, r.Source
	tx.Handle().AfterCommit(func() { in.opts.Observer.ReplayEntered(namespace, source, a.to) })
	return errors.Join(in.act(ctx, tx, a), in.tell(ctx, tx, deadletter.ReplayHappened(r, was, in.now())))
}

func (in *Inbox) countsOf(ctx context.Context, id task.ID) (*model.ItemCounts, error) {
	r, err := in.store.FindRedrive(ctx, id)
	if err != nil || r == nil {
		return nil, err
	}
	c, err := in.store.CountItems(ctx, r)
	if err != nil {
		return nil, err
	}
	return &c, nil
}
