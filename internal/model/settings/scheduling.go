package settings

import (
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Scheduling sets how the wait of a ready step counts against its priority. The fields that order steps (all but
// PromotionInterval, the batches and FairnessWindow) apply to all processes of a store: the last started process
// decides.
type Scheduling struct {
	// Mode is strict (higher levels first), promote (a waiting step moves up to the next named level) or aging (the
	// wait counts continuously).
	Mode task.SchedulingMode
	// PromotionInterval is the interval of the search for steps to promote.
	PromotionInterval time.Duration
	// LowToMedium and MediumToHigh are the waits since a step became ready after which it is promoted: to the
	// second named level, and to the highest. Levels in between are spread evenly. Mode promote only.
	LowToMedium, MediumToHigh time.Duration
	// PromotionBatch bounds the steps that one transaction promotes, HighPromotionBatch those to the highest level.
	PromotionBatch, HighPromotionBatch int
	// AgingWeight is the wait that makes up for one level. Mode aging only.
	AgingWeight time.Duration
	// MaxWait is the wait after which a step precedes everything that becomes ready later, at any level, in every
	// mode; -1 is none.
	MaxWait time.Duration
	// FairnessWindow bounds the difference of levels in one poll; 0 is no bound.
	FairnessWindow int
}

const (
	maxAgingWeight = 7 * 24 * time.Hour
	maxMaxWait     = 365 * 24 * time.Hour
	maxPromotions  = 10_000
)

func (s *Scheduling) setDefaults() {
	orDefault(&s.Mode, task.Strict)
	orDefault(&s.PromotionInterval, time.Minute)
	orDefault(&s.LowToMedium, 10*time.Minute)
	orDefault(&s.MediumToHigh, 20*time.Minute)
	orDefault(&s.PromotionBatch, 100)
	orDefault(&s.HighPromotionBatch, 50)
	orDefault(&s.AgingWeight, 24*time.Second)
	orDefault(&s.MaxWait, time.Hour)
}

func (s Scheduling) validate(bad func(ok bool, format string, args ...any)) {
	modes := []task.SchedulingMode{task.Strict, task.Promote, task.Aging}
	bad(slices.Contains(modes, s.Mode), "scheduling.mode must be strict, promote or aging, not %q", s.Mode)
	bad(s.PromotionInterval > 0, "scheduling.promotion_interval must be positive")
	bad(s.LowToMedium > 0, "scheduling.low_to_medium must be positive")
	bad(s.MediumToHigh >= s.LowToMedium, "scheduling.medium_to_high must not be shorter than scheduling.low_to_medium: "+
		"both are counted from the beginning of the wait")
	bad(s.PromotionBatch > 0 && s.PromotionBatch <= maxPromotions, "scheduling.promotion_batch must be 1 to %d",
		maxPromotions)
	bad(s.HighPromotionBatch > 0 && s.HighPromotionBatch <= maxPromotions,
		"scheduling.high_promotion_batch must be 1 to %d", maxPromotions)
	bad(s.AgingWeight > 0 && s.AgingWeight <= maxAgingWeight, "scheduling.aging_weight must be positive, and at most 7d")
	bad(s.MaxWait == -1 || s.MaxWait > 0 && s.MaxWait <= maxMaxWait,
		"scheduling.max_wait must be positive and at most 365d, or -1")
	bad(s.FairnessWindow >= 0 && s.FairnessWindow <= task.MaxPriority, "scheduling.fairness_window must be 0 to %d",
		task.MaxPriority)
}

// Order returns how a Config with defaults orders ready steps.
func (c Config) Order() task.Scheduling {
	s := task.Scheduling{Mode: c.Scheduling.Mode, MaxWait: max(c.Scheduling.MaxWait, 0)}
	switch s.Mode {
	case task.Aging:
		s.AgingWeight = c.Scheduling.AgingWeight
	case task.Promote:
		s.Promotions = c.promotions()
	}
	return s
}

func (c Config) promotions() []task.Promotion {
	var list []task.Promotion
	first, last := c.Scheduling.LowToMedium, c.Scheduling.MediumToHigh
	for i, p := range c.Priorities[:len(c.Priorities)-1] { // highest first
		after := last
		if leaps := len(c.Priorities) - 2; leaps > 0 {
			after -= (last - first) * time.Duration(i) / time.Duration(leaps)
		}
		list = append(list, task.Promotion{Level: p.Level, After: after})
	}
	return list
}
