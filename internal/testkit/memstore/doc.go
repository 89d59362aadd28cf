// Package memstore keeps everything in memory. It is the reference model of engine.Store: the standard for the other
// stores, and the store of tests and simulations.
//
// It is written to be obviously right rather than fast. Stored rows are immutable: a change replaces a row. There are
// two copies of the state, which share those rows. A transaction works on the first and keeps a journal; a commit
// replays the journal on the second, which readers see, and a rollback undoes it on the first.
//
// A commit checks the invariants of the engine (see check.go) and refuses a transaction that breaks one, so every test
// of the engine on a memstore finds such bugs.
//
// Begin with store.go (one writer, many readers), then tx.go (the journal) and state.go (the tables). The other files
// implement the roles of the engine: work.go and tasks.go in a transaction, the files read*.go outside of one. Every
// reader has the same four lines: read, check the error, defer done, and copy rows.
package memstore
