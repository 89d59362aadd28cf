package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/model/task"
)

// The kernel is the part of the engine that every task needs: the unit of work, its rows, the moves of steps and
// tasks, and the order of storing changes. Features are records of functions for moments in the life of a step or
// task. See docs/design/0071-kernel-and-features.md.

type Feature struct {
	Name string
	// of is a mark of a step, its task or route; the kernel calls the feature only about moves with it. 0: always.
	Of trait

	drafted func(u *Unit, t *task.Task, def *task.Template)
	// enter is called for controlled templates before a step becomes ready. It may take the step.
	Enter func(u *Unit, w Work, def *task.Template) (taken bool, err error)
	// runs are the steps that the feature carries out instead of a worker.
	Runs Runner
	// ready returns the steps that the feature does not hold back. queued is called before steps go to workers, and
	// may park some.
	ready  func(u *Unit, steps []Work) ([]Work, error)
	queued func(u *Unit, steps []Work) error
	Moved  func(u *Unit, w Work, from task.StepState)
	Left   func(u *Unit, d Departure)
	// handed is called for each step that a worker receives.
	Handed func(u *Unit, w Work, def *task.Template)
	// givenUp is called before a task is put in error that has taken too long. It may take the task over.
	GivenUp func(u *Unit, t *task.Task) (taken bool, err error)
	// decide carries out an operator's act on a step that no worker runs.
	Decide map[ActKind]func(u *Unit, w Work, act StepAct) error
	// judged is called before the task's new state takes effect. It may take the task over.
	Judged func(u *Unit, t *task.Task, before task.Task) (taken bool, err error)
	// ended is called before the step changes. If it spares the step, the attempt is not charged.
	ended func(u *Unit, w Work, e ending) (spared bool, err error)

	// stages run at the end of a transaction, after when it is committed.
	Stages []Stage
	After  []FollowUp
}

// Stage stores a part of a unit's changes. Its rank alone decides when.
type Stage struct {
	Rank rank
	Name string
	// locks are the tables whose rows it may lock.
	Locks []string
	Save  func(*Unit) error
}

type FollowUp struct {
	Rank rank
	Name string
	Do   func(*Unit)
}

// rank is a place in the order of stages, or of follow-ups; see ranks.go.
type rank int

// Runner begins an attempt, and Wake continues it at the time that begin gave to await.
type Runner struct {
	Kind        task.Kind
	Begin, Wake func(u *Unit, w Work, def *task.Template) error
}

type Departure struct {
	Task  *task.Task
	Was   task.State
	Since task.Instant // in the former state
	cause string
	// no step can continue, and nobody put the task in error on purpose
	Stuck bool
}

type ending struct {
	outcome task.Outcome
	worker  int64
	since   task.Instant   // when its lease was granted; zero for a success
	failure *task.Failure  // nil for a success or without a charge
	def     *task.Template // nil for a success
}

type points struct {
	drafted []hook[func(*Unit, *task.Task, *task.Template)]
	enter   []func(*Unit, Work, *task.Template) (bool, error)
	runs    map[task.Kind]Runner
	holds   trait // tasks that a ready function may hold back
	ready   []func(*Unit, []Work) ([]Work, error)
	queued  []func(*Unit, []Work) error
	moved   []hook[func(*Unit, Work, task.StepState)]
	left    []hook[func(*Unit, Departure)]
	handed  []hook[func(*Unit, Work, *task.Template)]
	givenUp []func(*Unit, *task.Task) (bool, error)
	decide  map[ActKind]func(*Unit, Work, StepAct) error
	judged  []func(*Unit, *task.Task, task.Task) (bool, error)
	ended   []hook[func(*Unit, Work, ending) (bool, error)]

	stages []Stage
	after  []FollowUp
}

// newPoints keeps the order of features at each moment. Equal ranks of stages are an error.
func newPoints(features []Feature) (*points, error) {
	k := &points{runs: map[task.Kind]Runner{}, decide: map[ActKind]func(*Unit, Work, StepAct) error{}}
	for i := range features {
		k.add(&features[i])
	}
	slices.SortStableFunc(k.stages, func(a, b Stage) int { return cmp.Compare(a.Rank, b.Rank) })
	slices.SortStableFunc(k.after, func(a, b FollowUp) int { return cmp.Compare(a.Rank, b.Rank) })
	var errs []error
	for i := 1; i < len(k.stages); i++ {
		a, b := k.stages[i-1], k.stages[i]
		errs = append(errs, apart(a.Name, b.Name, a.Rank, b.Rank))
	}
	for i := 1; i < len(k.after); i++ {
		a, b := k.after[i-1], k.after[i]
		errs = append(errs, apart(a.Name, b.Name, a.Rank, b.Rank))
	}
	return k, errors.Join(errs...)
}

// add appends a feature.
func (k *points) add(f *Feature) {
	of := f.Of
	if of == 0 {
		of = anything
	}
	if f.drafted != nil {
		k.drafted = appendHook(k.drafted, of, f.drafted)
	}
	if f.Enter != nil {
		k.enter = append(k.enter, f.Enter)
	}
	if f.Runs.Begin != nil {
		k.runs[f.Runs.Kind] = f.Runs
	}
	if f.ready != nil {
		k.ready, k.holds = append(k.ready, f.ready), k.holds|of
	}
	if f.queued != nil {
		k.queued = append(k.queued, f.queued)
	}
	if f.Moved != nil {
		k.moved = appendHook(k.moved, of, f.Moved)
	}
	if f.Left != nil {
		k.left = appendHook(k.left, of, f.Left)
	}
	if f.Handed != nil {
		k.handed = appendHook(k.handed, of, f.Handed)
	}
	if f.Judged != nil {
		k.judged = append(k.judged, f.Judged)
	}
	if f.GivenUp != nil {
		k.givenUp = append(k.givenUp, f.GivenUp)
	}
	maps.Copy(k.decide, f.Decide)
	if f.ended != nil {
		k.ended = appendHook(k.ended, of, f.ended)
	}
	k.stages, k.after = append(k.stages, f.Stages...), append(k.after, f.After...)
}

func apart(a, b string, rankA, rankB rank) error {
	if rankA != rankB {
		return nil
	}
	return fmt.Errorf("%s and %s have the same rank %d: one of them must come first", a, b, rankA)
}

func (u *Unit) flush() error {
	for i := range u.E.Points.stages {
		if err := u.E.Points.stages[i].Save(u); err != nil {
			return err
		}
	}
	return nil
}

func (u *Unit) committed() {
	for i := range u.E.Points.after {
		u.E.Points.after[i].Do(u)
	}
}

// OrderOf prints the order of stages, with the tables whose rows each may lock, and of what follows a commit.
func OrderOf(features []Feature) (string, error) {
	k, err := newPoints(features)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("# The end of a transaction, and the tables whose rows each stage may lock\n")
	for _, s := range k.stages {
		line := fmt.Sprintf("%3d %-18s %s", s.Rank, s.Name, strings.Join(s.Locks, ", "))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	b.WriteString("# After its commit\n")
	for _, f := range k.after {
		fmt.Fprintf(&b, "%3d %s\n", f.Rank, f.Name)
	}
	return b.String(), nil
}
