package task_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestKindOfFailure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of    task.Failure
		class failure.Class
		print string
	}{
		"Code":      {task.Failure{Code: "OOM", Type: "timeout", Message: "m", Retryable: true}, failure.Resource, "OOM"},
		"Type":      {task.Failure{Type: "lease_expired", Message: "m", Retryable: true}, failure.Worker, "lease_expired"},
		"Message":   {task.Failure{Message: "order 12", Retryable: true}, failure.Transient, "order #"},
		"Final":     {task.Failure{Message: "order 12"}, failure.Logic, "order #"},
		"ItsOwn":    {task.Failure{Message: "order 12", Class: failure.Worker}, failure.Worker, "order #"},
		"NotItsOwn": {task.Failure{Message: "m", Class: "postage", Retryable: true}, failure.Transient, "m"},
	} {
		if got := task.ClassOf(&c.of); got != c.class {
			t.Errorf("%s: the class is %s, want %s", name, got, c.class)
		}
		if got := c.of.Fingerprint(); got != c.print {
			t.Errorf("%s: the fingerprint is %q, want %q", name, got, c.print)
		}
	}
	if got := (*task.Failure)(nil).Fingerprint(); got != "" {
		t.Errorf("without a failure the fingerprint is %q", got)
	}
}

func TestTrim(t *testing.T) {
	t.Parallel()
	of := func(more int) task.Failure {
		text := func(n int) string { return strings.Repeat("x", n+more) }
		return task.Failure{Type: text(255), Code: text(255), Message: text(8192), Stack: text(32768),
			ResponseBody: text(8192), RetryAfterMS: -1}
	}
	fits := of(0)
	fits.Trim()
	if want := of(0); fits.Type != want.Type || fits.Code != want.Code || fits.Message != want.Message ||
		fits.Stack != want.Stack || fits.ResponseBody != want.ResponseBody {
		t.Error("what fits was cut")
	}
	if fits.RetryAfterMS != 0 {
		t.Errorf("it asks to be repeated %d ms ago", fits.RetryAfterMS)
	}
	long := of(1)
	long.Trim()
	for name, got := range map[string]string{"type": long.Type, "code": long.Code, "message": long.Message,
		"stack": long.Stack, "response": long.ResponseBody} {
		if !strings.HasSuffix(got, "x…[truncated]") {
			t.Errorf("the %s ends in %q", name, got[len(got)-20:])
		}
	}
	names, texts := len(long.Type)+len(long.Code), len(long.Message)+len(long.ResponseBody)
	if n := names + texts + len(long.Stack); n != 2*255+2*8192+32768 {
		t.Errorf("%d bytes are kept", n)
	}
	kept := task.Failure{RetryAfterMS: 7}
	if kept.Trim(); kept.RetryAfterMS != 7 {
		t.Errorf("it asks for %d ms, want 7", kept.RetryAfterMS)
	}
}
