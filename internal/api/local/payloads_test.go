package local_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker/protocol"
)

// TestListsWithoutPayloads: lists have payloads only on request, and then a page ends at a limit of bytes.
func TestListsWithoutPayloads(t *testing.T) {
	t.Parallel()
	r := newRig(t, openSQLite(t), settings.Config{Limits: settings.Limits{PageBytes: 3000}})
	large := json.RawMessage(`"` + strings.Repeat("x", 998) + `"`)
	var all []uuid.UUID
	for range 10 {
		all = append(all, r.submit(t, tasker.TaskRequest{TaskType: "h", Context: large}))
	}
	page, err := r.Tasks(t.Context(), tasker.TaskFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Tasks) != 10 || page.NextCursor != "" {
		t.Errorf("a page without contexts has %d of 10 tasks, and the cursor %q", len(page.Tasks), page.NextCursor)
	}
	for i := range page.Tasks {
		if page.Tasks[i].Context != nil {
			t.Errorf("a task of a list has the context %.20s", page.Tasks[i].Context)
		}
	}
	var sizes []int
	filter := tasker.TaskFilter{WithContext: true, Limit: 7}
	for seen := 0; ; {
		page, err := r.Tasks(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(page.Tasks))
		for i := range page.Tasks {
			seen++
			if want := all[len(all)-seen]; page.Tasks[i].TaskUUID != want || string(page.Tasks[i].Context) != string(large) {
				t.Errorf("task %d of the list is %s with the context %.20s", seen, page.Tasks[i].TaskUUID, page.Tasks[i].Context)
			}
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			break
		}
	}
	if len(sizes) != 4 || sizes[0] != 3 {
		t.Errorf("the pages have %v tasks, want 3, 3, 3 and 1", sizes)
	}
}

// TestListsOfTroubleAreBounded: pages of cases and of the audit trail omit too large metadata and data, and say so; a
// page of failed tasks ends early, and its cursor continues.
func TestListsOfTroubleAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, openSQLite(t), settings.Config{Limits: settings.Limits{PageBytes: 20_000}})
	large := json.RawMessage(`{"a":"` + strings.Repeat("x", 8000) + `"}`)
	for range 5 {
		id := r.submit(t, tasker.TaskRequest{TaskType: "h"})
		r.report(t, r.take(t, true), failed(strings.Repeat("y", 8000), true))
		found, err := r.CaseOfTask(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.UpdateCase(t.Context(), found.CaseUUID,
			operate.CaseUpdate{Metadata: large, ResolvedBy: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	cases, err := r.Cases(t.Context(), operate.CaseFilter{})
	if err != nil {
		t.Fatal(err)
	}
	acts, err := r.Audit(t.Context(), operate.AuditFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != 5 || len(acts) != 5 {
		t.Fatalf("there are %d cases and %d acts", len(cases), len(acts))
	}
	for i := range 5 {
		left := i >= 2 // two of 8,000 bytes are within 20,000
		if c := cases[i]; c.MetadataOmitted != left || (c.Metadata == nil) != left {
			t.Errorf("case %d has %d bytes of metadata, omitted %t", i, len(c.Metadata), c.MetadataOmitted)
		}
		if a := acts[i]; a.DataOmitted != left || (a.Data == nil) != left {
			t.Errorf("act %d has %d bytes of data, omitted %t", i, len(a.Data), a.DataOmitted)
		}
	}
	seen, filter := map[uuid.UUID]bool{}, operate.FailedTaskFilter{}
	for pages := 1; ; pages++ {
		page, err := r.FailedTasks(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		if page.TotalCount != 5 || len(page.Tasks) > 2 {
			t.Errorf("a page has %d of %d entries", len(page.Tasks), page.TotalCount)
		}
		for _, l := range page.Tasks {
			if l.LastError == nil || len(l.LastError.Message) != 8000 || seen[l.TaskID] {
				t.Errorf("an entry is %+v, seen %t", l, seen[l.TaskID])
			}
			seen[l.TaskID] = true
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" || pages > 5 {
			break
		}
	}
	if len(seen) != 5 {
		t.Errorf("all pages have %d of 5 entries", len(seen))
	}
}

// TestPollsAreBounded: a poll has no more contexts than a page of a list; the rest waits for the next poll, and no
// attempt is charged.
func TestPollsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, openSQLite(t), settings.Config{Limits: settings.Limits{PageBytes: 3000}})
	large := json.RawMessage(`"` + strings.Repeat("x", 998) + `"`)
	for range 10 {
		r.submit(t, tasker.TaskRequest{TaskType: "h", Context: large})
	}
	var sizes []int
	for len(sizes) < 10 {
		resp, err := protocol.Of(r.Client).Poll(t.Context(),
			protocol.PollRequest{WorkerID: r.worker, Capacity: 100, Start: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(resp.Steps) == 0 && len(sizes) > 4 {
			break
		}
		if len(resp.Steps) == 0 {
			r.submit(t, tasker.TaskRequest{TaskType: "h", Context: json.RawMessage(`"` + strings.Repeat("x", 9000) + `"`)})
			continue
		}
		sizes = append(sizes, len(resp.Steps))
		for _, a := range resp.Steps {
			if a.Attempt != 1 {
				t.Errorf("a step is handed out as attempt %d", a.Attempt)
			}
			r.report(t, a, completed("1"))
		}
	}
	if want := []int{3, 3, 3, 1, 1}; !slices.Equal(sizes, want) {
		t.Errorf("the polls got %v steps, want %v", sizes, want)
	}
}
