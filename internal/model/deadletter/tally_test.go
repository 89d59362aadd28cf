package deadletter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTally(t *testing.T) {
	var tally Tally
	if tally.Groups() == nil || tally.Deltas() == nil {
		t.Error("an empty tally has no lists")
	}
	first := &Group{ID: 7, FirstAt: 1}
	if tally.Join(first) != first || tally.Join(&Group{ID: 7, FirstAt: 2}) != first {
		t.Error("a group that joins twice replaces the first")
	}
	tally.Join(&Group{ID: 3})
	if groups := tally.Groups(); len(groups) != 2 || groups[0].ID != 3 || groups[1] != first {
		t.Errorf("groups: %v", groups)
	}

	tally.Of(9).OpenCases++
	tally.Of(7).Failures += 2
	tally.Of(7).Failures++
	tally.Of(8).OpenLetters--
	tally.Of(5).OpenLetters++
	tally.Of(5).OpenLetters--
	want := []Delta{{Group: 7, Failures: 3}, {Group: 8, OpenLetters: -1}, {Group: 9, OpenCases: 1}}
	if diff := cmp.Diff(want, tally.Deltas()); diff != "" {
		t.Error(diff)
	}
}
