package apitest_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker"
)

// TestCaseTellsTheWholeStory: a task fails, is repaired, and fails differently. Lists, filters and both families show
// the latest failure; the case keeps both, and all notes.
func TestCaseTellsTheWholeStory(t *testing.T) { onEveryStore(t, testCaseTellsTheWholeStory) }

func testCaseTellsTheWholeStory(t *testing.T, s *server) {
	var kind atomic.Value
	kind.Store(&tasker.Failure{Type: "PoolTimeout", Message: "no connection", Class: tasker.ClassResource})
	s.work(t, map[string]worker.Handler{"job": func(context.Context, *worker.Job) (any, error) {
		return nil, kind.Load().(*tasker.Failure)
	}})
	retries := 0
	receipt := s.submit(t, tasker.TaskRequest{TaskType: "job", MaxRetries: &retries})
	s.settled(t, receipt, tasker.TaskError)
	first, err := s.CaseOfTask(s.ctx, receipt.TaskUUID)
	if err != nil || first.Cause != operate.CauseNoRetries || first.Class != tasker.ClassResource || !first.Retryable ||
		first.OccurrenceCount != 1 ||
		len(first.Occurrences) != 1 || first.FailedStep != "job" || first.ErrorMessage != "no connection" {
		t.Fatalf("the case is %+v, %v", first, err)
	}

	final := false
	kind.Store(&tasker.Failure{Type: "SchemaError", Message: "no such column", Retryable: &final})
	if _, err := s.ReplayTask(s.ctx, receipt.TaskUUID, operate.ReplayRequest{ReplayedBy: "ann"}); err != nil {
		t.Fatal(err)
	}
	var story *operate.Case
	await.Until(t, "the second failure", func() bool {
		story, err = s.CaseOfTask(s.ctx, receipt.TaskUUID)
		return err == nil && story.OccurrenceCount == 2
	})
	if story.CaseUUID != first.CaseUUID || story.Cause != operate.CauseNotRetryable ||
		story.Fingerprint != "SchemaError" || story.Retryable ||
		story.Recovery != nil || !story.OpenedAt.Equal(first.OpenedAt) || len(story.Occurrences) != 2 {
		t.Errorf("of two failures the case is %+v", story)
	}
	if o := story.Occurrences[0]; o.Fingerprint != "PoolTimeout" || o.Recovery == nil || o.Recovery.By != "ann" ||
		!strings.Contains(string(o.Snapshot), "no connection") {
		t.Errorf("the first occurrence is %+v", o)
	}
	if !strings.Contains(string(story.Snapshot), "no such column") || story.Occurrences[1].Snapshot != nil {
		t.Errorf("the snapshot is %s", story.Snapshot)
	}
	s.saysTheSame(t, receipt, story)

	for pattern, want := range map[string]int{"PoolTimeout": 0, "SchemaError": 1} {
		page, err := s.FailedTasks(s.ctx, operate.FailedTaskFilter{Fingerprint: pattern})
		if err != nil || len(page.Tasks) != want {
			t.Errorf("with the error %s there are %+v, %v", pattern, page, err)
		}
	}
	s.thread(t, story)
}

// saysTheSame compares the failure in the task, its step, the lists of cases and the queue.
func (s *server) saysTheSame(t *testing.T, receipt tasker.TaskReceipt, c *operate.Case) {
	t.Helper()
	step := s.step(t, receipt, c.FailedStep)
	if step.LastError.Class != c.Class || step.LastError.Message != c.ErrorMessage {
		t.Errorf("the step says %+v", step.LastError)
	}
	page, err := s.FailedTasks(s.ctx, operate.FailedTaskFilter{})
	if err != nil || len(page.Tasks) != 1 {
		t.Fatalf("the list of failed tasks is %+v, %v", page, err)
	}
	if l := page.Tasks[0]; l.Cause != c.Cause || l.LastError.Class != c.Class || l.FailureReason != c.Reason ||
		l.OccurrenceCount != 2 || l.Retryable != c.Retryable {
		t.Errorf("the failed task is %+v with %+v", l, l.LastError)
	}
	q, err := s.QueueTask(s.ctx, receipt.TaskUUID, false)
	if err != nil || q.Error == nil || q.Error.Class != c.Class || q.Error.Retryable != c.Retryable {
		t.Errorf("the task of the queue is %+v, %v", q, err)
	}
	for what, list := range map[string][]operate.Case{"list": get[[]operate.Case](t, s,
		"/v1/dlq?reason=max_retries_exceeded")} {
		if len(list) != 1 || list[0].Cause != c.Cause || list[0].OccurrenceCount != 2 || list[0].Class != c.Class ||
			list[0].Occurrences != nil || list[0].Snapshot != nil {
			t.Errorf("the %s is %+v", what, list)
		}
	}
	queue := get[[]operate.QueuedCase](t, s, "/v1/dlq/investigation-queue")
	if len(queue) != 1 || queue[0].Cause != c.Cause || queue[0].OccurrenceCount != 2 || queue[0].Recovered ||
		!queue[0].LastOccurredAt.Equal(c.LastOccurredAt) {
		t.Errorf("the queue is %+v", queue)
	}
}

// thread adds notes to a case while it is pending, with its end, and after it.
func (s *server) thread(t *testing.T, c *operate.Case) {
	t.Helper()
	note := func(by, text string, status tasker.CaseResolution) {
		if _, err := s.UpdateCase(s.ctx, c.CaseUUID,
			operate.CaseUpdate{ResolvedBy: by, ResolutionNotes: &text, ResolutionStatus: status}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	note("ann", "asked the team", "")
	note("bob", "the migration was missing", tasker.CasePermanentlyFailed)
	note("eve", "it has run now", "")
	got, err := s.CaseOfTask(s.ctx, c.TaskUUID)
	if err != nil || got.ResolutionNotes != "the migration was missing" || got.ResolvedBy != "bob" || got.NoteCount != 3 ||
		len(got.Notes) != 3 {
		t.Fatalf("the thread is %+v, %v", got, err)
	}
	for i, author := range []string{"ann", "bob", "eve"} {
		if n := got.Notes[i]; n.Author != author || n.No != i+1 || n.At.IsZero() {
			t.Errorf("note %d is %+v", i, n)
		}
	}
	metadata := json.RawMessage(`{"recovered":{"by":"eve"}}`)
	if _, err := s.UpdateCase(s.ctx, c.CaseUUID,
		operate.CaseUpdate{Metadata: metadata}); tasker.ErrorCode(err) != tasker.CodeWrongState {
		t.Errorf("the metadata of a resolved case is changed: %v", err)
	}
}
