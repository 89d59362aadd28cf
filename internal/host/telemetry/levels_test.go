package telemetry_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/telemetry"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestPriorities(t *testing.T) {
	t.Parallel()
	r := newRig(t, telemetry.Options{})
	r.submit(engine.Submission{TaskType: "mail", Priority: "high", IdempotencyKey: "k"},
		engine.Submission{TaskType: "mail", Priority: "low"})
	r.submit(engine.Submission{TaskType: "mail", Priority: "high", IdempotencyKey: "k"})
	r.now = r.now.Add(2 * time.Second)

	r.settle(r.claim(), engine.ResultCompleted, nil)
	r.settle(r.claim(), engine.ResultFailed, &task.Failure{Message: "no memory", Code: "OOM", Retryable: true})
	r.now = r.now.Add(time.Hour)
	_, err := r.FireTimers(t.Context(), 10)
	r.must(err)
	r.settle(r.claim(), engine.ResultFailed, &task.Failure{Message: "wrong"})

	scrape(t, r.tel).want(t, map[string]string{
		"tasker_idempotency_hits_total":                                                            "1",
		`tasker_queue_wait_seconds_count{priority="high"}`:                                         "1",
		`tasker_queue_wait_seconds_sum{priority="high"}`:                                           "2",
		`tasker_queue_wait_seconds_count{priority="low"}`:                                          "2",
		`tasker_queue_wait_seconds_count{priority="medium"}`:                                       "",
		`tasker_step_assigned_seconds_count{handler="mail",namespace="default"}`:                   "3",
		`tasker_step_assigned_seconds_sum{handler="mail",namespace="default"}`:                     "0",
		`tasker_task_lifetime_seconds_count{priority="high",state="complete"}`:                     "1",
		`tasker_task_lifetime_seconds_sum{priority="low",state="error"}`:                           "3602",
		`tasker_attempts_failed_total{attempt="1",class="resource",priority="low",then="retried"}`: "1",
		`tasker_attempts_failed_total{attempt="2",class="logic",priority="low",then="exhausted"}`:  "1",
		`tasker_task_transitions_total{from="none",to="steps_in_process"}`:                         "2",
		`tasker_task_transitions_total{from="steps_in_process",to="complete"}`:                     "1",
		`tasker_task_transitions_total{from="steps_in_process",to="waiting_for_retry"}`:            "1",
		`tasker_task_transitions_total{from="waiting_for_retry",to="steps_in_process"}`:            "1",
		`tasker_task_transitions_total{from="steps_in_process",to="error"}`:                        "1",
		`tasker_step_transitions_total{from="none",to="enqueued"}`:                                 "2",
		`tasker_step_transitions_total{from="enqueued",to="assigned"}`:                             "3",
		`tasker_step_transitions_total{from="assigned",to="in_progress"}`:                          "3",
		`tasker_step_transitions_total{from="in_progress",to="complete"}`:                          "1",
		`tasker_step_transitions_total{from="in_progress",to="waiting_for_retry"}`:                 "1",
		`tasker_step_transitions_total{from="waiting_for_retry",to="enqueued"}`:                    "1",
		`tasker_step_transitions_total{from="in_progress",to="error"}`:                             "1",
	})
}

func TestAssigned(t *testing.T) {
	t.Parallel()
	r := newRig(t, telemetry.Options{})
	r.submit(engine.Submission{TaskType: "mail"})
	leases, _, err := r.Poll(t.Context(), r.worker.ID, 1, 0, false)
	r.must(err)
	r.now = r.now.Add(3 * time.Second)
	_, err = r.Start(t.Context(), []engine.LeaseRef{{Step: leases[0].Step.ID, Token: leases[0].Step.Token}})
	r.must(err)
	scrape(t, r.tel).want(t,
		map[string]string{`tasker_step_assigned_seconds_sum{handler="mail",namespace="default"}`: "3"})
}

func TestQueueByPriority(t *testing.T) {
	t.Parallel()
	r := newRigOf(t, telemetry.Options{},
		settings.Config{Scheduling: settings.Scheduling{Mode: task.Promote, MaxWait: 100 * time.Minute}})
	low := engine.Submission{TaskType: "mail", Priority: "low"}
	r.submit(low)
	r.now = r.now.Add(10 * time.Minute)
	r.submit(low, low)
	r.now = r.now.Add(time.Minute)
	r.submit(engine.Submission{TaskType: "mail", Priority: "high"})
	stretches, err := r.Overdue(t.Context())
	r.must(err)
	for _, s := range stretches {
		_, _, err := r.Promote(t.Context(), s)
		r.must(err)
	}
	m := scrape(t, r.tel)
	m.want(t, map[string]string{
		`tasker_queue_depth{priority="low"}`:                         "3",
		`tasker_queue_depth{priority="medium"}`:                      "0",
		`tasker_queue_depth{priority="high"}`:                        "1",
		`tasker_queue_age_seconds{percentile="p50",priority="low"}`:  "60",
		`tasker_queue_age_seconds{percentile="p95",priority="low"}`:  "660",
		`tasker_queue_age_seconds{percentile="p99",priority="high"}`: "0",
		`tasker_steps_promoted_total{from="low",to="medium"}`:        "1",
		"tasker_queue_max_wait_seconds":                              "6000",
		"tasker_queue_starvation_risk":                               "0",
		"tasker_queue_overdue":                                       "0",
		"tasker_workers_used_ratio":                                  "0",
	})
	if m.count("tasker_queue_score") != 3 {
		t.Error("there are no percentiles of scores")
	}
	r.now = r.now.Add(72 * time.Minute)
	r.tel.Watch(r.Census) // counts again
	scrape(t, r.tel).want(t, map[string]string{"tasker_queue_starvation_risk": "1", "tasker_queue_overdue": "0"})
	r.now = r.now.Add(20 * time.Minute)
	r.tel.Watch(r.Census)
	scrape(t, r.tel).want(t, map[string]string{"tasker_queue_starvation_risk": "4", "tasker_queue_overdue": "1"})
}

func TestNoMaximumWait(t *testing.T) {
	t.Parallel()
	r := newRigOf(t, telemetry.Options{}, settings.Config{Scheduling: settings.Scheduling{MaxWait: -1}})
	scrape(t, r.tel).want(t, map[string]string{"tasker_queue_starvation_risk": "", "tasker_queue_overdue": "",
		"tasker_queue_max_wait_seconds": ""})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	r := newRigOf(t, telemetry.Options{},
		settings.Config{Backpressure: settings.Backpressure{UserBurst: 2, UserSustained: 100}})
	sub := engine.Submission{TaskType: "mail", Queued: true, Meta: task.Meta{Initiator: "ann"}}
	r.submit(sub, sub)
	if _, err := r.Submit(t.Context(), []engine.Submission{sub, sub}, false); task.CodeOf(err) != task.Exhausted {
		t.Fatalf("the third is answered %v", err)
	}
	scrape(t, r.tel).want(t, map[string]string{
		`tasker_submissions_refused_total{reason="user_burst"}`: "2",
		`tasker_submissions_refused_total{reason="overloaded"}`: "0",
	})
}

func TestWorkersGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, telemetry.Options{})
	probe := []engine.Probe{{Worker: r.worker, Fault: "no memory"}}
	for range 3 {
		turned, err := r.Probed(t.Context(), probe)
		r.must(err)
		if len(turned) > 0 {
			probe[0].Worker = turned[0]
		}
	}
	r.now = r.now.Add(time.Hour)
	for range 2 {
		_, err := r.MarkDeadWorkers(t.Context())
		r.must(err)
	}
	scrape(t, r.tel).want(t, map[string]string{
		`tasker_worker_failures_total{reason="health_probe"}`: "1",
		`tasker_worker_failures_total{reason="heartbeat"}`:    "1",
		`tasker_worker_probes_total{outcome="failed"}`:        "3",
		`tasker_workers{state="dead"}`:                        "1",
	})
}
