package siege

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/proof/chaos/internal/cluster"
	"github.com/taskerhq/tasker/proof/crashtest/load"
	"github.com/taskerhq/tasker/worker/protocol"
)

// watcher reads one node continuously. It keeps an exclusive stock of ready steps, so an empty poll or list is wrong.
type watcher struct {
	node    *cluster.Node
	client  *tasker.Client // of the node, with a recorder
	retry   load.Retry
	notes   *notes
	name    string
	handler string

	me    uuid.UUID
	n     int       // tasks submitted
	stock int       // known unsettled tasks
	task  uuid.UUID // an existing one

	looks atomic.Int64 // answers that were not empty
}

// Bounds of the stock. Polls with a lost answer may hold some of it.
const (
	lowStock  = 60
	fullStock = 120
)

// newWatcher gives the handler the watcher's name, so that no other worker takes the stock.
func newWatcher(n *cluster.Node, client *tasker.Client, retry load.Retry, notes *notes) *watcher {
	name := fmt.Sprintf("watcher%d", n.Index)
	return &watcher{node: n, client: client, retry: retry, notes: notes, name: name, handler: "stock-of-" + name}
}

// watcherPlaces are so many that unreported steps, which occupy places until their leases run out, never fill the
// watcher: an empty poll of a full worker would be right.
const watcherPlaces = 5000

func (w *watcher) prepare(ctx context.Context) error {
	me, err := protocol.Of(w.client).RegisterWorker(ctx,
		protocol.WorkerRegistration{Name: w.name, Handlers: []string{w.handler},
			Capacity: watcherPlaces})
	if err != nil {
		return fmt.Errorf("register %s: %w", w.name, err)
	}
	w.me = me.WorkerID
	return w.fill(ctx)
}

func (w *watcher) fill(ctx context.Context) error {
	var req tasker.SubmitRequest
	for w.stock+len(req.Tasks) < fullStock {
		w.n++
		ref := fmt.Sprintf("%s-%d", w.name, w.n)
		req.Tasks = append(req.Tasks, tasker.TaskRequest{TaskType: w.handler, CorrelationID: ref, IdempotencyKey: ref,
			Context: json.RawMessage(fmt.Sprintf(`{"ref":%q}`, ref))})
	}
	for {
		receipts, err := w.client.SubmitTasks(ctx, req)
		switch {
		case load.Lost(err):
			if err := w.retry(ctx, err); err != nil {
				return err
			}
			continue
		case err != nil:
			return fmt.Errorf("fill the stock of %s: %w", w.name, err)
		}
		w.stock += len(receipts)
		w.task = receipts[0].TaskUUID
		return nil
	}
}

// run reads until stop is closed; then it works off the stock until done is closed.
func (w *watcher) run(ctx context.Context, stop, done <-chan struct{}) error {
	for {
		select {
		case <-done:
			return nil
		default:
		}
		quiet := false
		select {
		case <-stop:
			quiet = true
		default:
			if w.stock < lowStock {
				if err := w.fill(ctx); err != nil {
					return err
				}
			}
		}
		if err := w.look(ctx, quiet); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		if err := clock.Sleep(ctx, 25*time.Millisecond); err != nil {
			return err
		}
	}
}

func (w *watcher) look(ctx context.Context, quiet bool) error {
	var page *tasker.TaskPage
	err := w.call(func() (err error) {
		page, err = w.client.Tasks(ctx, tasker.TaskFilter{Limit: 1})
		return err
	})
	switch {
	case err == nil && len(page.Tasks) == 0:
		w.notes.add("empty answer", "node %d: a list of no tasks; there are some", w.node.Index)
	case err == nil:
		w.looks.Add(1)
	case !load.Lost(err):
		return err
	}
	req := protocol.PollRequest{WorkerID: w.me, Capacity: 1, Start: w.n%2 == 0}
	if quiet {
		req.Capacity, req.WaitMS = 50, 200
	}
	var resp *protocol.PollResponse
	err = w.call(func() (err error) {
		resp, err = protocol.Of(w.client).Poll(ctx, req)
		return err
	})
	switch {
	case load.Lost(err):
		return nil
	case err != nil:
		return err
	case len(resp.Steps) == 0 && !quiet:
		w.notes.add("empty answer", "node %d: a poll got nothing; %d steps are ready; %s", w.node.Index, w.stock,
			w.state(ctx, resp))
	case len(resp.Steps) > 0:
		w.looks.Add(1)
	}
	return w.settle(ctx, resp.Steps)
}

// state is what the node says of the watcher and of its newest task, for a note: why may a poll have got nothing?
func (w *watcher) state(ctx context.Context, resp *protocol.PollResponse) string {
	me, err := protocol.Of(w.client).Worker(ctx, w.me)
	task, other := w.client.ExplainTask(ctx, w.task)
	said, _ := json.Marshal(map[string]any{"answer": resp, "worker": me, "task": task})
	return fmt.Sprintf("%s, errors %v and %v", said, err, other)
}

// settle completes the steps and takes them off the stock.
func (w *watcher) settle(ctx context.Context, steps []protocol.Assignment) error {
	if len(steps) == 0 {
		return nil
	}
	req := protocol.SettleRequest{WorkerID: w.me}
	for _, s := range steps {
		req.Results = append(req.Results, protocol.StepResult{StepUUID: s.StepUUID, Token: s.Token,
			Status: protocol.ResultCompleted,
			Result: json.RawMessage(fmt.Sprintf(`{"by":%q,"step":%q,"token":%q}`, w.name, s.StepUUID, s.Token))})
	}
	var answers []protocol.SettleAnswer
	err := w.call(func() (err error) {
		answers, err = protocol.Of(w.client).Settle(ctx, req)
		return err
	})
	if load.Lost(err) {
		// Some may be settled. Counting all of them as gone is safe.
		w.stock -= len(steps)
		return nil
	}
	for _, a := range answers {
		if a.Error == nil {
			w.stock--
		}
	}
	return err
}

// call makes one request, which must be answered in time as long as the node lives.
func (w *watcher) call(do func() error) error {
	life := w.node.Life()
	begun := time.Now()
	err := do()
	took := time.Since(begun)
	if life == 0 || w.node.Life() != life {
		return err // the node was down at some time
	}
	if took > answerLimit {
		w.notes.add("no answer", "node %d: a request took %s: %v", w.node.Index, took, err)
	} else if silent(err) {
		w.notes.add("no answer", "node %d: it did not speak, after %s: %v", w.node.Index, took, err)
	}
	return err
}

func silent(err error) bool {
	var e *tasker.Error
	return errors.As(err, &e) && e.Code == tasker.CodeUnavailable && e.Err != nil
}
