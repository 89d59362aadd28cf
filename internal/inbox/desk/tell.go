package desk

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// Tell reports events: to listeners after the commit, and to webhooks by rows in the same transaction. It must be the
// last step of a transaction; see engine.Announce.
func (in *Desk) Tell(ctx context.Context, tx engine.Tx, events ...deadletter.Event) error {
	if len(events) == 0 {
		return nil
	}
	if err := in.Hooks.StoreEvents(ctx, tx, events...); err != nil {
		return err
	}
	in.observeDiscards(tx, events)
	in.Tasks.Announce(tx, events...)
	return nil
}

// observeDiscards must follow the commit of the discards.
func (in *Desk) observeDiscards(tx engine.Tx, events []deadletter.Event) {
	for _, e := range events {
		if e.Kind == deadletter.EventDiscarded {
			tx.Handle().AfterCommit(func() {
				in.Observer.Discarded(e.Namespace, e.Object, e.Where, e.Title, e.Total)
			})
		}
	}
}
