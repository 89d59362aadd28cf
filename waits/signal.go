package waits

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/query"
)

// SignalRequest is a signal for the steps of a namespace that wait for its name and key.
type SignalRequest struct {
	Namespace string `json:"namespace,omitempty" maxLength:"255" doc:"Defaults to the default namespace."`
	Name      string `json:"name" minLength:"1" maxLength:"255" doc:"What has happened, such as payment.settled: the signal of a step's wait."`
	Key       string `json:"key" minLength:"1" maxLength:"255" doc:"What it has happened to, such as the number of an order: the key of a step's wait."`
	SignalID  string `json:"signal_id,omitempty" maxLength:"255" doc:"Identifies the signal in the namespace, for as long as it is kept: a second one with this ID changes nothing. Defaults to a new ID."`
	// Payload becomes the result of the steps, up to the limit of a payload.
	Payload json.RawMessage `json:"payload,omitempty" doc:"Any JSON value: the result of the steps that take the signal."`
}

// Signal is a signal that was sent.
type Signal struct {
	SignalID   string    `json:"signal_id"`
	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	Key        string    `json:"key"`
	ReceivedAt time.Time `json:"received_at"`
	KeptUntil  time.Time `json:"kept_until" doc:"Until when a step that begins to wait takes it."`
	Taken      int64     `json:"taken" doc:"Steps that have taken it so far."`
	// Created is false for a signal whose ID was known: the answer is 200 instead of 201.
	Created bool `json:"-"`
}

// SignalFilter selects stored signals. Zero fields do not restrict.
type SignalFilter struct {
	Namespaces   []string  `query:"namespace,explode" doc:"Namespaces to include; repeatable up to 100 times. Defaults to all namespaces of the key."`
	Name         string    `query:"name" maxLength:"255" doc:"Name of the signal."`
	Key          string    `query:"key" maxLength:"255" doc:"Key of the signal."`
	After        time.Time `query:"after" doc:"Received at or after this time."`
	Before       time.Time `query:"before" doc:"Received before this time."`
	IncludeTaken bool      `query:"include_taken" doc:"Also signals that a step has taken. By default only those that none has."`
	Limit        int       `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Cursor       string    `query:"cursor" maxLength:"1024" doc:"next_cursor of the previous page."`
}

// SignalPage is a page of signals.
type SignalPage struct {
	Signals    []Signal `json:"signals" doc:"The one that is kept for the shortest time comes first. Payloads are left out."`
	NextCursor string   `json:"next_cursor,omitempty" doc:"Present if there are more."`
}

// Backend is the waits of steps on a server or an engine. Its methods are safe for concurrent use. They return
// *tasker.Error for errors that the caller can handle.
type Backend interface {
	// SendSignal sends a signal to every step of the namespace that waits for it; its payload becomes the result of the
	// step. It is stored for a while, and steps that begin to wait within that time take it. Once SendSignal has
	// returned, no such step misses the signal. After an error with an unknown outcome, send it again with the same ID.
	// CodeConflict: the ID is that of a signal with another name or key. CodeExhausted: the namespace has too many
	// signals.
	SendSignal(ctx context.Context, req SignalRequest) (*Signal, error)
	// Signals returns a page of stored signals, without their payloads.
	Signals(ctx context.Context, filter SignalFilter) (*SignalPage, error)
	// Approvals returns a page of the steps that wait for an approval.
	Approvals(ctx context.Context, filter ApprovalFilter) (*ApprovalPage, error)
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

// SendSignal implements Backend.
func (s server) SendSignal(ctx context.Context, req SignalRequest) (*Signal, error) {
	return query.Ask[Signal](ctx, s.client, tasker.Request{Verb: "send a signal", Method: http.MethodPost,
		Path: "/v1/signals", Body: req})
}

// Signals implements Backend.
func (s server) Signals(ctx context.Context, f SignalFilter) (*SignalPage, error) {
	return query.Ask[SignalPage](ctx, s.client, tasker.Request{Verb: "list signals", Method: http.MethodGet,
		Path: "/v1/signals", Query: url.Values(query.Of(f))})
}
