package store

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/engine"
)

// Handle is an open transaction of an SQL database. Its engine.Tx covers the engine's rows, and SQL the tables of every
// domain. It is valid until the transaction ends.
type Handle interface {
	engine.Handle
	// SQL runs portable statements in the transaction.
	SQL() SQL
}

// In returns portable SQL in a transaction of an SQL database. It panics for one of memstore: a domain has confused two
// stores, and the store that runs the transaction turns the panic into an error.
func In(tx engine.Tx) SQL {
	h, ok := tx.Handle().(Handle)
	if !ok {
		panic(fmt.Sprintf("store: a transaction of SQL was expected, not %T", tx.Handle()))
	}
	return h.SQL()
}

// The domains that need only portable SQL.

// CaseStore implements engine.Database. SQL has no state, so each role is the same value. postgres and sqlite override
// roles that need their own statements, such as KeyStore.
func (s SQL) CaseStore() engine.CaseStore { return s }

// ExpiryStore implements engine.Database.
func (s SQL) ExpiryStore() engine.ExpiryStore { return s }

// NoteStore implements engine.Database.
func (s SQL) NoteStore() engine.NoteStore { return s }

// ActStore implements engine.Database.
func (s SQL) ActStore() engine.ActStore { return s }

// GroupRows implements engine.Database.
func (s SQL) GroupRows() engine.GroupRows { return letterRows{s} }

// QueueStore implements engine.Database.
func (s SQL) QueueStore() engine.QueueStore { return s }
