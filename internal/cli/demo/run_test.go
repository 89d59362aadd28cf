package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// scripted is a Backend with given polls and answers.
type scripted struct {
	protocol.Backend
	steps   []protocol.Assignment
	answers []protocol.SettleAnswer
}

func (s *scripted) Poll(context.Context, protocol.PollRequest) (*protocol.PollResponse, error) {
	return &protocol.PollResponse{Steps: s.steps}, nil
}

func (s *scripted) Settle(context.Context, protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
	return s.answers, nil
}

func TestObserver(t *testing.T) {
	t.Parallel()
	const mine = "demo-1"
	step := func(n byte, name, correlation string) protocol.Assignment {
		return protocol.Assignment{StepUUID: id(n), TaskUUID: id(100 + n), StepName: name, CorrelationID: correlation}
	}
	result := func(n byte, status string) protocol.StepResult {
		return protocol.StepResult{StepUUID: id(n), Status: status}
	}
	answer := func(n byte, state tasker.StepState) protocol.SettleAnswer {
		return protocol.SettleAnswer{StepUUID: id(n), State: state}
	}
	stale := protocol.SettleAnswer{Error: tasker.Errorf(tasker.CodeStaleToken, "stale")}

	back := &scripted{steps: []protocol.Assignment{
		step(1, stepPublish, mine), step(2, stepPrice, mine), step(3, stepParse, mine), step(4, stepPublish, "another run"),
	}}
	o := observe(back, mine, stepPublish)
	if _, err := o.Poll(t.Context(), protocol.PollRequest{}); err != nil {
		t.Fatal(err)
	}
	settle := func(answers []protocol.SettleAnswer, results ...protocol.StepResult) {
		t.Helper()
		back.answers = answers
		if _, err := o.Settle(t.Context(), protocol.SettleRequest{Results: results}); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(what string, ended, failed, steps, twice int) {
		t.Helper()
		c := o.counts()
		s, w := o.totals()
		if c != (counts{steps, ended, failed}) || s != steps || w != twice {
			t.Errorf("%s: %+v, steps %d, twice %d; want ended %d, failed %d, steps %d, twice %d", what, c, s, w, ended, failed,
				steps, twice)
		}
	}

	settle([]protocol.SettleAnswer{answer(1, tasker.StepComplete), answer(4, tasker.StepComplete)},
		result(1, protocol.ResultCompleted), result(4, protocol.ResultCompleted))
	expect("sink completed, another run's not counted", 1, 0, 1, 0)
	settle([]protocol.SettleAnswer{answer(2, tasker.StepWaitingForRetry)}, result(2, protocol.ResultFailed))
	expect("a retry settles nothing", 1, 0, 1, 0)
	settle([]protocol.SettleAnswer{answer(2, tasker.StepError)}, result(2, protocol.ResultFailed))
	expect("failed for good", 2, 1, 2, 0)
	settle([]protocol.SettleAnswer{stale}, result(1, protocol.ResultCompleted))
	expect("a refused result settles nothing", 2, 1, 2, 0)
	settle([]protocol.SettleAnswer{answer(3, tasker.StepComplete)}, result(3, protocol.ResultCompleted))
	expect("a step in the middle ends no task", 2, 1, 3, 0)
	settle([]protocol.SettleAnswer{answer(3, tasker.StepComplete)}, result(3, protocol.ResultCompleted))
	expect("settled twice", 2, 1, 3, 1)
}

func TestLooks(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := start.Add
	l := looks{every: lookEvery, lastLook: start, lastMove: start, open: 10}

	if l.due(at(time.Second), 9, 10) {
		t.Error("due after a second with a task on its way")
	}
	if !l.due(at(lookEvery), 9, 10) {
		t.Error("not due after a long time with a task on its way")
	}
	if !l.due(at(time.Second), 10, 10) {
		t.Error("not due at once when all have ended")
	}
	l.found(at(time.Second), 2)
	if l.due(at(time.Second+recheckEvery/2), 10, 10) {
		t.Error("due again at once")
	}
	if !l.due(at(time.Second+recheckEvery), 10, 10) {
		t.Error("not due again after a pause")
	}
	l.found(at(time.Minute), 2)
	if !l.lastMove.Equal(at(time.Second)) {
		t.Errorf("last move at %v: a look that finds nothing new is no move", l.lastMove)
	}
}

func TestGroup(t *testing.T) {
	t.Parallel()
	step := func(n byte, name, code string, details string) tasker.Step {
		return tasker.Step{TaskUUID: id(100 + n), StepUUID: id(n), Name: name, LastError: &tasker.Failure{
			Type: "MissingValue", Code: code, Message: "message", Details: json.RawMessage(details),
		}}
	}
	got := group([]tasker.Step{
		step(1, stepNames, "operator_unknown", `{"record":9,"field":"operator","value":"UNKNOWN"}`),
		step(2, stepPrice, "cost_missing", `{"record":8,"field":"cost_total","value":"0"}`),
		step(3, stepPrice, "cost_missing", `{"record":4,"field":"cost_total","value":"0"}`),
		{TaskUUID: id(104), StepUUID: id(4), Name: stepFlight},
	})
	want := []FailureGroup{
		{stepPrice, "MissingValue", "cost_missing", 2, Example{id(103), id(3), 4, "cost_total", "0", "message"}},
		{stepFlight, "Unknown", "", 1, Example{TaskUUID: id(104), StepUUID: id(4), Message: "no failure was stored"}},
		{stepNames, "MissingValue", "operator_unknown", 1, Example{id(101), id(1), 9, "operator", "UNKNOWN", "message"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func TestSummaryCountsLost(t *testing.T) {
	t.Parallel()
	r := run{seen: observe(nil, "demo-1", stepPublish),
		got: receipts{accepted: map[uuid.UUID]bool{id(1): true, id(2): true, id(3): true}}}
	s := r.summary(map[uuid.UUID]tasker.TaskState{id(1): tasker.TaskComplete, id(2): tasker.TaskError,
		id(9): tasker.TaskComplete}, 2)
	if s.Tasks != 3 || s.Completed != 1 || s.Failed != 1 || s.Lost != 1 || s.Sound() {
		t.Errorf("summary is %+v", s)
	}
	if s.TasksPerSecond != 1 {
		t.Errorf("%v tasks/s: a lost task is no work done", s.TasksPerSecond)
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		name     string
		terminal bool
		want     string
	}{
		{"Terminal", true, "\r[###############...............] 30,000 steps, 30,000/s; 5 of 9,999 reports through, 2 " +
			"failed\x1b[K" +
			"\r[##############################] 58,700 steps, 29,350/s; 9,999 of 9,999 reports through, 559 failed\x1b[K\n"},
		{"Lines", false, "58,700 steps, 29,350/s; 9,999 of 9,999 reports through, 559 failed\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			p := newProgress(Options{Progress: &b, IsTerminal: tt.terminal}, start)
			p.show(start.Add(time.Millisecond), counts{steps: 1}, 9999)
			p.show(start.Add(time.Second), counts{30_000, 5, 2}, 9999)
			p.finish(start.Add(2*time.Second), counts{58_700, 9999, 559}, 9999)
			if b.String() != tt.want {
				t.Errorf("got %q, want %q", b.String(), tt.want)
			}
		})
	}

	t.Run("None", func(t *testing.T) {
		t.Parallel()
		p := newProgress(Options{}, start)
		p.show(start.Add(time.Hour), counts{1, 1, 0}, 2)
		p.finish(start.Add(time.Hour), counts{2, 2, 0}, 2)
	})
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	distinct := map[string]bool{}
	rows := rowsOf(t)
	for _, row := range rows {
		key, err := idempotencyKey(row, "demo-1")
		if err != nil {
			t.Fatal(err)
		}
		distinct[key] = true
	}
	if repeated := len(rows) - len(distinct); repeated != 24 {
		t.Errorf("%d rows repeat another, want 24", repeated)
	}
	key, err := idempotencyKey(rows[0], "demo-2")
	if err != nil || distinct[key] {
		t.Errorf("another run has the same key (%v)", err)
	}
}
