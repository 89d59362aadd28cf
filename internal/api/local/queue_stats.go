package local

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/worker/protocol"
)

// QueueStats implements queueapi.Backend. Some numbers have two names, for clients of the older API. The depths may be
// some seconds old and, for large queues, are samples or lower bounds (Sampled, Capped). No namespace means all.
func (b *Backend) QueueStats(ctx context.Context, f queueapi.QueueFilter) (*queueapi.QueueStats, error) {
	s, err := b.engine.QueueStats(ctx, f.Namespaces)
	if err != nil {
		return nil, ToError(err)
	}
	out := &queueapi.QueueStats{At: s.At.Time(), Queues: map[string]queueapi.QueueOfPriority{},
		Queue: queueapi.QueueTotals{TotalDepth: s.Depth, QueueDepth: s.Depth, ByPriority: map[string]int{},
			Sampled: s.Sampled, Capped: s.Capped, OldestAgeSeconds: ageOf(s.Oldest, s.Depth),
			P50AgeSeconds: ageOf(s.P50, s.Depth), P95AgeSeconds: ageOf(s.P95, s.Depth)},
		Aging: queueapi.QueueAging{OldestQueuedTaskAgeSeconds: ageOf(s.Oldest, s.Depth),
			TasksWaitingOverThreshold: s.Overdue, ThresholdSeconds: someSeconds(s.Patience)},
		Workers:    b.countWorkers(s.Workers, s.Loads),
		Throughput: throughput(s.Measured),
		Recovery: queueapi.QueueRecovery{AssignmentTimeouts: s.Measured.NotStartedLastHour,
			VisibilityTimeouts: s.Measured.LapsedLastHour, MeasuredSince: s.Measured.Since.Time()},
		Backpressure: pressureOf(s.Pressure),
		Dispatch:     queueapi.QueueDispatch{Mode: "native", Configured: s.Dispatch.Configured, Active: s.Dispatch.Active},
	}
	// Without probes the field is null: 0 would say that all probes succeeded.
	if b.engine.Config().WorkerProbes.Enabled {
		out.Recovery.HealthProbeFailures = &s.Measured.ProbesFailedLastHour
	}
	if s.Dispatch.Active {
		out.Dispatch.Mode = "redis"
	}
	if s.Dispatch.Configured && !s.Dispatch.Active {
		out.Dispatch.Why = "it is out of reach, or is being filled" // the error may contain host names
	}
	// A ready step is "pending" in one vocabulary and "depth" in the other.
	for _, l := range s.Levels {
		name := b.engine.PriorityName(l.Level)
		out.Queues[name] = queueapi.QueueOfPriority{Level: l.Level, Depth: l.Ready, Pending: l.Ready, Assigned: l.Assigned,
			Executing: l.Executing, Processing: l.Assigned + l.Executing, OldestAgeSeconds: ageOf(l.Oldest, l.Ready)}
		out.Queue.ByPriority[name] = l.Ready
		out.Queue.Executing += l.Assigned + l.Executing
	}
	out.Queue.Processing = out.Queue.Executing
	return out, nil
}

// ageOf returns seconds, nil without elements: an empty queue differs from a new oldest step.
func ageOf(d time.Duration, n int) *float64 {
	if n == 0 {
		return nil
	}
	seconds := milli(d)
	return &seconds
}

func someSeconds(d time.Duration) *float64 {
	if d <= 0 {
		return nil
	}
	seconds := milli(d)
	return &seconds
}

// countWorkers counts workers by state; dead ones have no capacity. loads has the steps of each worker by its number;
// no entry means none.
func (b *Backend) countWorkers(workers []*task.Worker, loads map[int64]int) queueapi.QueueWorkers {
	var out queueapi.QueueWorkers
	for _, w := range workers {
		switch w.State {
		case task.WorkerDead:
			out.Dead++
			continue
		case task.WorkerActive:
			out.Active++
			if loads[w.No] > 0 {
				out.Busy++
			} else {
				out.Idle++
			}
		case task.WorkerDraining:
			out.Draining++
		default: // alive, but gets no steps
			out.Unhealthy++
		}
		if string(b.engine.BreakerOf(w)) == protocol.BreakerOpen {
			out.CircuitOpen++
		}
		out.Total++
		out.TotalCapacity += w.Capacity
		out.UsedCapacity += loads[w.No]
	}
	out.TotalWorkers, out.IdleWorkers = out.Total, out.Idle
	return out
}

func throughput(m engine.Measured) queueapi.QueueThroughput {
	return queueapi.QueueThroughput{CompletedLastMinute: m.CompletedLastMinute, FailedLastMinute: m.FailedLastMinute,
		HandedOutLastMinute: m.HandedLastMinute, AvgTaskDurationSeconds: ageOf(m.MeanRun, m.RunsLastMinute)}
}

// pressureOf converts the state of back-pressure: open, the tier reached, or overloaded, which comes first because it
// refuses more. NormalLoad is nil without a limit.
func pressureOf(p engine.Pressure) queueapi.QueueBackpressure {
	out := queueapi.QueueBackpressure{Scope: string(p.Scope), State: "open", InHand: p.Active, Refused: map[string]int64{}}
	for reason, n := range p.Refused {
		out.Refused[string(reason)] = n
	}
	if p.NormalLoad > 0 {
		out.NormalLoad = &p.NormalLoad
	}
	switch {
	case p.Overloaded:
		out.State = string(engine.Overloaded)
	case p.Tier != "":
		out.State = string(p.Tier)
	}
	return out
}

// Pressure returns the state of back-pressure, for metrics. It reads counters of this node and does not block.
func (b *Backend) Pressure() engine.Pressure { return b.engine.Pressure() }
