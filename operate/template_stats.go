package operate

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/query"
)

// TemplateBackend is the part of a Backend about results of workflows.
type TemplateBackend interface {
	// TemplateStats reads the newest tasks of a version of a template. CodeNotFound: there is no such version.
	TemplateStats(ctx context.Context, filter TemplateStatsFilter) (*TemplateStats, error)
}

// TemplateStatsFilter selects the tasks of TemplateStats.
type TemplateStatsFilter struct {
	Namespace, Name, Version string
	Tasks                    int // newest tasks to read: 1 to 1,000; 0: 100
}

// TemplateStats are results of the newest tasks of a version of a template. It reads their steps, so its cost grows
// with the number of tasks.
type TemplateStats struct {
	Namespace   string      `json:"namespace"`
	Name        string      `json:"name"`
	Version     string      `json:"version"`
	Tasks       int         `json:"tasks" doc:"Newest tasks that were looked at."`
	SubmittedAt *time.Time  `json:"first_submitted_at,omitempty" doc:"When the oldest of them was submitted."`
	LastAt      *time.Time  `json:"last_submitted_at,omitempty" doc:"When the newest of them was submitted."`
	Complete    int         `json:"complete" doc:"Tasks that are complete, or were resolved by an operator."`
	Failed      int         `json:"failed" doc:"Tasks in error."`
	Cancelled   int         `json:"cancelled"`
	Took        *Spread     `json:"took" doc:"From submission to the end, of complete tasks; null without any."`
	Steps       []StepStats `json:"steps" doc:"In the order of the template."`
}

// StepStats are the results of a step in the tasks.
type StepStats struct {
	Name           string  `json:"name"`
	Begun          int     `json:"begun" doc:"Tasks in which it was begun."`
	Complete       int     `json:"complete" doc:"Tasks in which it is complete, or was resolved."`
	Failed         int     `json:"failed" doc:"Tasks in which it is in error."`
	Attempts       int     `json:"attempts" doc:"Executions since the last reset of each step."`
	FailedAttempts int     `json:"failed_attempts" doc:"Executions that are over and did not complete the step."`
	FailureRate    float64 `json:"failure_rate" doc:"Share of the executions that failed; 0 without any."`
	Ran            *Spread `json:"ran" doc:"Time from start to end, of the last executions; null without any."`
	Waited         *Spread `json:"waited" doc:"Time in the queue before the last executions; null without any."`
}

// Spread is a distribution of durations.
type Spread struct {
	P50 float64 `json:"p50_seconds"`
	P95 float64 `json:"p95_seconds"`
	Max float64 `json:"max_seconds"`
}

// TemplateStats implements TemplateBackend.
func (s server) TemplateStats(ctx context.Context, f TemplateStatsFilter) (*TemplateStats, error) {
	q := query.Values{}
	q.SetInt("tasks", f.Tasks)
	path := "/v1/templates/" + url.PathEscape(f.Namespace) + "/" + url.PathEscape(f.Name) + "/" +
		url.PathEscape(f.Version) + "/stats"
	return query.Ask[TemplateStats](ctx, s.client, tasker.Request{Verb: "get template stats", Method: http.MethodGet,
		Path: path, Query: url.Values(q)})
}
