package worker

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

func (s *session) announce() {
	me := s.me()
	if !s.opts.Quiet {
		served := me.Namespaces
		if len(served) == 0 {
			served = s.opts.Namespaces
		}
		s.log.Info("worker started", "server", cmp.Or(s.server, "in this process"),
			"namespaces", strings.Join(served, ","), "handlers", strings.Join(s.registration.Handlers, ","),
			"concurrency", s.opts.Concurrency)
	}
	usual := time.Duration(me.DefaultTimeoutSeconds) * time.Second
	for _, name := range slices.Sorted(maps.Keys(s.handlers)) {
		if timeout := s.handlers[name].timeout; usual > 0 && timeout > usual {
			s.log.Warn("the handler's timeout is longer than that of a step without one of its own, which ends an attempt "+
				"first: name timeout_seconds in the template or the submission", "handler", name, "timeout", seconds(timeout),
				"step_timeout", seconds(usual))
		}
	}
}

// maxLogged bounds the message of a failure in the log, in bytes. The server has all of it.
const maxLogged = 1 << 10

func (s *session) tell(job *Job, result *protocol.StepResult, answer *protocol.SettleAnswer) {
	if result.Status != protocol.ResultFailed || result.Error == nil || s.opts.Quiet {
		return
	}
	level, next := slog.LevelWarn, "the step is "+string(answer.State)
	switch {
	case answer.State == tasker.StepError:
		level, next = slog.LevelError, "the step has failed for good"
	case answer.NextRetryAt != nil:
		next = "another attempt at " + answer.NextRetryAt.UTC().Format(time.RFC3339)
	}
	s.log.Log(context.Background(), level, "step failed", "step", job.StepName, "handler", job.Handler,
		"task_uuid", job.TaskUUID, "attempt", job.Attempt, "max_attempts", job.MaxAttempts,
		"error", cut(result.Error.Message, maxLogged), "type", result.Error.Type, "next", next)
}
