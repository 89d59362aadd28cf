package app

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/host/telemetry"
	"github.com/taskerhq/tasker/internal/inbox"
)

// SourceCounter returns the metrics of a node's sources of dead letters.
func SourceCounter(node interface {
	Levels(ctx context.Context) ([]inbox.Level, error)
},
) telemetry.SourceCounter {
	return func(ctx context.Context) ([]telemetry.SourceLevel, error) {
		levels, err := node.Levels(ctx)
		out := make([]telemetry.SourceLevel, len(levels))
		for i := range levels {
			l := &levels[i]
			out[i] = telemetry.SourceLevel{Namespace: l.Source.Namespace, Source: l.Source.Name, Queue: l.Name,
				Open: int64(l.Letters), Waiting: l.Waiting, Broker: l.Source.Driver != inbox.HTTP,
				Answers: l.Err == nil, Oversized: l.Oversized, Lag: l.Lag, Breaker: l.Breaker}
			if l.Source.Intake != nil {
				out[i].Queue = "" // its messages are jobs, not failures
			}
		}
		return out, err
	}
}

// OriginCounter returns the metrics of the origins of letters.
func OriginCounter(node interface {
	OriginLevels(ctx context.Context) ([]inbox.OriginLevel, error)
},
) telemetry.OriginCounter {
	return func(ctx context.Context) ([]telemetry.OriginLevel, error) {
		levels, err := node.OriginLevels(ctx)
		out := make([]telemetry.OriginLevel, len(levels))
		for i, l := range levels {
			out[i] = telemetry.OriginLevel(l)
		}
		return out, err
	}
}

// FailureCounter returns the metrics of task failures that a node has yet to write to queues.
func FailureCounter(node interface {
	IntakeFailures(ctx context.Context) (waiting int, oldest time.Time, err error)
},
) func(context.Context) (*telemetry.IntakeFailures, error) {
	return func(ctx context.Context) (*telemetry.IntakeFailures, error) {
		waiting, oldest, err := node.IntakeFailures(ctx)
		return &telemetry.IntakeFailures{Waiting: waiting, Oldest: oldest}, err
	}
}
