package config

import (
	"cmp"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// Defaults of DefaultPolicy's missing settings.
const (
	defaultRetryAttempts   = 5
	defaultRetryDelayHours = 1.0
	defaultMaxAgeDays      = 7.0
)

// DefaultPolicy returns the policy for letters without a stored one; nil for none.
func (c *Config) DefaultPolicy() *deadletter.Policy {
	d := c.DLQ
	if d.MaxRetryAttempts == 0 && d.RetryDelayHours == 0 && d.MaxAgeDays == 0 {
		return nil
	}
	p := deadletter.Policy{Strategy: model.Exponential, MaxRetries: cmp.Or(d.MaxRetryAttempts, defaultRetryAttempts),
		Base:    time.Duration(cmp.Or(d.RetryDelayHours, defaultRetryDelayHours) * float64(time.Hour)),
		MaxAge:  time.Duration(cmp.Or(d.MaxAgeDays, defaultMaxAgeDays) * 24 * float64(time.Hour)),
		SetFrom: model.SetByConfiguration}.WithDefaults()
	for _, key := range []string{"dlq.max_retry_attempts", "dlq.retry_delay_hours", "dlq.max_age_days"} {
		if c.origins[key].Layer == "env" {
			p.SetFrom, p.SetBy = model.SetByEnvironment, c.origins[key].Place
		}
	}
	return &p
}

func within(v, most float64) error {
	if v >= 0 && v <= most { // false for NaN
		return nil
	}
	return fmt.Errorf("must be from 0 to %v, not %v", most, v)
}
