//go:build unix

package fleet_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

type echo struct {
	mu   sync.Mutex
	runs map[uuid.UUID]int
}

func newEcho() *echo { return &echo{runs: map[uuid.UUID]int{}} }

func (e *echo) handle(_ context.Context, job *worker.Job) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.runs[job.TaskUUID]++
	return job.Parameters, nil
}

func (e *echo) total() (tasks, runs int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range e.runs {
		runs += n
	}
	return len(e.runs), runs
}

// TestMixedFleet: one handler serves one route over HTTP and over AMQP. Two tasks wait for each other, and each worker
// has room for one.
func TestMixedFleet(t *testing.T) {
	onEveryStore(t, nil, func(w *world) {
		var meeting sync.WaitGroup
		meeting.Add(2)
		handlers := map[string]worker.Handler{"meet": func(_ context.Context, job *worker.Job) (any, error) {
			meeting.Done()
			meeting.Wait()
			return job.Parameters, nil
		}}
		amqp, http := w.work("amqp", w.broker, 1, handlers), w.work("http", "", 1, handlers)
		if info := w.registered("amqp", protocol.WorkerActive); info.Transport != protocol.TransportAMQP {
			t.Errorf("the worker has the transport %q, want amqp", info.Transport)
		}
		w.registered("http", protocol.WorkerActive)
		w.complete(w.submit("meet", 2))
		amqp.end()
		http.end()
		w.registered("amqp", protocol.WorkerDead)
	})
}

// TestWorkflow: the results of parents travel in the message.
func TestWorkflow(t *testing.T) {
	onEveryStore(t, nil, func(w *world) {
		if _, err := w.RegisterTemplate(w.ctx, tasker.TemplateSource{YAML: `
name: sum
namespace_name: default
version: "1"
steps:
  - name: first
    handler: one
  - name: second
    handler: add
    dependencies: [first]
`}); err != nil {
			t.Fatal(err)
		}
		worker := w.work("amqp", w.broker, 4, map[string]worker.Handler{
			"one": func(context.Context, *worker.Job) (any, error) { return 1, nil },
			"add": func(_ context.Context, job *worker.Job) (any, error) {
				var n int
				err := job.ParentResult("first", &n)
				return n + 1, err
			},
		})
		receipt, err := w.Submit(w.ctx, tasker.TaskRequest{Name: "sum"})
		if err != nil {
			t.Fatal(err)
		}
		w.complete([]uuid.UUID{receipt.TaskUUID})
		steps, err := w.Steps(w.ctx, receipt.TaskUUID)
		if err != nil || len(steps) != 2 || string(steps[1].Results) != "2" {
			t.Errorf("the steps are %+v, %v; want the result 2", steps, err)
		}
		worker.end()
	})
}

// TestCancel: a cancellation ends the handler's context with the next heartbeat.
func TestCancel(t *testing.T) {
	onEveryStore(t, nil, func(w *world) {
		runs, cause := make(chan struct{}), make(chan error, 1)
		wk := w.work("amqp", w.broker, 1, map[string]worker.Handler{
			"endless": func(ctx context.Context, _ *worker.Job) (any, error) {
				close(runs)
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return nil, ctx.Err()
			}})
		ids := w.submit("endless", 1)
		<-runs
		if _, err := w.CancelTasks(w.ctx, tasker.CancelRequest{TaskUUIDs: ids}); err != nil {
			t.Fatal(err)
		}
		if err := <-cause; !errors.Is(err, worker.ErrCancelled) {
			t.Errorf("the context ended with %v, want %v", err, worker.ErrCancelled)
		}
		wk.end()
	})
}

// TestDrain: a worker that an operator drains finishes its steps and stops; another one gets the rest.
func TestDrain(t *testing.T) {
	onEveryStore(t, nil, func(w *world) {
		begun, release := make(chan struct{}), make(chan struct{})
		var held atomic.Int64
		drained := w.work("drained", w.broker, 1, map[string]worker.Handler{
			"work": func(context.Context, *worker.Job) (any, error) {
				if held.Add(1) == 1 {
					close(begun)
				}
				<-release
				return "drained", nil
			}})
		ids := w.submit("work", 5)
		<-begun
		info := w.registered("drained", protocol.WorkerActive)
		if _, err := protocol.Of(w.Client).Drain(w.ctx,
			protocol.WorkerAct{WorkerID: info.WorkerID, By: "tester"}); err != nil {
			t.Fatal(err)
		}
		other := newEcho()
		rest := w.work("rest", w.broker, 2, map[string]worker.Handler{"work": other.handle})
		w.until("the other worker has the rest", func() bool { tasks, _ := other.total(); return tasks == 4 })
		close(release)
		drained.returned()
		w.complete(ids)
		if n := held.Load(); n != 1 {
			t.Errorf("the drained worker ran %d steps, want the one that it had", n)
		}
		rest.end()
	})
}
