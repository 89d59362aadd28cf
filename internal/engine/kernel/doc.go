// Package engine has the use cases of Tasker, one verb per method: submit, claim, start, progress, settle, heartbeat,
// release, cancel, and acts of operators.
//
// A verb takes many items in one transaction of the store, and concurrent calls of a verb share a commit. Each item
// has its answer: a stale token fails that item, not the batch.
//
// A verb loads rows, lets the pure functions of package task decide, and saves the changes. The engine starts no
// goroutine and never reads the wall clock.
//
// The main types are:
//
//   - Engine has the verbs. Options and Config set it up.
//   - Store, Tx and smaller roles are the engine's view of a database; see store*.go.
//   - unit is the unit of work of one transaction: the loaded rows, and everything to save at the end.
//   - feature is a part such as limits, cases or children; features.go lists them, and ranks.go has the order in
//     which they store their changes.
//   - queue is where ready steps are claimed: storeQueue, or dispatchQueue in front of a Dispatcher.
//   - waiters wakes pollers and callers after a commit.
//   - coordinator settles the terms of several processes on one database.
//
// Begin with engine.go, then follow one task: submission.go and submit.go, claim.go, settle.go, with unit.go and
// unit_rows.go beside them. Then read queue.go, the dispatch_*.go files, and the coordinator*.go files.
package kernel
