package local_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A step that has waited shows its effective priority; its own stays.
func TestEffectivePriority(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	b, err := node.Open(t.Context(), "memory:", node.Options{Now: func() time.Time { return now },
		Engine: settings.Config{Scheduling: settings.Scheduling{Mode: task.Promote}}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	receipts, err := b.SubmitTasks(t.Context(),
		tasker.SubmitRequest{Tasks: []tasker.TaskRequest{{TaskType: "job", Priority: tasker.Low}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		after     time.Duration
		effective tasker.Priority
	}{{0, tasker.Low}, {10 * time.Minute, tasker.Medium}, {10 * time.Minute, tasker.High}} {
		now = now.Add(want.after)
		if err := b.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := b.Task(t.Context(), receipts[0].TaskUUID, 0)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := b.Steps(t.Context(), got.TaskUUID)
		if err != nil {
			t.Fatal(err)
		}
		if s := steps[0]; got.EffectivePriority != want.effective || s.EffectivePriority != want.effective ||
			got.Priority != tasker.Low || s.Priority != tasker.Low {
			t.Errorf("after %v the task is %s, goes as %s, and its step is %s, goes as %s; want low, %s", want.after,
				got.Priority, got.EffectivePriority, s.Priority, s.EffectivePriority, want.effective)
		}
	}
}
