package settings

import (
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// RetryPriority is the priority with which a failed step returns to the queue.
type RetryPriority string

// The priorities of retries.
const (
	RetryOriginal RetryPriority = "original" // its own
	RetryBoosted  RetryPriority = "boosted"  // a raised one, if it was raised
	// RetryRecalculated means: its own, with the time since the submission (or since run_at) as its wait. It precedes
	// steps that came later.
	RetryRecalculated RetryPriority = "recalculated"
)

// RetryPriorities lists all of them.
var RetryPriorities = []RetryPriority{RetryOriginal, RetryBoosted, RetryRecalculated}

// Recovery configures how steps continue after failed attempts or lost workers.
type Recovery struct {
	// BaseDelay and Jitter are the first delay before a retry, and the fraction by which each varies both ways,
	// where the template sets neither. -1 is none.
	BaseDelay time.Duration
	Jitter    float64
	// Limits bound the retries of each class of failure within the limit of the step. See task.Budget.
	Limits RecoveryLimits
	// TimeoutGrowth names the failures after which the next attempt gets TimeoutFactor more time, up to TimeoutCap.
	TimeoutGrowth task.GrowthRule
	TimeoutFactor float64
	TimeoutCap    time.Duration
	// BoostLevels is the number of named levels by which a step may rise: one with each worker that it loses.
	BoostLevels int
	// RetryPriority decides whether a raised step stays raised after a failed attempt, and which wait counts.
	RetryPriority RetryPriority
	// Stagger is the interval at which the steps of a lost worker return to the queue, MaxStagger the bound for all
	// of them. A Stagger of -1 returns them together.
	Stagger, MaxStagger time.Duration
	// RequeueDelay delays steps of a lost worker further.
	RequeueDelay time.Duration
}

// RecoveryLimits are retries per class of failure; -1 is none.
type RecoveryLimits struct {
	Transient, Resource, Logic, Worker int
}

const (
	maxTimeoutFactor = 10
	maxStagger       = time.Minute
	maxRequeueDelay  = time.Hour
)

func (r *Recovery) setDefaults() {
	orDefault(&r.BaseDelay, task.DefaultBase)
	orDefault(&r.Jitter, task.DefaultJitter)
	orDefault(&r.Limits.Transient, 5)
	orDefault(&r.Limits.Resource, 3)
	orDefault(&r.Limits.Worker, 3)
	orDefault(&r.TimeoutGrowth, task.GrowResource)
	orDefault(&r.TimeoutFactor, 1.5)
	orDefault(&r.TimeoutCap, time.Hour)
	orDefault(&r.RetryPriority, RetryOriginal)
	orDefault(&r.Stagger, 100*time.Millisecond)
	orDefault(&r.MaxStagger, 5*time.Second)
}

func (r Recovery) validate(bad func(ok bool, format string, args ...any)) {
	bad(r.BaseDelay == -1 || r.BaseDelay >= time.Millisecond && r.BaseDelay <= task.MaxDelay,
		"recovery.base_delay must be 1ms to 30d, or -1")
	bad(r.Jitter == -1 || r.Jitter > 0 && r.Jitter <= 1, "recovery.jitter must be more than 0 and at most 1, or -1")
	limits := r.Common()
	for _, c := range failure.Classes {
		n := *limits.Of(c)
		bad(n >= -1 && n <= MaxRetries, "recovery.limits.%s must be 0 to %d, or -1", c, MaxRetries)
	}
	bad(slices.Contains(task.GrowthRules, r.TimeoutGrowth),
		"recovery.timeout_growth must be never, resource or always, not %q", r.TimeoutGrowth)
	bad(r.TimeoutFactor >= 1 && r.TimeoutFactor <= maxTimeoutFactor, "recovery.timeout_factor must be 1 to %d",
		maxTimeoutFactor)
	bad(r.TimeoutCap > 0 && r.TimeoutCap <= MaxTimeout, "recovery.timeout_cap must be positive, and at most 30d")
	bad(r.BoostLevels >= 0 && r.BoostLevels <= task.MaxPriority, "recovery.boost_levels must be 0 to %d", task.MaxPriority)
	bad(slices.Contains(RetryPriorities, r.RetryPriority),
		"recovery.retry_priority must be original, boosted or recalculated, not %q", r.RetryPriority)
	bad(r.Stagger == -1 || r.Stagger > 0 && r.Stagger <= maxStagger,
		"recovery.stagger must be positive and at most 1m, or -1")
	bad(r.MaxStagger > 0 && r.MaxStagger <= maxRequeueDelay, "recovery.max_stagger must be positive, and at most 1h")
	bad(r.RequeueDelay >= 0 && r.RequeueDelay <= maxRequeueDelay, "recovery.requeue_delay must be 0 to 1h")
}

// Common returns the limits for rules, where -1 is no retry, too.
func (r Recovery) Common() task.ClassLimits {
	l := r.Limits
	return task.ClassLimits{Transient: &l.Transient, Resource: &l.Resource, Logic: &l.Logic, Worker: &l.Worker}
}

// Growth is how time-outs grow.
func (r Recovery) Growth() task.Growth {
	return task.Growth{Rule: r.TimeoutGrowth, Factor: r.TimeoutFactor, Cap: r.TimeoutCap}
}
