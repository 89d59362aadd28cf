package kernel

import (
	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// Announce sends inbox events to listeners after the commit, if the store can observe that. It must be called last in
// the transaction, so that later commits are not queued before it.
func (e *Kernel) Announce(tx Tx, events ...deadletter.Event) {
	pass := e.feed.Begin()
	if !tx.Handle().AfterCommit(func() { pass.End("", nil) }) {
		pass.End("", nil)
		return
	}
	tx.Handle().AfterRollback(func(sure bool) {
		if sure {
			pass.Restart() // while queued, End would report that something may be missing
		}
		pass.End("", errRolledBack)
	})
	changes := make([]feed.Change, len(events))
	for i, ev := range events {
		changes[i] = feed.InboxChange(ev)
	}
	pass.Enter(changes)
}
