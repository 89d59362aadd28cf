package storetest

import (
	"context"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func recordCases() []testCase {
	return []testCase{
		{"Attempts", attempts},
		{"AttemptOfEveryOutcome", attemptOfEveryOutcome},
		{"Failure", failures},
		{"Events", events},
		{"Acts", acts},
		{"Expiries", expiries},
	}
}

func (f *fixture) addAttempts(list ...task.Attempt) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error { return tx.AddAttempts(ctx, list) })
}

func (f *fixture) findAttempts(j job) []task.Attempt {
	f.Helper()
	list, err := f.store.FindAttempts(f.Context(), j.task.ID)
	f.must(err)
	return list
}

func attempts(f *fixture) {
	j, other := f.build(f.diamond, 0), f.build(f.single, 0)
	f.insert(j, other)
	attempt := func(j job, step int, token int64, minutes int) task.Attempt {
		at := f.now.Add(time.Duration(minutes) * time.Minute)
		return task.Attempt{StepID: j.steps[step].ID, TaskID: j.task.ID, Token: token, Number: int(token), WorkerNo: 9,
			Outcome: task.Failed,
			ReadyAt: at - 3, AssignedAt: at - 2, StartedAt: at - 1, FinishedAt: at, After: task.StepWaitingForRetry,
			Failure: &task.Failure{Message: "no"}}
	}
	first, second, third := attempt(j, 3, 1, 1), attempt(j, 0, 1, 2), attempt(j, 0, 2, 3)
	elsewhere := attempt(other, 0, 1, 1)
	f.addAttempts(first, elsewhere)
	f.addAttempts(second)
	f.addAttempts(third)
	f.equal("attempts", f.findAttempts(j), []task.Attempt{first, second, third})
	f.equal("attempts of the other task", f.findAttempts(other), []task.Attempt{elsewhere})
}

func attemptOfEveryOutcome(f *fixture) {
	j := f.one()
	var want []task.Attempt
	for i, o := range []task.Outcome{task.Failed, task.TimedOut, task.LeaseExpired, task.NotStarted, task.Released,
		task.Snoozed, task.Interrupted} {
		for _, after := range []task.StepState{task.StepEnqueued, task.StepWaitingForRetry, task.StepErrored,
			task.StepCancelled} {
			want = append(want, task.Attempt{StepID: j.steps[0].ID, TaskID: j.task.ID, Token: int64(len(want) + 1), Number: i,
				Outcome:    o,
				FinishedAt: f.now.Add(time.Duration(len(want)) * time.Second), After: after})
		}
	}
	f.addAttempts(want...)
	f.equal("attempts", f.findAttempts(j), want)
}

func failures(f *fixture) {
	j := f.one()
	list := []*task.Failure{
		{},
		{Message: "boom"},
		{Type: "net.OpError", Message: "refused", Stack: "main.main()\n\tmain.go:7", Code: "E42", HTTPStatus: 503,
			ResponseBody: "<html>", Retryable: true, RetryAfterMS: 1500, Details: []byte(`{"a":[1,2]}`)},
		// A worker's output may hold any text.
		{Message: "nul \x00 escape \x1b[31m", Stack: strings.Repeat("frame\n", 5000), ResponseBody: "\x00"},
	}
	for _, s := range hostile() {
		list = append(list, &task.Failure{Type: s, Message: s, Stack: s, Code: s, ResponseBody: s})
	}
	var want []task.Attempt
	for i, failure := range list {
		want = append(want, task.Attempt{StepID: j.steps[0].ID, TaskID: j.task.ID, Token: int64(i + 1), Outcome: task.Failed,
			FinishedAt: f.now.Add(time.Duration(i) * time.Second), After: task.StepErrored, Failure: failure})
	}
	f.addAttempts(want...)
	f.equal("attempts", f.findAttempts(j), want)
}

func events(f *fixture) {
	j, other := f.one(), f.one()
	var want []task.Event
	for i, from := range task.States {
		for _, to := range task.States {
			want = append(want, task.Event{TaskID: j.task.ID, At: f.now.Add(time.Duration(i) * time.Second), From: from, To: to,
				Cause: hostile()[i]})
		}
	}
	elsewhere := task.Event{TaskID: other.task.ID, At: f.now, From: task.Pending, To: task.Complete}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return tx.AddEvents(ctx, append([]task.Event{elsewhere}, want[:20]...))
	})
	f.write(func(ctx context.Context, tx engine.Tx) error { return tx.AddEvents(ctx, want[20:]) })
	got, err := f.store.FindEvents(f.Context(), j.task.ID)
	f.must(err)
	f.equal("events", got, want)
	got, err = f.store.FindEvents(f.Context(), other.task.ID)
	f.must(err)
	f.equal("events of the other task", got, []task.Event{elsewhere})
}

func acts(f *fixture) {
	j, other := f.one(), f.one()
	want := []task.Act{
		{At: f.now, TaskID: j.task.ID, Kind: "cancel", Actor: "ada", Reason: "no longer wanted", From: "error",
			To: "cancelled"},
		{At: f.now + 1, TaskID: j.task.ID, StepID: j.steps[0].ID, Kind: "complete_manually", Actor: "bob",
			Reason: "done by hand",
			From:   "error", To: "complete", Data: []byte(`{"result":{"a":1}}`)},
	}
	for i, s := range hostile() {
		want = append(want, task.Act{At: f.now.Add(time.Duration(i+1) * time.Second), TaskID: j.task.ID, Kind: s, Actor: s,
			Reason: s, From: s, To: s,
			WorkerID: other.task.ID, Namespace: s, Template: s, Auth: task.AuthKey, Key: s})
	}
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.store.ActStore().AddActs(ctx, tx, want) })
	got, err := f.store.ActStore().FindActs(f.Context(), j.task.ID)
	f.must(err)
	f.equal("acts", unnumbered(f, got), want)
	got, err = f.store.ActStore().FindActs(f.Context(), other.task.ID)
	f.must(err)
	f.equal("acts of the other task", got, []task.Act(nil))
}

// unnumbered removes the numbers of acts, which must grow.
func unnumbered(f *fixture, acts []task.Act) []task.Act {
	f.Helper()
	last := int64(0)
	for i := range acts {
		if acts[i].No <= last {
			f.Errorf("the act %d has the number %d, after %d", i, acts[i].No, last)
		}
		last, acts[i].No = acts[i].No, 0
	}
	return acts
}

// expiries counts expired dispatches by hour, worker and template.
func expiries(f *fixture) {
	j, other := f.build(f.diamond, 0), f.build(f.single, 0)
	f.insert(j, other)
	hour := func(n int) task.Instant { return task.Instant(int64(n) * time.Hour.Microseconds()) }
	token := int64(0)
	add := func(of job, worker int64, at task.Instant, outcome task.Outcome) {
		token++
		f.addAttempts(task.Attempt{StepID: of.steps[0].ID, TaskID: of.task.ID, Token: token, Number: 1, WorkerNo: worker,
			Outcome: outcome, ReadyAt: at, AssignedAt: at, FinishedAt: at, After: task.StepWaitingForRetry})
	}
	add(j, 1, hour(5)-1, task.DispatchExpired) // before the time
	add(j, 1, hour(5), task.DispatchExpired)
	add(j, 1, hour(6)-1, task.DispatchExpired)
	add(j, 2, hour(5)+7, task.DispatchExpired)
	add(j, 2, hour(5)+7, task.NotStarted)
	add(other, 1, hour(6), task.DispatchExpired)
	add(other, 1, hour(7), task.DispatchExpired) // after it
	want := []engine.Expiry{
		{Hour: hour(6), Worker: 1, DefID: other.task.DefID, Count: 1, Last: hour(6)},
		{Hour: hour(5), Worker: 1, DefID: j.task.DefID, Count: 2, Last: hour(6) - 1},
		{Hour: hour(5), Worker: 2, DefID: j.task.DefID, Count: 1, Last: hour(5) + 7}}
	for _, limit := range []int{100, 3, 2} {
		got, err := f.store.ExpiryStore().Expiries(f.Context(), hour(5), hour(7), limit)
		f.must(err)
		f.equal("expiries", got, want[:min(limit, 3)])
	}
	none, err := f.store.ExpiryStore().Expiries(f.Context(), hour(8), hour(9), 100)
	f.must(err)
	f.equal("expiries of another time", len(none), 0)
}
