package operate

import (
	"context"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/query"
)

// ChildBackend is the part of a Backend about steps that child tasks carry out.
type ChildBackend interface {
	// StepChildren returns one page of the child tasks of a step, by index. CodeNotFound: there is no such step.
	StepChildren(ctx context.Context, task, step uuid.UUID, filter ChildFilter) (*ChildPage, error)
}

// ChildState is the state of a child task as its step counts it.
type ChildState string

// The states of child tasks. One in error may be repaired; an abandoned one was cancelled, or could not be submitted.
const (
	ChildRunning ChildState = "running"
	ChildDone    ChildState = "done"
	ChildError   ChildState = "error"
	ChildGivenUp ChildState = "given_up"
)

// ChildFilter selects child tasks of a step. Zero fields do not restrict.
type ChildFilter struct {
	State ChildState `query:"state" enum:"running,done,error,given_up" doc:"Only children in this state."`
	From  int        `query:"from" minimum:"0" maximum:"1000000" doc:"Lowest index of the page."`
	Limit int        `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
}

// Child is a child task of a step.
type Child struct {
	Index int `json:"index" doc:"Place among the children of the step, counted from 0."`
	// TaskUUID is nil for a child that could not be submitted.
	TaskUUID *uuid.UUID `json:"task_uuid,omitempty"`
	State    ChildState `json:"state" enum:"running,done,error,given_up"`
	Reason   string     `json:"reason,omitempty" doc:"Why the child could not be submitted; of a child in error, the first line of its last failure."`
}

// ChildPage is one page of child tasks.
type ChildPage struct {
	Children []Child `json:"children"`
	// Next is the index of the next page; 0 at the end.
	Next int `json:"next,omitempty" doc:"Index at which the next page begins; absent at the end."`
}

// StepChildren implements ChildBackend.
func (s server) StepChildren(ctx context.Context, task, step uuid.UUID, f ChildFilter) (*ChildPage, error) {
	return query.Ask[ChildPage](ctx, s.client, tasker.Request{Verb: "list children", Method: http.MethodGet,
		Path:  "/v1/tasks/" + task.String() + "/workflow_steps/" + step.String() + "/children",
		Query: url.Values(query.Of(f))})
}
