package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// The kernel is the part of the engine that every task needs: the unit of work of a transaction, its rows, the moves of
// steps and tasks, and the order in which a transaction stores what it has changed. It does not know the features. Each
// is a record of functions in a file of its own, for the moments in the life of a step or a task at which it has
// something to do. See docs/design/0071-kernel-and-features.md.

// feature is what the kernel calls. A nil function is a moment that the feature has no interest in.
type feature struct {
	name string
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

// kernel is the features of an engine, sorted by what they have to do.
type kernel struct {
	stages []stage
	after  []followUp
}

// newKernel sorts features. Their order decides who is asked first at a moment, ranks decide about stages. Two equal
// ranks are an error: their order would be an accident.
func newKernel(features []feature) (*kernel, error) {
	k := &kernel{}
	for _, f := range features {
		k.stages = append(k.stages, f.stages...)
		k.after = append(k.after, f.after...)
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
