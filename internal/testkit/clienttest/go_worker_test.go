//go:build unix

package clienttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker"
)

func TestMain(m *testing.M) {
	text := os.Getenv("TASKER_TEST_WORKER")
	if text == "" {
		os.Exit(m.Run())
	}
	if err := goWorker(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type workerOptions struct {
	Name            string   `json:"name"`
	Namespaces      []string `json:"namespaces,omitempty"`
	Concurrency     int      `json:"concurrency"`
	ShutdownSeconds float64  `json:"shutdown_seconds"`
	Threads         bool     `json:"threads,omitempty"`
}

// order is the context of every task; see the package comment.
type order struct {
	Ref        string          `json:"ref"`
	Log        string          `json:"log,omitempty"`
	Progress   int             `json:"progress,omitempty"`
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"`
	Gate       string          `json:"gate,omitempty"`
	Fail       *failing        `json:"fail,omitempty"`
	Snooze     float64         `json:"snooze,omitempty"`
	Bytes      int             `json:"bytes,omitempty"`
}

type failing struct {
	Attempts int    `json:"attempts"`
	How      string `json:"how"`
	Message  string `json:"message"`
	Code     string `json:"code,omitempty"`
}

type output struct {
	Ref        string                     `json:"ref"`
	Attempt    int                        `json:"attempt"`
	Checkpoint json.RawMessage            `json:"checkpoint"`
	Parents    map[string]json.RawMessage `json:"parents"`
	Worker     string                     `json:"worker"`
}

func goWorker(text string) error {
	var o workerOptions
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return fmt.Errorf("TASKER_TEST_WORKER: %w", err)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	context.AfterFunc(ctx, func() { fmt.Println("stopping") })
	c, err := remote.Dial(os.Getenv("TASKER_SERVER"), &remote.Options{APIKey: os.Getenv("TASKER_API_KEY")})
	if err != nil {
		return err
	}
	w := worker.New(c, &worker.Options{Name: o.Name, Namespaces: o.Namespaces, Concurrency: o.Concurrency,
		DrainTimeout: time.Duration(o.ShutdownSeconds * float64(time.Second))})
	act := func(ctx context.Context, job *worker.Job) (any, error) { return act(ctx, job, o.Name) }
	w.Handle("act", act)
	w.Handle("narrow", act, worker.WithConcurrency(1))
	w.Handle("short", act, worker.WithTimeout(time.Second))
	if err := w.Run(ctx); err != nil {
		return err
	}
	fmt.Println("ended")
	return nil
}

// act obeys an order.
func act(ctx context.Context, job *worker.Job, w string) (any, error) {
	o, err := worker.Context[order](job)
	if err != nil {
		return nil, err
	}
	fmt.Println("begin", o.Ref, job.Attempt)
	last := job.Assignment.Checkpoint
	if o.Log != "" {
		fmt.Fprintln(job.Log(), o.Log)
	}
	if o.Progress > 0 {
		if err := job.Progress(o.Progress, "under way"); err != nil {
			return nil, err
		}
	}
	if o.Checkpoint != nil && last == nil {
		if err := job.Checkpoint(o.Checkpoint); err != nil {
			return nil, err
		}
	}
	for o.Gate != "" {
		if _, err := os.Stat(o.Gate); err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return nil, told(ctx, job, o.Ref)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if o.Fail != nil && job.Attempt <= o.Fail.Attempts {
		return nil, o.Fail.error(o.Ref)
	}
	switch {
	case o.Snooze > 0 && last == nil:
		return nil, worker.Snooze(time.Duration(o.Snooze * float64(time.Second)))
	case o.Bytes > 0:
		return strings.Repeat("x", o.Bytes), nil
	}
	fmt.Println("end", o.Ref)
	return output{o.Ref, job.Attempt, last, job.ParentResults, w}, nil
}

// told says why the handler has to stop.
func told(ctx context.Context, job *worker.Job, ref string) error {
	cause := context.Cause(ctx)
	for err, word := range map[error]string{worker.ErrCancelled: "cancelled", worker.ErrLeaseLost: "lost",
		worker.ErrDraining: "draining", worker.ErrTimedOut: "timeout"} {
		if errors.Is(cause, err) {
			fmt.Println("told", ref, word)
		}
	}
	if errors.Is(cause, worker.ErrDraining) {
		if err := job.Checkpoint(map[string]string{"saved": "while draining"}); err != nil {
			return err
		}
	}
	return cause
}

func (f *failing) error(ref string) error {
	failure := &tasker.Failure{Message: f.Message, Code: f.Code}
	switch f.How {
	case "final":
		failure.Details = json.RawMessage(fmt.Sprintf(`{"ref":%q}`, ref))
		return worker.NonRetryable(failure)
	case "retryable":
		return worker.RetryAfter(200*time.Millisecond, failure)
	}
	return errors.New(f.Message)
}
