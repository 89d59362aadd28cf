package telemetry_test

import (
	"context"
	"errors"
	"testing"

	"github.com/taskerhq/tasker/internal/host/telemetry"
	"github.com/taskerhq/tasker/internal/model/task"
)

// TestSources: a queue's depth is stored plus waiting messages, under its applications' names; it is absent, not 0,
// without an answer.
func TestSources(t *testing.T) {
	t.Parallel()
	show := func(levels []telemetry.SourceLevel, err error) metrics {
		tel := open(t, telemetry.Options{})
		tel.Gone("a", "intake", 3)
		tel.Gone("a", "intake", 4)
		tel.WatchSources(func(context.Context) ([]telemetry.SourceLevel, error) { return levels, err })
		return scrape(t, tel)
	}
	wide := map[int32]int64{}
	for n := range int32(1000) {
		wide[n] = int64(n)
	}
	m := show([]telemetry.SourceLevel{
		{Namespace: "a", Source: "detection", Queue: "dlq:detection_queue", Open: 3, Waiting: 2, Broker: true, Answers: true,
			Breaker: task.BreakerClosed},
		{Namespace: "b", Source: "detection", Queue: "dlq:detection_queue", Open: 10, Broker: true, Answers: true,
			Breaker: task.BreakerOpen},
		{Namespace: "a", Source: "full", Queue: "dlq:overflow:detection_queue", Open: 1, Broker: true, Answers: true,
			Breaker: task.BreakerHalfOpen},
		{Namespace: "a", Source: "down", Queue: "dlq:analysis_queue", Open: 7, Broker: true},
		{Namespace: "a", Source: "reports", Queue: "reports", Open: 4},
		{Namespace: "a", Source: "intake", Waiting: 9, Broker: true, Answers: true, Lag: map[int32]int64{0: 0, 7: 9}},
		{Namespace: "a", Source: "wide", Broker: true, Answers: true, Lag: wide},
	}, nil)
	m.want(t, map[string]string{
		`hsi_dlq_depth{queue="detection_queue",queue_name="dlq:detection_queue"}`:                   "15",
		`hsi_dlq_depth{queue="overflow:detection_queue",queue_name="dlq:overflow:detection_queue"}`: "1",
		`hsi_dlq_depth{queue="analysis_queue",queue_name="dlq:analysis_queue"}`:                     "",
		`hsi_dlq_depth{queue="reports",queue_name="reports"}`:                                       "4",
		`hsi_circuit_breaker_state{namespace="a",service="detection"}`:                              "0",
		`hsi_circuit_breaker_state{namespace="b",service="detection"}`:                              "1",
		`hsi_circuit_breaker_state{namespace="a",service="full"}`:                                   "2",
		`hsi_dlq_depth{queue="",queue_name=""}`:                                                     "",
		`tasker_dead_letters_waiting{namespace="a",source="intake"}`:                                "9",
		`tasker_dead_letters_gone_total{namespace="a",source="intake"}`:                             "7",
		`tasker_dead_letters_lag{namespace="a",partition="7",source="intake"}`:                      "9",
		`tasker_dead_letters_lag{namespace="a",partition="0",source="intake"}`:                      "0",
		`tasker_dead_letters_lag{namespace="a",partition="999",source="wide"}`:                      "999",
		`tasker_dead_letters_lag{namespace="a",partition="899",source="wide"}`:                      "",
		`tasker_dead_letters_open{namespace="a",source="detection"}`:                                "3",
		`tasker_dead_letters_waiting{namespace="a",source="detection"}`:                             "2",
		`tasker_dead_letters_open{namespace="a",source="down"}`:                                     "7",
		`tasker_dead_letters_waiting{namespace="a",source="down"}`:                                  "",
		`tasker_dead_letter_source_up{namespace="a",source="down"}`:                                 "0",
		`tasker_dead_letter_source_up{namespace="a",source="detection"}`:                            "1",
		`tasker_dead_letter_source_up{namespace="a",source="reports"}`:                              "",
		`tasker_dead_letter_breaker{namespace="b",source="detection",state="open"}`:                 "1",
		`tasker_dead_letter_breaker{namespace="b",source="detection",state="closed"}`:               "0",
		`tasker_dead_letter_breaker{namespace="a",source="down",state="open"}`:                      "",
	})
	for what, m := range map[string]metrics{"no source": show(nil, nil), "no store": show(nil, errors.New("down"))} {
		for _, name := range []string{"hsi_dlq_depth", "tasker_dead_letters_open"} {
			if m.count(name) != 0 {
				t.Errorf("%s: there is %s", what, name)
			}
		}
	}
}
