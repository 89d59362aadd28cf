package engine

import (
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func intakesFeature() feature {
	return feature{
		name: "intakes",
		of:   intakeTask,
		left: func(u *unit, d departure) {
			if d.task.State == task.Errored {
				intakeSlot.of(u).failed(d.task)
			}
		},
		stages: []stage{{rankIntakes, "intake failures", []string{"sends"}, intakeSlot.save((*failedIntakes).save)}},
	}
}

type failedIntakes struct {
	u     *unit
	sends []deadletter.Send
}

var intakeSlot = newSlot(func(u *unit) *failedIntakes { return &failedIntakes{u: u} })

func (fi *failedIntakes) failed(t *task.Task) {
	fi.sends = append(fi.sends, deadletter.Send{Owner: fi.u.e.store.IDs().Take(fi.u.now.Time(), 1), No: 1,
		Kind: deadletter.SendFailure, State: deadletter.SendPlanned, About: t.ID, At: fi.u.now, NextAt: fi.u.now})
}

func (fi *failedIntakes) save() error {
	return fi.u.e.groupRows.AddSends(fi.u.ctx, fi.u.tx, fi.sends)
}
