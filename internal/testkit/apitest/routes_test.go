package apitest_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/testkit/await"
)

// TestRoutes: routes with waiting steps, their workers, and the reason of a standstill.
func TestRoutes(t *testing.T) { onEveryQueue(t, testRoutes) }

func testRoutes(t *testing.T, s *server) {
	w := s.hire(t, 2) // without capabilities
	for range 5 {
		s.submit(t, tasker.TaskRequest{TaskType: "plain"})
	}
	for range 2 {
		s.must(t, "POST", "/v1/tasks", `{"task_type":"render","required_capabilities":["gpu"]}`, nil)
	}
	s.must(t, "POST", "/v1/tasks", `{"task_type":"print","namespace":"other","required_capabilities":["ink"]}`, nil)
	if got := len(s.grab(t, w, 10, 0)); got != 2 {
		t.Fatalf("the worker was given %d steps", got)
	}
	var page *queueapi.RoutePage
	of := func(handler string) queueapi.Route {
		for _, r := range page.Routes {
			if r.Handler == handler {
				return r
			}
		}
		return queueapi.Route{}
	}
	await.Until(t, "the count is new", func() bool {
		var err error
		if page, err = s.Routes(s.ctx, queueapi.RouteFilter{}); err != nil {
			return false
		}
		plain := of("plain")
		return plain.Depth == 3 && plain.Assigned+plain.Executing == 2 && of("render").Depth == 2 &&
			of("print").Depth == 1
	})
	if r := of("plain"); r.Workers != 1 || r.Slots != 2 || r.FreeSlots != 0 || r.ClaimedPerMinute != 2 ||
		r.Why != "1 worker serving, and no slot is free" || r.OldestAgeSeconds == nil || r.P95AgeSeconds == nil {
		t.Errorf("the served route is %+v", r)
	}
	if r := of("render"); r.Workers != 0 || !slices.Equal(r.Capabilities, []string{"gpu"}) ||
		r.Why != "no live worker serves it" {
		t.Errorf("the route that nobody serves is %+v", r)
	}
	if i := slices.IndexFunc(page.Routes, func(r queueapi.Route) bool { return r.Handler == "plain" }); i != 2 {
		t.Errorf("the served route has place %d of %+v", i, page.Routes)
	}
	var stuck []string
	filter := queueapi.RouteFilter{Show: queueapi.ShowStuck, Limit: 1}
	for pages := 0; ; pages++ {
		got, err := s.Routes(s.ctx, filter)
		if err != nil || pages > 5 {
			t.Fatalf("page %d: %v", pages, err)
		}
		for _, r := range got.Routes {
			stuck = append(stuck, r.Handler)
		}
		if filter.Cursor = got.NextCursor; filter.Cursor == "" {
			break
		}
	}
	if slices.Sort(stuck); strings.Join(stuck, " ") != "print render" {
		t.Errorf("stuck are %v", stuck)
	}
	got, err := s.Routes(s.ctx, queueapi.RouteFilter{Namespaces: []string{"other"}})
	if err != nil || len(got.Routes) != 1 || got.Routes[0].Handler != "print" {
		t.Errorf("the routes of one namespace are %+v, %v", got, err)
	}
	s.must(t, "POST", "/internal/workers/"+w.String()+"/drain", `{}`, nil)
	got, err = s.Routes(s.ctx, queueapi.RouteFilter{Show: queueapi.ShowStuck})
	if err != nil || !slices.ContainsFunc(got.Routes, func(r queueapi.Route) bool {
		return r.Why == "no live worker serves it (1 worker is draining and claims no more steps)"
	}) {
		t.Errorf("beside a draining worker, stuck are %+v, %v", got, err)
	}
	for _, cursor := range []string{"x", "1-2", "0-1-2-3", "-1-1-1", "00-1-2", "1-1--1",
		fmt.Sprint("1-1-", math.MaxInt64, "0")} {
		_, err := s.Routes(s.ctx, queueapi.RouteFilter{Cursor: cursor})
		if tasker.ErrorCode(err) != tasker.CodeInvalid {
			t.Errorf("the cursor %q has the answer %v", cursor, err)
		}
	}
}
