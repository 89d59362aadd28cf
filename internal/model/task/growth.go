package task

import (
	"time"

	"github.com/taskerhq/tasker/internal/model/failure"
)

// GrowthRule names the failures after which the next attempt has a longer time-out.
type GrowthRule string

// The growth rules.
const (
	GrowNever    GrowthRule = "never"
	GrowResource GrowthRule = "resource"
	GrowAlways   GrowthRule = "always"
)

// GrowthRules lists the rules.
var GrowthRules = []GrowthRule{GrowNever, GrowResource, GrowAlways}

// Growth lengthens a step's time-out from attempt to attempt.
type Growth struct {
	Rule   GrowthRule
	Factor float64
	// Cap bounds the growth. A longer time-out stays.
	Cap time.Duration
}

// Next returns the time-out after a failure, in whole seconds, the unit of the worker protocol. 0, no time-out,
// stays.
func (g Growth) Next(timeout time.Duration, c failure.Class) time.Duration {
	grows := g.Rule == GrowAlways || g.Rule == GrowResource && c == failure.Resource
	if !grows {
		return timeout
	}
	grown := min(float64(timeout)*g.Factor, float64(g.Cap)) // floats cannot overflow
	seconds := (time.Duration(grown) + time.Second - 1) / time.Second
	return max(timeout, min(seconds*time.Second, g.Cap))
}
