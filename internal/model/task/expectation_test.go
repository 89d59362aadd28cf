package task_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		list string
		want []string
		bad  bool
	}{
		"Empty":    {list: ""},
		"Any":      {list: " * "},
		"Quoted":   {list: `"error-1a"`, want: []string{"error-1a"}},
		"Bare":     {list: "error-1a", want: []string{"error-1a"}},
		"Weakened": {list: `W/"error-1a"`, want: []string{"error-1a"}},
		"Several":  {list: `"a-1", "b-2"`, want: []string{"a-1", "b-2"}},
		"Nothing":  {list: `""`, bad: true},
		"Comma":    {list: `"a-1",`, bad: true},
		"Space":    {list: "a b", bad: true},
		"Half":     {list: `"a-1`, bad: true},
		"AnyOf":    {list: `"a-1", *`, bad: true},
		"Longest":  {list: strings.Repeat("a", 1024), want: []string{strings.Repeat("a", 1024)}},
		"TooLong":  {list: strings.Repeat("a", 1025), bad: true},
	} {
		var x task.Expectation
		if fault := x.Match(c.list); (fault != "") != c.bad || !c.bad && !slices.Equal(x.Versions, c.want) {
			t.Errorf("%s: read %q, fault %q; want %q", name, x.Versions, fault, c.want)
		}
	}
}

// TestSeenMoves: every move changes the version, a heartbeat does not, and it reveals no token.
func TestSeenMoves(t *testing.T) {
	t.Parallel()
	s := task.Step{State: task.StepInProgress, ReadyAt: 1, AssignedAt: 2, StartedAt: 3, Attempts: 1, MaxAttempts: 3}
	before := s.Seen()
	s.LeaseUntil, s.Progress, s.Note, s.Token = 99, 50, "half", 7
	if s.Seen().Version != before.Version {
		t.Error("a sign of life changes the version")
	}
	for name, move := range map[string]func(*task.Step){
		"State": func(s *task.Step) { s.State = task.StepErrored }, "Again": func(s *task.Step) { s.AssignedAt = 9 },
		"Failed": func(s *task.Step) { s.FinishedAt = 9 }, "Reset": func(s *task.Step) { s.Attempts = 0 },
		"Priority": func(s *task.Step) { s.Priority = 9 },
	} {
		moved := s
		move(&moved)
		if moved.Seen().Version == before.Version {
			t.Errorf("%s: the version stays %s", name, before.Version)
		}
		err := task.Expectation{Versions: []string{before.Version}}.Check(moved.Seen())
		if e := (*task.Error)(nil); !errors.As(err, &e) || e.Code != task.Conflict {
			t.Errorf("%s: answered %v, want a conflict", name, err)
		}
	}
	if err := (task.Expectation{State: "in_progress", Versions: []string{"x-1", before.Version}}).Check(
		s.Seen()); err != nil {
		t.Errorf("what is as expected is answered %v", err)
	}
}

func TestMatchOne(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int64{"": 0, "*": 0, `"12"`: 12, "7": 7, `W/"7"`: 7, "0": task.NoVersion,
		"-1": task.NoVersion, "old": task.NoVersion, "99999999999999999999": task.NoVersion} {
		if got, fault := task.MatchOne(value); got != want || fault != "" {
			t.Errorf("%q is %d, %q; want %d", value, got, fault, want)
		}
	}
	for _, value := range []string{"1, 2", "A B", ","} {
		if _, fault := task.MatchOne(value); fault == "" {
			t.Errorf("%q has no fault", value)
		}
	}
}
