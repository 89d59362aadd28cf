package flow

import (
	"context"
	"time"
)

// LimitTarget is the handler or route of an operator's limit.
type LimitTarget struct {
	Kind         Kind     `json:"kind" enum:"route,handler"`
	Namespace    string   `json:"namespace,omitempty" maxLength:"255" doc:"Defaults to the default namespace."`
	Handler      string   `json:"handler" minLength:"1" maxLength:"255"`
	Capabilities []string `json:"capabilities,omitempty" maxItems:"100" doc:"Of a route: what a worker must have for its steps. None is the route of steps that need none."`
}

// Rate is how many steps may begin in a time.
type Rate struct {
	Limit  int     `json:"limit" minimum:"1" maximum:"1000000" doc:"Steps in a period, evenly spread."`
	Period float64 `json:"period_seconds" minimum:"0.001" maximum:"2678400" doc:"Length of the period."`
	Burst  int     `json:"burst,omitempty" minimum:"0" maximum:"1000000" doc:"Steps at once after a pause; defaults to limit."`
}

// LimitRequest is a request to limit a target. At least one of Concurrency and Rate is needed.
type LimitRequest struct {
	LimitTarget
	Concurrency int    `json:"concurrency,omitempty" minimum:"0" maximum:"100000" doc:"Steps at once, on all nodes; 0 is no limit."`
	Rate        *Rate  `json:"rate,omitempty" doc:"How many steps may begin in a time, on all nodes."`
	SetBy       string `json:"set_by,omitempty" maxLength:"255" doc:"Who sets it; defaults to the name of the API key."`
	Reason      string `json:"reason,omitempty" maxLength:"4096" doc:"Why; shown wherever somebody asks why a step waits."`
}

// DeleteLimitRequest is a request to end the limit of a target.
type DeleteLimitRequest struct {
	LimitTarget
	DeletedBy string `json:"deleted_by,omitempty" maxLength:"255" doc:"Who deletes it; defaults to the name of the API key."`
	Reason    string `json:"reason,omitempty" maxLength:"4096" doc:"Why; kept in the audit trail."`
}

// Limit is a limit of an operator on a target.
type Limit struct {
	LimitTarget
	Concurrency int        `json:"concurrency,omitempty" doc:"Steps at once, on all nodes; missing without such a limit."`
	Running     int        `json:"running" doc:"Steps that workers hold at present and that count; 0 without a concurrency."`
	Rate        *Rate      `json:"rate,omitempty"`
	NextAt      *time.Time `json:"next_at,omitempty" doc:"When the rate lets the next step begin; missing if that is at once."`
	SetAt       time.Time  `json:"set_at"`
	ChangedAt   time.Time  `json:"changed_at" doc:"When it was set or changed last."`
	SetBy       string     `json:"set_by"`
	Reason      string     `json:"reason,omitempty"`
	DeletedAt   *time.Time `json:"deleted_at,omitempty" doc:"When it was deleted; missing while it is in force."`
	// Created: the target had no limit before, and the answer is 201 instead of 200.
	Created bool `json:"-"`
}

// LimitFilter selects limits. Zero fields do not restrict.
type LimitFilter struct {
	Namespaces []string `query:"namespace,explode" doc:"Namespaces to include; repeatable up to 100 times. Defaults to all namespaces of the key."`
	Kind       Kind     `query:"kind" enum:"route,handler"`
	Handler    string   `query:"handler" maxLength:"255"`
	Limit      int      `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Cursor     string   `query:"cursor" maxLength:"1024" doc:"next_cursor of the previous page."`
}

// LimitPage is a page of limits.
type LimitPage struct {
	Limits     []Limit `json:"limits" doc:"In the order of namespace, kind and handler."`
	NextCursor string  `json:"next_cursor,omitempty" doc:"Present if there are more."`
}

// SetLimit implements Backend.
func (s server) SetLimit(ctx context.Context, req LimitRequest) (*Limit, error) {
	return send[Limit](ctx, s, "set limit", "/v1/limits", req)
}

// DeleteLimit implements Backend. A second call after a lost response gets CodeNotFound if the first was done.
func (s server) DeleteLimit(ctx context.Context, req DeleteLimitRequest) (*Limit, error) {
	return send[Limit](ctx, s, "delete limit", "/v1/limits/delete", req)
}

// Limits implements Backend.
func (s server) Limits(ctx context.Context, f LimitFilter) (*LimitPage, error) {
	return list[LimitPage](ctx, s, "list limits", "/v1/limits", f)
}
