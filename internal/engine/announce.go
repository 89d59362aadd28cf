package engine

import (
	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// Announce tells listeners of events of the inbox once the transaction that they happened in is committed; if it is
// rolled back they are forgotten. It must be the last thing that the transaction does, because what commits later must
// not be in line before. Where the store cannot observe the commit, nothing is announced.
func (e *Engine) Announce(tx Tx, events ...deadletter.Event) {
	pass := e.feed.Begin()
	if !tx.Handle().AfterCommit(func() { pass.End("", nil) }) {
		pass.End("", nil)
		return
	}
	tx.Handle().AfterRollback(func(sure bool) {
		if sure {
			pass.Restart() // in line, End would report that something may be missing
		}
		pass.End("", errRolledBack)
	})
	changes := make([]feed.Change, len(events))
	for i, ev := range events {
		changes[i] = feed.InboxChange(ev)
	}
	pass.Enter(changes)
}
