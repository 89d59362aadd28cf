package engine

import (
	"github.com/taskerhq/tasker/internal/model/task"
)

// newRecords are added rows in the order of the changes, on which readers rely.
type newRecords struct {
	u *unit

	attempts []task.Attempt
	events   []task.Event
	acts     []task.Act
	contexts []*task.Task
}

func (nr *newRecords) addAttempts() error {
	if len(nr.attempts) == 0 {
		return nil
	}
	return nr.u.tx.AddAttempts(nr.u.ctx, nr.attempts)
}

func (nr *newRecords) addEvents() error {
	if len(nr.events) == 0 {
		return nil
	}
	return nr.u.tx.AddEvents(nr.u.ctx, nr.events)
}

func (nr *newRecords) addActs() error {
	if len(nr.acts) == 0 {
		return nil
	}
	if err := nr.sign(); err != nil {
		return err
	}
	return nr.u.e.actStore.AddActs(nr.u.ctx, nr.u.tx, nr.acts)
}

// sign adds the authentication of actors, and namespace and template of tasks, which may be deleted before an act is
// read. An act with a template already has its names.
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

// SignAct records how an act's actor was authenticated: by a key, unless no key is required or the actor is System,
// which no request can claim.
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

func (nr *newRecords) actOn(id task.ID) *task.Act {
	for i := len(nr.acts) - 1; i >= 0; i-- {
		if nr.acts[i].TaskID == id {
			return &nr.acts[i]
		}
	}
	return nil
}
