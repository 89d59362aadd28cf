package kernel

import (
	"github.com/taskerhq/tasker/internal/model/task"
)

// newRecords are added rows in the order of the changes, on which readers rely.
type newRecords struct {
	u *Unit

	Attempts []task.Attempt
	events   []task.Event
	Acts     []task.Act
	Contexts []*task.Task
}

func (nr *newRecords) addAttempts() error {
	if len(nr.Attempts) == 0 {
		return nil
	}
	return nr.u.Tx.AddAttempts(nr.u.Ctx, nr.Attempts)
}

func (nr *newRecords) addEvents() error {
	if len(nr.events) == 0 {
		return nil
	}
	return nr.u.Tx.AddEvents(nr.u.Ctx, nr.events)
}

func (nr *newRecords) addActs() error {
	if len(nr.Acts) == 0 {
		return nil
	}
	if err := nr.sign(); err != nil {
		return err
	}
	return nr.u.E.ActStore.AddActs(nr.u.Ctx, nr.u.Tx, nr.Acts)
}

// sign adds the authentication of actors, and namespace and template of tasks, which may be deleted before an act is
// read. An act with a template already has its names.
func (nr *newRecords) sign() error {
	for i := range nr.Acts {
		a := &nr.Acts[i]
		SignAct(a, nr.u.Key)
		t := nr.u.Rows.Tasks[a.TaskID]
		if t == nil || a.Template != "" {
			continue
		}
		tpl, err := nr.u.Rows.Template(t.DefID)
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

func (nr *newRecords) ActOn(id task.ID) *task.Act {
	for i := len(nr.Acts) - 1; i >= 0; i-- {
		if nr.Acts[i].TaskID == id {
			return &nr.Acts[i]
		}
	}
	return nil
}
