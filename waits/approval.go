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
	Namespaces []string
	Template   string
	Step       string
	TaskUUID   uuid.UUID
	After      time.Time // it began to wait at that time or later
	Before     time.Time // it began to wait before that time
	Limit      int       // 0: 50
	Cursor     string    // NextCursor of the previous page
}

// ApprovalPage is a page of approvals.
type ApprovalPage struct {
	Approvals  []Approval `json:"approvals" doc:"The one that has waited longest comes first."`
	NextCursor string     `json:"next_cursor,omitempty" doc:"Present if there are more."`
}

// Approvals implements Backend.
func (s server) Approvals(ctx context.Context, f ApprovalFilter) (*ApprovalPage, error) {
	q := query.Values{"namespace": f.Namespaces}
	q.Set("template", f.Template)
	q.Set("step", f.Step)
	if f.TaskUUID != uuid.Nil {
		q.Set("task_uuid", f.TaskUUID.String())
	}
	q.SetTime("after", f.After)
	q.SetTime("before", f.Before)
	q.SetInt("limit", f.Limit)
	q.Set("cursor", f.Cursor)
	out := &ApprovalPage{}
	r := tasker.Request{Verb: "list approvals", Method: http.MethodGet, Path: "/v1/approvals", Query: url.Values(q)}
	if err := s.client.Call(ctx, r, out); err != nil {
		return nil, err
	}
	return out, nil
}
