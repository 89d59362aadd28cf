// Package sealed encrypts the values that templates mark as sensitive, in a layer between the engine and a store. The
// engine works with clear text; the store and its other readers see encrypted values.
//
// Start with Seals in seals.go. tx.go has the rows of tasks and steps in a transaction, reads.go those of a committed
// state, and roles.go the rows of other domains.
//
// Written rows belong to the caller and change only during the call. A document that cannot be decrypted is replaced by
// one of task.Unopened, which is stored again as it was.
package sealed
