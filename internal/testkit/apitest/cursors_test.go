package apitest_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
	"github.com/taskerhq/tasker/operate"
)

// TestCursorsBelongToTheirFilter: every list refuses a cursor of another filter, with a sentence, and accepts its own
// with any page size.
func TestCursorsBelongToTheirFilter(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite:"+sqlitetest.File(t), node.Options{})
	var doc document
	s.must(t, "GET", "/openapi.json", "", &doc)
	ids, lists := regexp.MustCompile(`\{[^}]+\}`), 0
	for path, methods := range doc.Paths {
		for _, p := range methods["get"].Parameters {
			if p.Name != "cursor" || p.In != "query" {
				continue
			}
			lists++
			at := ids.ReplaceAllString(path, "00000000-0000-0000-0000-000000000000")
			status, answer := s.send(t, "GET", at+"?cursor=1~00000000", "", nil)
			if status != http.StatusBadRequest ||
				!strings.Contains(answer, "belongs to another list or another filter") {
				t.Errorf("%s: %d %s", path, status, answer)
			}
		}
	}
	if lists < 15 {
		t.Errorf("%d lists page", lists)
	}
}

// TestCursorsOfAList: a list accepts its own cursor, in each form of its filter, and that of an older node.
func TestCursorsOfAList(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite:"+sqlitetest.File(t), node.Options{})
	for range 4 {
		s.submit(t, tasker.TaskRequest{TaskType: "plain"})
	}
	const filter = "state=pending&state=error,enqueuing_steps,steps_in_process"
	var page tasker.TaskPage
	s.must(t, "GET", "/v1/tasks?limit=1&"+filter, "", &page)
	if len(page.Tasks) != 1 || page.NextCursor == "" {
		t.Fatalf("the first page is %+v", page)
	}
	cursor := "&cursor=" + url.QueryEscape(page.NextCursor)
	for query, want := range map[string]int{
		"/v1/tasks?limit=1&" + filter + cursor:                                    200,
		"/v1/tasks?limit=2&include=context&" + filter + cursor:                    200,
		"/v1/tasks?limit=1&created_after=2020-01-01T00:00:00Z&" + filter + cursor: 200,
		"/v1/tasks?limit=1&state=error" + cursor:                                  400,
		"/v1/tasks?limit=1" + cursor:                                              400,
		"/v1/tasks?limit=1" + cursor[:strings.LastIndexByte(cursor, '~')]:         200,
		"/v1/templates?limit=1" + cursor:                                          400,
	} {
		if status, answer := s.send(t, "GET", query, "", nil); status != want {
			t.Errorf("%s: %d %s", query, status, answer)
		}
	}
}

// TestCursorsOfActs: an act on a selection continues with its own cursor and filter, and does nothing with another.
func TestCursorsOfActs(t *testing.T) {
	t.Parallel()
	s := serve(t, "sqlite:"+sqlitetest.File(t), node.Options{})
	for range 3 {
		receipt := s.submit(t, tasker.TaskRequest{TaskType: "nobody", Namespace: "video"})
		if _, err := s.OpenCase(s.ctx, receipt.TaskUUID,
			operate.OpenCaseRequest{Reason: "odd", OpenedBy: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	const update, act = `"update": {"resolution_notes": "seen", "resolved_by": "ann"}`,
		`"act_on_step": "nobody", "action": {"action_type": "resolve_manually", "resolved_by": "ann", "reason": "x"}`
	for path, what := range map[string]string{"/v1/dlq/update": update, "/v1/dlq/act": act} {
		body := func(filter, cursor string) string {
			return `{"limit": 1, "dry_run": true, "filter": {` + filter + `}, ` + what + `, "cursor": "` + cursor + `"}`
		}
		const own = `"namespace": "video", "after": "2020-01-01T00:00:00Z"`
		var page operate.BulkResult
		s.must(t, "POST", path, body(own, ""), &page)
		if len(page.Results) != 1 || page.NextCursor == "" {
			t.Fatalf("%s: the first page is %+v", path, page)
		}
		for filter, want := range map[string]int{own: 200, `"namespace": "video"`: 200, // times may change, as in lists
			`"namespace": "video", "task_name": "nobody"`: 400, `"resolution_status": "pending"`: 400} {
			status, answer := s.send(t, "POST", path, body(filter, page.NextCursor), nil)
			if status != want || want == 400 && !strings.Contains(answer, "belongs to another list or another filter") {
				t.Errorf("%s with %s: %d %s", path, filter, status, answer)
			}
		}
		older := page.NextCursor[:strings.LastIndexByte(page.NextCursor, '~')]
		if status, answer := s.send(t, "POST", path, body(own, older), nil); status != 200 {
			t.Errorf("%s with the cursor of an older node: %d %s", path, status, answer)
		}
	}
}
