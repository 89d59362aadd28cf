package task_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// The wait after which a step leaves its band is the first promotion above its level, else the common bound.
func TestThresholdOfALevel(t *testing.T) {
	t.Parallel()
	unbounded := task.Scheduling{Mode: task.Promote, Promotions: promotions}
	for _, c := range []struct {
		order task.Scheduling
		level int
		want  time.Duration
	}{
		{orders()["Strict"], 25, time.Hour},
		{orders()["Strict"], 99, time.Hour},
		{orders()["Strict"], 100, 0},
		{orders()["Unbounded"], 25, 0},
		{orders()["Aging"], 25, 0},
		{orders()["Promote"], 25, 10 * time.Minute},
		{orders()["Promote"], 50, 20 * time.Minute},
		{orders()["Promote"], 74, 20 * time.Minute},
		{orders()["Promote"], 75, time.Hour},
		{unbounded, 25, 10 * time.Minute},
		{unbounded, 75, 0},
	} {
		if got := c.order.Threshold(c.level); got != c.want {
			t.Errorf("%s: level %d leaves its band after %v, want %v", c.order.Mode, c.level, got, c.want)
		}
	}
}

func TestOvertaken(t *testing.T) {
	t.Parallel()
	unbounded := task.Scheduling{Mode: task.Promote, Promotions: promotions}
	for _, c := range []struct {
		order     task.Scheduling
		level, by int
		want      time.Duration
		bounded   bool
	}{
		{orders()["Unbounded"], 50, 50, 0, true},
		{orders()["Unbounded"], 50, 25, 0, true},
		{orders()["Unbounded"], 50, 51, 0, false},
		{orders()["Strict"], 50, 51, time.Hour, true},
		{orders()["Aging"], 25, 75, 20 * time.Minute, true},
		{orders()["Promote"], 25, 50, 10 * time.Minute, true},
		{orders()["Promote"], 25, 51, 20 * time.Minute, true},
		{orders()["Promote"], 25, 76, time.Hour, true},
		{unbounded, 25, 75, 20 * time.Minute, true},
		{unbounded, 25, 76, 0, false},
	} {
		if got, bounded := c.order.Overtaken(c.level, c.by); got != c.want || bounded != c.bounded {
			t.Errorf("%s: level %d by %d for %v, %t; want %v, %t", c.order.Mode, c.level, c.by, got, bounded, c.want, c.bounded)
		}
	}
}

func TestEffectiveWithoutAWeight(t *testing.T) {
	t.Parallel()
	if got := (task.Scheduling{Mode: task.Aging}).Effective(&task.Step{State: task.StepEnqueued, Priority: 30},
		now); got != 30 {
		t.Errorf("the level is %d, want its own", got)
	}
}

func TestEqualOrders(t *testing.T) {
	t.Parallel()
	order := func(change func(*task.Scheduling)) task.Scheduling {
		s := task.Scheduling{Mode: task.Promote, AgingWeight: 1, MaxWait: 2, Promotions: slices.Clone(promotions)}
		change(&s)
		return s
	}
	first := order(func(*task.Scheduling) {})
	if !first.Equal(order(func(*task.Scheduling) {})) || !(task.Scheduling{}).Equal(task.Scheduling{}) {
		t.Error("an order is not equal to itself")
	}
	for name, change := range map[string]func(*task.Scheduling){
		"Mode": func(s *task.Scheduling) { s.Mode = task.Strict }, "Weight": func(s *task.Scheduling) { s.AgingWeight = 9 },
		"MaxWait": func(s *task.Scheduling) { s.MaxWait = 9 },
		"OneLess": func(s *task.Scheduling) { s.Promotions = s.Promotions[:1] },
		"Level":   func(s *task.Scheduling) { s.Promotions[1].Level = 9 },
		"After":   func(s *task.Scheduling) { s.Promotions[0].After = 9 },
	} {
		if first.Equal(order(change)) {
			t.Errorf("%s does not tell two orders apart", name)
		}
	}
}

func TestPromised(t *testing.T) {
	t.Parallel()
	running := task.Step{State: task.StepInProgress, Queue: task.Leases, StartedAt: now - 5, Timeout: time.Second}
	lease := func(s task.Step, until task.Instant) task.Step { s.LeaseUntil = until; return s }
	for name, c := range map[string]struct {
		step  task.Step
		bound time.Duration
		want  task.Promise
		until task.Instant
	}{
		"Timer": {task.Step{State: task.StepPending, Queue: task.Timers, Key: 77}, 0, task.PromisedTime, 77},
		"Ready": {task.Step{State: task.StepEnqueued, Queue: 5, ReadyAt: now}, time.Second, task.PromisedTurn,
			now.Add(time.Second)},
		"ReadyForEver":  {task.Step{State: task.StepEnqueued, Queue: 5, ReadyAt: now}, 0, task.PromisedTurn, task.Endless},
		"WaitsForOther": {task.Step{State: task.StepPending}, 0, task.NoPromise, 0},
		"WithoutBound":  {task.Step{State: task.StepComplete}, 0, task.NoPromise, 0},
		"Running":       {lease(running, now+1), time.Second, task.PromisedAttempt, running.StartedAt.Add(time.Second)},
		"LeaseIsOver":   {lease(running, now), time.Second, task.PromisedAttempt, now},
		"NotBegun": {lease(task.Step{State: task.StepAssigned, Queue: task.Leases}, now+9), time.Second,
			task.PromisedAttempt, now + 9},
		"NoTimeout": {lease(task.Step{State: task.StepInProgress, Queue: task.Leases}, now+9), time.Second,
			task.PromisedAttempt, now + 9},
	} {
		if got, until := c.step.Promised(now, c.bound); got != c.want || until != c.until {
			t.Errorf("%s: %q until %d, want %q until %d", name, got, until, c.want, c.until)
		}
	}
}

// The last promise to end bounds a task; on a tie the first step in the template. One that ended before the state
// began does not count.
func TestLimitOfPromises(t *testing.T) {
	t.Parallel()
	timer := func(ordinal int, until task.Instant) *task.Step {
		return &task.Step{Ordinal: ordinal, State: task.StepWaitingForRetry, Queue: task.Timers, Key: int64(until)}
	}
	all := task.Thresholds{WaitingForRetry: time.Hour}
	k := &task.Task{State: task.WaitingForRetry, StateAt: now}
	for name, c := range map[string]struct {
		steps   []*task.Step
		ordinal int
	}{
		"Longest":       {[]*task.Step{timer(1, now+9), timer(2, now+8)}, 1},
		"LongestIsLast": {[]*task.Step{timer(1, now+8), timer(2, now+9)}, 2},
		"AtOnce":        {[]*task.Step{timer(1, now+9), timer(2, now+9)}, 1},
		"AtOnceTheLast": {[]*task.Step{timer(2, now+9), timer(1, now+9)}, 1},
		"OverAtItsTime": {[]*task.Step{timer(1, now)}, 0},
	} {
		l := all.Limit(k, task.Lifecycle{}, c.steps, 0, nil, now+20)
		got := 0
		if l.PromisedStep != nil {
			got = l.PromisedStep.Ordinal
		}
		if got != c.ordinal || (l.Source == task.LimitOfPromise) != (c.ordinal > 0) {
			t.Errorf("%s: it is %+v, want step %d", name, l, c.ordinal)
		}
	}
}

func TestStaleAt(t *testing.T) {
	t.Parallel()
	if got := (task.Limit{Threshold: 10 * time.Second,
		Used: 4 * time.Second}).StaleAt(&task.Task{}, now); got != now.Add(6*time.Second) {
		t.Errorf("stale at %d", got)
	}
	if got := (task.Limit{Used: 4 * time.Second}).StaleAt(&task.Task{}, now); got != 0 {
		t.Errorf("without a threshold it is stale at %d", got)
	}
	tomorrow := &task.Task{RunAt: now.Add(24 * time.Hour)}
	if got := (task.Limit{Threshold: time.Minute}).StaleAt(tomorrow, now); got != tomorrow.RunAt.Add(time.Minute) {
		t.Errorf("a task that begins tomorrow is stale at %d", got)
	}
}

func TestDurationLimit(t *testing.T) {
	t.Parallel()
	hour := task.Lifecycle{MaxDuration: time.Hour}
	for name, c := range map[string]struct {
		deadline task.Instant
		of       task.Lifecycle
		want     task.Limit
	}{
		"Half": {now.Add(30 * time.Minute), hour, task.Limit{Threshold: time.Hour, Used: 30 * time.Minute,
			Source: task.LimitOfDuration}},
		"Scheduled":  {now.Add(2 * time.Hour), hour, task.Limit{Threshold: time.Hour, Source: task.LimitOfDuration}},
		"NoDeadline": {0, hour, task.Limit{}},
		"NoDuration": {now.Add(time.Hour), task.Lifecycle{}, task.Limit{}},
	} {
		if got := task.DurationLimit(&task.Task{DeadlineAt: c.deadline}, c.of, now); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestNearerOfTwoLimits(t *testing.T) {
	t.Parallel()
	limit := func(used, threshold time.Duration, source task.LimitSource) task.Limit {
		return task.Limit{Used: used * time.Minute, Threshold: threshold * time.Minute, Source: source}
	}
	for _, c := range []struct{ state, whole, want task.Limit }{
		{limit(7, 10, "a"), limit(0, 15, "b"), limit(7, 10, "a")},
		{limit(0, 10, "a"), limit(10, 20, "b"), limit(0, 10, "a")},
		{limit(0, 0, "a"), limit(1, 10, "b"), limit(1, 10, "b")},
		{limit(20, 0, "a"), limit(1, 10, "b"), limit(1, 10, "b")},
		{limit(1, 10, "a"), limit(20, 0, "b"), limit(1, 10, "a")},
		{limit(20, 0, "a"), limit(30, 0, "b"), limit(20, 0, "a")},
		{limit(80, 100, "a"), limit(0, 10, "b"), limit(80, 100, "a")},
		{limit(0, 10, "a"), limit(80, 100, "b"), limit(80, 100, "b")},
		{limit(20, 10, "a"), limit(130, 100, "b"), limit(130, 100, "b")},
	} {
		if got := c.state.Nearer(c.whole); got != c.want {
			t.Errorf("of %+v and %+v it is %+v", c.state, c.whole, got)
		}
	}
}

func TestStepPlaces(t *testing.T) {
	t.Parallel()
	order := orders()["Aging"]
	s := task.Step{State: task.StepEnqueued, Priority: 50, ReadyAt: now, Key: 1}
	if s.Age(now, now-1000, order); s.Key != order.KeyAt(50, now-1000, now) {
		t.Errorf("an older step has key %d", s.Key)
	}
	if s.Age(now, now+1000, order); s.Key != order.KeyAt(50, now, now) {
		t.Errorf("a step does not age by a time to come: key %d", s.Key)
	}
	p := task.Step{State: task.StepPending, Priority: 50, Key: 1}
	if p.Age(now, now, order); p.Key != 1 {
		t.Errorf("a step that is not ready has key %d", p.Key)
	}
	for _, c := range []struct {
		step task.Step
		want bool
	}{
		{task.Step{State: task.StepPending, Queue: task.Timers}, true},
		{task.Step{State: task.StepPending}, false},
		{task.Step{State: task.StepWaitingForRetry, Queue: task.Timers}, false},
	} {
		if got := c.step.Scheduled(); got != c.want {
			t.Errorf("%+v: %t, want %t", c.step, got, c.want)
		}
	}
	s.LookAt(now + 5)
	if s.Queue != task.Leases || s.Key != int64(now+5) {
		t.Errorf("it is looked at in queue %d at %d", s.Queue, s.Key)
	}
}

func TestCharge(t *testing.T) {
	t.Parallel()
	s := task.Step{State: task.StepInProgress}
	if s.Uncharge(); s.Attempts != 0 {
		t.Errorf("%d attempts, want none", s.Attempts)
	}
	if s.Charge(); s.Attempts != 1 {
		t.Errorf("%d attempts, want 1", s.Attempts)
	}
	if s.Uncharge(); s.Attempts != 0 {
		t.Errorf("%d attempts, want none", s.Attempts)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	const first = int64(1) << 50
	if !task.CountedToken(first-1) || task.CountedToken(first) {
		t.Error("tokens that are counted end at 2^50")
	}
	at := func(d time.Duration) int64 { return int64(now.Add(d)) }
	for token, want := range map[int64]bool{
		at(0): true, at(time.Minute): true, at(time.Minute) + 1: false, at(-30 * 24 * time.Hour): true,
		at(-30*24*time.Hour) - 1: false,
	} {
		if got := task.TimeToken(token, now); got != want {
			t.Errorf("a token of %v before now: %t, want %t", now.Sub(task.Instant(token)), got, want)
		}
	}
	for token, want := range map[int64]bool{first: true, first - 1: false} { // in 2005 both were of the last month
		if got := task.TimeToken(token, task.Instant(first)); got != want {
			t.Errorf("the token %d: %t, want %t", token, got, want)
		}
	}
}

func TestOldLeases(t *testing.T) {
	t.Parallel()
	s := task.Step{State: task.StepEnqueued, Token: 7}
	if err := s.Adopt(task.Holding{Token: 7}); task.CodeOf(err) != task.StaleToken {
		t.Errorf("a lease with the last token is adopted: %v", err)
	}
	held := task.Step{State: task.StepInProgress, Token: 7, LeaseUntil: now, Progress: 1}
	if held.Learn(task.Holding{Token: 7, Until: now, Progress: 5}) || held.Progress != 1 {
		t.Error("a lease that is as long is news")
	}
	assigned := task.Step{State: task.StepAssigned, Token: 7, LeaseUntil: now}
	if assigned.Learn(task.Holding{Token: 7, Until: now + 5}) || assigned.LeaseUntil != now {
		t.Error("a step that has not begun has longer to do so")
	}
	if held.Learn(task.Holding{Token: 8, Until: now + 5}) {
		t.Error("another lease is news")
	}
}

func TestWorkerStates(t *testing.T) {
	t.Parallel()
	for state, want := range map[task.WorkerState]bool{task.WorkerActive: false, task.WorkerDraining: true,
		task.WorkerUnhealthy: false, task.WorkerDead: true} {
		if got := state.Leaving(); got != want {
			t.Errorf("%s: %t, want %t", state, got, want)
		}
	}
	w := task.Worker{State: task.WorkerDead, ProbeFailures: 3, ProbeError: "e", LastHeartbeat: now}
	if w.Heard(now-1, false); w.State != task.WorkerActive || w.ProbeFailures != 0 || w.ProbeError != "" ||
		w.LastHeartbeat != now {
		t.Errorf("a dead worker that is heard is %+v", w)
	}
	w = task.Worker{State: task.WorkerUnhealthy, ProbeFailures: 3, ProbeError: "e"}
	if w.Heard(now, false); w.State != task.WorkerUnhealthy || w.ProbeFailures != 3 || w.LastHeartbeat != now {
		t.Errorf("a heartbeat heals: %+v", w)
	}
	if w.Heard(now, true); w.State != task.WorkerDraining {
		t.Errorf("it drains, and is %s", w.State)
	}
	if s, until, period := (&task.Worker{BrokenAt: now}).Breaker(now, 0); s != task.BreakerClosed || until != 0 ||
		period != 0 {
		t.Errorf("without a breaker it is %s until %d, %d", s, until, period)
	}
}

func TestProbed(t *testing.T) {
	t.Parallel()
	w := task.Worker{State: task.WorkerActive}
	for i, c := range []struct {
		fault    string
		changed  bool
		state    task.WorkerState
		failures int
	}{
		{"", false, task.WorkerActive, 0},
		{"a", true, task.WorkerActive, 1},
		{"a", true, task.WorkerUnhealthy, 2},
		{"a", true, task.WorkerUnhealthy, 3},
		{"", true, task.WorkerActive, 0},
		{"", false, task.WorkerActive, 0},
	} {
		if got := w.Probed(c.fault, 2); got != c.changed || w.State != c.state || w.ProbeFailures != c.failures ||
			w.ProbeError != c.fault {
			t.Errorf("probe %d: %t, %+v; want %t, %+v", i+1, got, w, c.changed, c)
		}
	}
	dead := task.Worker{State: task.WorkerDead, ProbeFailures: 2, ProbeError: "e"}
	if !dead.Probed("", 2) || dead.State != task.WorkerDead {
		t.Errorf("a probe wakes the dead: %+v", dead)
	}
	other := task.Worker{State: task.WorkerUnhealthy, ProbeError: "e"}
	if !other.Probed("", 2) || other.ProbeError != "" || other.State != task.WorkerActive {
		t.Errorf("the error of a probe stays: %+v", other)
	}
}

func TestExpectation(t *testing.T) {
	t.Parallel()
	seen := task.Seen{What: "task", State: "error", Version: "v2", Since: now}
	for name, c := range map[string]struct {
		expect task.Expectation
		now    task.Seen
		want   string
	}{
		"Nothing": {task.Expectation{}, seen, ""},
		"State":   {task.Expectation{State: "error"}, seen, ""},
		"Version": {task.Expectation{Versions: []string{"v1", "v2"}}, seen, ""},
		"OtherState": {task.Expectation{State: "complete"}, seen,
			"is error, not complete as expected: it last moved at 2023-11-14T22:13:20Z"},
		"OtherVersion": {task.Expectation{Versions: []string{"v1"}}, seen,
			"is error, and has moved since it was read: it last moved at"},
		"StateFirst": {task.Expectation{State: "complete", Versions: []string{"v1"}}, seen, "not complete as expected"},
		"NeverMoved": {task.Expectation{State: "complete"}, task.Seen{What: "task", State: "error"},
			"not complete as expected"},
		"StateVersions": {task.Expectation{State: "error", Versions: []string{"v1"}}, seen, "has moved since"},
	} {
		err := c.expect.Check(c.now)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if task.CodeOf(err) != task.Conflict || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "last moved") != (c.now.Since != 0) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestBoundsOfInput(t *testing.T) {
	t.Parallel()
	last := task.At(time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC))
	for i, want := range map[task.Instant]bool{0: true, 1: true, -1: false, last - 1: true, last: false} {
		if got := task.InstantFault(i) == ""; got != want {
			t.Errorf("the time %d: %t, want %t", i, got, want)
		}
	}
	nested := func(depth int) []byte {
		return []byte("[[]," + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + "]")
	}
	for depth, want := range map[int]bool{200: true, 201: false} {
		if got := task.JSONFault(nested(depth), 1000) == ""; got != want {
			t.Errorf("%d levels: %t, want %t", depth, got, want)
		}
	}
	if task.FromOptional(nil) != 0 || task.FromFilter(time.Time{}) != 0 || task.FromFilter(now.Time()) != now {
		t.Error("a time that is missing is not zero")
	}
	if stamp := now.Time(); task.FromOptional(&stamp) != now {
		t.Error("a time that is there is another")
	}
}

// IDs are stored and rebuilt from their sequence: a Source's results must never change.
func TestIDsAreFrozen(t *testing.T) {
	t.Parallel()
	s := task.NewSource(42, 0)
	for seq, want := range map[int64]string{1: "00000000-0000-7001-ba69-ec90eb4fef88",
		7_000_000_000_000_000: "018de768-16d8-7000-b066-4f80068a0ec3"} {
		if got := s.ID(seq).String(); got != want {
			t.Errorf("the sequence %d has the ID %s, want %s", seq, got, want)
		}
	}
}

func TestSourceLeavesNoGaps(t *testing.T) {
	t.Parallel()
	s := task.NewSource(42, 0)
	at := now.Time()
	first, second := s.Take(at, 4), s.Take(at, 1)
	if second.Seq() != first.Seq()+4 || s.Step(first, 3).Seq() != first.Seq()+3 {
		t.Errorf("after the sequence %d with four comes %d", first.Seq(), second.Seq())
	}
}
