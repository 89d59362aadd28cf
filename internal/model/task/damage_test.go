package task_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

const far task.Instant = 253_402_300_800_000_000

func TestShownTask(t *testing.T) {
	t.Parallel()
	whole := task.Task{State: task.Pending, CreatedAt: now, Context: []byte(`{"a":1}`)}
	if got, why := whole.Shown(); why != "" || got.CreatedAt != now || string(got.Context) != `{"a":1}` {
		t.Errorf("a whole task is shown as %+v: %q", got, why)
	}
	if got, why := (task.Task{State: task.Pending}).Shown(); why != "" || got.Context != nil {
		t.Errorf("a task without a context is shown as %+v: %q", got, why)
	}
	damaged := task.Task{State: "lost", CreatedAt: far, RunAt: now, Context: []byte(`{`),
		Unread: "a column could not be read"}
	got, why := damaged.Shown()
	want := `a column could not be read; there is no task state "lost"; the time 253402300800000000 is out of range; ` +
		"context is not valid JSON"
	if why != want || got.CreatedAt != 0 || got.RunAt != now || got.Context != nil {
		t.Errorf("it is shown as %+v: %s", got, why)
	}
	deep := task.Task{State: task.Pending, Context: []byte(strings.Repeat("[", 201) + strings.Repeat("]", 201))}
	if got, why := deep.Shown(); why != "context nests deeper than 200 levels" || got.Context != nil {
		t.Errorf("a deep context is shown as %s: %q", got.Context, why)
	}
}

func TestShownStep(t *testing.T) {
	t.Parallel()
	tpl := graph("a:", "b: a")
	for name, c := range map[string]struct {
		step task.Step
		of   *task.Template
		why  string
	}{
		"First":       {task.Step{Ordinal: 1, State: task.StepPending}, tpl, ""},
		"Last":        {task.Step{Ordinal: 2, State: task.StepPending, Result: []byte(`1`)}, tpl, ""},
		"BeforeFirst": {task.Step{Ordinal: 0, State: task.StepPending}, tpl, "its template has no step 0"},
		"AfterLast":   {task.Step{Ordinal: 3, State: task.StepPending}, tpl, "its template has no step 3"},
		"NoTemplate":  {task.Step{Ordinal: 3, State: task.StepPending}, task.UnreadTemplate(7, "is gone"), ""},
		"State":       {task.Step{Ordinal: 1, State: "lost"}, tpl, `there is no step state "lost"`},
		"Time": {task.Step{Ordinal: 1, State: task.StepPending, LeaseUntil: far}, tpl,
			"the time 253402300800000000 is out of range"},
		"DueTime": {task.Step{Ordinal: 1, State: task.StepPending, Queue: task.Timers, Key: int64(far)}, tpl,
			"the time 253402300800000000 is out of range"},
		"KeyIsNoTime": {task.Step{Ordinal: 1, State: task.StepEnqueued, Queue: 7, Key: int64(far)}, tpl, ""},
		"Result": {task.Step{Ordinal: 1, State: task.StepComplete, Result: []byte(`x`)}, tpl,
			"result is not valid JSON"},
		"UnreadColumns": {task.Step{Ordinal: 1, State: task.StepPending, Unread: "x"}, tpl, "x"},
	} {
		got, why := c.step.Shown(c.of)
		if why != c.why {
			t.Errorf("%s: %q, want %q", name, why, c.why)
		}
		if why == "" && string(got.Result) != string(c.step.Result) {
			t.Errorf("%s: the result became %q", name, got.Result)
		}
	}
	if got := task.UnreadTemplate(7, "is gone"); got.DefID != 7 || got.Unread != "its template, with key 7, is gone" {
		t.Errorf("a template that is gone is %+v", got)
	}
}

func TestSpec(t *testing.T) {
	t.Parallel()
	tpl := graph("a:", "b: a")
	for ordinal, want := range map[int]string{0: "step 0", 1: "a", 2: "b", 3: "step 3"} {
		if got := tpl.Spec(&task.Step{Ordinal: ordinal}).Name; got != want {
			t.Errorf("step %d is %q, want %q", ordinal, got, want)
		}
	}
}

func TestShownOthers(t *testing.T) {
	t.Parallel()
	const outOfRange = "the time 253402300800000000 is out of range"
	c, why := task.Case{OpenedAt: now, UpdatedAt: far, Metadata: []byte(`{`), Snapshot: []byte(`{}`),
		Former: []task.Occurrence{{No: 1, At: far, Snapshot: []byte(`x`), Unread: "u"}},
		Thread: []task.CaseNote{{At: far}}}.Shown()
	want := strings.Join([]string{outOfRange, "metadata is not valid JSON", "u", outOfRange,
		"the snapshot of occurrence 1 is not valid JSON", outOfRange}, "; ")
	if why != want {
		t.Errorf("of a case is said: %s", why)
	}
	if c.OpenedAt != now || c.UpdatedAt != 0 || c.Metadata != nil || string(c.Snapshot) != `{}` ||
		c.Former[0].At != 0 || c.Former[0].Snapshot != nil || c.Thread[0].At != 0 {
		t.Errorf("the case is shown as %+v", c)
	}
	a, why := task.Act{At: far, Data: []byte(`x`), Unread: "u"}.Shown()
	if why != "u; "+outOfRange+"; data is not valid JSON" || a.At != 0 || a.Data != nil {
		t.Errorf("the act is shown as %+v: %s", a, why)
	}
	w, why := task.Worker{LastHeartbeat: far, StartedAt: now, Unread: "u"}.Shown()
	if why != "u; "+outOfRange || w.LastHeartbeat != 0 || w.StartedAt != now {
		t.Errorf("the worker is shown as %+v: %s", w, why)
	}
}

func TestShownAttempt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failure *task.Failure
		why     string
	}{
		"NoFailure": {nil, ""},
		"NoDetails": {&task.Failure{Message: "m"}, ""},
		"Details":   {&task.Failure{Message: "m", Details: []byte(`{}`)}, ""},
		"Damaged":   {&task.Failure{Message: "m", Details: []byte(`{`)}, "error details is not valid JSON"},
	} {
		a := task.Attempt{FinishedAt: now, Failure: c.failure}
		got, why := a.Shown()
		if why != c.why || got.FinishedAt != now || (got.Failure == nil) != (c.failure == nil) {
			t.Errorf("%s: it is shown as %+v: %q", name, got, why)
		}
		if c.failure == nil {
			continue
		}
		if got.Failure.Message != "m" || (got.Failure.Details == nil) != (why != "" || c.failure.Details == nil) {
			t.Errorf("%s: the failure is shown as %+v", name, got.Failure)
		}
		if why != "" && string(a.Failure.Details) != `{` {
			t.Errorf("%s: the attempt has lost its details", name)
		}
	}
}
