// Package kernel is what every task needs: the unit of work, the rows of tasks and steps and their moves, claims,
// leases, workers, and what holds steps back. Rooms beside it have the rest; package engine puts all together.
//
// A verb takes many items in one transaction of the store, and concurrent calls of a verb share a commit. Each item
// has its answer: a stale token fails that item, not the batch. A verb loads rows, lets the pure functions of package
// task decide, and saves the changes. The kernel starts no goroutine and never reads the wall clock.
//
// The main types are:
//
//   - Kernel has the verbs and what they share. Options sets it up.
//   - Store, Tx and smaller roles are the engine's view of a database; see store*.go.
//   - Unit is the unit of work of one transaction: the loaded rows, and everything to save at the end.
//   - Feature is a part such as limits, cases or children; features.go of package engine lists them, and ranks.go has
//     the order in which they store their changes. points.go has the moments at which the kernel calls them.
//   - queue is where ready steps are claimed: storeQueue, or dispatchQueue in front of a Dispatcher.
//   - waiters wakes pollers and callers after a commit.
//   - coordinator settles the terms of several processes on one database.
//
// Begin with kernel.go, then follow one task: submission.go and submit.go of package submit, claim.go, settle.go, with
// unit.go and unit_rows.go beside them. Then read queue.go, the dispatch_*.go files, and the coordinator*.go files.
package kernel
