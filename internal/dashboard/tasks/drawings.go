package tasks

import (
	"html/template"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/dashboard/chart"
)

func graph(steps []stepRow) template.HTML {
	if len(steps) < 2 {
		return ""
	}
	nodes := make([]chart.Node, len(steps))
	durations := make([]time.Duration, len(steps))
	places := make(map[string]int, len(steps))
	for i := range steps {
		s := &steps[i]
		places[s.Name] = i
		nodes[i] = chart.Node{Label: s.Name, Mark: chart.StepMark(s.State), Href: s.At()}
		if s.LastAttemptedAt != nil && s.CompletedAt != nil {
			durations[i] = s.CompletedAt.Sub(*s.LastAttemptedAt)
		}
	}
	var edges []chart.Edge
	for i := range steps {
		for _, parent := range steps[i].Dependencies {
			if from, known := places[parent]; known {
				edges = append(edges, chart.Edge{From: from, To: i})
			}
		}
	}
	chart.MarkCritical(nodes, edges, durations)
	return chart.Graph(nodes, edges, chart.GraphOptions{Name: "Steps of the task"})
}

func timeline(steps []stepRow, now time.Time) template.HTML {
	var rows []chart.Row
	for i := range steps {
		s := &steps[i]
		if len(s.Attempts) == 0 {
			continue
		}
		rows = append(rows, chart.Row{Label: s.Name, Mark: chart.StepMark(s.State), Href: s.At(),
			Segments: segments(s)})
	}
	if len(rows) == 0 {
		return ""
	}
	return chart.Timeline(rows, chart.TimelineOptions{Name: "Attempts of the task", Now: now})
}

func segments(s *stepRow) (out []chart.Segment) {
	var ended time.Time
	for _, a := range s.Attempts {
		if a.ReadyAt != nil {
			if !ended.IsZero() && a.ReadyAt.After(ended) {
				out = append(out, chart.Segment{Kind: chart.BackOff, From: ended, To: *a.ReadyAt})
			}
			if a.StartedAt != nil {
				out = append(out, chart.Segment{Kind: chart.Waiting, From: *a.ReadyAt, To: *a.StartedAt})
			}
		}
		if a.StartedAt != nil {
			run := chart.Segment{Kind: chart.Running, From: *a.StartedAt, Mark: markOf(a.Outcome), Title: a.Outcome}
			if a.FinishedAt != nil {
				run.To, ended = *a.FinishedAt, *a.FinishedAt
			}
			out = append(out, run)
		}
	}
	if s.State == tasker.StepWaitingForRetry && !ended.IsZero() {
		out = append(out, chart.Segment{Kind: chart.BackOff, From: ended})
	}
	return out
}

// markOf returns "" for an outcome that is neither success nor failure.
func markOf(outcome string) chart.Mark {
	switch outcome {
	case "completed":
		return chart.MarkComplete
	case "failed", "timed_out", "lease_expired", "not_started", "dispatch_expired":
		return chart.MarkError
	case "cancelled":
		return chart.MarkCancelled
	}
	return ""
}
