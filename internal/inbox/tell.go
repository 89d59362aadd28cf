package inbox

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
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

// observeDiscards must follow the commit of the discards.
func (in *Inbox) observeDiscards(tx engine.Tx, events []deadletter.Event) {
	for _, e := range events {
		if e.Kind == deadletter.EventDiscarded {
			tx.Handle().AfterCommit(func() {
				in.opts.Observer.Discarded(e.Namespace, e.Object, e.Where, e.Title, e.Total)
			})
		}
	}
}
