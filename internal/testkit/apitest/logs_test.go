package apitest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// TestLogs: the end of a handler's log is kept with its attempt, for readers with the permission.
func TestLogs(t *testing.T) { onEveryStore(t, testLogs) }

func testLogs(t *testing.T, s *server) {
	w := worker.New(s.Client, &worker.Options{Name: "w", PollWait: time.Second,
		Namespaces: []string{protocol.AllNamespaces},
		Logger:     slog.New(slog.DiscardHandler)})
	w.Handle("load", func(_ context.Context, job *worker.Job) (any, error) {
		job.Logger().Info("begins", "attempt", job.Attempt)
		if job.Attempt == 1 {
			fmt.Fprint(job.Log(), "\x1b[31mred\x00\xff")
			return nil, worker.RetryAfter(time.Millisecond, errors.New("again"))
		}
		for range 10_000 {
			fmt.Fprint(job.Log(), "ä123456789\n")
		}
		return nil, nil
	})
	defer s.runWorker(t, w)()

	task := s.submit(t, tasker.NewHandlerTask("load", 1)).TaskUUID
	if done, err := s.Wait(s.ctx, task); err != nil || done.State != tasker.TaskComplete {
		t.Fatalf("the task is %+v, %v", done, err)
	}
	steps, err := s.Steps(s.ctx, task)
	if err != nil {
		t.Fatal(err)
	}
	logs, err := s.StepLogs(s.ctx, task, steps[0].StepUUID)
	if err != nil || len(logs) != 2 {
		t.Fatalf("%d logs, %v", len(logs), err)
	}
	last, first := logs[0], logs[1]
	if last.Attempt != 2 || last.Bytes < 120_000 || len(last.Text) > 64<<10 || len(last.Text) < 64<<10-3 ||
		!strings.HasSuffix(last.Text, "ä123456789\nä123456789\n") || strings.Contains(last.Text, "\uFFFD") {
		t.Errorf("the last log is attempt %d, %d bytes of %d: %.40q", last.Attempt, len(last.Text), last.Bytes, last.Text)
	}
	if first.Attempt != 1 || !strings.Contains(first.Text, "msg=begins attempt=1\n\x1b[31mred\uFFFD\uFFFD") {
		t.Errorf("the first log is attempt %d: %q", first.Attempt, first.Text)
	}
	for who, c := range map[string]*tasker.Client{"a worker": s.keyed(t, []string{"work"}),
		"another namespace": s.keyed(t, []string{"read"}, "elsewhere")} {
		if logs, err := c.StepLogs(s.ctx, task, steps[0].StepUUID); err == nil {
			t.Errorf("%s reads %d logs", who, len(logs))
		}
	}
	if _, err := s.StepLogs(s.ctx, task, task); tasker.ErrorCode(err) != tasker.CodeNotFound {
		t.Errorf("logs of no step: %v", err)
	}
}
