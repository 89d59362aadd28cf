package sealed

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/kit/vault"
	"github.com/taskerhq/tasker/internal/model/task"
)

type tx struct {
	engine.Tx
	*Seals
}

// Tx implements engine.Seals.
func (s *Seals) Tx(of engine.Tx) engine.Tx {
	if _, is := of.(*tx); is {
		return of
	}
	return &tx{of, s}
}

func below(of engine.Tx) engine.Tx {
	if t, is := of.(*tx); is {
		return t.Tx
	}
	return of
}

func (t *tx) set(ctx context.Context, def int64) (*sensitive.Set, error) {
	return t.Seals.set(ctx, def, t.Tx.Template)
}

type swapped []struct {
	at  *[]byte
	was []byte
}

func (s *swapped) swap(at *[]byte, by []byte) {
	*s = append(*s, struct {
		at  *[]byte
		was []byte
	}{at, *at})
	*at = by
}

func (s *swapped) back() {
	for _, one := range slices.Backward(*s) {
		*one.at = one.was
	}
}

func (t *tx) contexts(ctx context.Context, tasks []*task.Task, s *swapped) error {
	for _, k := range tasks {
		if len(k.Context) == 0 {
			continue
		}
		set, err := t.set(ctx, k.DefID)
		if err != nil {
			return err
		}
		if in := k.Meta.Intake; in != nil { // the marks of its source at the intake count too
			set = set.With(in.Sensitive)
		}
		doc, err := t.sealed(set, k.Context, place(vault.Context, k.ID))
		if err != nil {
			return err
		}
		s.swap(&k.Context, doc)
	}
	return nil
}

func (t *tx) InsertTasks(ctx context.Context, tasks []*task.Task, steps []*task.Step) error {
	var s swapped
	defer s.back()
	if err := t.contexts(ctx, tasks, &s); err != nil {
		return err
	}
	return t.Tx.InsertTasks(ctx, tasks, steps)
}

func (t *tx) SaveContext(ctx context.Context, k *task.Task) error {
	var s swapped
	defer s.back()
	if err := t.contexts(ctx, []*task.Task{k}, &s); err != nil {
		return err
	}
	return t.Tx.SaveContext(ctx, k)
}

func (t *tx) SaveSteps(ctx context.Context, steps []*task.Step) error {
	var s swapped
	defer s.back()
	for _, step := range steps {
		if len(step.Result) == 0 {
			continue
		}
		set, err := t.set(ctx, step.DefID)
		if err != nil {
			return err
		}
		doc, err := t.sealed(set, step.Result, place(vault.Result, step.ID))
		if err != nil {
			return err
		}
		s.swap(&step.Result, doc)
	}
	return t.Tx.SaveSteps(ctx, steps)
}

func (t *tx) AddAttempts(ctx context.Context, attempts []task.Attempt) error {
	copied := false
	for i := range attempts {
		f := attempts[i].Failure
		if f == nil || len(f.Details) == 0 {
			continue
		}
		set, err := t.set(ctx, attempts[i].DefID)
		if err != nil {
			return err
		}
		if set.Empty() && !vault.Sealed(f.Details) {
			continue
		}
		if !copied {
			attempts, copied = slices.Clone(attempts), true
		}
		failure := *f
		if failure.Details, err = t.sealed(set, f.Details, place(vault.Details, attempts[i].StepID)); err != nil {
			return err
		}
		attempts[i].Failure = &failure
	}
	return t.Tx.AddAttempts(ctx, attempts)
}

func (s *Seals) openTask(k *task.Task) {
	if k != nil {
		k.Context = s.opened(k.Context, place(vault.Context, k.ID))
	}
}

func (s *Seals) openStep(step *task.Step) {
	if step != nil {
		step.Result = s.opened(step.Result, place(vault.Result, step.ID))
	}
}

// openWorks decrypts steps with their tasks. Steps of one task share it.
func (s *Seals) openWorks(works []engine.Work, err error) ([]engine.Work, error) {
	for i, w := range works {
		s.openStep(w.Step)
		if w.Task == nil || !vault.Sealed(w.Task.Context) {
			continue
		}
		if !slices.ContainsFunc(works[:i], func(o engine.Work) bool { return o.Task == w.Task }) {
			s.openTask(w.Task)
		}
	}
	return works, err
}

func (s *Seals) openSteps(steps []*task.Step, err error) ([]*task.Step, error) {
	for _, step := range steps {
		s.openStep(step)
	}
	return steps, err
}

func (s *Seals) openTasks(tasks []*task.Task, err error) ([]*task.Task, error) {
	for _, k := range tasks {
		s.openTask(k)
	}
	return tasks, err
}

func (t *tx) Ready(ctx context.Context, routes []int64, limit int) ([]engine.Work, error) {
	return t.openWorks(t.Tx.Ready(ctx, routes, limit))
}

func (t *tx) Due(ctx context.Context, queue int64, until task.Instant, limit int) ([]engine.Work, error) {
	return t.openWorks(t.Tx.Due(ctx, queue, until, limit))
}

func (t *tx) Held(ctx context.Context, worker int64, limit int) ([]engine.Work, error) {
	return t.openWorks(t.Tx.Held(ctx, worker, limit))
}

func (t *tx) Work(ctx context.Context, steps []task.ID) ([]engine.Work, error) {
	return t.openWorks(t.Tx.Work(ctx, steps))
}

func (t *tx) Between(ctx context.Context, route int64, after engine.Position, upTo int64, limit int,
) ([]*task.Step, error) {
	return t.openSteps(t.Tx.Between(ctx, route, after, upTo, limit))
}

func (t *tx) Steps(ctx context.Context, of []engine.Family) ([][]*task.Step, error) {
	families, err := t.Tx.Steps(ctx, of)
	for _, steps := range families {
		_, _ = t.openSteps(steps, nil)
	}
	return families, err
}

func (t *tx) Contexts(ctx context.Context, ids []task.ID) ([][]byte, error) {
	documents, err := t.Tx.Contexts(ctx, ids)
	for i := range documents {
		documents[i] = t.opened(documents[i], place(vault.Context, ids[i]))
	}
	return documents, err
}

func (t *tx) Task(ctx context.Context, id task.ID) (*task.Task, error) {
	k, err := t.Tx.Task(ctx, id)
	t.openTask(k)
	return k, err
}

func (t *tx) Tasks(ctx context.Context, ids []task.ID) ([]*task.Task, error) {
	return t.openTasks(t.Tx.Tasks(ctx, ids))
}

func (t *tx) Overdue(ctx context.Context, until task.Instant, limit int) ([]*task.Task, error) {
	return t.openTasks(t.Tx.Overdue(ctx, until, limit))
}
