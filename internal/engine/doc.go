// Package engine carries out the use cases of Tasker, one verb per method: submit, claim, start, progress, settle,
// heartbeat, release, cancel, and the acts of an operator on a step.
//
// A verb takes many items and runs as one transaction of the store. Concurrent callers of a verb are coalesced, so that
// a thousand callers share one commit. Each item has its own answer: a stale token fails that item, not the batch.
//
// A verb is deterministic given the store and the clock: it loads the rows that it needs, lets the pure functions of
// package task decide, and saves what changed. The engine starts no goroutine and never reads the wall clock.
//
// The main types are:
//
//   - Engine has the verbs. Options and Config set it up.
//   - Store, Tx and the smaller roles beside them are what the engine needs from a database.
//   - unit is the unit of work of one transaction: the loaded rows, and everything to save at the end.
//   - feature is what a unit knows of limits, cases, children and so on; features.go lists them, ranks.go has the order
//     in which they store what has changed.
//   - queue is where ready steps are claimed: storeQueue, or dispatchQueue in front of a Dispatcher.
//   - waiters wakes pollers and callers when a committed transaction made what they wait for happen.
//   - coordinator settles the terms of several processes on one database.
//
// Begin with engine.go, then follow one task: submission.go and submit.go, claim.go, settle.go, with unit.go and
// unit_rows.go beside them. Then read queue.go, the dispatch_*.go files for a dispatcher, and the coordinator*.go files
// for several processes. The store*.go files declare the roles of a database.
package engine
