package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func contextCases() []testCase {
	return []testCase{
		{"Save", saveContext},
		{"SaveAfterClaim", saveContextAfterClaim},
		{"SaveRolledBack", saveContextRolledBack},
	}
}

func (j job) edit(ctx context.Context, tx engine.Tx, document string) error {
	j.task.Context, j.task.Meta.ContextEdits = []byte(document), j.task.Meta.ContextEdits+1
	if err := tx.SaveTasks(ctx, []*task.Task{j.task}); err != nil {
		return err
	}
	return tx.SaveContext(ctx, j.task)
}

// wantContext compares the context in a transaction and in a claim.
func (f *fixture) wantContext(j job) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		if _, err := tx.Task(ctx, j.task.ID); err != nil {
			return err
		}
		got, err := tx.Contexts(ctx, []task.ID{j.task.ID})
		if err == nil {
			f.equal("context in a transaction", string(got[0]), string(j.task.Context))
		}
		return err
	})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		works, err := tx.Ready(ctx, []int64{j.steps[0].RouteID}, 10)
		for _, w := range works {
			if w.Task.ID == j.task.ID {
				f.equal("context of a claim", string(w.Task.Context), string(j.task.Context))
			}
		}
		return err
	})
}

func saveContext(f *fixture) {
	rich, none := full(f), f.build(f.single, 0)
	f.insert(rich, none)
	for _, j := range []job{rich, none} {
		for _, document := range []string{`{"order":18}`, `[1]`, `null`} {
			f.write(func(ctx context.Context, tx engine.Tx) error {
				again := j
				k := *j.task
				again.task = &k
				return again.edit(ctx, tx, document)
			})
			j.task.Context, j.task.Meta.ContextEdits = []byte(document), j.task.Meta.ContextEdits+1
			f.wantJob(j)
			f.wantContext(j)
		}
	}
}

// A store with a cache hands out the context stored since.
func saveContextAfterClaim(f *fixture) {
	j := full(f)
	f.insert(j)
	f.claimStart(j)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		k := *j.task
		return job{&k, j.steps}.edit(ctx, tx, `{"order":18}`)
	})
	j.task.Context, j.task.Meta.ContextEdits = []byte(`{"order":18}`), 1
	f.wantContext(j)
}

// claimStart claims the first step of a job through its queue.
func (f *fixture) claimStart(j job) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error { return claimStart(ctx, tx, j) })
	f.must(j.steps[0].Claim(1, f.now, f.now.Add(time.Minute)))
	j.task.Moved(task.StepEnqueued, task.StepInProgress, f.now)
}

func claimStart(ctx context.Context, tx engine.Tx, j job) error {
	works, err := tx.Ready(ctx, []int64{j.steps[0].RouteID}, 1)
	if err != nil || len(works) != 1 {
		return errors.Join(err, errors.New("there is not one step to claim"))
	}
	s := works[0].Step
	if err := s.Claim(1, s.ReadyAt, s.ReadyAt.Add(time.Minute)); err != nil {
		return err
	}
	return tx.SaveSteps(ctx, []*task.Step{s})
}

func saveContextRolledBack(f *fixture) {
	j := full(f)
	f.insert(j)
	f.wantContext(j)
	failed := errors.New("failed")
	err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
		k := *j.task
		return errors.Join(job{&k, j.steps}.edit(ctx, tx, `{"order":18}`), failed)
	})
	if !errors.Is(err, failed) {
		f.Errorf("Write = %v", err)
	}
	f.wantJob(j)
	f.wantContext(j)
}

// contextEditedElsewhere: a process with a cached task does not hand out its context from before another process's
// edit.
func contextEditedElsewhere(p *pair) {
	j := full(p.fixture)
	p.insert(j)
	p.claimStart(j) // a remembers the task, with its context
	p.must(p.b.Write(p.Context(), func(ctx context.Context, tx engine.Tx) error {
		// It fails elsewhere, is edited, and is ready again.
		works, err := tx.Work(ctx, []task.ID{j.steps[0].ID})
		if err != nil {
			return err
		}
		s, k := works[0].Step, works[0].Task
		err = errors.Join(s.Exhaust(p.now), s.Reset(p.now), s.Enqueue(p.now.Add(time.Second), task.Scheduling{}))
		if err != nil {
			return err
		}
		return errors.Join(job{k, []*task.Step{s}}.edit(ctx, tx, `{"order":18}`), tx.SaveSteps(ctx, []*task.Step{s}))
	}))
	p.must(p.a.Write(p.Context(), func(ctx context.Context, tx engine.Tx) error { return claimStart(ctx, tx, j) }))
	p.must(p.a.Write(p.Context(), func(ctx context.Context, tx engine.Tx) error {
		if _, err := tx.Work(ctx, []task.ID{j.steps[0].ID}); err != nil {
			return err
		}
		got, err := tx.Contexts(ctx, []task.ID{j.task.ID})
		if err == nil {
			p.equal("context", string(got[0]), `{"order":18}`)
		}
		return err
	}))
}
