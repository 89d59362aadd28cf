package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// The kernel is the part of the engine that every task needs: the unit of work, its rows, the moves of steps and
// tasks, and the order of storing changes. Features are records of functions for moments in the life of a step or
// task. See docs/design/0071-kernel-and-features.md.

type feature struct {
	name string
	// of is a mark of a step, its task or route; the kernel calls the feature only about moves with it. 0: always.
	of trait

	drafted func(u *unit, t *task.Task, def *task.Template)
	// enter is called for controlled templates before a step becomes ready. It may take the step.
	enter func(u *unit, w Work, def *task.Template) (taken bool, err error)
	// runs are the steps that the feature carries out instead of a worker.
	runs runner
	// ready returns the steps that the feature does not hold back. queued is called before steps go to workers, and
	// may park some.
	ready  func(u *unit, steps []Work) ([]Work, error)
	queued func(u *unit, steps []Work) error
	moved  func(u *unit, w Work, from task.StepState)
	left   func(u *unit, d departure)
	// handed is called for each step that a worker receives.
	handed func(u *unit, w Work, def *task.Template)
	// givenUp is called before a task is put in error that has taken too long. It may take the task over.
	givenUp func(u *unit, t *task.Task) (taken bool, err error)
	// decide carries out an operator's act on a step that no worker runs.
	decide map[ActKind]func(u *unit, w Work, act StepAct) error
	// judged is called before the task's new state takes effect. It may take the task over.
	judged func(u *unit, t *task.Task, before task.Task) (taken bool, err error)
	// ended is called before the step changes. If it spares the step, the attempt is not charged.
	ended func(u *unit, w Work, e ending) (spared bool, err error)

	// stages run at the end of a transaction, after when it is committed.
	stages []stage
	after  []followUp
}

// stage stores a part of a unit's changes. Its rank alone decides when.
type stage struct {
	rank rank
	name string
	// locks are the tables whose rows it may lock.
	locks []string
	save  func(*unit) error
}

type followUp struct {
	rank rank
	name string
	do   func(*unit)
}

// rank is a place in the order of stages, or of follow-ups; see ranks.go.
type rank int

// runner.begin begins an attempt, and wake continues it at the time that begin gave to await.
type runner struct {
	kind        task.Kind
	begin, wake func(u *unit, w Work, def *task.Template) error
}

type departure struct {
	task  *task.Task
	was   task.State
	since task.Instant // in the former state
	cause string
	// no step can continue, and nobody put the task in error on purpose
	stuck bool
}

type ending struct {
	outcome task.Outcome
	worker  int64
	since   task.Instant   // when its lease was granted; zero for a success
	failure *task.Failure  // nil for a success or without a charge
	def     *task.Template // nil for a success
}

type points struct {
	drafted []hook[func(*unit, *task.Task, *task.Template)]
	enter   []func(*unit, Work, *task.Template) (bool, error)
	runs    map[task.Kind]runner
	holds   trait // tasks that a ready function may hold back
	ready   []func(*unit, []Work) ([]Work, error)
	queued  []func(*unit, []Work) error
	moved   []hook[func(*unit, Work, task.StepState)]
	left    []hook[func(*unit, departure)]
	handed  []hook[func(*unit, Work, *task.Template)]
	givenUp []func(*unit, *task.Task) (bool, error)
	decide  map[ActKind]func(*unit, Work, StepAct) error
	judged  []func(*unit, *task.Task, task.Task) (bool, error)
	ended   []hook[func(*unit, Work, ending) (bool, error)]

	stages []stage
	after  []followUp
}

// newPoints keeps the order of features at each moment. Equal ranks of stages are an error.
func newPoints(features []feature) (*points, error) {
	k := &points{runs: map[task.Kind]runner{}, decide: map[ActKind]func(*unit, Work, StepAct) error{}}
	for i := range features {
		k.add(&features[i])
	}
	slices.SortStableFunc(k.stages, func(a, b stage) int { return cmp.Compare(a.rank, b.rank) })
	slices.SortStableFunc(k.after, func(a, b followUp) int { return cmp.Compare(a.rank, b.rank) })
	var errs []error
	for i := 1; i < len(k.stages); i++ {
		a, b := k.stages[i-1], k.stages[i]
		errs = append(errs, apart(a.name, b.name, a.rank, b.rank))
	}
	for i := 1; i < len(k.after); i++ {
		a, b := k.after[i-1], k.after[i]
		errs = append(errs, apart(a.name, b.name, a.rank, b.rank))
	}
	return k, errors.Join(errs...)
}

// add appends a feature.
func (k *points) add(f *feature) {
	of := f.of
	if of == 0 {
		of = anything
	}
	if f.drafted != nil {
		k.drafted = appendHook(k.drafted, of, f.drafted)
	}
	if f.enter != nil {
		k.enter = append(k.enter, f.enter)
	}
	if f.runs.begin != nil {
		k.runs[f.runs.kind] = f.runs
	}
	if f.ready != nil {
		k.ready, k.holds = append(k.ready, f.ready), k.holds|of
	}
	if f.queued != nil {
		k.queued = append(k.queued, f.queued)
	}
	if f.moved != nil {
		k.moved = appendHook(k.moved, of, f.moved)
	}
	if f.left != nil {
		k.left = appendHook(k.left, of, f.left)
	}
	if f.handed != nil {
		k.handed = appendHook(k.handed, of, f.handed)
	}
	if f.judged != nil {
		k.judged = append(k.judged, f.judged)
	}
	if f.givenUp != nil {
		k.givenUp = append(k.givenUp, f.givenUp)
	}
	maps.Copy(k.decide, f.decide)
	if f.ended != nil {
		k.ended = appendHook(k.ended, of, f.ended)
	}
	k.stages, k.after = append(k.stages, f.stages...), append(k.after, f.after...)
}

func apart(a, b string, rankA, rankB rank) error {
	if rankA != rankB {
		return nil
	}
	return fmt.Errorf("%s and %s have the same rank %d: one of them must come first", a, b, rankA)
}

func (u *unit) flush() error {
	for i := range u.e.points.stages {
		if err := u.e.points.stages[i].save(u); err != nil {
			return err
		}
	}
	return nil
}

func (u *unit) committed() {
	for i := range u.e.points.after {
		u.e.points.after[i].do(u)
	}
}
