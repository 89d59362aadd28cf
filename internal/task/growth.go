package task

import (
	"time"

	"github.com/taskerhq/tasker/internal/failure"
)

// GrowthRule says after which failures the next attempt gets more time.
type GrowthRule string

// The rules of growth.
const (
	GrowNever    GrowthRule = "never"
	GrowResource GrowthRule = "resource" // after failures of that class
	GrowAlways   GrowthRule = "always"
)

// GrowthRules lists the rules.
var GrowthRules = []GrowthRule{GrowNever, GrowResource, GrowAlways}

// Growth is how the time-out of a step grows from attempt to attempt.
type Growth struct {
	Rule   GrowthRule
	Factor float64 // at least 1
	// Cap is what a time-out does not grow beyond. One that is longer already stays.
	Cap time.Duration
}

// Next returns the time-out of the attempt that follows one of a time-out that
// failed with a class: in whole seconds, which is what workers are told. 0, which
// is none, stays.
func (g Growth) Next(timeout time.Duration, c failure.Class) time.Duration {
	grows := g.Rule == GrowAlways || g.Rule == GrowResource && c == failure.Resource
	if !grows {
		return timeout
	}
	grown := min(float64(timeout)*g.Factor, float64(g.Cap)) // as numbers that cannot overflow
	seconds := (time.Duration(grown) + time.Second - 1) / time.Second
	return max(timeout, min(seconds*time.Second, g.Cap))
}
