package task_test

import (
	"reflect"
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestMeta(t *testing.T) {
	t.Parallel()
	if m := (task.Meta{}); !m.Empty() || m.Changed() {
		t.Error("a Meta without anything has to be stored")
	}
	for name, m := range map[string]task.Meta{
		"Tags": {Tags: []string{"a"}}, "Parent": {ParentCorrelationID: "a"}, "Initiator": {Initiator: "a"},
		"Source": {SourceSystem: "a"},
		"Reason": {Reason: "a"}, "Trace": {TraceParent: "a"}, "Estimate": {Estimate: 1}, "Priority": {Priority: "a"},
	} {
		if m.Empty() || m.Changed() {
			t.Errorf("%s: empty %t, changed %t", name, m.Empty(), m.Changed())
		}
	}
	for name, m := range map[string]task.Meta{
		"CancelReason": {CancelReason: "a"}, "CancelledBy": {CancelledBy: "a"}, "Case": {Case: task.HasPending},
		"Replays": {Replays: 1}, "Edits": {ContextEdits: 1},
	} {
		if m.Empty() || !m.Changed() {
			t.Errorf("%s: empty %t, changed %t", name, m.Empty(), m.Changed())
		}
	}
}

func TestCasesAreKept(t *testing.T) {
	t.Parallel()
	for mark, want := range map[task.CaseMark]bool{task.HasPending: true, task.HasClosed: true,
		task.HadClosed: false, "": false} {
		if got := mark.Kept(); got != want {
			t.Errorf("%q: %t, want %t", mark, got, want)
		}
	}
}

func TestDerivable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to task.State
		want     bool
	}{
		{task.StepsInProcess, task.Complete, true},
		{task.StepsInProcess, task.Errored, false},
		{task.WaitingForRetry, task.Complete, false},
		{task.Pending, task.StepsInProcess, false},
	} {
		if got := (task.Event{From: c.from, To: c.to}).Derivable(); got != c.want {
			t.Errorf("%s to %s: %t, want %t", c.from, c.to, got, c.want)
		}
	}
}

func TestTaskTimes(t *testing.T) {
	t.Parallel()
	k := task.Task{State: task.StepsInProcess, StateAt: 1, DeadlineAt: 5}
	k.Progress(7)
	if k.StateAt != 7 || k.State != task.StepsInProcess {
		t.Errorf("after progress it is %+v", k)
	}
	if was := k.TimeOut(9); was != task.StepsInProcess || k.State != task.Errored || k.StateAt != 9 || k.DeadlineAt != 0 {
		t.Errorf("after its time it is %+v", k)
	}
	if since := (&task.Task{StateAt: 3, RunAt: 8}).Since(5); since != 5 {
		t.Errorf("a scheduled task counts since %d, want now", since)
	}
}

func TestUndecided(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		counts task.Counts
		want   bool
	}{
		{task.Counts{Failed: 1, Pending: 1}, true},
		{task.Counts{Failed: 1}, false},
		{task.Counts{Pending: 1}, false},
		{task.Counts{Failed: 1, Pending: 1, Active: 1}, false},
		{task.Counts{Failed: 1, Pending: 1, Waiting: 1}, false},
		{task.Counts{Failed: 1, Pending: 1, Active: 1, Waiting: 1}, false},
	} {
		if got := c.counts.Undecided(); got != c.want {
			t.Errorf("%+v: %t, want %t", c.counts, got, c.want)
		}
	}
}

func TestInstantsThatShow(t *testing.T) {
	t.Parallel()
	const first, last task.Instant = -62_135_596_800_000_000 + 1, far - 1
	for i, want := range map[task.Instant]bool{first - 1: false, first: true, 0: false, 1: true, last: true,
		last + 1: false} {
		p := i.Ptr()
		if (p != nil) != want || i.Time().IsZero() == want {
			t.Errorf("%d is shown as %v, %v", i, p, i.Time())
		}
		if p != nil && !reflect.DeepEqual(*p, i.Time()) {
			t.Errorf("%d is both %v and %v", i, *p, i.Time())
		}
	}
}
