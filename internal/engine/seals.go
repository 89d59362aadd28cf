package engine

import (
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Seals keeps what templates mark as sensitive encrypted in the store. Verbs work with clear text: they see rows
// through the Database and the Tx that it returns. A document that cannot be decrypted here is one of task.Unopened.
type Seals interface {
	// Database returns the roles of a database; its Write begins transactions of the database itself.
	Database(db Database) Database
	// Tx returns a transaction of that database; one that it has returned stays as it is.
	Tx(tx Tx) Tx
	// Forget forgets what it knows about templates: the database turned out to be another one.
	Forget()
}

// unopened gives a step back whose input cannot be decrypted here. Neither an attempt nor a pass of a rate is charged,
// and it is never put in error: it runs as soon as a node that has the key takes it.
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
