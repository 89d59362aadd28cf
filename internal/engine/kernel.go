package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// The kernel is the part of the engine that every task needs: the unit of work of a transaction, its rows, the moves of
// steps and tasks, and the order in which a transaction stores what it has changed. It does not know the features. Each
// is a record of functions in its own file, for the moments in the life of a step or a task at which it has
// something to do. See docs/design/0071-kernel-and-features.md.

// feature is what the kernel calls. A nil function is a moment that the feature has no interest in.
type feature struct {
	name string
	// of is what a step, its task or its route must bear for the feature to be asked about their moves; 0: all are its
	// business. A feature that a task does not use costs one comparison.
	of trait

	// drafted is called when a task is made of a submission, before its steps are.
	drafted func(u *unit, t *task.Task, def *task.Template)
	// enter is called before a step becomes ready whose template has steps that the engine looks at. It may take the step:
	// skip it, put it off or fail it.
	enter func(u *unit, w Work, def *task.Template) (taken bool, err error)
	// runs are the steps that the feature carries out, instead of a worker.
	runs runner
	// ready is called when steps have become ready, and returns those that the feature does not hold back. queued is
	// called when steps are about to go to workers, and may park some.
	ready  func(u *unit, steps []Work) ([]Work, error)
	queued func(u *unit, steps []Work) error
	// moved is called when a step has changed its state, and left when a task has.
	moved func(u *unit, w Work, from task.StepState)
	left  func(u *unit, d departure)
	// ended is called when the attempt of a worker ends, before the step changes. It may spare the step: then the attempt
	// is not charged.
	ended func(u *unit, w Work, e ending) (spared bool, err error)

	// stages and after are what the feature stores at the end of a transaction, and what it does once that is committed.
	stages []stage
	after  []followUp
}

// stage stores a part of what a unit has changed. Its rank alone decides when.
type stage struct {
	rank rank
	name string
	// locks are the tables whose rows it may lock.
	locks []string
	save  func(*unit) error
}

// followUp follows the commit of a unit.
type followUp struct {
	rank rank
	name string
	do   func(*unit)
}

// rank is a place in the order of stages, or of what follows a commit; see ranks.go.
type rank int

// runner carries out the steps of a kind: begin begins an attempt, wake continues at the time that begin gave to await.
type runner struct {
	kind        task.Kind
	begin, wake func(u *unit, w Work, def *task.Template) error
}

// departure is a change of the state of a task.
type departure struct {
	task  *task.Task
	was   task.State
	since task.Instant // in the former state
	cause string
	// stuck: the state follows from the steps. No step can go on, and nobody has put the task in error on purpose.
	stuck bool
}

// ending is the end of an attempt.
type ending struct {
	outcome task.Outcome
	worker  int64
	since   task.Instant   // when its lease was granted; zero for a success
	failure *task.Failure  // nil for a success, and for an attempt that ends without a charge
	def     *task.Template // nil for a success
}

// kernel is the features of an engine, sorted by what they have to do.
type kernel struct {
	drafted []draftedHook
	enter   []func(*unit, Work, *task.Template) (bool, error)
	runs    map[task.Kind]runner
	holds   trait // what may be held back by one of ready
	ready   []func(*unit, []Work) ([]Work, error)
	queued  []func(*unit, []Work) error
	moved   []movedHook
	left    []leftHook
	ended   []endedHook

	stages []stage
	after  []followUp
}

// newKernel sorts features. Their order decides who is asked first at a moment, ranks decide about stages. Two equal
// ranks are an error: their order would be an accident.
func newKernel(features []feature) (*kernel, error) {
	k := &kernel{runs: map[task.Kind]runner{}}
	for i := range features {
		k.add(&features[i])
	}
	slices.SortStableFunc(k.stages, func(a, b stage) int { return cmp.Compare(a.rank, b.rank) })
	slices.SortStableFunc(k.after, func(a, b followUp) int { return cmp.Compare(a.rank, b.rank) })
	var errs []error
	for i := 1; i < len(k.stages); i++ {
		errs = append(errs, apart(k.stages[i-1].name, k.stages[i].name, k.stages[i-1].rank, k.stages[i].rank))
	}
	for i := 1; i < len(k.after); i++ {
		errs = append(errs, apart(k.after[i-1].name, k.after[i].name, k.after[i-1].rank, k.after[i].rank))
	}
	return k, errors.Join(errs...)
}

// add adds a feature, behind those that were added before.
func (k *kernel) add(f *feature) {
	of := f.of
	if of == 0 {
		of = anything
	}
	if f.drafted != nil {
		k.drafted = append(k.drafted, draftedHook{of, f.drafted})
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
		k.moved = append(k.moved, movedHook{of, f.moved})
	}
	if f.left != nil {
		k.left = append(k.left, leftHook{of, f.left})
	}
	if f.ended != nil {
		k.ended = append(k.ended, endedHook{of, f.ended})
	}
	k.stages, k.after = append(k.stages, f.stages...), append(k.after, f.after...)
}

// apart returns an error if two ranks are the same.
func apart(a, b string, rankA, rankB rank) error {
	if rankA != rankB {
		return nil
	}
	return fmt.Errorf("%s and %s have the same rank %d: one of them must come first", a, b, rankA)
}

// flush stores what the unit has changed, stage by stage.
func (u *unit) flush() error {
	for i := range u.e.kernel.stages {
		if err := u.e.kernel.stages[i].save(u); err != nil {
			return err
		}
	}
	return nil
}

// committed does what follows the commit of a unit.
func (u *unit) committed() {
	for i := range u.e.kernel.after {
		u.e.kernel.after[i].do(u)
	}
}
