// Package sealed keeps what templates mark as sensitive encrypted in a store: a layer between the engine and a store,
// which encrypts rows when they are written and decrypts them when they are read. The engine works with clear text, the
// store and everything that reads it apart from the engine sees encrypted values.
//
// Start with Seals in seals.go. tx.go has the rows of tasks and steps in a transaction, reads.go those of a committed
// state, and roles.go the rows of other domains.
//
// What is written is changed for the duration of the call only: rows belong to the caller. A document that cannot be
// decrypted is replaced by one of task.Unopened, which is stored again as it was.
package sealed
