package flow

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/query"
)

// OutageState is whether an outage is open.
type OutageState string

// The states of outages.
const (
	OutageOpen   OutageState = "open"
	OutageClosed OutageState = "closed"
)

// Outage is an incident on a route: many attempts failed there with one fingerprint within a short time. While it is
// open, the route serves one step at a time, the probe.
type Outage struct {
	OutageUUID   uuid.UUID   `json:"outage_uuid"`
	State        OutageState `json:"state" enum:"open,closed"`
	Namespace    string      `json:"namespace"`
	Handler      string      `json:"handler"`
	Capabilities []string    `json:"capabilities,omitempty" doc:"What a worker needs for the steps of the route."`
	GroupID      string      `json:"group_id" doc:"Group of the inbox to which failures for good with this fingerprint belong. It exists once there is one."`
	Title        string      `json:"title,omitempty" doc:"The fingerprint, for people."`
	Failures     int         `json:"failures" doc:"Failures that opened it, less the successes between them."`
	Since        time.Time   `json:"since" doc:"When these failures began."`
	OpenedAt     time.Time   `json:"opened_at"`
	Spared       int         `json:"spared" doc:"Attempts that failed with the fingerprint while it was open, and were not charged."`
	Probes       int         `json:"probes" doc:"Steps that were let through."`
	Probe        *Probe      `json:"probe,omitempty" doc:"The step that is let through now."`
	NextProbeAt  *time.Time  `json:"next_probe_at,omitempty" doc:"When the next step is let through; a time in the past waits for a worker, or for the end of a pause."`
	LastProbe    string      `json:"last_probe,omitempty" enum:"succeeded,failed,no_step,lost" doc:"How the last probe ended: no_step if none was ready, lost if it was given back or its worker died."`
	LastProbeAt  *time.Time  `json:"last_probe_at,omitempty" doc:"When it ended."`
	ClosedAt     *time.Time  `json:"closed_at,omitempty"`
	ClosedBy     string      `json:"closed_by,omitempty" doc:"Who closed it; system after a probe that succeeded."`
	CloseReason  string      `json:"close_reason,omitempty"`
	ETag         string      `json:"etag" doc:"Changes with every change of the outage."`
}

// Probe is a step that was let through on a route with an open outage.
type Probe struct {
	TaskUUID uuid.UUID `json:"task_uuid"`
	StepUUID uuid.UUID `json:"step_uuid"`
	Since    time.Time `json:"since"`
}

// OutageFilter selects outages. Zero fields do not restrict.
type OutageFilter struct {
	Namespaces []string    `query:"namespace,explode" doc:"Namespaces to include; repeatable up to 100 times. Defaults to all namespaces of the key."`
	State      OutageState `query:"state" enum:"open,closed" doc:"Defaults to both."`
	Limit      int         `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Cursor     string      `query:"cursor" maxLength:"1024" doc:"next_cursor of the previous page."`
}

// OutagePage is a page of outages.
type OutagePage struct {
	Outages    []Outage `json:"outages" doc:"The newest first."`
	NextCursor string   `json:"next_cursor,omitempty" doc:"Present if there are more."`
}

// OutageCloseRequest is a request to close an outage.
type OutageCloseRequest struct {
	ClosedBy string `json:"closed_by,omitempty" maxLength:"255" doc:"Who closes it; defaults to the name of the API key."`
	Reason   string `json:"reason,omitempty" maxLength:"4096" doc:"Why; kept with the outage and in the audit trail."`
	IfMatch  string `json:"if_match,omitempty" maxLength:"1024" doc:"Expected ETag of the outage, or *. If it has changed, the act is refused with conflict."`
}

// Outages is the part of a Backend about outages.
type Outages interface {
	// Outages returns a page of outages. Closed ones are kept for 30 days.
	Outages(ctx context.Context, filter OutageFilter) (*OutagePage, error)
	// Outage returns an outage. CodeNotFound: there is none of that ID.
	Outage(ctx context.Context, id uuid.UUID) (*Outage, error)
	// CloseOutage closes an outage: its route is served again immediately. CodeNotFound, CodeConflict: it has changed
	// since IfMatch. CodeWrongState: it is closed already.
	CloseOutage(ctx context.Context, id uuid.UUID, req OutageCloseRequest) (*Outage, error)
}

func (s server) Outages(ctx context.Context, f OutageFilter) (*OutagePage, error) {
	return list[OutagePage](ctx, s, "list outages", "/v1/outages", f)
}

func (s server) Outage(ctx context.Context, id uuid.UUID) (*Outage, error) {
	return query.Ask[Outage](ctx, s.client, tasker.Request{Verb: "get outage", Method: http.MethodGet,
		Path: "/v1/outages/" + id.String()})
}

// CloseOutage implements Backend. A second call after a lost response gets CodeWrongState if the first was done.
func (s server) CloseOutage(ctx context.Context, id uuid.UUID, req OutageCloseRequest) (*Outage, error) {
	return send[Outage](ctx, s, "close outage", "/v1/outages/"+id.String()+"/close", req)
}
