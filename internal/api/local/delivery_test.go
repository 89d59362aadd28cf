package local_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/local"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker/protocol"
)

func withQueues(t *testing.T, cfg settings.Config) (r *rig, worker uuid.UUID) {
	t.Helper()
	cfg.Delivery.Offered = true
	r = newRig(t, memstore.New(&memstore.Options{Seed: 1, Rehearse: true}), cfg)
	return r, r.join(t, protocol.WorkerRegistration{Name: "mq", Transport: protocol.TransportAMQP})
}

func (r *rig) dispatch(t *testing.T, worker uuid.UUID) local.Dispatched {
	t.Helper()
	steps, leaving, err := r.b.Dispatch(t.Context(), worker, 5, 0)
	if err != nil || leaving || len(steps) != 1 {
		t.Fatalf("dispatched %+v, leaving %v, error %v", steps, leaving, err)
	}
	return steps[0]
}

func (r *rig) pass(t *testing.T, d time.Duration, alive uuid.UUID) {
	t.Helper()
	r.silent(d)
	if _, err := protocol.Of(r.Client).Heartbeat(t.Context(), protocol.Heartbeat{WorkerID: alive}); err != nil {
		t.Fatal(err)
	}
	r.wait(t, 0)
}

func TestExpiredDispatches(t *testing.T) {
	t.Parallel()
	r, mq := withQueues(t, settings.Config{})
	id := r.submit(t, tasker.TaskRequest{TaskType: "h"})
	d := r.dispatch(t, mq)
	if d.TTL != 5*time.Minute || !d.At.Equal(noon) || d.Attempt != 1 || d.State != "assigned" ||
		!d.LeaseExpiresAt.Equal(noon.Add(d.TTL+30*time.Second)) {
		t.Errorf("dispatched %+v", d)
	}
	r.pass(t, 12*time.Second, mq)
	const waits = "It was dispatched to worker mq over RabbitMQ 12s ago, and waits in its queue. The message expires at " +
		"2026-03-01 12:05:00Z, in 4m48s."
	if got := r.explained(t, id); !strings.Contains(got, waits) {
		t.Errorf("it says\n%s\nwant\n%s", got, waits)
	}
	r.pass(t, 5*time.Minute-12*time.Second, mq)
	expired := func(worker uuid.UUID, lease protocol.LeaseRef) local.ExpiredDispatch {
		return local.ExpiredDispatch{Worker: worker, Lease: lease, At: noon.Add(5*time.Minute + 1500*time.Microsecond)}
	}
	lease := protocol.LeaseRef{StepUUID: d.StepUUID, Token: d.Token}
	answers, err := r.b.ExpireDispatches(t.Context(), []local.ExpiredDispatch{
		expired(uuid.New(), lease), expired(mq, protocol.LeaseRef{StepUUID: uuid.New(), Token: d.Token}),
		expired(r.worker, lease), expired(mq, protocol.LeaseRef{StepUUID: d.StepUUID, Token: "1.a.b"}), expired(mq, lease),
		expired(mq, lease)})
	if err != nil {
		t.Fatal(err)
	}
	want := []tasker.Code{tasker.CodeNotFound, tasker.CodeNotFound, tasker.CodeStaleToken, tasker.CodeStaleToken, "",
		tasker.CodeStaleToken}
	for i, a := range answers {
		got := tasker.Code("")
		if a.Error != nil {
			got = a.Error.Code
		}
		if got != want[i] {
			t.Errorf("letter %d has the answer %+v, want code %q", i, a, want[i])
		}
	}
	if a := answers[4]; a.State != "waiting_for_retry" || a.NextRetryAt == nil {
		t.Errorf("the step is %+v", a)
	}
	r.wantExpired(t, id, mq)
	started, err := protocol.Of(r.Client).Start(t.Context(),
		protocol.StartRequest{WorkerID: mq, Steps: []protocol.LeaseRef{lease}})
	if err != nil || started[0].Status != protocol.LeaseLost {
		t.Errorf("the late start has the answer %+v, error %v", started, err)
	}
	r.pass(t, time.Minute, mq)
	r.dispatch(t, mq)
	const lately = "In the last hour, 1 dispatched step expired in its queue."
	if got := r.explained(t, id); !strings.Contains(got, lately) {
		t.Errorf("it says\n%s\nwant %q", got, lately)
	}
	of, err := r.b.ExpiredExecutions(t.Context(), noon)
	if err != nil || len(of) != 1 || of[0].Count != 1 || of[0].WorkerID != mq || of[0].ActionRef != "h" {
		t.Errorf("counted as %+v, %v", of, err)
	}
}

func (r *rig) wantExpired(t *testing.T, id, worker uuid.UUID) {
	t.Helper()
	h, err := r.TaskHistory(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	a := h.Attempts[0]
	if a.Outcome != "dispatch_expired" || a.StartedAt != nil || a.Attempt != 1 || a.Worker == "" || a.Error == nil ||
		a.Error.Type != "queue_timeout" || a.Error.Code != "WORKER_QUEUE_TTL_EXPIRED" || a.Error.Class != "worker" ||
		a.Error.Message != "Worker queue TTL expired" || !*a.Error.Retryable {
		t.Errorf("the attempt is %+v, its error %+v", a, a.Error)
	}
	var details map[string]any
	if err := json.Unmarshal(a.Error.Details, &details); err != nil || details["worker"] != worker.String() ||
		details["worker_name"] != "mq" || details["expired_at"] != "2026-03-01T12:05:00.001Z" || details["ttl_ms"] != 3e5 {
		t.Errorf("the details are %s, error %v", a.Error.Details, err)
	}
	for _, tr := range h.Transitions {
		if tr.To == "in_progress" {
			t.Errorf("it looks as if it had run: %+v", tr)
		}
	}
	const says = "It was dispatched to worker mq ("
	if got := r.explained(t, id); !strings.Contains(got, says) || !strings.Contains(got, "no attempt began") {
		t.Errorf("it says\n%s\nwant %q", got, says)
	}
}

// TestDispatchOutlivesOtherLimits: no other limit ends a step that may wait for hours in a queue.
func TestDispatchOutlivesOtherLimits(t *testing.T) {
	t.Parallel()
	r, mq := withQueues(t, settings.Config{})
	r.template(t, "name: patient\nversion: \"1\"\nsteps: [{name: a, handler: h, dispatch_ttl_ms: 7200000}]\n")
	id := r.submit(t, tasker.TaskRequest{Name: "patient", Context: json.RawMessage(`{}`)})
	d := r.dispatch(t, mq)
	for range 119 {
		r.pass(t, time.Minute, mq)
		if _, err := r.b.DetectStaleness(t.Context(), operate.DetectRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	lease := protocol.LeaseRef{StepUUID: d.StepUUID, Token: d.Token}
	started, err := protocol.Of(r.Client).Start(t.Context(),
		protocol.StartRequest{WorkerID: mq, Steps: []protocol.LeaseRef{lease}})
	if err != nil || started[0].Status != protocol.LeaseHeld {
		t.Fatalf("after 119 minutes in its queue the start has the answer %+v, error %v\n%s", started, err,
			r.explained(t, id))
	}
	answers, err := r.b.ExpireDispatches(t.Context(), []local.ExpiredDispatch{{Worker: mq, Lease: lease}})
	if err != nil || answers[0].Error == nil || answers[0].Error.Code != tasker.CodeWrongState {
		t.Errorf("a letter about a step that runs has the answer %+v, error %v", answers, err)
	}
	open, err := r.Cases(t.Context(), operate.CaseFilter{})
	if err != nil || len(open) > 0 {
		t.Errorf("there are the cases %+v, error %v", open, err)
	}
}

// TestMaxDurationEndsADispatch: the limit of the whole task also holds in a queue, and the expired message comes late.
func TestMaxDurationEndsADispatch(t *testing.T) {
	t.Parallel()
	r, mq := withQueues(t, settings.Config{})
	r.template(t, "name: short\nversion: \"1\"\nlifecycle: {max_duration_minutes: 1}\nsteps: [{name: a, handler: h}]\n")
	id := r.submit(t, tasker.TaskRequest{Name: "short", Context: json.RawMessage(`{}`)})
	d := r.dispatch(t, mq)
	r.pass(t, time.Minute, mq)
	answers, err := r.b.ExpireDispatches(t.Context(), []local.ExpiredDispatch{{Worker: mq,
		Lease: protocol.LeaseRef{StepUUID: d.StepUUID, Token: d.Token}}})
	if err != nil || answers[0].State != "error" || answers[0].Error == nil ||
		answers[0].Error.Code != tasker.CodeStaleToken {
		t.Errorf("the letter has the answer %+v, error %v\n%s", answers, err, r.explained(t, id))
	}
}

func TestCordonedWorkers(t *testing.T) {
	t.Parallel()
	r, mq := withQueues(t, settings.Config{})
	for _, id := range []uuid.UUID{r.worker, mq} {
		w, err := protocol.Of(r.Client).CordonWorker(t.Context(),
			protocol.WorkerAct{WorkerID: id, By: "ann", Reason: "disk full"})
		if err != nil || !w.Cordoned || !w.CordonedAt.Equal(noon) || w.CordonedBy != "ann" ||
			w.CordonReason != "disk full" || w.State != protocol.WorkerActive {
			t.Errorf("the worker is %+v, error %v", w, err)
		}
	}
	id := r.submit(t, tasker.TaskRequest{TaskType: "h"})
	const why = "no live worker serves handler \"h\" in namespace \"default\" (2 workers are cordoned and get no steps " +
		"until an operator uncordons them)."
	if got := r.explained(t, id); !strings.Contains(got, why) {
		t.Errorf("it says\n%s\nwant\n%s", got, why)
	}
	if _, err := protocol.Of(r.Client).CordonWorker(t.Context(), protocol.WorkerAct{WorkerID: uuid.New()}); err == nil {
		t.Error("an unknown worker is cordoned")
	}
	w, err := protocol.Of(r.Client).UncordonWorker(t.Context(), protocol.WorkerAct{WorkerID: mq})
	if err != nil || w.Cordoned || w.CordonedAt != nil || w.CordonReason != "" {
		t.Errorf("the worker is %+v, error %v", w, err)
	}
	r.dispatch(t, mq)
}
