// Package engine holds the use cases of Tasker, one verb per method: submit,
// claim, start, progress, settle, heartbeat, release, cancel, and the acts of
// an operator on a step.
//
// A verb takes many items and is one transaction of the store. Concurrent
// callers of a verb are coalesced, so a thousand callers share one commit.
// Items answer one by one: a stale token is that item's answer, not the
// batch's.
//
// A verb is deterministic given the store and the clock: it loads the rows it
// needs, lets the pure functions of package task decide, and saves what
// changed. The engine starts no goroutine and never reads the wall clock.
package engine
