package local_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/operate"
)

func (r *rig) listedOf(t *testing.T, f queueapi.QueueTaskFilter) string {
	t.Helper()
	var parts []string
	for range 1000 {
		page, err := r.QueueTasks(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if f.Limit > 0 && len(page.Tasks) > f.Limit {
			t.Fatalf("a page of %d tasks with the limit %d", len(page.Tasks), f.Limit)
		}
		for _, q := range page.Tasks {
			parts = append(parts, q.CorrelationID+" "+string(q.Status))
		}
		if f.Cursor = page.NextCursor; f.Cursor == "" {
			return strings.Join(parts, ", ")
		}
	}
	t.Fatal("the list does not end")
	return ""
}

func TestQueueList(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		none := 0
		put := func(name, user string, p tasker.Priority) uuid.UUID {
			id := r.enqueue(t, queueapi.EnqueueTask{TaskType: "h", CorrelationID: name, UserID: user, Priority: p,
				MaxRetries: &none}).TaskID
			r.silent(time.Second)
			return id
		}
		put("done", "ann", tasker.High)
		r.report(t, r.take(t, true), completed(`1`))
		put("dead", "bob", "")
		r.report(t, r.take(t, true), failed("x", false))
		given := put("failed", "ann", "")
		r.report(t, r.take(t, true), failed("x", false))
		found, err := r.CaseOfTask(t.Context(), given)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.UpdateCase(t.Context(), found.CaseUUID,
			operate.CaseUpdate{ResolutionStatus: tasker.CasePermanentlyFailed, ResolvedBy: "ann"}); err != nil {
			t.Fatal(err)
		}
		cancelled := r.enqueue(t, queueapi.EnqueueTask{TaskType: "h", CorrelationID: "cancelled", UserID: "bob"}).TaskID
		if _, err := r.CancelQueueTask(t.Context(), cancelled, queueapi.QueueCancel{}); err != nil {
			t.Fatal(err)
		}
		r.silent(time.Second)
		put("executing", "ann", "")
		r.start(t, r.take(t, false))
		put("assigned", "ann", tasker.Low)
		r.take(t, false)
		put("first", "ann", tasker.Low)
		put("second", "", tasker.Low)
		all := "second queued, first queued, assigned assigned, executing executing, cancelled cancelled, failed failed, " +
			"dead dead_letter, done completed"
		for _, c := range []struct {
			name   string
			filter queueapi.QueueTaskFilter
			want   string
		}{
			{"All", queueapi.QueueTaskFilter{}, all},
			{"Queued", queueapi.QueueTaskFilter{Statuses: []queueapi.QueueStatus{queueapi.QueueQueued}},
				"second queued, first queued"},
			{"Assigned", queueapi.QueueTaskFilter{Statuses: []queueapi.QueueStatus{queueapi.QueueAssigned}},
				"assigned assigned"},
			{"Executing", queueapi.QueueTaskFilter{Statuses: []queueapi.QueueStatus{queueapi.QueueExecuting}},
				"executing executing"},
			{"Completed", queueapi.QueueTaskFilter{Statuses: []queueapi.QueueStatus{queueapi.QueueCompleted}}, "done completed"},
			{"Failed", queueapi.QueueTaskFilter{Statuses: []queueapi.QueueStatus{queueapi.QueueFailed}}, "failed failed"},
			{"DeadLetter", queueapi.QueueTaskFilter{Statuses: []queueapi.QueueStatus{queueapi.QueueDeadLetter}},
				"dead dead_letter"},
			{"Cancelled", queueapi.QueueTaskFilter{Statuses: []queueapi.QueueStatus{queueapi.QueueStopped}},
				"cancelled cancelled"},
			{"Several",
				queueapi.QueueTaskFilter{Statuses: []queueapi.QueueStatus{queueapi.QueueQueued, queueapi.QueueDeadLetter}},
				"second queued, first queued, dead dead_letter"},
			{"User", queueapi.QueueTaskFilter{UserID: "ann"},
				"first queued, assigned assigned, executing executing, failed failed, done completed"},
			{"UserAndStatus", queueapi.QueueTaskFilter{UserID: "ann",
				Statuses: []queueapi.QueueStatus{queueapi.QueueQueued, queueapi.QueueFailed}}, "first queued, failed failed"},
			{"UserOfNone", queueapi.QueueTaskFilter{UserID: "eve"}, ""},
			{"Priority", queueapi.QueueTaskFilter{Priority: tasker.High}, "done completed"},
			{"TaskType", queueapi.QueueTaskFilter{TaskType: "h", UserID: "bob"}, "cancelled cancelled, dead dead_letter"},
			{"OtherTaskType", queueapi.QueueTaskFilter{TaskType: "g"}, ""},
			{"OtherNamespace", queueapi.QueueTaskFilter{Namespace: "elsewhere"}, ""},
		} {
			for _, limit := range []int{0, 1, 2} {
				c.filter.Limit = limit
				if got := r.listedOf(t, c.filter); got != c.want {
					t.Errorf("%s with limit %d: %q, want %q", c.name, limit, got, c.want)
				}
			}
		}
		page, err := r.QueueTasks(t.Context(), queueapi.QueueTaskFilter{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		one := r.queued(t, page.Tasks[0].TaskID)
		if q := page.Tasks[0]; q.TaskType != "h" || q.Namespace != "default" || q.State != one.State ||
			q.Priority != tasker.Low || q.EffectivePriority != one.EffectivePriority ||
			q.QueueScore == nil || *q.QueueScore != *one.QueueScore || !q.CreatedAt.Equal(one.CreatedAt) || q.QueuedAt == nil ||
			q.MaxRetries != 0 {
			t.Errorf("listed as %+v, and by itself %+v", q, one)
		}
		after, before := one.CreatedAt, one.CreatedAt
		if got := r.listedOf(t, queueapi.QueueTaskFilter{CreatedAfter: &after}); got != "second queued" {
			t.Errorf("created after: %s", got)
		}
		if got := r.listedOf(t, queueapi.QueueTaskFilter{CreatedBefore: &before}); got != strings.TrimPrefix(all,
			"second queued, ") {
			t.Errorf("created before: %s", got)
		}
	})
}

// A rare status is found among many tasks, page by page.
func TestQueueListRare(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		first := queueapi.EnqueueTask{TaskType: "h", CorrelationID: "first"}
		r.enqueue(t, first)
		r.start(t, r.take(t, false))
		tasks := slices.Repeat([]queueapi.EnqueueTask{{TaskType: "h"}}, 700)
		if _, err := r.EnqueueTasks(t.Context(), queueapi.EnqueueRequest{Tasks: tasks}); err != nil {
			t.Fatal(err)
		}
		if got := r.listedOf(t, queueapi.QueueTaskFilter{Statuses: []queueapi.QueueStatus{queueapi.QueueExecuting},
			Limit: 1}); got != "first executing" {
			t.Errorf("executing: %s", got)
		}
		page, err := r.QueueTasks(t.Context(),
			queueapi.QueueTaskFilter{Statuses: []queueapi.QueueStatus{queueapi.QueueExecuting}})
		if err != nil || len(page.Tasks) != 0 || page.NextCursor == "" {
			t.Errorf("the first page is %+v, %v; want it empty, with another", page, err)
		}
	})
}

func TestQueueListRefuses(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		for name, f := range map[string]queueapi.QueueTaskFilter{
			"Status": {Statuses: []queueapi.QueueStatus{"asleep"}}, "Priority": {Priority: "huge"}, "Cursor": {Cursor: "x"},
			"Limit":         {Limit: 1_000_000},
			"LimitOfStatus": {Limit: 1_000_000, Statuses: []queueapi.QueueStatus{queueapi.QueueFailed}},
		} {
			if _, err := r.QueueTasks(t.Context(), f); tasker.ErrorCode(err) != tasker.CodeInvalid {
				t.Errorf("%s: %v, want invalid", name, err)
			}
		}
	})
}
