package local_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
)

// TestListsWithoutPayloads: what tasks carry is in a list only when it is asked for,
// and then a page ends at a limit of bytes.
func TestListsWithoutPayloads(t *testing.T) {
	t.Parallel()
	r := newRig(t, openSQLite(t), engine.Config{Limits: engine.Limits{PageBytes: 3000}})
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
