package figures

import (
	"context"
	"math"
	"slices"
	"time"
)

// QueueCensus counts ready steps by priority, from a sample when there are many.
type QueueCensus struct {
	Levels []LevelCensus // levels with steps and named levels; highest first
	// Scores are percentiles of sort keys, in seconds; meaningless without ready steps.
	Scores Percentiles
	// MaxWait is the longest wait in this order; 0: no bound. AtRisk counts the steps beyond 80 % of it, Overdue
	// beyond it.
	MaxWait         time.Duration
	AtRisk, Overdue int
}

// LevelCensus counts the ready steps of one level.
type LevelCensus struct {
	Level int
	Name  string
	Ready int
	Ages  Percentiles // seconds since ready; 0 without steps
}

// Percentiles are the values that 50, 95 and 99 % do not exceed.
type Percentiles struct{ P50, P95, P99 float64 }

const riskOf = 0.8

const countPatience = 2 * time.Second

// countInTime leaves out a queue that takes too long to count, which must not look like a store that is down.
func (e *Room) countInTime(ctx context.Context) (*QueueCensus, error) {
	limited, cancel := context.WithTimeout(ctx, countPatience)
	defer cancel()
	c, err := e.countByLevel(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, nil
	}
	return c, err
}

func (e *Room) countByLevel(ctx context.Context) (*QueueCensus, error) {
	g, err := e.queueSample(ctx)
	if err != nil {
		return nil, err
	}
	depth := 0
	for _, n := range g.counts {
		depth += n
	}
	out := &QueueCensus{MaxWait: max(e.Order().MaxWait, 0)}
	ages := map[int][]float64{}
	for _, p := range e.Cfg.Priorities {
		ages[p.Level] = nil
	}
	var scores []float64
	for _, s := range g.sample {
		age := max(g.at.Sub(s.ReadyAt), 0)
		ages[s.Priority] = append(ages[s.Priority], age.Seconds())
		scores = append(scores, float64(s.Key)/1e6)
		if out.MaxWait > 0 && age >= out.MaxWait {
			out.Overdue++
		}
		if out.MaxWait > 0 && float64(age) >= riskOf*float64(out.MaxWait) {
			out.AtRisk++
		}
	}
	whole := func(n int) int {
		if n == 0 || len(g.sample) >= depth {
			return n
		}
		return int(math.Round(float64(n) * float64(depth) / float64(len(g.sample))))
	}
	out.AtRisk, out.Overdue, out.Scores = whole(out.AtRisk), whole(out.Overdue), percentiles(scores)
	for level, list := range ages {
		out.Levels = append(out.Levels, LevelCensus{Level: level, Name: e.PriorityName(level), Ready: whole(len(list)),
			Ages: percentiles(list)})
	}
	slices.SortFunc(out.Levels, func(a, b LevelCensus) int { return b.Level - a.Level })
	return out, nil
}

func percentiles(values []float64) Percentiles {
	if len(values) == 0 {
		return Percentiles{}
	}
	slices.Sort(values)
	at := func(part float64) float64 { return values[max(int(math.Ceil(part*float64(len(values))))-1, 0)] }
	return Percentiles{at(0.5), at(0.95), at(0.99)}
}
