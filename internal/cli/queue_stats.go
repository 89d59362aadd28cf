package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
)

// newQueueStats reads GET /api/v1/queue/stats. The last minute and hour are the answering server's. --json prints a
// queueapi.QueueStats.
func newQueueStats(s *session) *cobra.Command {
	var filter queueapi.QueueFilter
	cmd := &cobra.Command{
		Use:     "stats",
		Short:   "Show queue depth, age, workers, throughput and refusals",
		Example: `  tasker queue stats --namespace shop`,
		Args:    cobra.NoArgs,
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, _ []string) error {
			return answered(s, s.printQueueStats)(queueapi.Of(c).QueueStats(ctx, filter))
		}),
	}
	cmd.Flags().StringSliceVar(&filter.Namespaces, "namespace", nil, "filter by namespace; repeatable")
	return cmd
}

// printQueueStats marks numbers of a capped or sampled queue as inexact.
func (s *session) printQueueStats(q *queueapi.QueueStats) error {
	t := s.newTable("PRIORITY", "WAITING", "OLDEST", "ASSIGNED", "EXECUTING")
	for _, name := range byLevel(q.Queues) {
		of := q.Queues[name]
		t.row(name, strconv.Itoa(of.Depth), ageText(of.OldestAgeSeconds), strconv.Itoa(of.Assigned),
			strconv.Itoa(of.Executing))
	}
	if err := t.flush(); err != nil {
		return err
	}
	f := s.newFields("  ")
	waiting := strconv.Itoa(q.Queue.TotalDepth)
	// The server counts up to a limit.
	if q.Queue.Capped {
		waiting += " or more"
	}
	if q.Queue.Sampled {
		waiting += " (priorities and ages from a sample)"
	}
	f.add("Waiting", waiting)
	if q.Queue.OldestAgeSeconds != nil {
		f.add(
			"Age",
			fmt.Sprintf("%s max, %s median, %s p95", ageText(q.Queue.OldestAgeSeconds), ageText(q.Queue.P50AgeSeconds),
				ageText(q.Queue.P95AgeSeconds)),
		)
	}
	if q.Aging.ThresholdSeconds != nil {
		f.add("Long waits", fmt.Sprintf("%d over %s", q.Aging.TasksWaitingOverThreshold, ageText(q.Aging.ThresholdSeconds)))
	}
	f.add("Workers", workersText(q.Workers))
	f.add("Last minute", throughputText(q.Throughput))
	recovered := fmt.Sprintf("%d assignments timed out, %d leases expired", q.Recovery.AssignmentTimeouts,
		q.Recovery.VisibilityTimeouts)
	// nil: this server does not probe workers.
	if n := q.Recovery.HealthProbeFailures; n != nil {
		recovered += fmt.Sprintf(", %d health probes failed", *n)
	}
	f.add("Last hour", recovered)
	f.add("Back-pressure", pressureText(q.Backpressure))
	f.add("Dispatcher", dispatchText(q.Dispatch))
	return s.write([]byte("\n" + f.String()))
}

// byLevel sorts priorities by level, highest first, then by name.
func byLevel(queues map[string]queueapi.QueueOfPriority) []string {
	names := slices.Sorted(maps.Keys(queues))
	slices.SortStableFunc(names, func(a, b string) int { return queues[b].Level - queues[a].Level })
	return names
}

func ageText(seconds *float64) string {
	if seconds == nil {
		return ""
	}
	return briefly(*seconds)
}

func workersText(w queueapi.QueueWorkers) string {
	parts := []string{fmt.Sprintf("%d alive, %d of %d slots used", w.Total, w.UsedCapacity, w.TotalCapacity)}
	for _, p := range []struct {
		n    int
		what string
	}{
		{w.Busy, "busy"}, {w.Idle, "idle"}, {w.Draining, "draining"}, {w.Unhealthy, "unhealthy"},
		{w.CircuitOpen, "with an open circuit breaker"}, {w.Dead, "died in the last hour"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

func throughputText(t queueapi.QueueThroughput) string {
	text := fmt.Sprintf("%d claimed, %d completed, %d failed permanently", t.HandedOutLastMinute, t.CompletedLastMinute,
		t.FailedLastMinute)
	if t.AvgTaskDurationSeconds != nil {
		text += fmt.Sprintf(", %.3gs per attempt", *t.AvgTaskDurationSeconds)
	}
	return text
}

func pressureText(b queueapi.QueueBackpressure) string {
	text := b.State
	for _, reason := range slices.Sorted(maps.Keys(b.Refused)) {
		if n := b.Refused[reason]; n > 0 {
			text += fmt.Sprintf(", %d refused by %s", n, reason)
		}
	}
	return text
}

func dispatchText(d queueapi.QueueDispatch) string {
	switch {
	case d.Mode == "redis":
		return "Redis"
	case d.Configured:
		return "the database, because Redis is unavailable: " + d.Why
	}
	return "the database"
}
