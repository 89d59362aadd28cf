package demo

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// stubborn is a Backend that accepts tasks and hands out none.
type stubborn struct {
	protocol.Backend
	template, worker error
}

func (b stubborn) RegisterTemplate(context.Context, tasker.TemplateSource) (*tasker.Template, error) {
	return &tasker.Template{}, b.template
}

func (b stubborn) SubmitTasks(_ context.Context, req tasker.SubmitRequest) ([]tasker.TaskReceipt, error) {
	receipts := make([]tasker.TaskReceipt, len(req.Tasks))
	for i := range receipts {
		receipts[i] = tasker.TaskReceipt{TaskUUID: uuid.New(), State: tasker.TaskPending, Created: true}
	}
	return receipts, nil
}

func (b stubborn) Tasks(context.Context, tasker.TaskFilter) (*tasker.TaskPage, error) {
	return &tasker.TaskPage{}, nil
}

func (b stubborn) RegisterWorker(ctx context.Context, _ protocol.WorkerRegistration) (*protocol.RegisteredWorker,
	error) {
	return &protocol.RegisteredWorker{WorkerID: uuid.New(), LeaseSeconds: 60, HeartbeatIntervalMS: 30_000}, b.worker
}

func (b stubborn) Poll(ctx context.Context, _ protocol.PollRequest) (*protocol.PollResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (b stubborn) Drain(context.Context, protocol.WorkerAct) (*protocol.DrainResponse, error) {
	return &protocol.DrainResponse{}, nil
}

func TestRunRefused(t *testing.T) {
	t.Parallel()
	opts := Options{Records: 3, Logger: slog.New(slog.DiscardHandler)}

	t.Run("Template", func(t *testing.T) {
		t.Parallel()
		_, err := Run(t.Context(), tasker.NewClient(stubborn{template: tasker.Errorf(tasker.CodeConflict, "other content")}),
			opts)
		if tasker.ErrorCode(err) != tasker.CodeConflict {
			t.Errorf("error is %v, want a conflict", err)
		}
	})

	t.Run("Worker", func(t *testing.T) {
		t.Parallel()
		_, err := Run(t.Context(), tasker.NewClient(stubborn{worker: tasker.Errorf(tasker.CodeForbidden, "no")}), opts)
		if !errors.Is(err, errWorkerEnded) || tasker.ErrorCode(err) != tasker.CodeForbidden {
			t.Errorf("error is %v, want that of the worker", err)
		}
	})

	t.Run("Interrupted", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Run(ctx, tasker.NewClient(stubborn{}), opts); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v, want that of the context", err)
		}
	})

	// A task that nobody settles is lost after a while.
	t.Run("NothingSettles", func(t *testing.T) {
		t.Parallel()
		impatient := opts
		impatient.Patience = time.Millisecond
		sum, err := Run(t.Context(), tasker.NewClient(stubborn{}), impatient)
		if err != nil || sum.Lost != 3 || sum.Sound() {
			t.Errorf("summary is %+v, %v; want 3 lost", sum, err)
		}
	})
}
