package config_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/host/config"
)

// TestDefaultPolicy: the variables of dead-letter processors apply; the prefixed one wins; without any, operators
// decide.
func TestDefaultPolicy(t *testing.T) {
	t.Parallel()
	load := func(environ ...string) *config.Config {
		t.Helper()
		c, err := config.Load(config.Sources{Environ: environ})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if p := load("DLQ_BATCH_SIZE=100").DefaultPolicy(); p != nil {
		t.Errorf("%+v", p)
	}
	for name, c := range map[string]struct {
		environ []string
		retries int
		base    time.Duration
		age     time.Duration
	}{
		"Attempts": {[]string{"DLQ_MAX_RETRY_ATTEMPTS=8"}, 8, time.Hour, 168 * time.Hour},
		"Delay":    {[]string{"DLQ_RETRY_DELAY_HOURS=0.5"}, 5, 30 * time.Minute, 168 * time.Hour},
		"Age":      {[]string{"DLQ_MAX_AGE_DAYS=1"}, 5, time.Hour, 24 * time.Hour},
		"Prefix":   {[]string{"TASKER_DLQ_MAX_RETRY_ATTEMPTS=2", "DLQ_MAX_RETRY_ATTEMPTS=8"}, 2, time.Hour, 168 * time.Hour},
		"Long":     {[]string{"DLQ_RETRY_DELAY_HOURS=4"}, 5, 4 * time.Hour, 168 * time.Hour},
	} {
		p := load(c.environ...).DefaultPolicy()
		if p == nil || p.MaxRetries != c.retries || p.Base != c.base || p.MaxAge != c.age ||
			p.Strategy != model.Exponential || p.SetFrom != model.SetByEnvironment || p.SetBy == "" ||
			p.Cap != max(time.Hour, c.base) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if n := load("DLQ_BATCH_SIZE=100", "DLQ_OTHER=1", "DLQ_MAX_AGE_DAYS=").DLQ.BatchSize; n != 100 {
		t.Errorf("a batch of %d", n)
	}
	for _, bad := range []string{"DLQ_MAX_RETRY_ATTEMPTS=-1", "DLQ_MAX_RETRY_ATTEMPTS=1001", "DLQ_RETRY_DELAY_HOURS=-1",
		"DLQ_RETRY_DELAY_HOURS=1e9", "DLQ_MAX_AGE_DAYS=.nan", "DLQ_BATCH_SIZE=many", "DLQ_BATCH_SIZE=1001"} {
		if _, err := config.Load(config.Sources{Environ: []string{bad}}); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}
