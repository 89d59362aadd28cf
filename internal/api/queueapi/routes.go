package queueapi

import (
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/flow"
)

// RouteShow selects routes by the state of their queue.
type RouteShow string

// The selections; none selects all routes.
const (
	ShowWaiting RouteShow = "waiting" // steps wait on them
	ShowStuck   RouteShow = "stuck"   // steps wait on them, and no worker takes any
)

// RouteFilter selects routes. A zero field does not restrict.
type RouteFilter struct {
	Namespaces []string  `query:"namespace,explode" doc:"Namespaces to include; repeatable up to 100 times. Defaults to all namespaces of the key."`
	Show       RouteShow `query:"show" enum:"waiting,stuck" doc:"waiting: routes on which steps wait; stuck: those that no worker serves as well."`
	Limit      int       `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Cursor     string    `query:"cursor" maxLength:"1024" doc:"next_cursor of the previous page."`
}

// RoutePage is a page of routes. The numbers of steps may be some seconds old; those of workers, and the rate, are
// current.
type RoutePage struct {
	At         time.Time `json:"at" doc:"Time of the count."`
	Routes     []Route   `json:"routes"`
	Sampled    bool      `json:"sampled" doc:"Whether the percentiles come from a sample of a long queue."`
	Capped     bool      `json:"capped" doc:"Whether more steps wait than were counted."`
	NextCursor string    `json:"next_cursor,omitempty"`
}

// Route is a queue: the steps of one handler that the same workers may take.
type Route struct {
	Namespace    string   `json:"namespace"`
	Handler      string   `json:"handler"`
	Capabilities []string `json:"capabilities" doc:"Capabilities that a worker must have."`

	Depth            int      `json:"depth" doc:"Steps that wait for a worker."`
	OldestAgeSeconds *float64 `json:"oldest_age_seconds" doc:"Longest wait so far; null if none waits."`
	P50AgeSeconds    *float64 `json:"p50_age_seconds" doc:"Wait so far that half of the waiting steps do not exceed."`
	P95AgeSeconds    *float64 `json:"p95_age_seconds" doc:"Wait so far that 95 % of the waiting steps do not exceed."`
	Assigned         int      `json:"assigned" doc:"Steps leased to workers that have not begun."`
	Executing        int      `json:"executing" doc:"Steps that workers run."`
	ClaimedPerMinute int      `json:"claimed_per_minute" doc:"Steps that workers took in the last minute."`
	Workers          int      `json:"workers" doc:"Workers that take steps of the route."`
	Slots            int      `json:"slots" doc:"Steps that these workers can hold; they may serve other routes as well. 0: not bounded."`
	FreeSlots        int      `json:"free_slots" doc:"Slots that are free."`
	Why              string   `json:"why,omitempty" doc:"Why nothing moves although steps wait."`

	Pause      *flow.Pause `json:"pause,omitempty" doc:"The pause that closes the route; missing while workers are served."`
	OutageUUID *uuid.UUID  `json:"outage_uuid,omitempty" doc:"The open outage that closes the route."`
}
