package cases

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// FailedTask is a task in error, with its case.
type FailedTask struct {
	Case *task.Case // without its snapshot
	Task *task.Task
	// Failed is its last failed attempt, or nil.
	Failed *task.Attempt
}

// FailedTaskPage is one page of failed tasks.
type FailedTaskPage struct {
	Tasks  []FailedTask
	Total  int     // of all pages, up to a bound
	Capped bool    // there are more
	Next   task.ID // to continue below; zero at the end
}

const countedFailedTasks = 10_000

// FailedTasks returns a page of failed tasks, the newest first. f.Status pending implies f.InError. Invalid: a limit
// or offset out of bounds. The page ends early at Limits.PageBytes.
func (e *Room) FailedTasks(ctx context.Context, f kernel.CaseFilter) (*FailedTaskPage, error) {
	if err := check.Page(f.Limit, f.Offset, e.Cfg.Limits.PageItems); err != nil {
		return nil, err
	}
	f.InError, f.Bytes = f.InError || f.Status == task.CasePending, -1
	cases, err := e.CaseReader.ListCases(ctx, f)
	if err != nil {
		return nil, err
	}
	page := &FailedTaskPage{}
	// A full page may be the last; the next one is empty then.
	if len(cases) == f.Limit {
		page.Next = cases[f.Limit-1].ID
	}
	f.Below, f.Offset = task.ID{}, 0
	if page.Total, err = e.CaseCounter.SizeOf(ctx, f, countedFailedTasks+1); err != nil {
		return nil, err
	}
	if page.Total > countedFailedTasks {
		page.Total, page.Capped = countedFailedTasks, true
	}
	size := 0
	for some := range slices.Chunk(cases, failedTasksAtOnce) {
		tasks, err := e.failedTasks(ctx, some)
		if err != nil {
			return nil, err
		}
		for _, l := range tasks {
			if size += l.size(); size > e.Cfg.Limits.PageBytes && len(page.Tasks) > 0 {
				page.Next = page.Tasks[len(page.Tasks)-1].Case.ID
				return page, nil
			}
			page.Tasks = append(page.Tasks, l)
		}
	}
	return page, nil
}

// failedTasksAtOnce bounds the tasks read at a time: rows beyond the bytes of a page are discarded.
const failedTasksAtOnce = 64

func (l *FailedTask) size() int {
	if l.Failed == nil || l.Failed.Failure == nil {
		return 0
	}
	f := l.Failed.Failure
	return len(f.Message) + len(f.Stack) + len(f.ResponseBody) + len(f.Details)
}

// failedTasks leaves out cases of deleted tasks. It uses two queries.
func (e *Room) failedTasks(ctx context.Context, cases []*task.Case) ([]FailedTask, error) {
	ids, stops := make([]task.ID, len(cases)), make([]kernel.Stop, len(cases))
	for i, c := range cases {
		step, err := e.stopper(ctx, c)
		if err != nil {
			return nil, err
		}
		ids[i], stops[i] = c.TaskID, kernel.Stop{Task: c.TaskID, Step: step}
	}
	tasks, err := e.Store.FindTasks(ctx, ids)
	if err != nil {
		return nil, err
	}
	attempts, err := e.Evidences.LastFailures(ctx, stops)
	if err != nil {
		return nil, err
	}
	of := map[task.ID]*task.Task{}
	for _, t := range tasks {
		of[t.ID] = t
	}
	failed := map[task.ID]*task.Attempt{}
	for i := range attempts {
		failed[attempts[i].TaskID] = &attempts[i]
	}
	var out []FailedTask
	for _, c := range cases {
		if t := of[c.TaskID]; t != nil {
			out = append(out, FailedTask{Case: c, Task: t, Failed: failed[t.ID]})
		}
	}
	return out, nil
}

func (e *Room) stopper(ctx context.Context, c *task.Case) (int, error) {
	if c.Step == "" {
		return 0, nil
	}
	def, err := e.TemplateOf(ctx, c.DefID)
	if err != nil {
		return 0, err
	}
	return 1 + slices.IndexFunc(def.Steps, func(s task.StepSpec) bool { return s.Name == c.Step }), nil
}
