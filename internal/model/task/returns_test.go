package task_test

import (
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestReturnsOf(t *testing.T) {
	t.Parallel()
	const (
		l, n, r = task.LeaseExpired, task.NotStarted, task.Released
		s, f, o = task.Snoozed, task.Failed, task.TimedOut
	)
	step, other := task.ID{1}, task.ID{2}
	reset := func(at task.Instant) []task.Act {
		return []task.Act{{StepID: step, Kind: task.ActResetStep, At: at}}
	}
	for name, c := range map[string]struct {
		ends []task.Outcome
		acts []task.Act
		want task.Returns
		says string
	}{
		"None": {nil, nil, task.Returns{}, ""},
		"Lost": {[]task.Outcome{l, l}, nil, task.Returns{Lost: 2, All: 2}, "2 workers in a row were lost with this step"},
		"NotStarted": {[]task.Outcome{n, n}, nil, task.Returns{NotStarted: 2, All: 2},
			"2 workers in a row did not start this step"},
		"Both": {[]task.Outcome{l, n, l}, nil, task.Returns{Lost: 2, NotStarted: 1, All: 3},
			"3 workers in a row were lost with this step or did not start it"},
		"Failed":      {[]task.Outcome{l, f, l}, nil, task.Returns{Lost: 1, All: 1}, ""},
		"TimedOut":    {[]task.Outcome{l, s, o}, nil, task.Returns{}, ""},
		"Expired":     {[]task.Outcome{l, task.DispatchExpired, n}, nil, task.Returns{NotStarted: 1, All: 1}, ""},
		"Released":    {[]task.Outcome{l, r, l, r}, nil, task.Returns{Lost: 2, All: 4}, ""},
		"Snoozed":     {[]task.Outcome{l, n, s, l}, nil, task.Returns{Lost: 1, All: 4}, ""},
		"SnoozedLast": {[]task.Outcome{l, s, s}, nil, task.Returns{All: 3}, ""},
		"Reset":       {[]task.Outcome{l, l, l}, reset(2), task.Returns{Lost: 1, All: 1}, ""},
		"ResetNow":    {[]task.Outcome{l, l, l}, reset(3), task.Returns{}, ""},
		"ResetBefore": {[]task.Outcome{l, l}, reset(0), task.Returns{Lost: 2, All: 2}, ""},
		"ResetOfOther": {[]task.Outcome{l}, []task.Act{{StepID: other, Kind: task.ActResetStep, At: 5}},
			task.Returns{Lost: 1, All: 1}, ""},
		"Replay": {[]task.Outcome{l}, []task.Act{{StepID: step, Kind: task.ActReplayStep, At: 5}}, task.Returns{}, ""},
		"OtherAct": {[]task.Outcome{l}, []task.Act{{StepID: step, Kind: task.ActGiveUp, At: 5}},
			task.Returns{Lost: 1, All: 1}, ""},
		"LastReset": {[]task.Outcome{l, l, l}, append(reset(2), reset(1)...), task.Returns{Lost: 1, All: 1}, ""},
	} {
		var ended []task.Attempt
		for i, outcome := range c.ends {
			ended = append(ended, task.Attempt{StepID: step, Outcome: outcome, FinishedAt: task.Instant(i + 1)},
				task.Attempt{StepID: other, Outcome: f, FinishedAt: task.Instant(i + 1)})
		}
		got := task.ReturnsOf(step, ended, c.acts)
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if c.says != "" && got.String() != c.says {
			t.Errorf("%s: %q, want %q", name, got, c.says)
		}
	}
}
