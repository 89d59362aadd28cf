package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

type notes struct {
	mu     sync.Mutex
	lines  []string
	failed []string
	traced []engine.TracedAttempt
}

func (n *notes) Committed(c *engine.Commit) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	for _, def := range c.Submitted {
		add("submitted %s", c.Names.NamesOfTemplate(def).Name)
	}
	for _, h := range c.Handed {
		add("handed %s after %s", c.Names.NamesOfRoute(h.RouteID).Handler, c.At.Sub(h.ReadyAt))
	}
	for _, s := range c.Started {
		add("started %s", c.Names.NamesOfRoute(s.RouteID).Handler)
	}
	for _, e := range c.Ended {
		add("ended %s %s, %s", c.Names.NamesOfRoute(e.RouteID).Handler, e.Outcome, e.After)
		if e.Traced != nil {
			n.traced = append(n.traced, *e.Traced)
		}
	}
	for _, s := range c.Settled {
		add("settled %s %s after %s", c.Names.NamesOfTemplate(s.DefID).Name, s.State, c.At.Sub(s.CreatedAt))
	}
	for _, def := range c.Reopened {
		add("reopened %s", c.Names.NamesOfTemplate(def).Name)
	}
	if c.Refused > 0 {
		add("refused %d", c.Refused)
	}
	parts = append(parts, c.Acts...)
	n.lines = append(n.lines, c.Verb+": "+strings.Join(parts, "; "))
}

func (n *notes) Failed(verb string, _ time.Duration, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failed = append(n.failed, verb+": "+string(task.CodeOf(err)))
}

func (*notes) Detected(engine.Detection) {}

func (*notes) Analyzed(*engine.Analysis) {}
func (*notes) Probed(int, int)           {}

func (n *notes) WorkerFailed(reason string) { n.note("worker failed: %s", reason) }

func (n *notes) Refused(why engine.Refusal, tasks int) { n.note("refused %d: %s", tasks, why) }

func (n *notes) note(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

func (*notes) AttemptTrace(parent string, _ task.ID, token int64) string {
	return fmt.Sprintf("%s#%d", parent, token)
}

func (n *notes) took() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	lines := n.lines
	n.lines = nil
	return lines
}

func (n *notes) want(t *testing.T, want ...string) {
	t.Helper()
	if got := n.took(); !slices.Equal(got, want) {
		t.Errorf("the observer received:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func poll(t *testing.T, e *engine.Engine, w *task.Worker, start bool) engine.Lease {
	t.Helper()
	leases, _, err := e.Poll(t.Context(), w.ID, 1, 0, start)
	if err != nil || len(leases) != 1 {
		t.Fatalf("the poll brought %d steps, %v; want 1", len(leases), err)
	}
	return leases[0]
}

func settle(t *testing.T, e *engine.Engine, l engine.Lease, r engine.Result) {
	t.Helper()
	r.Step, r.Token = l.Step.ID, l.Step.Token
	if r.Failure != nil { // the engine changes it, and tests share theirs
		own := *r.Failure
		r.Failure = &own
	}
	if _, err := e.Settle(t.Context(), []engine.Result{r}); err != nil {
		t.Fatal(err)
	}
}

// A rolled back run is not reported: the store runs every transaction twice.
func TestObserver(t *testing.T) {
	t.Parallel()
	failure := &task.Failure{Message: "no", Retryable: true}
	none := 0
	t.Run("LifeOfATask", func(t *testing.T) {
		t.Parallel()
		n := &notes{}
		e, tick := newEngine(t, engine.Options{Observer: n})
		w := register(t, e, 1)
		submit(t, e, engine.Submission{TaskType: "mail"})
		n.want(t, "submit: submitted mail")
		tick(2 * time.Second)
		l := poll(t, e, w, false)
		n.want(t, "claim: handed mail after 2s")
		if _, err := e.Start(t.Context(), []engine.LeaseRef{{Step: l.Step.ID, Token: l.Step.Token}}); err != nil {
			t.Fatal(err)
		}
		n.want(t, "start: started mail")
		if _, err := e.Start(t.Context(), []engine.LeaseRef{{Step: l.Step.ID, Token: l.Step.Token},
			{Step: l.Step.ID, Token: 77}}); err != nil {
			t.Fatal(err)
		}
		n.want(t, "start: refused 1")
		settle(t, e, l, engine.Result{Status: engine.ResultFailed, Failure: failure})
		n.want(t, "settle: ended mail failed, waiting_for_retry")
		tick(time.Hour)
		if _, err := e.FireTimers(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		l = poll(t, e, w, true)
		settle(t, e, l, engine.Result{Status: engine.ResultCompleted})
		settle(t, e, l, engine.Result{Status: engine.ResultCompleted})
		n.want(t, "timers: ", "claim: handed mail after 0s; started mail",
			"settle: ended mail completed, complete; settled mail complete after 1h0m2s", "settle: refused 1")
	})
	t.Run("HandOff", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			n := &notes{}
			// a repeated transaction would send the poll to the queue
			e, _ := newEngineOn(t, memstore.New(nil), engine.Options{Observer: n})
			w := register(t, e, 1)
			submit(t, e, engine.Submission{TaskType: "mail"})
			settle(t, e, poll(t, e, w, true), engine.Result{Status: engine.ResultCompleted})
			polled := make(chan error, 1)
			go func() {
				_, _, err := e.Poll(t.Context(), w.ID, 1, time.Minute, true)
				polled <- err
			}()
			synctest.Wait()
			n.took()
			submit(t, e, engine.Submission{TaskType: "mail"})
			if err := <-polled; err != nil {
				t.Fatal(err)
			}
			n.want(t, "submit: submitted mail; handed mail after 0s; started mail")
		})
	})
	t.Run("ErrorAndRepair", func(t *testing.T) {
		t.Parallel()
		n := &notes{}
		e, _ := newEngine(t, engine.Options{Observer: n})
		w := register(t, e, 1)
		submit(t, e, engine.Submission{TaskType: "mail", MaxRetries: &none})
		l := poll(t, e, w, true)
		settle(t, e, l, engine.Result{Status: engine.ResultFailed, Failure: failure})
		n.took()
		act := engine.StepAct{Kind: engine.ResetForRetry, Actor: "ann", Reason: "fixed"}
		if _, err := e.Operate(t.Context(), l.Task.ID, l.Step.ID, act); err != nil {
			t.Fatal(err)
		}
		n.want(t, "operate: reopened mail; reset_for_retry")
		if _, err := e.Operate(t.Context(), l.Task.ID, l.Step.ID, act); err == nil {
			t.Fatal("a pending step was reset")
		}
		if want := []string{"operate: wrong_state"}; !slices.Equal(n.failed, want) {
			t.Errorf("failed are %v, want %v", n.failed, want)
		}
	})
	t.Run("Cancelled", func(t *testing.T) {
		t.Parallel()
		n := &notes{}
		e, _ := newEngine(t, engine.Options{Observer: n})
		w := register(t, e, 1)
		receipts := submit(t, e, engine.Submission{TaskType: "mail"})
		poll(t, e, w, true)
		n.took()
		if _, err := e.Cancel(t.Context(), []task.ID{receipts[0].ID},
			engine.Cancellation{Actor: "ann", Reason: "late"}); err != nil {
			t.Fatal(err)
		}
		n.want(t, "cancel: ended mail cancelled, cancelled; settled mail cancelled after 0s; cancel")
	})
	t.Run("LeaseLostAndDrained", func(t *testing.T) {
		t.Parallel()
		n := &notes{}
		e, tick := newEngine(t, engine.Options{Observer: n})
		w := register(t, e, 2)
		submit(t, e, engine.Submission{TaskType: "mail"}, engine.Submission{TaskType: "mail"})
		poll(t, e, w, false)
		poll(t, e, w, true)
		n.took()
		tick(31 * time.Second)
		if _, err := e.ReapLeases(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		n.want(t, "reap: ended mail not_started, enqueued")
		if _, err := e.Drain(t.Context(), w.ID, true, engine.WorkerAct{}); err != nil {
			t.Fatal(err)
		}
		n.want(t, "drain: ended mail released, enqueued")
	})
	t.Run("Traced", func(t *testing.T) {
		t.Parallel()
		const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		n := &notes{}
		e, _ := newEngine(t, engine.Options{Observer: n})
		w := register(t, e, 1)
		submit(t, e, engine.Submission{TaskType: "mail", Meta: task.Meta{TraceParent: parent}})
		l := poll(t, e, w, true)
		if l.TraceParent != parent+"#1" {
			t.Errorf("the worker works in %q", l.TraceParent)
		}
		settle(t, e, l, engine.Result{Status: engine.ResultCompleted})
		if len(n.traced) != 1 || n.traced[0].Parent != parent || n.traced[0].StepID != l.Step.ID || n.traced[0].Token != 1 ||
			n.traced[0].Outcome != task.Completed || n.traced[0].After != task.StepComplete {
			t.Errorf("traced attempts are %+v", n.traced)
		}
	})
}
