package local_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker/protocol"
)

func (r *rig) enqueue(t *testing.T, req queueapi.EnqueueTask) queueapi.QueueReceipt {
	t.Helper()
	receipts, err := r.EnqueueTasks(t.Context(), queueapi.EnqueueRequest{Tasks: []queueapi.EnqueueTask{req}})
	if err != nil {
		t.Fatal(err)
	}
	if receipts[0].Error != nil {
		t.Fatal(receipts[0].Error)
	}
	return receipts[0]
}

func (r *rig) queued(t *testing.T, id uuid.UUID) *queueapi.QueueTask {
	t.Helper()
	got, err := r.QueueTask(t.Context(), id, true)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// statuses renders the status history of a task: "queued +0s, assigned +1s by w".
func (r *rig) statuses(t *testing.T, id uuid.UUID) string {
	t.Helper()
	var parts []string
	for _, s := range r.queued(t, id).StateHistory {
		by := ""
		if s.WorkerID != nil && *s.WorkerID == r.worker {
			by = " by w"
		}
		parts = append(parts, fmt.Sprintf("%s %s%s", s.State, r.since(&s.Timestamp), by))
	}
	return strings.Join(parts, ", ")
}

func show(p queueapi.QueuePlace) string {
	out := "?"
	if p.PositionInQueue != nil && p.QueuePosition != nil && *p.PositionInQueue == *p.QueuePosition {
		out = fmt.Sprint(*p.PositionInQueue)
	}
	if p.EstimatedWaitSeconds == nil {
		out += " ?"
	} else {
		out += fmt.Sprintf(" %gs", *p.EstimatedWaitSeconds)
	}
	if p.QueueScore == nil {
		out += " unscored"
	}
	return out
}

func TestQueueLife(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		none := 0
		receipt := r.enqueue(t, queueapi.EnqueueTask{TaskType: "video", Priority: tasker.Low,
			Parameters: json.RawMessage(`{"a":1}`), RequiredCapabilities: []string{},
			TimeoutSeconds: 60, EstimatedDurationSeconds: 30, MaxRetries: &none, UserID: "ann", CorrelationID: "c",
			IdempotencyKey: "k", TraceID: "0AF7651916CD43DD8448EB211C80319C"})
		if receipt.Status != queueapi.QueueQueued || !receipt.Created || show(receipt.QueuePlace) != "1 ?" {
			t.Errorf("the receipt is %+v, at %s", receipt, show(receipt.QueuePlace))
		}
		r.silent(time.Second)
		got := r.queued(t, receipt.TaskID)
		if got.Status != queueapi.QueueQueued || got.State != tasker.TaskStepsInProcess ||
			got.CurrentStateDurationSeconds != 1 || got.TaskType != "video" || got.Namespace != "default" ||
			got.EstimatedDurationSeconds != 30 || got.TimeoutSeconds != 60 || got.MaxRetries != 0 || got.UserID != "ann" ||
			got.CorrelationID != "c" || got.IdempotencyKey != "k" ||
			got.TraceID != "0af7651916cd43dd8448eb211c80319c" || string(got.Parameters) != `{"a":1}` || got.Result != nil ||
			got.Error != nil || got.Priority != tasker.Low ||
			got.AssignedWorkerID != nil || show(got.QueuePlace) != "1 ?" || got.EffectivePriority != tasker.Low {
			t.Errorf("while it waits it is %+v", got)
		}
		a := r.take(t, false)
		r.silent(time.Second)
		if got = r.queued(t, receipt.TaskID); got.Status != queueapi.QueueAssigned || got.AssignedWorkerID == nil ||
			*got.AssignedWorkerID != r.worker || got.AssignedAt == nil ||
			got.QueueScore != nil || got.PositionInQueue != nil {
			t.Errorf("when it is assigned it is %+v", got)
		}
		r.start(t, a)
		if _, err := protocol.Of(r.Client).Progress(t.Context(),
			protocol.ProgressReport{WorkerID: r.worker, StepUUID: a.StepUUID, Token: a.Token,
				ProgressPercent: 40}); err != nil {
			t.Fatal(err)
		}
		r.silent(2 * time.Second)
		if got = r.queued(t, receipt.TaskID); got.Status != queueapi.QueueExecuting || got.Progress != 40 ||
			got.StartedAt == nil || got.CurrentStateDurationSeconds != 2 {
			t.Errorf("while it runs it is %+v", got)
		}
		r.report(t, a, completed(`{"frames":7}`))
		if got = r.queued(t, receipt.TaskID); got.Status != queueapi.QueueCompleted || string(got.Result) != `{"frames":7}` ||
			got.Progress != 100 || got.CompletedAt == nil {
			t.Errorf("in the end it is %+v", got)
		}
		if got := r.statuses(t, receipt.TaskID); got != "queued 0s, assigned 1s by w, executing 2s by w, completed 4s by w" {
			t.Errorf("its history is %s", got)
		}
		if brief, err := r.QueueTask(t.Context(), receipt.TaskID, false); err != nil || brief.StateHistory != nil {
			t.Errorf("without history it is %+v, %v", brief, err)
		}
	})
}

func TestQueueFailures(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		one := 1
		id := r.enqueue(t, queueapi.EnqueueTask{TaskType: "h", MaxRetries: &one}).TaskID
		r.report(t, r.take(t, true), protocol.StepResult{Status: protocol.ResultFailed,
			Error: &tasker.Failure{Message: "no answer", Code: "E7", Details: json.RawMessage(`[1]`)}})
		got := r.queued(t, id)
		if got.Status != queueapi.QueueQueued || got.RetryCount != 1 || got.NextRetryAt == nil ||
			got.PositionInQueue != nil || got.QueueScore != nil || got.Error == nil || got.Error.Message != "no answer" ||
			got.Error.Code != "E7" || !got.Error.Retryable || got.Error.FailureReason != "failed" ||
			string(got.Error.Details) != "[1]" {
			t.Errorf("before its retry it is %+v, error %+v", got, got.Error)
		}
		r.wait(t, time.Minute)
		a := r.take(t, false)
		if got = r.queued(t, id); got.Status != queueapi.QueueAssigned || got.RetryCount != 1 {
			t.Errorf("given out for its retry it is %+v", got)
		}
		r.start(t, a)
		if got = r.queued(t, id); got.Status != queueapi.QueueExecuting || got.RetryCount != 1 || got.MaxRetries != 1 {
			t.Errorf("in its retry it is %+v", got)
		}
		r.report(t, a, failed("again", false))
		if got = r.queued(t, id); got.Status != queueapi.QueueDeadLetter || got.RetryCount != 1 ||
			got.Error.Message != "again" || got.State != tasker.TaskError {
			t.Errorf("in the end it is %+v", got)
		}
		if got := r.statuses(t,
			id); got != "queued 0s, executing 0s by w, queued 0s by w, executing 1m0s by w, dead_letter 1m0s by w" {
			t.Errorf("its history is %s", got)
		}
		found, err := r.CaseOfTask(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.UpdateCase(t.Context(), found.CaseUUID,
			operate.CaseUpdate{ResolutionStatus: tasker.CasePermanentlyFailed, ResolvedBy: "ann"}); err != nil {
			t.Fatal(err)
		}
		if got = r.queued(t, id); got.Status != queueapi.QueueFailed {
			t.Errorf("when nobody investigates any more it is %s", got.Status)
		}
	})
}

func TestQueuePlaces(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		var batch []queueapi.EnqueueTask
		for range 3 {
			batch = append(batch, queueapi.EnqueueTask{TaskType: "h"})
		}
		later := noon.Add(time.Hour)
		batch = append(batch, queueapi.EnqueueTask{TaskType: "h", Priority: tasker.High},
			queueapi.EnqueueTask{TaskType: "other"}, queueapi.EnqueueTask{TaskType: "h", RunAt: &later})
		receipts, err := r.EnqueueTasks(t.Context(), queueapi.EnqueueRequest{Tasks: batch})
		if err != nil {
			t.Fatal(err)
		}
		var places []string
		for _, receipt := range receipts {
			places = append(places, show(receipt.QueuePlace))
		}
		if got, want := strings.Join(places, ", "), "2 ?, 3 ?, 4 ?, 1 ?, 5 ?, ? ? unscored"; got != want {
			t.Errorf("they stand at %s; want %s", got, want)
		}
		if *receipts[3].QueueScore >= *receipts[0].QueueScore {
			t.Errorf("the scores are %g of the high one and %g", *receipts[3].QueueScore, *receipts[0].QueueScore)
		}
		for range 2 {
			r.silent(2 * time.Second)
			r.report(t, r.take(t, true), completed(`1`))
		}
		got := r.queued(t, receipts[2].TaskID)
		if show(got.QueuePlace) != "2 4s" || got.EstimatedStartTime == nil ||
			!got.EstimatedStartTime.Equal(r.clock().Add(4*time.Second)) {
			t.Errorf("after two have gone it stands at %s, to start at %v", show(got.QueuePlace), got.EstimatedStartTime)
		}
		if place := show(
			r.enqueue(t, queueapi.EnqueueTask{TaskType: "h", Priority: tasker.High}).QueuePlace); place != "1 2s" {
			t.Errorf("an urgent one stands at %s", place)
		}
		r.silent(3 * time.Minute)
		if place := show(r.queued(t, receipts[2].TaskID).QueuePlace); place != "3 ?" {
			t.Errorf("a measure of three minutes ago is still gone by: %s", place)
		}
	})
}

// A key finds its task for a day: while it runs, and afterwards unless the other rule is in force.
func TestQueueIdempotency(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"TheOldTask": false, "ANewTask": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, memstore.New(&memstore.Options{Seed: 1}), settings.Config{ResubmitAfterTerminal: again})
			req := queueapi.EnqueueTask{TaskType: "h", IdempotencyKey: "order-7"}
			first := r.enqueue(t, req)
			second := r.enqueue(t, req)
			if second.TaskID != first.TaskID || second.Created || second.Status != queueapi.QueueQueued ||
				show(second.QueuePlace) != "1 ?" {
				t.Errorf("while it waits the answer is %+v at %s", second, show(second.QueuePlace))
			}
			a := r.take(t, true)
			if during := r.enqueue(t, req); during.TaskID != first.TaskID || during.Status != queueapi.QueueExecuting ||
				during.QueueScore != nil {
				t.Errorf("while it runs the answer is %+v", during)
			}
			r.report(t, a, completed(`1`))
			after := r.enqueue(t, req)
			if again && (!after.Created || after.TaskID == first.TaskID || after.Status != queueapi.QueueQueued) {
				t.Errorf("the rule is to begin anew, and the answer is %+v", after)
			}
			if !again && (after.Created || after.TaskID != first.TaskID || after.Status != queueapi.QueueCompleted) {
				t.Errorf("the rule is to find what was done, and the answer is %+v", after)
			}
			r.silent(24*time.Hour + time.Second)
			if fresh := r.enqueue(t, req); !fresh.Created {
				t.Errorf("after a day the answer is %+v", fresh)
			}
		})
	}
}

func TestQueueCancel(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		for name, c := range map[string]struct {
			hold, start         bool
			executing, notified bool
		}{"Waiting": {}, "Assigned": {hold: true, notified: true},
			"Executing": {hold: true, start: true, executing: true, notified: true}} {
			id := r.enqueue(t, queueapi.EnqueueTask{TaskType: "h"}).TaskID
			var a protocol.Assignment
			if c.hold {
				a = r.take(t, c.start)
			}
			got, err := r.CancelQueueTask(t.Context(), id, queueapi.QueueCancel{CancelledBy: "ann", Reason: "late"})
			if err != nil || got.TaskID != id || got.Status != queueapi.QueueStopped || got.WasExecuting != c.executing ||
				got.WorkerNotified != c.notified ||
				(got.NotifiedBy != nil) != c.notified || !got.CancellationTime.Equal(r.clock()) {
				t.Errorf("%s: the answer is %+v, %v", name, got, err)
			}
			if c.hold { // and so its heartbeat says
				beat, err := protocol.Of(r.Client).Heartbeat(t.Context(),
					protocol.Heartbeat{WorkerID: r.worker, Steps: []protocol.LeaseRef{ref(a)}})
				if err != nil || len(beat.Leases) != 1 || beat.Leases[0].Status != protocol.LeaseCancelled {
					t.Errorf("%s: the worker hears %+v, %v", name, beat, err)
				}
			}
			if got := r.queued(t, id); got.Status != queueapi.QueueStopped ||
				got.StateHistory[len(got.StateHistory)-1].State != queueapi.QueueStopped {
				t.Errorf("%s: it is %+v", name, got)
			}
			again, err := r.CancelQueueTask(t.Context(), id, queueapi.QueueCancel{})
			if err != nil || !reflect.DeepEqual(again, got) {
				t.Errorf("%s: asked again, the cancellation is %+v, %v; the first was %+v", name, again, err, got)
			}
		}
		_, err := r.CancelQueueTask(t.Context(), uuid.New(), queueapi.QueueCancel{})
		refusal(t, err, tasker.CodeNotFound)
		_, err = r.CancelQueueTask(t.Context(), uuid.New(), queueapi.QueueCancel{CancelledBy: "\x1b[2J"})
		if e := refusal(t, err, tasker.CodeInvalid); places(e) != "/cancelled_by" {
			t.Errorf("a hostile name is refused at %s", places(e))
		}
	})
}

func TestQueueStatistics(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		empty, err := queueapi.Of(r.Client).QueueStats(t.Context(), queueapi.QueueFilter{})
		if err != nil || empty.Queue.TotalDepth != 0 || empty.Queue.OldestAgeSeconds != nil || len(empty.Queues) != 3 ||
			empty.Workers.Idle != 1 || empty.Backpressure.State != "open" ||
			empty.Throughput.AvgTaskDurationSeconds != nil || empty.Dispatch.Mode != "native" || empty.Dispatch.Configured ||
			empty.Recovery.HealthProbeFailures != nil {
			t.Errorf("of an empty queue the numbers are %+v, %v", empty, err)
		}
		r.enqueue(t, queueapi.EnqueueTask{TaskType: "h", Priority: tasker.Low})
		r.silent(10 * time.Minute)
		r.enqueue(t, queueapi.EnqueueTask{TaskType: "h", Priority: tasker.High})
		r.enqueue(t, queueapi.EnqueueTask{TaskType: "h", Priority: tasker.High, Namespace: "elsewhere"})
		r.enqueue(t, queueapi.EnqueueTask{TaskType: "h", Priority: "60"})
		running, assigned := r.take(t, true), r.take(t, false)
		r.silent(10 * time.Second)
		got, err := queueapi.Of(r.Client).QueueStats(t.Context(),
			queueapi.QueueFilter{Namespaces: []string{"default", "elsewhere"}})
		if err != nil {
			t.Fatal(err)
		}
		total := got.Queue.ByPriority["low"] + got.Queue.ByPriority["high"] + got.Queue.ByPriority["60"]
		if got.Queue.TotalDepth != 2 || got.Queue.QueueDepth != 2 || total != 2 || got.Queue.Executing != 2 ||
			got.Queue.Processing != 2 ||
			got.Aging.ThresholdSeconds == nil || *got.Aging.ThresholdSeconds != 3600 ||
			got.Queue.Sampled || got.Queue.Capped || got.Throughput.HandedOutLastMinute != 2 {
			t.Errorf("the numbers are %+v", got)
		}
		held := 0
		for name, q := range got.Queues {
			held += q.Assigned + q.Executing
			if (q.Depth == 0) != (q.OldestAgeSeconds == nil) || q.Depth != q.Pending || q.Processing != q.Assigned+q.Executing {
				t.Errorf("of %s they are %+v", name, q)
			}
		}
		if held != 2 {
			t.Errorf("in hands are %d: %+v", held, got.Queues)
		}
		r.report(t, running, completed(`1`))
		r.silent(time.Minute)
		r.wait(t, 0) // releases the assigned one
		got, err = queueapi.Of(r.Client).QueueStats(t.Context(), queueapi.QueueFilter{})
		if err != nil || got.Queue.TotalDepth != 3 || got.Recovery.AssignmentTimeouts != 1 ||
			got.Throughput.CompletedLastMinute != 0 || !got.Recovery.MeasuredSince.Equal(noon) {
			t.Errorf("a minute later they are %+v, %v (%s was assigned)", got, err, assigned.StepUUID)
		}
		r.silent(time.Hour)
		if got, err = queueapi.Of(r.Client).QueueStats(t.Context(), queueapi.QueueFilter{}); err != nil ||
			got.Aging.TasksWaitingOverThreshold != 3 || *got.Queue.OldestAgeSeconds < 3600 {
			t.Errorf("an hour later they are %+v, %v", got, err)
		}
		only, err := queueapi.Of(r.Client).QueueStats(t.Context(), queueapi.QueueFilter{Namespaces: []string{"nowhere"}})
		if err != nil || only.Queue.TotalDepth != 0 || only.Queue.Executing != 0 || only.Recovery.AssignmentTimeouts != 0 {
			t.Errorf("of no namespace they are %+v, %v", only, err)
		}
	})
}

func TestQueueWorkers(t *testing.T) {
	t.Parallel()
	cfg := settings.Config{}
	cfg.WorkerProbes.Enabled, cfg.WorkerBreaker.Failures = true, 1
	r := newRig(t, memstore.New(&memstore.Options{Seed: 1}), cfg)
	leaving := r.join(t, protocol.WorkerRegistration{Name: "leaving", Capacity: 3, Handlers: []string{"none"}})
	if _, err := protocol.Of(r.Client).Drain(t.Context(), protocol.WorkerAct{WorkerID: leaving}); err != nil {
		t.Fatal(err)
	}
	busy := r.join(t, protocol.WorkerRegistration{Name: "busy", Capacity: 7, Handlers: []string{"none"}})
	// what it says of itself counts for nothing
	if _, err := protocol.Of(r.Client).Heartbeat(t.Context(),
		protocol.Heartbeat{WorkerID: busy, CurrentLoad: 4}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r.enqueue(t, queueapi.EnqueueTask{TaskType: "none"})
	}
	if polled, err := protocol.Of(r.Client).Poll(t.Context(),
		protocol.PollRequest{WorkerID: busy, Capacity: 2}); err != nil ||
		len(polled.Steps) != 2 {
		t.Fatalf("the poll brings %+v, %v", polled, err)
	}
	r.enqueue(t, queueapi.EnqueueTask{TaskType: "h"})
	r.report(t, r.take(t, true), protocol.StepResult{Status: protocol.ResultFailed,
		Error: &tasker.Failure{Message: "full", Type: "OUT_OF_MEMORY"}})
	got, err := queueapi.Of(r.Client).QueueStats(t.Context(), queueapi.QueueFilter{})
	want := queueapi.QueueWorkers{Total: 3, TotalWorkers: 3, Active: 2, Idle: 1, IdleWorkers: 1, Busy: 1, Draining: 1,
		CircuitOpen: 1, TotalCapacity: 10, UsedCapacity: 2}
	if err != nil {
		t.Fatal(err)
	}
	if got.Workers != want || got.Recovery.HealthProbeFailures == nil || *got.Recovery.HealthProbeFailures != 0 {
		t.Errorf("the workers are %+v, want %+v; %+v", got.Workers, want, got.Recovery)
	}
}

func TestQueueRefusals(t *testing.T) {
	t.Parallel()
	r := newRig(t, memstore.New(&memstore.Options{Seed: 1}), settings.Config{})
	for name, c := range map[string]struct {
		task queueapi.EnqueueTask
		at   string
	}{
		"Nothing":      {queueapi.EnqueueTask{}, "/task_type"},
		"ControlBytes": {queueapi.EnqueueTask{TaskType: "a\x00b"}, "/task_type"},
		"Priority":     {queueapi.EnqueueTask{TaskType: "h", Priority: "urgent"}, "/priority"},
		"TooHigh":      {queueapi.EnqueueTask{TaskType: "h", Priority: "101"}, "/priority"},
		"Parameters": {queueapi.EnqueueTask{TaskType: "h",
			Parameters: json.RawMessage(`"` + strings.Repeat("x", 256<<10) + `"`)}, "/parameters"},
		"Estimate": {queueapi.EnqueueTask{TaskType: "h", EstimatedDurationSeconds: -1}, "/estimated_duration_seconds"},
		"Timeout":  {queueapi.EnqueueTask{TaskType: "h", TimeoutSeconds: -1}, "/timeout_seconds"},
		"User":     {queueapi.EnqueueTask{TaskType: "h", UserID: "\x1b[2J"}, "/user_id"},
		"Capability": {queueapi.EnqueueTask{TaskType: "h", RequiredCapabilities: []string{"gpu", "\n"}},
			"/required_capabilities/1"},
		"Trace":          {queueapi.EnqueueTask{TaskType: "h", TraceID: strings.Repeat("g", 32)}, "/trace_id"},
		"TraceOfNoughts": {queueapi.EnqueueTask{TaskType: "h", TraceID: strings.Repeat("0", 32)}, "/trace_id"},
		"TwoTraces": {queueapi.EnqueueTask{TaskType: "h", TraceID: strings.Repeat("a", 32),
			TraceParent: "00-" + strings.Repeat("b", 32) + "-00f067aa0ba902b7-01"}, "/trace_id"},
		"IdempotencyKeys": {queueapi.EnqueueTask{TaskType: "h", IdempotencyKey: strings.Repeat("k", 256)},
			"/idempotency_key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.EnqueueTasks(t.Context(),
				queueapi.EnqueueRequest{Tasks: []queueapi.EnqueueTask{{TaskType: "good"}, c.task}})
			if e := refusal(t, err, tasker.CodeInvalid); places(e) != "/tasks/1"+c.at {
				t.Errorf("it is refused at %s: %v", places(e), e)
			}
		})
	}
	stats, err := queueapi.Of(r.Client).QueueStats(t.Context(), queueapi.QueueFilter{})
	if err != nil || stats.Queue.TotalDepth != 0 {
		t.Errorf("after all that there are %+v, %v", stats.Queue, err)
	}
}
