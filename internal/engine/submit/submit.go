package submit

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/taskerhq/tasker/internal/engine/cases"
	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Receipt answers one submission.
type Receipt struct {
	ID      task.ID
	State   task.State
	Created bool  // false: a key named an existing task
	Err     error // *task.Error
	// Unique is the effect of the unique key; nil without one, or if no other task has it.
	Unique *UniqueMatch
	// Step is a copy of the stored first step of a Queued submission's new task; else nil.
	Step *task.Step
}

// Submit stores tasks durably in one transaction and answers in order.
//
// An invalid submission refuses the whole call with an Invalid error that lists every problem. With itemErrors it
// gets its own answer, the others are stored, and back-pressure decides about each. An idempotency key used for a
// different submission always gets its own answer. TooLarge: more than Limits.BatchItems submissions. Exhausted or
// Unavailable: back-pressure, with RetryAfter. Unavailable also when another open transaction binds a key for longer
// than keyPatience.
//
// Submit fills in the namespaces. It is safe for concurrent use; concurrent calls share a transaction.
func (e *Room) Submit(ctx context.Context, subs []Submission, itemErrors bool) ([]Receipt, error) {
	receipts, err := e.submit(ctx, subs, itemErrors)
	if errors.Is(err, kernel.ErrReplaced) {
		e.Forget()
		receipts, err = e.submit(ctx, subs, itemErrors)
	}
	return receipts, err
}

// submit does not retry after the database was replaced.
func (e *Room) submit(ctx context.Context, subs []Submission, itemErrors bool) ([]Receipt, error) {
	receipts, drafts, err := e.drafts(ctx, subs, itemErrors)
	if err != nil || len(drafts) == 0 {
		return receipts, err
	}
	entry, err := e.Backpressure.reserve(ctx, drafts, itemErrors)
	if err != nil {
		return nil, err
	}
	for d, refusal := range entry.refused {
		receipts[d.place].Err = refusal
	}
	var stored []Receipt
	defer func() { entry.release(stored) }()
	if len(entry.admitted) == 0 {
		return receipts, nil
	}
	if stored, err = e.storeDrafts(ctx, entry.admitted); err != nil {
		return nil, err
	}
	for i, r := range stored {
		receipts[entry.admitted[i].place] = r
	}
	return receipts, nil
}

const (
	// keyPause is the wait for a locked key. It doubles up to longestKeyPause; keyPatience bounds the total.
	keyPause        = 10 * time.Millisecond
	longestKeyPause = 500 * time.Millisecond
	keyPatience     = 15 * time.Second
)

// A call with a locked key waits here, where it delays no others.
func (e *Room) storeDrafts(ctx context.Context, drafts []*Draft) ([]Receipt, error) {
	pause := keyPause
	for waited := time.Duration(0); ; waited += pause {
		out, err := e.submits.Do(ctx, drafts)
		if err != nil || !out.locked {
			return out.receipts, err
		}
		if waited >= keyPatience {
			return nil, &task.Error{Code: task.Unavailable,
				Message: "another transaction that is still open submits under the same idempotency key or unique key",
				Hint:    "send it again: it is answered once that transaction has ended", Err: ErrKeyLocked}
		}
		pause = min(2*pause, longestKeyPause)
		if err := clock.Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// With itemErrors, the receipts have the faults of invalid submissions.
func (e *Room) drafts(ctx context.Context, subs []Submission,
	itemErrors bool,
) (receipts []Receipt, drafts []*Draft, err error) {
	if err := check.Batch("/tasks", len(subs), e.Cfg.Limits.BatchItems); err != nil {
		return nil, nil, err
	}
	receipts = make([]Receipt, len(subs))
	var problems []task.Problem
	for i := range subs {
		d, faults, err := e.Draft(ctx, &subs[i], "/tasks/"+strconv.Itoa(i))
		switch {
		case err != nil:
			return nil, nil, err
		case len(faults) > 0 && itemErrors:
			receipts[i].Err = check.Refusal("the task is not valid", faults)
		case len(faults) > 0:
			problems = append(problems, faults...)
		default:
			d.place = i
			drafts = append(drafts, d)
		}
	}
	if len(problems) > 0 {
		return nil, nil, check.Refusal("nothing was stored: the submission is not valid", problems)
	}
	return receipts, drafts, nil
}

// CheckSubmissions returns the reason for which Submit would refuse each submission, or nil, apart from
// back-pressure, idempotency keys and the number of routes.
func (e *Room) CheckSubmissions(ctx context.Context, subs []Submission) []error {
	errs := make([]error, len(subs))
	for i := range subs {
		in, at := &subs[i], "/tasks/"+strconv.Itoa(i)
		problems, err := e.checkSubmission(ctx, in, at)
		switch {
		case err != nil:
			errs[i] = err
		case len(problems) > 0:
			errs[i] = check.Refusal("the task is not valid", problems)
		}
	}
	return errs
}

func (e *Room) checkSubmission(ctx context.Context, in *Submission, at string) ([]task.Problem, error) {
	if problems := e.checkFields(in, at); len(problems) > 0 {
		return problems, nil
	}
	t := &task.Template{} // a task type has no rules
	if in.TaskType == "" {
		var problem *task.Problem
		var err error
		if t, problem, err = e.FindTemplate(ctx, in, at); err != nil || problem != nil {
			return check.One(problem), err
		}
	}
	if _, problem := e.levelOf(in, t, at); problem != nil {
		return check.One(problem), nil
	}
	if in.TaskType != "" {
		return nil, nil
	}
	return e.CheckContext(t, in.Context, at)
}

type submitted struct {
	receipts []Receipt
	locked   bool // an open transaction is binding a key: nothing was stored
}

// Refusals come first: numbers of templates and routes, idempotency keys, rows. Rows are inserted last, in the state
// after hand-offs to polls.
func (e *Room) runSubmits(calls [][]*Draft) ([]submitted, error) {
	var total int
	for _, c := range calls {
		total += len(c)
	}
	out := make([]submitted, len(calls))
	err := e.Write(context.Background(), "submit", func(u *kernel.Unit) error {
		b := &Builder{U: u, Tasks: make([]*task.Task, 0, total), Steps: make([]*task.Step, 0, total)}
		if u.E.Cluster != nil {
			if err := ExpectKnown(u, slices.Concat(calls...)); err != nil {
				return err
			}
		}
		locked, err := b.takeKeysOf(calls)
		if err != nil {
			return err
		}
		for i, c := range calls {
			if out[i] = (submitted{locked: locked[i]}); locked[i] {
				continue
			}
			out[i].receipts = make([]Receipt, len(c))
			for j, d := range c {
				if out[i].receipts[j], err = b.Add(d); err != nil {
					return err
				}
			}
		}
		for i, c := range calls {
			b.completeReceipts(c, out[i].receipts)
		}
		if len(b.Tasks) == 0 {
			return nil
		}
		if err := u.Ready.Pass(u.Queues); err != nil {
			return err
		}
		b.show(calls, out)
		return u.Tx.InsertTasks(u.Ctx, b.Tasks, b.Steps)
	})
	return out, err
}

type Builder struct {
	U     *kernel.Unit
	Tasks []*task.Task
	Steps []*task.Step
	keys  map[kernel.KeyName]*heldKey
	// The requested unique keys, the IDs of drafts with one, and the key that answers the drafts whose receipts lack
	// the task's state.
	unique map[kernel.KeyName]*uniqueSlot
	ids    map[*Draft]task.ID
	late   map[*Draft]*uniqueSlot
}

// Add makes the rows of a draft whose key takeKeys has looked for. IDs come in one run, so that a task's steps are
// adjacent in the store.
func (b *Builder) Add(d *Draft) (r Receipt, err error) {
	u, ids := b.U, b.U.E.Store.IDs()
	var id task.ID
	if d.In.IdempotencyKey == "" && d.unique == nil {
		id = ids.Take(u.Now.Time(), len(d.steps)+1)
	} else {
		var found bool
		if r, id, found, err = b.find(d); err != nil || found {
			return r, err
		}
	}
	t := &task.Task{ID: id, DefID: d.template.DefID, State: task.Pending, Priority: d.priority, Context: d.In.Context,
		CreatedAt: u.Now, StateAt: u.Now, RunAt: d.In.RunAt, IdempotencyKey: d.In.IdempotencyKey,
		CorrelationID: d.In.CorrelationID, Meta: d.In.Meta}
	t.Meta.Limited, t.Meta.HasChildren = d.template.Limited, d.template.HasChildren
	u.E.Points.TaskDrafted(u, t, d.template)
	if d.unique != nil {
		r.Unique = b.holds(d, t)
	}
	if !t.Meta.Held {
		t.BeginDeadline(max(u.Now, t.RunAt), d.template.Lifecycle.MaxDuration)
	}
	for i, ds := range d.steps {
		s := &task.Step{ID: ids.Step(id, i+1), TaskID: id, Ordinal: i + 1, DefID: t.DefID, RouteID: ds.routeID(),
			Priority: ds.priority,
			State:    task.StepPending, OpenParents: ds.parents, MaxAttempts: ds.maxAttempts, Timeout: ds.timeout}
		if ds.parents == 0 && !t.Meta.Held && !d.template.Steps[i].OnFailure {
			if err := b.begin(t, s, d.template); err != nil {
				return Receipt{}, err
			}
		}
		t.Counts.Add(s.State)
		u.Observed.Moved(kernel.Work{Step: s, Task: t}, "")
		b.Steps = append(b.Steps, s)
	}
	before := *t
	t.Reevaluate(u.Now, false)
	if d.template.Cycle != "" {
		b.endCycle(t, before, len(d.steps))
	}
	b.Tasks = append(b.Tasks, t)
	u.Observed.Submitted(t)
	return Receipt{ID: id, State: t.State, Created: true, Unique: r.Unique}, nil
}

// The store may continue to use the original steps, so show copies them.
func (b *Builder) show(calls [][]*Draft, out []submitted) {
	next := 0 // in b.steps a task's steps are adjacent, in the order of the receipts
	for i, c := range calls {
		for j, d := range c {
			if out[i].locked {
				break
			}
			r := &out[i].receipts[j]
			if !r.Created {
				continue
			}
			if d.In.Queued {
				first := *b.Steps[next]
				r.Step = &first
			}
			next += len(d.steps)
		}
	}
}

// begin makes a step ready, or schedules it for run_at or the engine.
func (b *Builder) begin(t *task.Task, s *task.Step, def *task.Template) error {
	if at := max(t.RunAt, b.U.Now); at > b.U.Now || def.Controlled && def.Spec(s).Special() {
		s.Schedule(at)
		b.U.Wake.DueAt(at)
		return nil
	}
	if err := s.Enqueue(b.U.Now, b.U.Order); err != nil {
		return err
	}
	b.U.Ready.Add(kernel.Work{Step: s, Task: t})
	return nil
}

// ExpectKnown checks that the database has the templates and routes of drafts under the cached numbers.
func ExpectKnown(u *kernel.Unit, drafts []*Draft) error {
	templates, routes := map[int64]*task.Template{}, map[int64]*task.Route{}
	for _, d := range drafts {
		templates[d.template.DefID] = d.template
		for _, s := range d.steps {
			if s.route != nil {
				routes[s.route.ID] = s.route
			}
		}
	}
	return u.Tx.ExpectKnown(u.Ctx, templates, routes)
}

// endCycle does the same for the last task of a submission, with n steps.
func (b *Builder) endCycle(t *task.Task, before task.Task, n int) {
	steps := b.Steps[len(b.Steps)-n:]
	for _, s := range steps {
		if s.Queue != task.NoQueue {
			return
		}
	}
	u := b.U
	t.TimeOut(u.Now)
	// the rows are not in the database yet
	u.Rows.Tasks[t.ID], u.Rows.Families[t.ID] = t, steps
	def, err := u.Rows.Template(t.DefID)
	if err != nil { // the submission named it
		return
	}
	u.Verdicts.Err(t)
	u.Rows.ChangedTask(t)
	cases.CaseSlot.Of(u).Cycled(t, before, def)
	u.Left(t, before.State, def.Cycle)
}
