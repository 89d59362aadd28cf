package fault_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/taskerhq/tasker/proof/chaos/internal/fault"
)

// TestRound: a seed repeats the choices of a run, and no kind is missing.
func TestRound(t *testing.T) {
	t.Parallel()
	names := func(seed uint64) []string {
		var all []string
		for _, f := range fault.Round(rand.New(rand.NewPCG(seed, 1)), true) {
			all = append(all, f.Name)
		}
		return all
	}
	one, again, other := names(1), names(1), names(2)
	if !slices.Equal(one, again) {
		t.Errorf("the same seed chooses differently:\n%q\n%q", one, again)
	}
	if slices.Equal(one, other) {
		t.Error("another seed chooses the same order")
	}
	slices.Sort(one)
	slices.Sort(other)
	if !slices.Equal(one, other) {
		t.Errorf("a round differs in more than its order:\n%q\n%q", one, other)
	}
	if kinds := len(slices.Compact(one)); kinds < 25 {
		t.Errorf("a round has %d kinds of faults", kinds)
	}
}
