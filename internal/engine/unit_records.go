package engine

import (
	"github.com/taskerhq/tasker/internal/model/task"
)

// newRecords holds rows that a unit only adds.
// Their order is that of the changes, and readers rely on it.
type newRecords struct {
	u *unit

	attempts []task.Attempt
	events   []task.Event
	acts     []task.Act
	contexts []*task.Task // tasks whose contexts were edited
}

// addAttempts stores the attempts.
func (nr *newRecords) addAttempts() error {
	if len(nr.attempts) == 0 {
		return nil
	}
	return nr.u.tx.AddAttempts(nr.u.ctx, nr.attempts)
}

// addEvents stores the events.
func (nr *newRecords) addEvents() error {
	if len(nr.events) == 0 {
		return nil
	}
	return nr.u.tx.AddEvents(nr.u.ctx, nr.events)
}

// addActs signs and stores the acts.
func (nr *newRecords) addActs() error {
	if len(nr.acts) == 0 {
		return nil
	}
	if err := nr.sign(); err != nil {
		return err
	}
	return nr.u.e.actStore.AddActs(nr.u.ctx, nr.u.tx, nr.acts)
}

// sign completes the acts of the transaction: how their actors were authenticated, and the namespace and template of
// their tasks, which may be deleted before an act is read.
// An act with a template already has its names.
func (nr *newRecords) sign() error {
	for i := range nr.acts {
		a := &nr.acts[i]
		SignAct(a, nr.u.key)
		t := nr.u.rows.tasks[a.TaskID]
		if t == nil || a.Template != "" {
			continue
		}
		tpl, err := nr.u.rows.template(t.DefID)
		if err != nil {
			return err
		}
		a.Namespace, a.Template = tpl.Namespace, tpl.Name
	}
	return nil
}

// SignAct records how the actor of an act was authenticated: by a key, unless Tasker itself is the actor or no key is
// required. An actor of System is the program: no request can claim that name.
func SignAct(a *task.Act, key string) {
	switch {
	case a.Actor == System:
		a.Auth, a.Key = task.AuthSystem, ""
	case key != "":
		a.Auth, a.Key = task.AuthKey, key
	default:
		a.Auth, a.Key = task.AuthNone, ""
	}
}

// actOn returns the last act on a task in this transaction, or nil.
func (nr *newRecords) actOn(id task.ID) *task.Act {
	for i := len(nr.acts) - 1; i >= 0; i-- {
		if nr.acts[i].TaskID == id {
			return &nr.acts[i]
		}
	}
	return nil
}
