package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

func logOf(t *testing.T, o worker.Options, answer protocol.SettleAnswer) []string {
	t.Helper()
	var log strings.Builder
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.self.Namespaces, f.self.DefaultTimeoutSeconds = []string{"shop"}, 600
		f.onSettle = func(_ context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
			answer.StepUUID = req.Results[0].StepUUID
			return []protocol.SettleAnswer{answer}, nil
		}
		o.Name = "w"
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{
			ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey || a.Key == "task_uuid" {
					return slog.Attr{}
				}
				return a
			}}))
		w := worker.New(tasker.NewClient(f), &o)
		w.Handle("charge", fails(fmt.Errorf("no rate: %w", errors.New("refused"))), worker.WithTimeout(time.Hour))
		w.Handle("mail", fails(nil), worker.WithTimeout(time.Minute))
		r := run(t, w)
		synctest.Wait()
		f.put(step("charge"))
		synctest.Wait()
		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return strings.Split(strings.TrimSpace(log.String()), "\n")
}

// TestWorkerLog: a worker logs its start, and each failure once, with its consequence, at the right level.
func TestWorkerLog(t *testing.T) {
	t.Parallel()
	start := `level=INFO msg="worker started" worker=w server="in this process" namespaces=shop handlers=charge,mail ` +
		`concurrency=10`
	warning := `level=WARN msg="the handler's timeout is longer than that of a step without one of its own, which ends an ` +
		`attempt first: name timeout_seconds in the template or the submission" worker=w handler=charge timeout="3600 s" ` +
		`step_timeout="600 s"`
	failure := `msg="step failed" worker=w step=charge handler=charge attempt=1 max_attempts=3 error="no rate: refused" ` +
		`type=error next=`
	at := time.Date(2026, 11, 27, 9, 0, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		options worker.Options
		answer  protocol.SettleAnswer
		want    []string
	}{
		"Retried": {answer: protocol.SettleAnswer{State: tasker.StepWaitingForRetry, NextRetryAt: &at},
			want: []string{start, warning, `level=WARN ` + failure + `"another attempt at 2026-11-27T09:00:05Z"`}},
		"Final": {answer: protocol.SettleAnswer{State: tasker.StepError},
			want: []string{start, warning, `level=ERROR ` + failure + `"the step has failed for good"`}},
		"AtOnce": {answer: protocol.SettleAnswer{State: tasker.StepEnqueued},
			want: []string{start, warning, `level=WARN ` + failure + `"the step is enqueued"`}},
		"Quiet": {options: worker.Options{Quiet: true}, answer: protocol.SettleAnswer{State: tasker.StepError},
			want: []string{warning}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := logOf(t, tc.options, tc.answer); !slices.Equal(got, tc.want) {
				t.Errorf("the log is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}
