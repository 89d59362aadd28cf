package deploytest_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker/protocol"
)

// story produces every metric, including a real case for each of the five reasons.
func (s *server) story() {
	s.t.Helper()
	busy, idle := s.worker("load"), s.worker("slow")
	for _, name := range []string{"nobody", "slow"} { // stale after half an hour, regardless of promises
		_, err := s.RegisterTemplate(s.ctx, tasker.TemplateSource{YAML: "name: " + name + "\nversion: \"1\"\nlifecycle: " +
			"{max_steps_in_process_minutes: 30}\n" +
			"steps: [{name: only, handler: " + name + "}]\n"})
		s.must(err)
	}
	run := func(d time.Duration) { s.t.Helper(); s.after(d, busy, idle) }

	// Work: completed, failed for good, failed and repeated, a late result.
	for range 2 { // the second is answered with the first
		s.submit(tasker.TaskRequest{TaskType: "load", IdempotencyKey: "once"})
	}
	s.work(busy, completed())
	broken := s.submit(tasker.TaskRequest{TaskType: "load"})
	s.work(busy, failed(false)) // max_retries_exceeded
	one := 1
	s.submit(tasker.TaskRequest{TaskType: "load", MaxRetries: &one})
	s.work(busy, failed(true))
	run(time.Minute)
	s.work(busy, completed())
	answers, err := protocol.Of(s.Client).Settle(s.ctx, protocol.SettleRequest{WorkerID: busy,
		Results: []protocol.StepResult{{StepUUID: s.stepOf(broken), Token: "99", Status: protocol.ResultCompleted}}})
	s.must(err)
	if answers[0].Error == nil {
		s.t.Error("a result under a token that was never in force was taken")
	}
	later := time.Now().Add(12 * time.Hour)
	s.submit(tasker.TaskRequest{TaskType: "load", RunAt: &later})

	// Trouble.
	odd := s.submit(tasker.TaskRequest{Name: "nobody"})
	// manual_dlq
	opened, err := operate.Of(s.Client).OpenCase(s.ctx, odd, operate.OpenCaseRequest{Reason: "odd", OpenedBy: "ann"})
	s.must(err)
	s.smuggleCircle()
	s.submit(tasker.TaskRequest{Name: "circle"}) // dependency_cycle_detected
	s.submit(tasker.TaskRequest{Name: "slow"})   // staleness_timeout, in half an hour
	s.submit(tasker.TaskRequest{Name: "nobody"})
	run(6 * time.Minute) // worker_unavailable
	run(25 * time.Minute)

	// Repair.
	_, err = s.ActOnStep(s.ctx, broken, s.stepOf(broken),
		tasker.StepAction{ActionType: tasker.ResetForRetry, ResetBy: "ann", Reason: "fixed"})
	s.must(err)
	run(time.Second)
	s.work(busy, completed())

	// Some are nearly stale, or stale and undetected.
	s.submit(tasker.TaskRequest{Name: "slow"})
	s.ahead.Add(int64(34 * time.Minute))
	for range 2 {
		s.submit(tasker.TaskRequest{Name: "slow"})
	}
	s.ahead.Add(int64(25 * time.Minute))
	_, err = operate.Of(s.Client).UpdateCase(s.ctx, opened.CaseUUID,
		operate.CaseUpdate{ResolutionStatus: tasker.CaseManuallyResolved, ResolvedBy: "ann"})
	s.must(err)
}

func (s *server) stepOf(id uuid.UUID) uuid.UUID {
	s.t.Helper()
	steps, err := s.Steps(s.ctx, id)
	s.must(err)
	return steps[0].StepUUID
}

// smuggleCircle bypasses the checks of a template whose steps wait for each other.
func (s *server) smuggleCircle() {
	s.t.Helper()
	circle := &task.Template{Namespace: "default", Name: "circle", Version: "1", Fingerprint: "circle",
		CreatedAt: time.Now(), Steps: []task.StepSpec{
			{Name: "a", Handler: "load", Dependencies: []string{"b"}, Retry: task.DefaultRetry()},
			{Name: "b", Handler: "load", Dependencies: []string{"a"}, Retry: task.DefaultRetry()},
		}}
	circle.Link()
	s.must(s.store.Write(s.ctx, func(ctx context.Context, tx engine.Tx) error {
		_, err := tx.InsertTemplate(ctx, circle)
		return err
	}))
}

var goVersion = runtime.Version()

// TestRealCasesAreCounted: /metrics shows the story.
func TestRealCasesAreCounted(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) (engine.Database, error){"SQLite": openSQLite,
		"PostgreSQL": openPostgreSQL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, open)
			s.story()
			m := s.metrics()
			for series, want := range map[string]string{
				`tasker_dlq_entries_created_total{dlq_reason="staleness_timeout"}`:                                                   "1",
				`tasker_dlq_entries_created_total{dlq_reason="max_retries_exceeded"}`:                                                "1",
				`tasker_dlq_entries_created_total{dlq_reason="dependency_cycle_detected"}`:                                           "1",
				`tasker_dlq_entries_created_total{dlq_reason="worker_unavailable"}`:                                                  "1",
				`tasker_dlq_entries_created_total{dlq_reason="manual_dlq"}`:                                                          "1",
				`tasker_dlq_occurrences_total{cause="manual",class="",dlq_reason="manual_dlq"}`:                                      "1",
				"tasker_dlq_pending_investigations":                                                                                  "4",
				`tasker_dlq_time_in_queue_hours_count{dlq_reason="staleness_timeout",resolution_status="manually_resolved"}`:         "1",
				`tasker_dlq_time_in_queue_hours_bucket{dlq_reason="staleness_timeout",resolution_status="manually_resolved",le="1"}`: "0",
				`tasker_dlq_time_in_queue_hours_bucket{dlq_reason="staleness_timeout",resolution_status="manually_resolved",le="2"}`: "1",
				// including unserved ones
				"tasker_staleness_tasks_detected_total":              "3",
				"tasker_staleness_tasks_transitioned_to_error_total": "3",
				// not before workers could report
				"tasker_staleness_detection_runs_total":                                                        "3",
				"tasker_staleness_detection_failures_total":                                                    "0",
				"tasker_staleness_detection_duration_milliseconds_count":                                       "3",
				`tasker_staleness_tasks{health_status="warning"}`:                                              "2",
				`tasker_staleness_tasks{health_status="stale"}`:                                                "1",
				`tasker_tasks_settled_total{namespace="default",state="error",task="nobody"}`:                  "2",
				`tasker_tasks_settled_total{namespace="default",state="error",task="circle"}`:                  "1",
				`tasker_tasks_reopened_total{namespace="default",task="load"}`:                                 "1",
				`tasker_steps_exhausted_total{handler="load",namespace="default"}`:                             "1",
				`tasker_steps_retried_total{handler="load",namespace="default"}`:                               "1",
				`tasker_operator_acts_total{act="open_case"}`:                                                  "1",
				`tasker_operator_acts_total{act="update_case"}`:                                                "1",
				`tasker_operator_acts_total{act="reset_for_retry"}`:                                            "1",
				"tasker_idempotency_hits_total":                                                                "1",
				`tasker_steps_promoted_total{from="medium",to="100"}`:                                          "3",
				`tasker_attempts_failed_total{attempt="1",class="transient",priority="medium",then="retried"}`: "1",
				`tasker_attempts_failed_total{attempt="1",class="logic",priority="medium",then="exhausted"}`:   "1",
				`tasker_queue_depth{priority="medium"}`:                                                        "3",
				"tasker_queue_overdue":                                                                         "3",
				`tasker_step_transitions_total{from="in_progress",to="complete"}`:                              "3",
				`tasker_task_transitions_total{from="none",to="steps_in_process"}`:                             "9",
				`tasker_queue_wait_seconds_count{priority="medium"}`:                                           "5",
				`tasker_task_lifetime_seconds_count{priority="medium",state="error"}`:                          "5",
				"tasker_results_refused_total":                                                                 "1",
				`tasker_build_info{go_version="` + goVersion +
					`",version="1.2.3"}`: "1",
			} {
				if got := m.value(series); got != want {
					t.Errorf("%s is %q, want %q", series, got, want)
				}
			}
			if got := m.value("tasker_staleness_detection_duration"); got == "" || got == "0" {
				t.Errorf("the last detection took %q ms", got)
			}
		})
	}
}
