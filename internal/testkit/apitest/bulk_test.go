package apitest_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

// TestBulk: many cases are updated by filter, page by page, and by name; each has its own answer, and a key reaches its
// namespaces only.
func TestBulk(t *testing.T) { onEveryStore(t, testBulk) }

func testBulk(t *testing.T, s *server) {
	open := func(namespace string) uuid.UUID {
		t.Helper()
		receipt := s.submit(t, tasker.TaskRequest{TaskType: "nobody", Namespace: namespace})
		opened, err := s.OpenCase(s.ctx, receipt.TaskUUID, operate.OpenCaseRequest{Reason: "odd", OpenedBy: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		return opened.CaseUUID
	}
	first, second, third, other := open("video"), open("video"), open("video"), open("audio")
	note := "seen"
	update := operate.CaseUpdate{ResolutionNotes: &note, ResolvedBy: "ann"}

	const code = tasker.CodeInvalid
	video := operate.CaseFilter{Namespace: "video"}
	t.Run("Refused", func(t *testing.T) {
		for name, c := range map[string]struct {
			req operate.BulkCaseUpdate
			at  string
		}{
			"Empty": {operate.BulkCaseUpdate{Update: update}, "/filter"},
			"Status": {operate.BulkCaseUpdate{Filter: operate.CaseFilter{ResolutionStatus: "x"}, Update: update},
				"/filter/resolution_status"},
			"State": {operate.BulkCaseUpdate{Filter: operate.CaseFilter{CurrentState: "x"}, Update: update},
				"/filter/current_state"},
			"Nothing": {operate.BulkCaseUpdate{Filter: video}, "/update"},
			"Cursor": {operate.BulkCaseUpdate{Filter: video, Update: update, BulkPage: operate.BulkPage{Cursor: "x"}},
				"/cursor"},
			"Limit": {operate.BulkCaseUpdate{Filter: video, Update: update, BulkPage: operate.BulkPage{Limit: 1001}},
				"/limit"},
		} {
			if _, err := s.UpdateCases(s.ctx, c.req); tasker.ErrorCode(err) != code || !strings.Contains(err.Error(), c.at) {
				t.Errorf("%s: %v; want a refusal of %s", name, err, c.at)
			}
		}
	})
	t.Run("Scope", func(t *testing.T) {
		key := s.keyed(t, []string{"read", "operate"}, "video")
		named := operate.CaseFilter{CaseUUIDs: []uuid.UUID{first, other, first}}
		r, err := operate.Of(key).UpdateCases(s.ctx,
			operate.BulkCaseUpdate{Filter: named, Update: operate.CaseUpdate{ResolutionNotes: &note}})
		if err != nil || r.Succeeded != 1 || r.Failed != 1 || r.Results[0].CaseUUID != other ||
			r.Results[0].Error.Code != tasker.CodeNotFound || r.Results[1].CaseUUID != first || r.NextCursor != "" {
			t.Errorf("one of its own and another: %+v, %v", r, err)
		}
	})
	t.Run("Pages", func(t *testing.T) {
		req := operate.BulkCaseUpdate{Filter: video, Update: update, BulkPage: operate.BulkPage{Limit: 2}}
		req.Update.ResolutionStatus = tasker.CaseCancelled
		r, err := s.UpdateCases(s.ctx, req)
		if err != nil || r.Succeeded != 2 || r.Results[0].CaseUUID != third ||
			r.Results[1].After != "cancelled" || r.NextCursor == "" {
			t.Fatalf("the first page is %+v, %v", r, err)
		}
		req.Cursor = r.NextCursor
		r, err = s.UpdateCases(s.ctx, req)
		if err != nil || r.Succeeded != 1 || r.Results[0].CaseUUID != first || r.NextCursor != "" {
			t.Errorf("the second page is %+v, %v", r, err)
		}
		req.Filter = operate.CaseFilter{CaseUUIDs: []uuid.UUID{second, uuid.New()}}
		req.Cursor, req.Limit = "", 0
		r, err = s.UpdateCases(s.ctx, req)
		if err != nil || r.Failed != 2 || r.Results[1].Error.Code != tasker.CodeWrongState {
			t.Errorf("again, by name: %+v, %v", r, err)
		}
	})
	t.Run("AtOnce", func(t *testing.T) { atOnce(t, s) })
}

// atOnce: two concurrent operators repair the same steps; each step is repaired once.
func atOnce(t *testing.T, s *server) {
	const n = 5
	for range n {
		receipt := s.submit(t, tasker.TaskRequest{TaskType: "manual", Namespace: "hand"})
		if _, err := s.OpenCase(s.ctx, receipt.TaskUUID,
			operate.OpenCaseRequest{Reason: "odd", OpenedBy: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	done := make(chan *operate.BulkResult, 2)
	for _, name := range []string{"ann", "bob"} {
		wg.Go(func() {
			r, err := s.ActOnCases(s.ctx, operate.BulkStepAction{Filter: operate.CaseFilter{Namespace: "hand"}, Step: "manual",
				Action: tasker.StepAction{ActionType: tasker.ResolveManually, ResolvedBy: name, Reason: "by hand"}})
			if err != nil {
				t.Error(err)
				return
			}
			done <- r
		})
	}
	wg.Wait()
	close(done)
	succeeded := 0
	for r := range done {
		succeeded += r.Succeeded
		if len(r.Results) != n {
			t.Errorf("the answer is %+v", r)
		}
	}
	if succeeded != n {
		t.Errorf("%d steps were repaired, of %d", succeeded, n)
	}
}
