package task_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestEndOfWait(t *testing.T) {
	t.Parallel()
	now := task.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	for _, c := range []struct {
		wait  task.Wait
		until string
		want  task.Instant
		bad   bool
	}{
		{task.Wait{For: time.Hour}, "", now.Add(time.Hour), false},
		{task.Wait{Until: "x"}, "2026-03-01T14:00:00+01:00", now.Add(time.Hour), false},
		{task.Wait{Until: "x"}, "2001-01-01T00:00:00Z", now, false},
		{task.Wait{Until: "x"}, "soon", 0, true},
		{task.Wait{Until: "x"}, "", 0, true},
		{task.Wait{Until: "x"}, "9999-01-01T00:00:00Z", 0, true},
		{task.Wait{Approval: "x"}, "", 0, false},
		{task.Wait{Approval: "x", Timeout: time.Minute}, "", now.Add(time.Minute), false},
	} {
		got, err := c.wait.Ends(now, c.until)
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("%+v with %q ends at %v, %v; want %v", c.wait, c.until, got.Time(), err, c.want.Time())
		}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	no := task.Decision{Actor: "ann", Reason: "fraud"}
	if _, f, err := (&task.Wait{Approval: "x"}).Decide(no); err != nil || f == nil || f.Code != task.CodeRejected ||
		f.Retryable || f.Message != "ann rejected it: fraud" {
		t.Errorf("a rejection gives %+v, %v", f, err)
	}
	result, f, err := (&task.Wait{Approval: "x", OnReject: task.EndContinues}).Decide(no)
	var got task.Decision
	if err != nil || f != nil || json.Unmarshal(result, &got) != nil || got != no {
		t.Errorf("a rejection that continues gives %s, %+v, %v", result, f, err)
	}
	if _, f := (&task.Wait{Approval: "x", Timeout: time.Hour}).Expired(); f == nil || f.Code != task.CodeWaitTimeout {
		t.Errorf("a wait in vain gives %+v", f)
	}
}
