package task_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestLongestTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		order task.Scheduling
		want  time.Duration
	}{
		"Strict":              {task.Scheduling{Mode: task.Strict, MaxWait: time.Hour}, 61 * time.Minute},
		"StrictWithoutABound": {task.Scheduling{Mode: task.Strict}, 0},
		"Promote": {task.Scheduling{Mode: task.Promote, MaxWait: time.Hour,
			Promotions: []task.Promotion{{Level: 75, After: time.Minute}}}, 61 * time.Minute},
		"PromoteWithoutABound": {task.Scheduling{Mode: task.Promote,
			Promotions: []task.Promotion{{Level: 75, After: time.Minute}}}, 0},
		"Aging": {task.Scheduling{Mode: task.Aging, AgingWeight: 24 * time.Second, MaxWait: time.Hour},
			40 * time.Minute},
		"AgingWithoutABound": {task.Scheduling{Mode: task.Aging, AgingWeight: time.Minute}, 100 * time.Minute},
	} {
		if got := c.order.LongestTurn(time.Minute); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	const turn = time.Hour
	now := task.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	ago := func(d time.Duration) task.Instant { return now.Add(-d) }
	ready := &task.Step{Ordinal: 1, State: task.StepEnqueued, Queue: 5, ReadyAt: ago(10 * time.Minute)}
	held := &task.Step{Ordinal: 2, State: task.StepInProgress, Queue: task.Leases, StartedAt: ago(20 * time.Minute),
		LeaseUntil: now.Add(time.Minute), Timeout: 2 * time.Hour}
	silent := &task.Step{Ordinal: 3, State: task.StepInProgress, Queue: task.Leases, StartedAt: ago(25 * time.Minute),
		LeaseUntil: ago(time.Minute), Timeout: 2 * time.Hour}
	retry := &task.Step{Ordinal: 4, State: task.StepWaitingForRetry, Queue: task.Timers,
		Key: int64(now.Add(4 * time.Hour))}
	done := &task.Step{Ordinal: 5, State: task.StepComplete}
	for name, c := range map[string]struct {
		own   time.Duration
		state task.State
		turn  time.Duration
		steps []*task.Step

		threshold time.Duration
		source    task.LimitSource
		promise   task.Promise
	}{
		"Nothing": {0, task.StepsInProcess, turn, []*task.Step{done}, 30 * time.Minute, task.LimitOfAll,
			task.NoPromise},
		"InItsQueue": {0, task.StepsInProcess, turn, []*task.Step{done, ready}, 110 * time.Minute, task.LimitOfPromise,
			task.PromisedTurn},
		"WithoutABound": {0, task.StepsInProcess, 0, []*task.Step{held, ready}, 0, task.LimitOfPromise, task.PromisedTurn},
		"Held": {0, task.StepsInProcess, turn, []*task.Step{ready, held}, 160 * time.Minute, task.LimitOfPromise,
			task.PromisedAttempt},
		"ByASilentWorker": {0, task.StepsInProcess, turn, []*task.Step{silent}, 59 * time.Minute, task.LimitOfPromise,
			task.PromisedAttempt},
		"Retry": {0, task.WaitingForRetry, turn, []*task.Step{retry}, 5 * time.Hour, task.LimitOfPromise,
			task.PromisedTime},
		"TemplateWins": {20 * time.Minute, task.StepsInProcess, turn, []*task.Step{held, ready}, 20 * time.Minute,
			task.LimitOfTemplate, task.NoPromise},
		"NoThreshold":      {0, task.WaitingForDependencies, turn, []*task.Step{held}, 0, task.NoLimit, task.NoPromise},
		"NoStateOfConcern": {0, task.Pending, turn, []*task.Step{retry}, 0, task.NoLimit, task.NoPromise},
	} {
		thresholds := task.Thresholds{StepsInProcess: 30 * time.Minute, WaitingForRetry: 30 * time.Minute,
			WaitingForDependencies: -1}
		k := &task.Task{State: c.state, StateAt: ago(30 * time.Minute)}
		l := thresholds.Limit(k, task.Lifecycle{MaxStepsInProcess: c.own}, c.steps, c.turn, nil, now)
		if l.Threshold != c.threshold || l.Source != c.source || l.Promise != c.promise || l.Used != 30*time.Minute {
			t.Errorf("%s: %+v, want %s by %s %s", name, l, c.threshold, c.source, c.promise)
		}
	}
}

func TestNearerLimit(t *testing.T) {
	t.Parallel()
	limit := func(used, threshold time.Duration) task.Limit {
		return task.Limit{Used: used * time.Minute, Threshold: threshold * time.Minute, Source: task.LimitOfAll}
	}
	none := task.Limit{}
	for _, c := range []struct{ state, whole, want task.Limit }{
		{limit(10, 30), none, limit(10, 30)},
		{none, limit(10, 30), limit(10, 30)},
		{none, none, none},
		{limit(25, 30), limit(10, 12), limit(10, 12)},
		{limit(1, 30), limit(90, 100), limit(90, 100)},
		{limit(31, 30), limit(99, 100), limit(31, 30)},
		{limit(10, 30), limit(100, 1000), limit(10, 30)},
	} {
		if got := c.state.Nearer(c.whole); got != c.want {
			t.Errorf("of %+v and %+v it is %+v", c.state, c.whole, got)
		}
	}
}
