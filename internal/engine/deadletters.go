package engine

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/task"
)

// DeadLetter is an entry of the dead-letter queue: a task that is in error, with
// its case.
type DeadLetter struct {
	Case *task.Case // without its snapshot
	Task *task.Task // as it is now
	// Failed is its last failed attempt, nil when there was none.
	Failed *task.Attempt
}

// DeadLetterPage is one page of the dead-letter queue.
type DeadLetterPage struct {
	Letters []DeadLetter
	Total   int     // of all pages, up to a bound
	Capped  bool    // there are more
	Next    task.ID // to continue below; zero at the end
}

// countedDeadLetters bounds how far entries are counted.
const countedDeadLetters = 10_000

// DeadLetters returns a page of entries, the newest first. While f.Status is pending,
// entries are tasks that are in error now, whatever f.InError.
func (e *Engine) DeadLetters(ctx context.Context, f CaseFilter) (*DeadLetterPage, error) {
	if err := e.checkPage(f.Limit, f.Offset); err != nil {
		return nil, err
	}
	f.InError, f.Bytes = f.InError || f.Status == task.CasePending, -1 // metadata is not shown
	cases, err := e.store.ListCases(ctx, f)
	if err != nil {
		return nil, err
	}
	page := &DeadLetterPage{}
	if len(cases) == f.Limit {
		page.Next = cases[f.Limit-1].ID
	}
	f.Below, f.Offset = task.ID{}, 0
	if page.Total, err = e.store.SizeOf(ctx, f, countedDeadLetters+1); err != nil {
		return nil, err
	}
	if page.Total > countedDeadLetters {
		page.Total, page.Capped = countedDeadLetters, true
	}
	size := 0
	for some := range slices.Chunk(cases, heavyLetters) {
		letters, err := e.letters(ctx, some)
		if err != nil {
			return nil, err
		}
		for _, l := range letters {
			if size += l.size(); size > e.cfg.Limits.PageBytes && len(page.Letters) > 0 {
				page.Next = page.Letters[len(page.Letters)-1].Case.ID
				return page, nil
			}
			page.Letters = append(page.Letters, l)
		}
	}
	return page, nil
}

// heavyLetters bounds how many entries are read at a time: what is read beyond the
// bytes of a page is thrown away.
const heavyLetters = 64

// size is about how many bytes what is said of the failure has.
func (l *DeadLetter) size() int {
	if l.Failed == nil || l.Failed.Failure == nil {
		return 0
	}
	f := l.Failed.Failure
	return len(f.Message) + len(f.Stack) + len(f.ResponseBody) + len(f.Details)
}

// letters adds tasks and last failures to cases; a case whose task was deleted
// meanwhile is left out.
func (e *Engine) letters(ctx context.Context, cases []*task.Case) ([]DeadLetter, error) {
	ids, stops := make([]task.ID, len(cases)), make([]Stop, len(cases))
	for i, c := range cases {
		step, err := e.stopper(ctx, c)
		if err != nil {
			return nil, err
		}
		ids[i], stops[i] = c.TaskID, Stop{c.TaskID, step}
	}
	tasks, err := e.store.FindTasks(ctx, ids)
	if err != nil {
		return nil, err
	}
	attempts, err := e.store.LastFailures(ctx, stops)
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
	var out []DeadLetter
	for _, c := range cases {
		if t := of[c.TaskID]; t != nil {
			out = append(out, DeadLetter{Case: c, Task: t, Failed: failed[t.ID]})
		}
	}
	return out, nil
}

// stopper returns the step whose failure the case of a task tells; zero for none.
func (e *Engine) stopper(ctx context.Context, c *task.Case) (task.ID, error) {
	if c.Step == "" {
		return task.ID{}, nil
	}
	def, err := e.TemplateOf(ctx, c.DefID)
	if err != nil {
		return task.ID{}, err
	}
	i := slices.IndexFunc(def.Steps, func(s task.StepSpec) bool { return s.Name == c.Step })
	return e.store.IDs().Step(c.TaskID, i+1), nil
}
