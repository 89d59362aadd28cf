package kernel

import (
	"time"

	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Seals encrypts sensitive data in the store, below the verbs. A document that cannot be decrypted here is one of
// task.Unopened.
type Seals interface {
	// Database wraps a database; its Write begins transactions of the wrapped one.
	Database(db Database) Database
	// Tx wraps a transaction, once.
	Tx(tx Tx) Tx
	// Forget drops data about templates of another database.
	Forget()
}

// unopened gives back a step that cannot be decrypted here, without a charge or an error: a node with the key runs
// it.
func (rs *readySteps) unopened(w Work, what, reason string) error {
	u := rs.u
	if err := u.uncharged(w, task.Released, u.Now.Add(UndecidedWait)); err != nil {
		return err
	}
	if err := giveBackPasses(u, w); err != nil {
		return err
	}
	w.Step.Note = failure.Cut("not handed out: "+what+" cannot be decrypted: "+reason, MaxText)
	return nil
}

// UndecidedWait lets another node decide, or this one get a key.
const UndecidedWait = time.Minute
