package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/host/telemetry"
)

// TestIntake: messages are counted by result, for a bounded number of sources; unknown numbers are absent.
func TestIntake(t *testing.T) {
	t.Parallel()
	tel := open(t, telemetry.Options{})
	tel.TookIn("a", "jobs", 5, 1, 2)
	tel.TookIn("a", "jobs", 1, 0, 0)
	m := scrape(t, tel)
	m.want(t, map[string]string{
		`tasker_intake_messages_total{namespace="a",outcome="task",source="jobs"}`:   "6",
		`tasker_intake_messages_total{namespace="a",outcome="known",source="jobs"}`:  "1",
		`tasker_intake_messages_total{namespace="a",outcome="letter",source="jobs"}`: "2",
	})
	if n := m.count("tasker_intake_failures_waiting"); n != 0 {
		t.Errorf("before a count there are %d", n)
	}
	for i := range 300 {
		tel.TookIn("a", fmt.Sprint("s", i), 1, 0, 0)
	}
	if n := scrape(t, tel).count("tasker_intake_messages_total"); n > 210 {
		t.Errorf("300 sources make %d series", n)
	}

	for name, want := range map[string]struct {
		failures *telemetry.IntakeFailures
		err      error
		waiting  string
	}{
		"Some": {&telemetry.IntakeFailures{Waiting: 3, Oldest: time.Now().Add(-time.Hour)}, nil, "3"},
		"None": {&telemetry.IntakeFailures{}, nil, "0"},
		"Down": {nil, errors.New("down"), ""},
	} {
		tel := open(t, telemetry.Options{})
		tel.WatchIntakeFailures(func(context.Context) (*telemetry.IntakeFailures, error) { return want.failures, want.err })
		m := scrape(t, tel)
		m.want(t, map[string]string{`tasker_intake_failures_waiting`: want.waiting})
		if name == "None" {
			m.want(t, map[string]string{`tasker_intake_oldest_failure_seconds`: "0"})
		}
	}
}
