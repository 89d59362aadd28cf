package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// accept starts the handlers of assigned steps, or returns the steps if fetching ended meanwhile.
func (s *session) accept(steps []protocol.Assignment, open bool) {
	if len(steps) == 0 {
		return
	}
	now := time.Now()
	// Jobs are allocated separately: in one block, the longest step of a batch would keep the parameters of all in
	// memory.
	jobs := make([]*Job, len(steps))
	var lost []*Job
	s.mu.Lock()
	s.draining = s.draining || !open
	s.beginBatch(len(steps), now)
	for i := range steps {
		job := s.newJob(&steps[i], now)
		jobs[i] = job
		if old := s.held[job.StepUUID]; old != nil {
			// The step comes a second time: the first lease expired unnoticed.
			s.drop(old)
			lost = append(lost, old)
		}
		s.held[job.StepUUID] = job
		if s.draining {
			s.end(job, &protocol.StepResult{Status: protocol.ResultReleased})
			continue
		}
		s.running++
		s.watch(job)
	}
	draining := s.draining
	s.mu.Unlock()

	for _, job := range lost {
		job.cancel(ErrLeaseLost)
	}
	if draining {
		return
	}
	for _, job := range jobs {
		go s.execute(job)
	}
}

// newJob has times on the worker's clock, because the server's may differ. The caller holds mu.
func (s *session) newJob(a *protocol.Assignment, now time.Time) *Job {
	job := &Job{Assignment: *a, session: s, maxResult: s.self.MaxResultPayloadBytes,
		maxLarge: s.self.MaxLargeResultBytes, maxLog: s.self.MaxLogBytes, batch: s.lastBatch.no}
	job.timeout = time.Duration(a.TimeoutSeconds) * time.Second
	if h := s.handlers[a.Handler]; h != nil && h.timeout > 0 && (job.timeout <= 0 || h.timeout < job.timeout) {
		job.timeout = h.timeout
	}
	if job.timeout > 0 {
		job.deadline = now.Add(job.timeout)
	}
	if lease := leaseOf(&s.self); lease > 0 {
		job.leaseEnd = now.Add(lease)
	}
	job.base = stepContext{Context: s.values, job: job, due: job.deadline}
	job.ctx, job.cancel = context.WithCancelCause(&job.base)
	return job
}

// execute runs one step and calls finish once, whatever the handler does.
func (s *session) execute(job *Job) {
	var result json.RawMessage
	var err error
	returned := false
	defer func() {
		if !returned {
			value := recover()
			if value == nil {
				value = "the handler ended its goroutine with runtime.Goexit"
			}
			err = &panicError{value: value, stack: debug.Stack()}
		}
		s.finish(job, result, err)
	}()
	handler := s.handlers[job.Handler]
	if handler == nil {
		err = &tasker.Failure{Type: "unknown_handler", Message: fmt.Sprintf("the worker has no handler %q", job.Handler)}
	} else if err = s.decodeInput(job); err == nil {
		var out any
		if out, err = handler.run(job.ctx, job); err == nil {
			result, err = s.encodeResult(job, out) // in here, because the user's marshaller may panic
		}
	}
	returned = true
}

func (s *session) finish(job *Job, raw json.RawMessage, err error) {
	var result protocol.StepResult
	if err == nil {
		result = s.completed(job, raw)
	} else {
		result = failed(job, err)
		if result.Error != nil {
			s.handlers[job.Handler].apply(result.Error, job.Attempt)
		}
	}
	job.addLog(&result)
	job.cancel(nil) // ends contexts that the handler derived

	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	s.end(job, &result)
	s.leaveBatch(job)
	s.wakeFetch()
}

// end requires mu.
func (s *session) end(job *Job, result *protocol.StepResult) {
	job.ended = true
	if !job.dropped {
		result.StepUUID, result.Token = job.StepUUID, job.Token
		s.done.add(job, *result)
		if s.settling == 0 && len(s.done.list) == 1 {
			s.settleWake.send() // otherwise settling is running and checks again
		}
	}
	if s.draining {
		s.drainWake.send()
	}
}

// completed sends a result over the server's limit apart if the server keeps such results; else it fails the step
// here, without sending the result.
func (s *session) completed(job *Job, raw json.RawMessage) protocol.StepResult {
	if job.maxResult > 0 && len(raw) > job.maxResult {
		return s.sendLarge(job, raw)
	}
	return protocol.StepResult{Status: protocol.ResultCompleted, Result: raw}
}

func refusal(kind, message string) protocol.StepResult {
	final := false
	f := &tasker.Failure{Type: kind, Message: message, Retryable: &final}
	return protocol.StepResult{Status: protocol.ResultFailed, Error: bounded(f)}
}

func failed(job *Job, err error) protocol.StepResult {
	var snooze *snoozeError
	if errors.As(err, &snooze) {
		return protocol.StepResult{Status: protocol.ResultSnoozed, SnoozeSeconds: max(snooze.after.Seconds(), 0)}
	}
	var panicked *panicError
	isPanic := errors.As(err, &panicked)
	cause := context.Cause(job.ctx)
	if errors.Is(cause, ErrDraining) && !isPanic {
		return protocol.StepResult{Status: protocol.ResultReleased}
	}
	f := failureOf(err)
	if errors.Is(cause, ErrTimedOut) && !isPanic {
		// The handler's error only shows how it noticed the timeout, not whether another attempt helps.
		f.Type, f.Class, f.Retryable = "timeout", tasker.ClassResource, nil
		f.Message = cut(fmt.Sprintf("timed out after %s: %s", seconds(job.timeout), f.Message), maxFailureMessage)
	}
	return protocol.StepResult{Status: protocol.ResultFailed, Error: f}
}

// seconds writes a timeout as steps have it, in seconds, if it is whole ones.
func seconds(d time.Duration) string {
	if d%time.Second == 0 {
		return strconv.Itoa(int(d/time.Second)) + " s"
	}
	return d.String()
}

func (s *session) progress(job *Job, percent int, message string) error {
	if cause := context.Cause(job.ctx); cause != nil {
		return cause
	}
	if err := s.report(job.ctx, job, protocol.ProgressReport{ProgressPercent: min(max(percent, 0), 100),
		StatusMessage: statusOf(message)}); err != nil {
		return err
	}
	return context.Cause(job.ctx)
}

const maxStatus = 1024

// statusOf makes a message acceptable: valid UTF-8, at most 1 KiB, no control characters but line feeds and tabs. A
// report must not fail because of a message from elsewhere.
func statusOf(message string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(message, "\uFFFD"))
	if len(clean) <= maxStatus {
		return clean
	}
	end := maxStatus
	for !utf8.RuneStart(clean[end]) {
		end--
	}
	return clean[:end]
}

func (s *session) report(ctx context.Context, job *Job, r protocol.ProgressReport) error {
	r.WorkerID, r.StepUUID, r.Token = s.me().WorkerID, job.StepUUID, job.Token
	sent := time.Now()
	answer, err := s.backend.Progress(ctx, r)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return fmt.Errorf("report progress of step %s: %w", job.StepName, err)
	}
	s.note(nil)
	s.renew([]*Job{job}, []protocol.LeaseAnswer{*answer}, sent)
	switch answer.Status {
	case protocol.LeaseCancelled:
		return ErrCancelled
	case protocol.LeaseLost:
		return ErrLeaseLost
	}
	return nil
}
