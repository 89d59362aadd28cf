package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker"
)

// order is the context of every task: instructions for its handlers.
type order struct {
	Ref  string `json:"ref"`
	Step string `json:"step,omitempty"` // the step of Work; every step if empty
	Work string `json:"work,omitempty"`
	MS   int    `json:"ms,omitempty"` // how long it takes
	// Undo is Work for the compensation step "refund".
	Undo string `json:"undo,omitempty"`
	// Special is for conditions, and Items are the orders of child tasks.
	Special bool    `json:"special,omitempty"`
	Items   []order `json:"items,omitempty"`
	// Item is the order of a child task; then the other fields are empty.
	Item *order `json:"item,omitempty"`
}

func (o order) own() order {
	if o.Item != nil {
		return *o.Item
	}
	return o
}

// The instructions of an order.
const (
	workFlaky  = "flaky"  // fail once, then succeed
	workDoomed = "doomed" // fail for good until an operator's repair
	workSnooze = "snooze" // snooze, once
	workPanic  = "panic"  // panic once, then succeed
	// workCheckpoints stores checkpoints, and fails once between them.
	workCheckpoints = "checkpoints"
	workLarge       = "large" // return more than a result may have
)

// output is a result, unique per lease.
type output struct {
	Ref     string                     `json:"ref"`
	Step    string                     `json:"step"`
	Token   string                     `json:"token"`
	By      string                     `json:"by"`
	Parents map[string]json.RawMessage `json:"parents,omitempty"`
	Filler  string                     `json:"filler,omitempty"`
}

var filler = strings.Repeat("x", 300_000)

// Handlers carry out orders for all workers of a run, so that a step continues on another worker. The zero value is
// ready and safe for concurrent use.
type Handlers struct {
	fixed   sync.Map // refs that an operator has put right
	snoozed sync.Map // refs that have been asleep
	broken  sync.Map // refs that have panicked
	saved   sync.Map // refs to their *saves
}

// Names returns the handlers of producers' orders.
func Names() []string { return []string{"ok", "split", "left", "right", "join"} }

// calm is a handler of SDK workers only, which delay nothing.
const calm = "calm"

// register lets a worker carry out orders, in the name of by.
func (h *Handlers) register(w *worker.Worker, by string) {
	for _, name := range append(Names(), calm) {
		w.Handle(name, func(ctx context.Context, job *worker.Job) (any, error) {
			return h.run(ctx, job, by)
		})
	}
}

// run carries out an order. Its result names the lease, so that the result of one lease is never taken for that of
// another.
func (h *Handlers) run(ctx context.Context, job *worker.Job, by string) (any, error) {
	var o order
	if err := job.Decode(&o); err != nil {
		return nil, err
	}
	if o = o.own(); job.StepName == "refund" {
		o.Step, o.Work = job.StepName, o.Undo
	}
	out := output{Ref: o.Ref, Step: job.StepName, Token: job.Token, By: by, Parents: job.ParentResults}
	if o.Step == "" || o.Step == job.StepName {
		if o.Work == workLarge {
			out.Filler = filler
		}
		if err := take(ctx, job, o.MS); err != nil {
			return nil, err
		}
		if err := h.misbehave(&o, job); err != nil {
			return nil, err
		}
	}
	return out, readLarge(job)
}

// readLarge reads large results of parents: the SDK compares them with what was stored.
func readLarge(job *worker.Job) error {
	for name := range job.LargeResults {
		if _, _, err := job.Parent(name); err != nil {
			return err
		}
	}
	return nil
}

// take lets the work take its time, in milliseconds, and reports progress half-way when there is time for it. It
// returns the cause as soon as the lease is lost or the task cancelled.
func take(ctx context.Context, job *worker.Job, ms int) error {
	timer := time.NewTimer(time.Duration(ms) * time.Millisecond / 2)
	defer timer.Stop()
	for half := range 2 {
		if ms == 0 {
			return nil
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if half == 0 && ms > 100 {
			// A report that did not come through is no reason to stop.
			if err := job.Progress(50, "half-way"); errors.Is(err, worker.ErrLeaseLost) || errors.Is(err, worker.ErrCancelled) {
				return err
			}
		}
		timer.Reset(time.Duration(ms) * time.Millisecond / 2)
	}
	return nil
}

// misbehave does what the order asks for besides succeeding. What happens once is remembered by the Ref, and not by the
// attempt: an attempt may be lost with its worker.
func (h *Handlers) misbehave(o *order, job *worker.Job) error {
	switch o.Work {
	case workFlaky:
		if job.Attempt == 1 {
			return fmt.Errorf("not yet: attempt %d", job.Attempt)
		}
	case workDoomed:
		if _, ok := h.fixed.Load(o.Ref); !ok {
			return worker.NonRetryable(&tasker.Failure{Type: "doomed", Message: "somebody has to put this right",
				Code: "E_DOOMED"})
		}
	case workSnooze:
		if _, again := h.snoozed.LoadOrStore(o.Ref, true); !again {
			return worker.Snooze(50 * time.Millisecond)
		}
	case workPanic:
		if _, again := h.broken.LoadOrStore(o.Ref, true); !again {
			panic("this is what the order asks for")
		}
	case workCheckpoints:
		return h.checkpoints(o, job)
	}
	return nil
}
