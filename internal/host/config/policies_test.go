package config_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

func TestPoliciesOfSources(t *testing.T) {
	t.Parallel()
	file := write(t, `sources:
  - name: events
    driver: http
    policies:
      - origin: pod-events
        strategy: exponential
        max_retries: 3
        keep_exhausted: true
        base_seconds: 1.5
        cap_seconds: 600
        multiplier: 3
        jitter: 0.1
        max_age_seconds: 604800
        only_error_types: [Timeout]
        discard_test_events: true
        copy_retries: true
      - {strategy: scheduled, time_of_day: "03:30"}
  - {name: other, namespace: video, driver: http}
`)
	want := []*deadletter.Policy{{Namespace: "default", Source: "events", Origin: "pod-events",
		Strategy: model.Exponential, MaxRetries: 3, KeepExhausted: true, Base: 1500 * time.Millisecond,
		Cap: 10 * time.Minute, Multiplier: 3, Jitter: 0.1, MaxAge: 7 * 24 * time.Hour, OnlyTypes: []string{"Timeout"},
		DiscardTests: true, CopyRetries: true, SetFrom: model.SetByConfiguration, SetBy: file},
		{Namespace: "default", Source: "events", Strategy: model.Scheduled,
			At: 3*time.Hour + 30*time.Minute, SetFrom: model.SetByConfiguration, SetBy: file}}
	*want[1] = want[1].WithDefaults()
	if diff := cmp.Diff(want, load(t, config.Sources{File: file}).DeadLetterPolicies()); diff != "" {
		t.Errorf("the policies differ (-want +got):\n%s", diff)
	}
	variable := `TASKER_SOURCES=[{name: a, namespace: video, driver: http, policies: [{strategy: manual}]}]`
	got := load(t, config.Sources{Environ: []string{variable}}).DeadLetterPolicies()
	if len(got) != 1 || got[0].Namespace != "video" || got[0].SetFrom != model.SetByEnvironment ||
		got[0].SetBy != "TASKER_SOURCES" {
		t.Errorf("from a variable: %+v", got)
	}
}
