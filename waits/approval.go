package waits

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/query"
)

// Approval is a step that waits for an approval. tasker.Client.ActOnStep decides.
type Approval struct {
	TaskUUID  uuid.UUID  `json:"task_uuid"`
	StepUUID  uuid.UUID  `json:"step_uuid"`
	Namespace string     `json:"namespace"`
	Template  string     `json:"template"`
	Step      string     `json:"step"`
	Approval  string     `json:"approval,omitempty" doc:"What is decided."`
	Since     time.Time  `json:"since" doc:"When it began to wait."`
	Until     *time.Time `json:"until,omitempty" doc:"End of the wait; missing without end."`
}

// ApprovalFilter selects approvals. Zero fields do not restrict.
type ApprovalFilter struct {
	Namespaces []string  `query:"namespace,explode" doc:"Namespaces to include; repeatable up to 100 times. Defaults to all namespaces of the key."`
	Template   string    `query:"template" maxLength:"255" doc:"Name of the template."`
	Step       string    `query:"step" maxLength:"255" doc:"Name of the step."`
	TaskUUID   uuid.UUID `query:"task_uuid" doc:"Task of the steps."`
	After      time.Time `query:"after" doc:"Began to wait at or after this time."`
	Before     time.Time `query:"before" doc:"Began to wait before this time."`
	Limit      int       `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Cursor     string    `query:"cursor" maxLength:"1024" doc:"next_cursor of the previous page."`
}

// ApprovalPage is a page of approvals.
type ApprovalPage struct {
	Approvals  []Approval `json:"approvals" doc:"The one that has waited longest comes first."`
	NextCursor string     `json:"next_cursor,omitempty" doc:"Present if there are more."`
}

// Approvals implements Backend.
func (s server) Approvals(ctx context.Context, f ApprovalFilter) (*ApprovalPage, error) {
	return query.Ask[ApprovalPage](ctx, s.client, tasker.Request{Verb: "list approvals", Method: http.MethodGet,
		Path: "/v1/approvals", Query: url.Values(query.Of(f))})
}
