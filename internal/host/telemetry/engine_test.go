package telemetry_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/telemetry"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestEngineMetrics(t *testing.T) {
	t.Parallel()
	r := newRig(t, telemetry.Options{Version: "1.2.3"})
	one := 1
	receipts := r.submit(engine.Submission{TaskType: "mail"}, engine.Submission{TaskType: "mail", MaxRetries: &one},
		engine.Submission{TaskType: "mail"})
	r.now = r.now.Add(2 * time.Second)

	// one succeeds, after a stale report
	l := r.claim()
	stale := l
	stale.Step.Token = 99
	if a := r.settle(stale, engine.ResultCompleted, nil); a.Err == nil {
		t.Error("a result under another token was taken")
	}
	r.now = r.now.Add(3 * time.Second)
	r.settle(l, engine.ResultCompleted, nil)

	// one fails twice, until an operator resolves it
	second := r.claim()
	r.settle(second, engine.ResultFailed, &task.Failure{Message: "no", Retryable: true})
	r.now = r.now.Add(time.Hour)
	_, err := r.FireTimers(t.Context(), 10)
	r.must(err)
	third := r.claim() // the first ready one
	r.settle(third, engine.ResultReleased, nil)
	for range 2 {
		l := r.claim()
		if l.Task.ID == receipts[1].ID {
			r.settle(l, engine.ResultFailed, &task.Failure{Message: "no", Retryable: true})
		} else {
			r.settle(l, engine.ResultCompleted, nil)
		}
	}
	_, err = r.Operate(t.Context(), second.Task.ID, second.Step.ID,
		engine.StepAct{Kind: engine.ResetForRetry, Actor: "ann", Reason: "fixed"})
	r.must(err)

	mail := `{handler="mail",namespace="default"}`
	task := `{namespace="default",task="mail"}`
	scrape(t, r.tel).want(t, map[string]string{
		"tasker_tasks_submitted_total" + task:                                                 "3",
		`tasker_tasks_settled_total{namespace="default",state="complete",task="mail"}`:        "2",
		`tasker_tasks_settled_total{namespace="default",state="error",task="mail"}`:           "1",
		`tasker_tasks_settled_total{namespace="default",state="cancelled",task="mail"}`:       "0",
		"tasker_tasks_reopened_total" + task:                                                  "1",
		"tasker_task_duration_seconds_count" + task:                                           "3",
		"tasker_attempts_started_total" + mail:                                                "5",
		`tasker_attempts_ended_total{handler="mail",namespace="default",outcome="completed"}`: "2",
		`tasker_attempts_ended_total{handler="mail",namespace="default",outcome="failed"}`:    "2",
		`tasker_attempts_ended_total{handler="mail",namespace="default",outcome="released"}`:  "1",
		"tasker_steps_retried_total" + mail:                                                   "1",
		"tasker_steps_exhausted_total" + mail:                                                 "1",
		"tasker_step_wait_seconds_count" + mail:                                               "5",
		"tasker_attempt_duration_seconds_count" + mail:                                        "5",
		`tasker_attempt_duration_seconds_bucket{handler="mail",namespace="default",le="2.5"}`: "4",
		`tasker_attempt_duration_seconds_bucket{handler="mail",namespace="default",le="5"}`:   "5",
		"tasker_attempt_duration_seconds_sum" + mail:                                          "3",
		"tasker_results_refused_total":                                                        "1",
		`tasker_operator_acts_total{act="reset_for_retry"}`:                                   "1",
		`tasker_store_write_duration_seconds_count{verb="submit"}`:                            "1",
		`tasker_store_write_duration_seconds_count{verb="settle"}`:                            "6",
		`tasker_store_writes_failed_total{code="unavailable",verb="settle"}`:                  "0",
		`tasker_store_up`: "1",
	})
	if scrape(t, r.tel).count("tasker_build_info") != 1 {
		t.Error("tasker_build_info is missing")
	}
}

func TestCensusMetrics(t *testing.T) {
	t.Parallel()
	t.Run("Counted", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, telemetry.Options{})
		r.submit(engine.Submission{TaskType: "mail"}, engine.Submission{TaskType: "mail"},
			engine.Submission{TaskType: "later", RunAt: task.At(r.now.Add(time.Minute))})
		r.claim()
		r.now = r.now.Add(90 * time.Second)
		scrape(t, r.tel).want(t, map[string]string{
			`tasker_queue_ready{handler="mail",namespace="default"}`:               "1",
			`tasker_queue_oldest_age_seconds{handler="mail",namespace="default"}`:  "90",
			`tasker_queue_ready{handler="later",namespace="default"}`:              "0",
			`tasker_queue_oldest_age_seconds{handler="later",namespace="default"}`: "0",
			"tasker_leases_held":                            "1",
			"tasker_timers_waiting":                         "1",
			"tasker_timers_lag_seconds":                     "30",
			`tasker_workers{state="active"}`:                "1",
			`tasker_workers{state="draining"}`:              "0",
			"tasker_workers_capacity":                       "5",
			"tasker_dlq_pending_investigations":             "0",
			`tasker_staleness_tasks{health_status="stale"}`: "0",
		})
	})
	t.Run("AnOutageIsNotAnEmptyQueue", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, telemetry.Options{})
		r.submit(engine.Submission{TaskType: "mail"})
		r.must(r.store.Close())
		scrape(t, r.tel).want(t, map[string]string{
			"tasker_store_up":    "0",
			"tasker_leases_held": "",
			`tasker_queue_ready{handler="mail",namespace="default"}`: "",
		})
		if _, err := r.Submit(t.Context(), []engine.Submission{{TaskType: "mail"}}, false); err == nil {
			t.Fatal("a closed store took a task")
		}
		scrape(t, r.tel).want(t, map[string]string{`tasker_store_writes_failed_total{code="unavailable",verb="submit"}`: "1"})
	})
	t.Run("CountedOnceForManyScrapes", func(t *testing.T) {
		t.Parallel()
		tel, n := open(t, telemetry.Options{}), 0
		tel.Watch(func(context.Context) (*engine.Census, error) { n++; return &engine.Census{}, nil })
		for range 5 {
			scrape(t, tel)
		}
		if n != 1 {
			t.Errorf("the store was asked %d times within a moment, want 1", n)
		}
	})
}

// TestLabelsAreBounded: callers choose names of handlers.
func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, telemetry.Options{})
	const names = 300
	for i := range names {
		r.submit(engine.Submission{TaskType: fmt.Sprintf("handler-%03d", i)})
		r.settle(r.claim(), engine.ResultCompleted, nil)
	}
	for range names {
		r.submit(engine.Submission{TaskType: "handler-000"}) // a counted name stays
	}
	m := scrape(t, r.tel)
	for _, name := range []string{"tasker_tasks_submitted_total", "tasker_attempts_started_total", "tasker_queue_ready"} {
		if n := m.count(name); n != 201 {
			t.Errorf("%s has %d series, want 200 and one for the others", name, n)
		}
	}
	m.want(t, map[string]string{
		`tasker_tasks_submitted_total{namespace="other",task="other"}`:         "100",
		`tasker_tasks_submitted_total{namespace="default",task="handler-000"}`: "301",
	})
}
