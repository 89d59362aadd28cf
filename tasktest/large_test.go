package tasktest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/tasktest"
	"github.com/taskerhq/tasker/worker"
)

// A handler reads results of parents and returns its own without a limit.
func TestLargeResult(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 20<<20)
	out := tasktest.RunHandler(t, func(_ context.Context, job *worker.Job) (any, error) {
		raw, found, err := job.Parent("make")
		if err != nil || !found || len(raw) != len(text)+2 {
			t.Errorf("the parent: %d bytes, %t, %v", len(raw), found, err)
		}
		return worker.ParentResult[string](job, "make")
	}, tasktest.Step{ParentResults: map[string]any{"make": text}})
	var got string
	if err := out.Decode(&got); err != nil || got != text {
		t.Errorf("returned %d bytes, %v", len(got), err)
	}
}
