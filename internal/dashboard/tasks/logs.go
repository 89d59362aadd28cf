package tasks

import (
	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/dashboard/page"
)

type logsPage struct {
	Step *tasker.Step
	Logs []attemptLog
}

// attemptLog is a log and the number of its shown bytes.
type attemptLog struct {
	tasker.AttemptLog
	Shown int64
}

func (p *pages) logs(r *page.Request) (out logsPage, err error) {
	id, err := r.UUID("uuid")
	if err != nil {
		return out, err
	}
	step, err := r.UUID("step")
	if err != nil {
		return out, err
	}
	if out.Step, err = p.api.Step(r.Context(), id, step); err != nil {
		return out, err
	}
	list, err := p.api.StepLogs(r.Context(), id, step)
	for _, l := range list {
		out.Logs = append(out.Logs, attemptLog{l, int64(len(l.Text))})
	}
	return out, err
}
