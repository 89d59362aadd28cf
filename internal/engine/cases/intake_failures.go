package cases

import (
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func IntakesFeature() kernel.Feature {
	return kernel.Feature{
		Name: "intakes",
		Of:   kernel.IntakeTask,
		Left: func(u *kernel.Unit, d kernel.Departure) {
			if d.Task.State == task.Errored {
				intakeSlot.Of(u).failed(d.Task)
			}
		},
		Stages: []kernel.Stage{{Rank: kernel.RankIntakes, Name: "intake failures", Locks: []string{"sends"},
			Save: intakeSlot.Save((*failedIntakes).save)}},
	}
}

type failedIntakes struct {
	u     *kernel.Unit
	sends []deadletter.Send
}

var intakeSlot = kernel.NewSlot(func(u *kernel.Unit) *failedIntakes { return &failedIntakes{u: u} })

func (fi *failedIntakes) failed(t *task.Task) {
	fi.sends = append(fi.sends, deadletter.Send{Owner: fi.u.E.Store.IDs().Take(fi.u.Now.Time(), 1), No: 1,
		Kind: deadletter.SendFailure, State: deadletter.SendPlanned, About: t.ID, At: fi.u.Now, NextAt: fi.u.Now})
}

func (fi *failedIntakes) save() error {
	return Of(fi.u.E).groupRows.AddSends(fi.u.Ctx, fi.u.Tx, fi.sends)
}
