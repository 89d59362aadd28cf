package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

// A transaction gets rows from the cache, or reads them with their versions.

var (
	// The column xmin follows the columns of its row; versioned scans it.
	stepColumns = store.StepColumns + `, s.xmin`
	taskColumns = strings.Replace(store.TaskColumns, "t.context", "NULL::json AS context", 1) + `, t.xmin`
	workColumns = stepColumns + `, ` + taskColumns
)

// Work implements engine.Tx. The result has the order of ids; an unknown step has a zero Work. One query reads all
// uncached rows. Rows are locked in one order, tasks before steps and by ID, to avoid deadlocks.
func (t *tx) Work(ctx context.Context, ids []task.ID) ([]engine.Work, error) {
	works := make([]engine.Work, len(ids))
	at := make(map[task.ID][]int)
	var missing []task.ID
	for i, id := range ids {
		if w, ok := t.remembered(id); ok {
			works[i] = w
			continue
		}
		if at[id] == nil {
			missing = append(missing, id)
		}
		at[id] = append(at[id], i)
	}
	if len(missing) == 0 {
		return store.ShareTasks(works), nil
	}
	const by = ` FROM unnest($1::uuid[]) AS q(id) JOIN tasker_workflow_steps s ON s.id = q.id
  JOIN tasker_tasks t ON t.id = s.task_id`
	err := t.ask(ctx, `SELECT `+workColumns+by+t.lock(` ORDER BY t.id, s.id FOR UPDATE OF t, s`), []any{missing},
		func(r store.Row) error {
			w, err := t.scanWork(r)
			if err != nil {
				return err
			}
			for _, i := range at[w.Step.ID] {
				works[i] = w
			}
			return nil
		})
	return store.ShareTasks(works), err
}

// uncached reports whether rows must be read: after a lost race, or in an external transaction, which may have changed
// them itself.
func (t *tx) uncached() bool { return t.locking || t.guest }

// lock returns the locking clause for a transaction that locks, else "".
func (t *tx) lock(clause string) string {
	if t.locking {
		return clause
	}
	return ""
}

// remembered returns a step with its task from this transaction, else from the cache; false if the step must be read. A
// cached step is used only with the version of the task that this transaction has seen.
func (t *tx) remembered(id task.ID) (engine.Work, bool) {
	if s, ok := t.steps[id]; ok {
		if k, ok := t.tasks[s.row.TaskID]; ok {
			return engine.Work{Step: s.step(), Task: k.task()}, true
		}
		return engine.Work{}, false
	}
	if t.uncached() {
		return engine.Work{}, false
	}
	s, k, ok := t.store.rowCache.work(id)
	if !ok || t.tasks[s.TaskID] != nil && t.tasks[s.TaskID].row.version != k.version {
		return engine.Work{}, false
	}
	return engine.Work{Step: t.rememberStep(s).step(), Task: t.rememberTask(k).task()}, true
}

func (t *tx) rememberStep(s stepRow) *seenStep {
	if seen, ok := t.steps[s.ID]; ok {
		return seen
	}
	seen := &seenStep{row: s, remembered: true}
	t.steps[s.ID] = seen
	return seen
}

func (t *tx) rememberTask(k taskRow) *seenTask {
	if seen, ok := t.tasks[k.ID]; ok {
		return seen
	}
	seen := &seenTask{row: k, remembered: true}
	t.tasks[k.ID] = seen
	return seen
}

func (s *seenStep) step() *task.Step {
	c := s.row.Step
	return &c
}

func (k *seenTask) task() *task.Task {
	c := k.row.Task
	return &c
}

// scanWork reads workColumns. A row already loaded stays unchanged: no other transaction can have changed it, or this
// one fails at its end.
func (t *tx) scanWork(r store.Row) (engine.Work, error) {
	var versions [2]uint32
	s, k, err := t.sql.ScanWork(versioned{r, &versions, true})
	if err != nil {
		return engine.Work{}, err
	}
	return engine.Work{Step: t.noteStep(s, versions[0]), Task: t.noteTask(k, versions[1])}, nil
}

func (t *tx) noteStep(s *task.Step, version uint32) *task.Step {
	if seen, ok := t.steps[s.ID]; ok {
		return seen.step()
	}
	t.steps[s.ID] = &seenStep{row: stepRow{*s, version}}
	return s
}

// noteTask does the same for a task and its context, if read, which is kept apart because copies of a task are made
// often.
func (t *tx) noteTask(k *task.Task, version uint32) *task.Task {
	if k.Context != nil {
		t.contexts[k.ID] = k.Context
	}
	if seen, ok := t.tasks[k.ID]; ok {
		c := seen.task()
		c.Context = k.Context
		return c
	}
	row := taskRow{*k, version}
	row.Context = nil
	t.tasks[k.ID] = &seenTask{row: row}
	return k
}

// versioned scans rows with a version after the columns of a step, of a task, or of each. versions[0] is that of the
// first row, versions[1] that of a task after its step.
type versioned struct {
	store.Row
	versions *[2]uint32
	both     bool
}

var stepWidth = strings.Count(store.StepColumns, ",") + 1

func (v versioned) Scan(dest ...any) error {
	if v.both {
		all := make([]any, 0, len(dest)+2)
		all = append(append(all, dest[:stepWidth]...), &v.versions[0])
		return v.Row.Scan(append(append(all, dest[stepWidth:]...), &v.versions[1])...)
	}
	return v.Row.Scan(append(dest, &v.versions[0])...)
}

// Task implements engine.Tx; nil for no such task. The version of a row read without a lock is checked when it is
// saved.
func (t *tx) Task(ctx context.Context, id task.ID) (*task.Task, error) {
	if seen, ok := t.tasks[id]; ok {
		return seen.task(), nil
	}
	if !t.uncached() {
		if k, ok := t.store.rowCache.task(id); ok {
			return t.rememberTask(k).task(), nil
		}
	}
	var found *task.Task
	query := `SELECT ` + taskColumns + ` FROM tasker_tasks t WHERE t.id = $1` + t.lock(` FOR UPDATE`)
	err := t.ask(ctx, query, []any{id}, func(r store.Row) error {
		k, err := t.scanTask(r)
		found = k
		return err
	})
	return found, err
}

// Tasks implements engine.Tx. One query reads all uncached rows. The result has the order of ids, with nil for unknown
// ones.
func (t *tx) Tasks(ctx context.Context, ids []task.ID) ([]*task.Task, error) {
	var missing []task.ID
	for _, id := range ids {
		if _, ok := t.tasks[id]; !ok && (t.uncached() || !t.store.rowCache.remembers(id)) {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		query := `SELECT ` + taskColumns + ` FROM unnest($1::uuid[]) AS q(id) JOIN tasker_tasks t ON t.id = q.id` +
			t.lock(` ORDER BY t.id FOR UPDATE OF t`)
		err := t.ask(ctx, query, []any{missing}, func(r store.Row) error {
			_, err := t.scanTask(r)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	tasks := make([]*task.Task, len(ids))
	for i, id := range ids {
		if seen, ok := t.tasks[id]; ok {
			tasks[i] = seen.task()
			// It was cached at the check above; if dropped since, Task reads it.
		} else if !slices.Contains(missing, id) {
			var err error
			if tasks[i], err = t.Task(ctx, id); err != nil {
				return nil, err
			}
		}
	}
	return tasks, nil
}

func (t *tx) scanTask(r store.Row) (*task.Task, error) {
	var versions [2]uint32
	k, err := t.sql.ScanTask(versioned{r, &versions, false})
	if err != nil {
		return nil, err
	}
	return t.noteTask(k, versions[0]), nil
}

// Contexts implements engine.Tx. A cached context counts only if the task has as many edits as when it was cached.
func (t *tx) Contexts(ctx context.Context, ids []task.ID) ([][]byte, error) {
	contexts := make([][]byte, len(ids))
	var missing []task.ID
	var places []int64
	for i, id := range ids {
		document, known := t.contexts[id]
		if seen, ok := t.tasks[id]; !known && ok {
			document, known = t.store.rowCache.context(id, seen.row.Meta.ContextEdits)
		}
		if contexts[i] = document; !known {
			missing, places = append(missing, id), append(places, int64(i))
		}
	}
	if len(missing) == 0 {
		return contexts, nil
	}
	const query = `SELECT t.context, q.n FROM unnest($1::uuid[], $2::bigint[]) AS q(id, n)
  JOIN tasker_tasks t ON t.id = q.id`
	err := t.ask(ctx, query, []any{missing, places}, func(r store.Row) error {
		var document store.JSON
		var at int64
		err := r.Scan(&document, &at)
		contexts[at] = document
		return err
	})
	return contexts, err
}

// Steps implements engine.Tx. A family comes from the cache only if all its requested steps are there; one query reads
// the rest.
func (t *tx) Steps(ctx context.Context, of []engine.Family) ([][]*task.Step, error) {
	found := make([][]*task.Step, len(of))
	var wanted ranges
	for i, f := range of {
		if steps, ok := t.rememberedSteps(f); ok {
			found[i] = steps
			continue
		}
		if err := wanted.add(ctx, t, i, f); err != nil {
			return nil, err
		}
	}
	if len(wanted.tasks) == 0 {
		return found, nil
	}
	// the steps of a task are a range of keys after its own
	const by = ` FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[]) AS q(task, low, high, n)
 JOIN tasker_workflow_steps s ON s.id >= q.low AND s.id <= q.high AND s.task_id = q.task ORDER BY q.n, s.ordinal`
	args := []any{wanted.tasks, wanted.low, wanted.high, wanted.places}
	err := t.ask(ctx, `SELECT `+stepColumns+`, q.n`+by+t.lock(` FOR UPDATE OF s`), args, func(r store.Row) error {
		var versions [2]uint32
		var place int
		s, err := t.sql.ScanStep(placed{versioned{r, &versions, false}, &place})
		if err == nil {
			found[place] = append(found[place], t.noteStep(s, versions[0]))
		}
		return err
	})
	return found, err
}

type placed struct {
	versioned
	place *int
}

func (p placed) Scan(dest ...any) error {
	return p.Row.Scan(append(dest, &p.versions[0], p.place)...)
}

type ranges struct {
	tasks, low, high []task.ID
	places           []int64
}

// add adds the ranges of one family. Without ordinals it needs the task for the number of its steps.
func (r *ranges) add(ctx context.Context, t *tx, place int, f engine.Family) error {
	between := func(from, to int) {
		seq := f.Task.Seq()
		r.tasks = append(r.tasks, f.Task)
		r.low = append(r.low, task.MakeID(seq+int64(from), 0))
		r.high = append(r.high, task.MakeID(seq+int64(to), 1<<62-1))
		r.places = append(r.places, int64(place))
	}
	if f.Ordinals != nil {
		for _, n := range f.Ordinals {
			between(n, n)
		}
		return nil
	}
	k, err := t.Task(ctx, f.Task)
	if err != nil || k == nil {
		return err
	}
	between(1, k.Counts.Total())
	return nil
}

func (t *tx) rememberedSteps(f engine.Family) ([]*task.Step, bool) {
	if t.uncached() {
		return nil, false
	}
	rows, ok := t.store.rowCache.siblings(f.Task, f.Ordinals)
	if !ok {
		return nil, false
	}
	steps := make([]*task.Step, len(rows))
	for i, s := range rows {
		steps[i] = t.rememberStep(s).step()
	}
	return steps, true
}
