package task_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/task"
)

// wantState states the documented rule as questions.
func wantState(c task.Counts, now task.State, due bool) task.State {
	total := c.Pending + c.Active + c.Waiting + c.Done + c.Failed + c.Cancelled
	if now == task.Complete || now == task.Cancelled || now == task.ResolvedManually {
		return now
	}
	if c.Active > 0 {
		return task.StepsInProcess
	}
	if now == task.Pending && total == c.Pending {
		return task.Pending
	}
	if c.Waiting > 0 {
		return task.WaitingForRetry
	}
	if c.Failed > 0 {
		if c.Pending > 0 && due {
			return task.EnqueuingSteps
		}
		return task.Errored
	}
	if c.Pending > 0 {
		if now == task.Errored || now == task.WaitingForRetry || now == task.EnqueuingSteps {
			return task.EnqueuingSteps
		}
		return task.WaitingForDependencies
	}
	if c.Cancelled > 0 {
		return task.Cancelled
	}
	if c.ManualEnds > 0 {
		return task.ResolvedManually
	}
	return task.Complete
}

// All combinations of up to two steps in each class, from every state, follow the rule; the result is reachable and
// stable.
func TestEvaluate(t *testing.T) {
	t.Parallel()
	const most = 2
	n := 0
	var c task.Counts
	each := func(field *int, next func()) func() {
		return func() {
			for *field = 0; *field <= most; *field++ {
				next()
			}
		}
	}
	check := func() {
		if c.Total() == 0 || c.ManualEnds > c.Done {
			return
		}
		for _, from := range task.States {
			for _, due := range []bool{false, true} {
				n++
				got := c.Evaluate(from, due)
				if want := wantState(c, from, due); got != want {
					t.Errorf("%+v in %s becomes %s, want %s", c, from, got, want)
				}
				if got != from && !from.Reaches(got) {
					t.Errorf("%+v: %s becomes %s, which the table does not reach", c, from, got)
				}
				if again := c.Evaluate(got, due); again != got && from != task.Pending {
					t.Errorf("%+v: %s becomes %s, which at once becomes %s", c, from, got, again)
				}
				if !due && !c.Undecided() && c.Evaluate(from, true) != got {
					t.Errorf("%+v: it is not undecided, but becomes %s or %s", c, got, c.Evaluate(from, true))
				}
			}
		}
	}
	each(&c.Pending,
		each(&c.Active, each(&c.Waiting, each(&c.Done, each(&c.Failed, each(&c.Cancelled, each(&c.ManualEnds, check)))))))()
	if want := 2 * (27*27 - 1) * len(task.States); n < want {
		t.Fatalf("checked %d combinations, want at least %d", n, want)
	}
}

func TestEvaluateExamples(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		counts task.Counts
		from   task.State
		want   task.State
	}{
		{"NotBegun", task.Counts{Pending: 3}, task.Pending, task.Pending},
		{"Begins", task.Counts{Pending: 2, Active: 1}, task.Pending, task.StepsInProcess},
		{"DrainsBesideAFailure", task.Counts{Active: 1, Failed: 1}, task.StepsInProcess, task.StepsInProcess},
		{"WaitsBesideAFailure", task.Counts{Waiting: 1, Failed: 1}, task.StepsInProcess, task.WaitingForRetry},
		{"GivesUp", task.Counts{Failed: 1, Pending: 2, Done: 1}, task.StepsInProcess, task.Errored},
		{"Repaired", task.Counts{Active: 1, Pending: 2, Done: 1}, task.Errored, task.StepsInProcess},
		{"ResolvedLast", task.Counts{Done: 3, ManualEnds: 1}, task.Errored, task.ResolvedManually},
		{"ResolvedInTheMiddle", task.Counts{Done: 3}, task.StepsInProcess, task.Complete},
		{"Stuck", task.Counts{Pending: 1, Cancelled: 1}, task.StepsInProcess, task.WaitingForDependencies},
		{"AllCancelled", task.Counts{Cancelled: 2}, task.StepsInProcess, task.Cancelled},
		{"CancelledStays", task.Counts{Active: 1}, task.Cancelled, task.Cancelled},
	} {
		if got := c.counts.Evaluate(c.from, false); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	repaired := task.Counts{Failed: 1, Pending: 3, Done: 1}
	if got := repaired.Evaluate(task.Errored, true); got != task.EnqueuingSteps {
		t.Errorf("with a step that was reset the task is %s", got)
	}
}

func classOf(c *task.Counts, s task.StepState) *int {
	return map[task.StepState]*int{
		task.StepPending: &c.Pending, task.StepEnqueued: &c.Active, task.StepAssigned: &c.Active,
		task.StepInProgress: &c.Active, task.StepWaiting: &c.Active, task.StepSkipped: &c.Done,
		task.StepEnqueuedForOrchestration: &c.Active, task.StepWaitingForRetry: &c.Waiting, task.StepComplete: &c.Done,
		task.StepErrored: &c.Failed, task.StepCancelled: &c.Cancelled, task.StepResolvedManually: &c.Done,
	}[s]
}

func TestCountsFollowTheSteps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.SampledFrom(task.StepStates), 1, 20).Draw(t, "steps")
		var c task.Counts
		for _, s := range steps {
			c.Add(s)
		}
		for range rapid.IntRange(0, 40).Draw(t, "moves") {
			i := rapid.IntRange(0, len(steps)-1).Draw(t, "step")
			to := rapid.SampledFrom(task.StepStates).Draw(t, "to")
			c.Move(steps[i], to)
			steps[i] = to
		}
		var want task.Counts
		for _, s := range steps {
			*classOf(&want, s)++
		}
		if c != want {
			t.Fatalf("counted %+v, want %+v", c, want)
		}
		if c.Total() != len(steps) {
			t.Fatalf("total %d, want %d", c.Total(), len(steps))
		}
	})
}

func TestTaskState(t *testing.T) {
	t.Parallel()
	tk := task.Task{State: task.Pending}
	tk.Counts.Add(task.StepPending)
	if was := tk.Reevaluate(now, false); was != "" || tk.State != task.Pending {
		t.Fatalf("left %q for %s, want no change", was, tk.State)
	}
	for _, m := range []struct {
		from, to task.StepState
		was      task.State
		state    task.State
		finished task.Instant
	}{
		{task.StepPending, task.StepEnqueued, task.Pending, task.StepsInProcess, 0},
		{task.StepEnqueued, task.StepInProgress, "", task.StepsInProcess, 0},
		{task.StepInProgress, task.StepWaitingForRetry, task.StepsInProcess, task.WaitingForRetry, 0},
		{task.StepWaitingForRetry, task.StepEnqueued, task.WaitingForRetry, task.StepsInProcess, 0},
		{task.StepEnqueued, task.StepErrored, task.StepsInProcess, task.Errored, now},
		{task.StepErrored, task.StepEnqueued, task.Errored, task.StepsInProcess, 0},
		{task.StepEnqueued, task.StepComplete, task.StepsInProcess, task.Complete, now},
	} {
		was := tk.Moved(m.from, m.to, now)
		if was != m.was || tk.State != m.state || tk.FinishedAt != m.finished {
			t.Fatalf("%s -> %s: left %q for %s, finished %d; want %q, %s, %d", m.from, m.to, was, tk.State, tk.FinishedAt, m.was,
				m.state, m.finished)
		}
	}
	timed := task.Task{State: task.StepsInProcess, DeadlineAt: now}
	if was := timed.TimeOut(now); was != task.StepsInProcess || timed.State != task.Errored || timed.DeadlineAt != 0 ||
		timed.FinishedAt != now {
		t.Errorf("timed out: %q, %+v", was, timed)
	}
	cancelled := task.Task{State: task.WaitingForRetry}
	if was := cancelled.Cancel(now); was != task.WaitingForRetry || cancelled.State != task.Cancelled ||
		cancelled.FinishedAt != now {
		t.Errorf("cancelled: %q, %+v", was, cancelled)
	}
}
