package engine

import (
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Seals encrypts sensitive data in the store. Verbs see clear text through its Database and Tx. A document that
// cannot be decrypted here is one of task.Unopened.
type Seals interface {
	// Database wraps a database; its Write begins transactions of the wrapped one.
	Database(db Database) Database
	// Tx wraps a transaction, once.
	Tx(tx Tx) Tx
	// Forget drops data about templates, because the database is another one.
	Forget()
}

// unopened gives back a step whose input cannot be decrypted here, without charging an attempt or a pass of a rate
// and without error: a node with the key runs it.
func (rs *readySteps) unopened(w Work, what, reason string) error {
	u := rs.u
	if err := u.uncharged(w, task.Released, u.now.Add(undecidedWait)); err != nil {
		return err
	}
	if err := giveBackPasses(u, w); err != nil {
		return err
	}
	w.Step.Note = failure.Cut("not handed out: "+what+" cannot be decrypted: "+reason, maxText)
	return nil
}
