package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/telemetry"
	"github.com/taskerhq/tasker/internal/model/task"
)

var noon = task.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

// TestNamesOfCases: alert rules, in deploy/prometheus and elsewhere, depend on these names.
func TestNamesOfCases(t *testing.T) {
	t.Parallel()
	tel := open(t, telemetry.Options{})
	tel.Watch(func(context.Context) (*engine.Census, error) {
		return &engine.Census{Investigations: engine.Investigations{Pending: 51,
			Health: map[string]int{"healthy": 900, "warning": 12, "stale": 3}}}, nil
	})
	tel.Committed(&engine.Commit{Verb: "detect", At: noon,
		Opened:   []engine.CaseOpened{{Reason: "staleness_timeout"}, {Reason: "staleness_timeout"}, {Reason: "manual_dlq"}},
		Resolved: []engine.CaseResolved{{Reason: "manual_dlq", Status: "cancelled", OpenedAt: noon.Add(-90 * time.Minute)}}})
	tel.Committed(&engine.Commit{Verb: "expire", At: noon, Expired: 2}) // exceeded their max_duration
	tel.Detected(engine.Detection{Took: 5250 * time.Millisecond, Interval: 5 * time.Minute, Detected: 7, Transitioned: 6})
	tel.Detected(engine.Detection{Took: 40 * time.Millisecond, Interval: 5 * time.Minute,
		Err: errors.New("the store is away")})

	scrape(t, tel).want(t, map[string]string{
		`tasker_dlq_entries_created_total{dlq_reason="staleness_timeout"}`: "2",
		`tasker_dlq_entries_created_total{dlq_reason="manual_dlq"}`:        "1",
		"tasker_staleness_tasks_detected_total":                            "9",
		"tasker_staleness_tasks_transitioned_to_error_total":               "8",
		"tasker_staleness_detection_runs_total":                            "2",
		"tasker_staleness_detection_failures_total":                        "1",
		// the last
		"tasker_staleness_detection_duration":                                                                 "40",
		"tasker_staleness_detection_duration_milliseconds_count":                                              "2",
		"tasker_staleness_detection_duration_milliseconds_sum":                                                "5290",
		`tasker_dlq_time_in_queue_hours_sum{dlq_reason="manual_dlq",resolution_status="cancelled"}`:           "1.5",
		`tasker_dlq_time_in_queue_hours_bucket{dlq_reason="manual_dlq",resolution_status="cancelled",le="2"}`: "1",
		`tasker_dlq_time_in_queue_hours_bucket{dlq_reason="manual_dlq",resolution_status="cancelled",le="1"}`: "0",
		"tasker_dlq_pending_investigations":                                                                   "51",
		`tasker_staleness_tasks{health_status="healthy"}`:                                                     "900",
		`tasker_staleness_tasks{health_status="warning"}`:                                                     "12",
		`tasker_staleness_tasks{health_status="stale"}`:                                                       "3",
	})
}

// TestNamesInOpenTelemetry: dashboards depend on these names, kinds and units.
func TestNamesInOpenTelemetry(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	r := newRig(t, telemetry.Options{Reader: reader})
	id := r.submit(engine.Submission{TaskType: "mail"})[0].ID
	opened, err := r.OpenCase(t.Context(), id, engine.CaseRequest{Actor: "ann", Reason: "odd"})
	r.must(err)
	_, err = r.UpdateCase(t.Context(), opened.ID, task.CaseChange{Status: task.CaseCancelled, Actor: "ann"})
	r.must(err)
	_, err = r.DetectStaleness(t.Context(), 0, false)
	r.must(err)

	var read metricdata.ResourceMetrics
	r.must(reader.Collect(t.Context(), &read))
	got := map[string]string{}
	for _, scope := range read.ScopeMetrics {
		for _, m := range scope.Metrics {
			got[m.Name] = fmt.Sprintf("%T %s", m.Data, m.Unit)
		}
	}
	const data = "metricdata."
	for name, want := range map[string]string{
		"tasker.dlq.entries_created.total":                   data + "Sum[int64] {entry}",
		"tasker.staleness.tasks_detected.total":              data + "Sum[int64] {task}",
		"tasker.staleness.tasks_transitioned_to_error.total": data + "Sum[int64] {task}",
		"tasker.staleness.detection_runs.total":              data + "Sum[int64] {run}",
		"tasker.staleness.detection.duration":                data + "Histogram[float64] ms",
		"tasker.dlq.time_in_queue":                           data + "Histogram[float64] h",
		"tasker.dlq.pending_investigations":                  data + "Gauge[float64] {entry}",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

func TestCasesBeforeTheFirst(t *testing.T) {
	t.Parallel()
	// a rate needs to see a rise from 0; a duration has no value yet
	scrape(t, open(t, telemetry.Options{})).want(t, map[string]string{
		`tasker_dlq_entries_created_total{dlq_reason="worker_unavailable"}`: "0",
		"tasker_staleness_tasks_detected_total":                             "0",
		"tasker_staleness_tasks_transitioned_to_error_total":                "0",
		"tasker_staleness_detection_runs_total":                             "0",
		"tasker_staleness_detection_duration":                               "",
		"tasker_dlq_pending_investigations":                                 "",
	})
}

// TestLastCycleExpires: a process that runs no cycles, because another one does, must not keep alarming about its
// last.
func TestLastCycleExpires(t *testing.T) {
	t.Parallel()
	tel := open(t, telemetry.Options{})
	tel.Detected(engine.Detection{Took: time.Minute, Interval: -time.Hour})
	scrape(t, tel).want(t, map[string]string{"tasker_staleness_detection_duration": "",
		"tasker_staleness_detection_runs_total": "1"})
}
