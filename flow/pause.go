package flow

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/query"
)

// Kind is the kind of a pause's target.
type Kind string

// The kinds of a pause.
const (
	Route     Kind = "route"     // one route: a handler, with exactly these capabilities
	Handler   Kind = "handler"   // a handler, whatever capabilities its steps need
	Template  Kind = "template"  // the tasks of all versions of a template
	Namespace Kind = "namespace" // all handlers of a namespace
)

// Target is the work that a pause holds back.
type Target struct {
	Kind         Kind     `json:"kind" enum:"route,handler,template,namespace"`
	Namespace    string   `json:"namespace,omitempty" maxLength:"255" doc:"Defaults to the default namespace."`
	Handler      string   `json:"handler,omitempty" maxLength:"255" doc:"Of a route or a handler."`
	Template     string   `json:"template,omitempty" maxLength:"255" doc:"Of a template; all versions are paused."`
	Capabilities []string `json:"capabilities,omitempty" maxItems:"100" doc:"Of a route: what a worker must have for its steps. None is the route of steps that need none."`
}

// PauseRequest is a request to pause a target.
type PauseRequest struct {
	Target
	PausedBy string     `json:"paused_by,omitempty" maxLength:"255" doc:"Who pauses it; defaults to the name of the API key."`
	Reason   string     `json:"reason,omitempty" maxLength:"4096" doc:"Why; shown wherever somebody asks why a step waits."`
	Until    *time.Time `json:"until,omitempty" doc:"When the pause ends automatically; it must be in the future. Without, it lasts until it is resumed."`
}

// ResumePausedRequest is a request to end the pause of a target.
type ResumePausedRequest struct {
	Target
	ResumedBy string `json:"resumed_by,omitempty" maxLength:"255" doc:"Who resumes it; defaults to the name of the API key."`
	Reason    string `json:"reason,omitempty" maxLength:"4096" doc:"Why; kept in the audit trail."`
}

// Pause is a pause of a target.
type Pause struct {
	Target
	PausedAt time.Time  `json:"paused_at"`
	PausedBy string     `json:"paused_by"`
	Reason   string     `json:"reason,omitempty"`
	Until    *time.Time `json:"until,omitempty" doc:"When the pause ends automatically."`
	EndedAt  *time.Time `json:"ended_at,omitempty" doc:"When it was resumed; missing while it is in force."`
	// Created: the target was not paused before, and the answer is 201 instead of 200.
	Created bool `json:"-"`
}

// PauseFilter selects pauses. Zero fields do not restrict.
type PauseFilter struct {
	Namespaces []string `query:"namespace,explode" doc:"Namespaces to include; repeatable up to 100 times. Defaults to all namespaces of the key."`
	Kind       Kind     `query:"kind" enum:"route,handler,template,namespace"`
	Limit      int      `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Cursor     string   `query:"cursor" maxLength:"1024" doc:"next_cursor of the previous page."`
}

// PausePage is a page of pauses.
type PausePage struct {
	Pauses     []Pause `json:"pauses" doc:"In the order of namespace, kind and name."`
	NextCursor string  `json:"next_cursor,omitempty" doc:"Present if there are more."`
}

// Backend is flow control on a server or an engine. Its methods are safe for concurrent use. They return *tasker.Error
// for errors that the caller can handle.
type Backend interface {
	// Pause holds back the steps of a target until it is resumed, or until a time. The target need not exist yet.
	// Another pause of the same target changes actor, reason and end; the beginning stays. Other nodes follow
	// immediately, or within their poll interval if a message is lost.
	Pause(ctx context.Context, req PauseRequest) (*Pause, error)
	// ResumePaused ends the pause of a target. Wider pauses still apply. CodeNotFound: the target is not paused.
	ResumePaused(ctx context.Context, req ResumePausedRequest) (*Pause, error)
	// Pauses returns a page of the pauses in force.
	Pauses(ctx context.Context, filter PauseFilter) (*PausePage, error)

	// SetLimit limits how many steps of a target run concurrently, or begin in a time, on all nodes. The target need
	// not exist yet. Another limit of the same target replaces it. Running work continues, and counts. Other nodes
	// follow immediately, or within their poll interval if a message is lost.
	SetLimit(ctx context.Context, req LimitRequest) (*Limit, error)
	// DeleteLimit ends the limit of a target. CodeNotFound: it has none.
	DeleteLimit(ctx context.Context, req DeleteLimitRequest) (*Limit, error)
	// Limits returns a page of the limits of operators in force.
	Limits(ctx context.Context, filter LimitFilter) (*LimitPage, error)

	Outages
}

// Of returns the Backend of a client: its server, or that of the client's own Backend if it has one, as an engine in
// this process does.
func Of(c *tasker.Client) Backend {
	if b, inProcess := c.Backend.(Backend); inProcess {
		return b
	}
	return server{c}
}

type server struct{ client *tasker.Client }

func list[T any](ctx context.Context, s server, verb, path string, filter any) (*T, error) {
	return query.Ask[T](ctx, s.client, tasker.Request{Verb: verb, Method: http.MethodGet, Path: path,
		Query: url.Values(query.Of(filter))})
}

func send[T any](ctx context.Context, s server, verb, path string, body any) (*T, error) {
	return query.Ask[T](ctx, s.client, tasker.Request{Verb: verb, Method: http.MethodPost, Path: path, Body: body})
}

func (s server) Pause(ctx context.Context, req PauseRequest) (*Pause, error) {
	return send[Pause](ctx, s, "pause", "/v1/pauses", req)
}

// ResumePaused implements Backend. A second call after a lost response gets CodeNotFound if the first was done.
func (s server) ResumePaused(ctx context.Context, req ResumePausedRequest) (*Pause, error) {
	return send[Pause](ctx, s, "resume", "/v1/pauses/resume", req)
}

func (s server) Pauses(ctx context.Context, f PauseFilter) (*PausePage, error) {
	return list[PausePage](ctx, s, "list pauses", "/v1/pauses", f)
}
