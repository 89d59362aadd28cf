package scenario_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

type domain struct {
	*world
	t *testing.T
}

func inDomain(t *testing.T, fn func(d *domain)) {
	t.Helper()
	t.Parallel()
	for _, k := range stores {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s, reopen := k.open(t)
			w, err := newWorld(t, s, reopen, settings.Config{})
			if err != nil {
				t.Fatal(err)
			}
			fn(&domain{w, t})
		})
	}
}

func (d *domain) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *domain) note(ctx context.Context, tx engine.Tx, text string) {
	d.t.Helper()
	d.must(d.store.NoteStore().Note(ctx, tx, "domain", text))
}

func (d *domain) wantNote(want string) {
	d.t.Helper()
	got, err := d.store.NoteStore().FindNote(d.ctx, "domain")
	d.must(err)
	if got != want {
		d.t.Errorf("the row of the domain is %q, want %q", got, want)
	}
}

func (d *domain) submit(text string, failure error, subs ...engine.Submission) ([]engine.Receipt, error) {
	d.t.Helper()
	prepared, err := d.engine.PrepareSubmit(d.ctx, subs)
	d.must(err)
	var receipts []engine.Receipt
	err = d.store.Write(d.ctx, func(ctx context.Context, tx engine.Tx) error {
		d.note(ctx, tx, text)
		if receipts, err = d.engine.SubmitIn(ctx, tx, prepared); err != nil {
			return err
		}
		return failure
	})
	prepared.Release(err)
	return receipts, err
}

func (d *domain) heard(l *feed.Listener, n int) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.ctx, 20*time.Second)
	defer cancel()
	var words []string
	for len(words) < n {
		batch, err := l.Next(ctx)
		d.must(err)
		for _, c := range batch {
			if c.Kind != feed.StreamOpened && c.Kind != feed.StreamAlive {
				words = append(words, fmt.Sprintf("%s %s>%s %s", c.Kind, c.From, c.To, c.Cause))
			}
		}
	}
	return strings.Join(words, "; ")
}

var errDomain = errors.New("the domain has changed its mind")

// A domain's row and a task are committed or rolled back together. The commit wakes a waiting poll and reaches
// listeners once, even on a store that runs each transaction twice.
func TestSubmitInADomainsTransaction(t *testing.T) {
	inDomain(t, func(d *domain) {
		l, err := d.engine.ListenTo(d.ctx, feed.Filter{})
		d.must(err)
		defer l.Close()
		r, err := d.engine.Register(d.ctx, task.Worker{Name: "w"})
		d.must(err)
		polls := make(chan []engine.Lease, 1)
		go func() {
			leases, _, err := d.engine.Poll(d.ctx, r.ID, 5, 30*time.Second, true)
			if err != nil {
				d.t.Error(err)
			}
			polls <- leases
		}()

		_, err = d.submit("not", errDomain, job)
		if !errors.Is(err, errDomain) {
			d.t.Fatalf("Write returned %v", err)
		}
		d.wantNote("")
		receipts, err := d.submit("there", nil, job)
		d.must(err)
		d.wantNote("there")
		select {
		case leases := <-polls:
			if len(leases) != 1 || leases[0].Task.ID != receipts[0].ID {
				d.t.Errorf("the poll came back with %d leases", len(leases))
			}
		case <-time.After(20 * time.Second):
			d.t.Error("nobody woke the poll")
		}
		tasks, _, err := d.store.ListTasks(d.ctx, engine.TaskFilter{Limit: 10})
		d.must(err)
		if len(tasks) != 1 || tasks[0].ID != receipts[0].ID {
			d.t.Errorf("there are %d tasks, want the one committed", len(tasks))
		}
		_, err = d.engine.Submit(d.ctx, []engine.Submission{{TaskType: "other", RunAt: task.At(start.Add(time.Hour))}}, false)
		d.must(err)
		if got := d.heard(l, 2); strings.Count(got, "task.submitted") != 2 || strings.Contains(got, "gap") {
			d.t.Errorf("heard %q, want two submissions", got)
		}
	})
}

// Verbs in one transaction see each other's effects and are undone together.
func TestVerbsInADomainsTransaction(t *testing.T) {
	inDomain(t, func(d *domain) {
		limit := 0
		sub := engine.Submission{TaskType: "job", MaxRetries: &limit, IdempotencyKey: "k"}
		receipts, err := d.submit("first", nil, sub)
		d.must(err)
		id := receipts[0].ID
		again, err := d.submit("second", nil, sub)
		d.must(err)
		if again[0].Created || again[0].ID != id {
			d.t.Errorf("the same key was answered %+v", again[0])
		}
		d.fail(id)
		c, err := d.engine.CaseOfTask(d.ctx, id)
		d.must(err)

		notes := "looked at"
		replay := func(failure error) error {
			return d.store.Write(d.ctx, func(ctx context.Context, tx engine.Tx) error {
				d.note(ctx, tx, "replayed")
				change := task.CaseChange{Actor: "ann", Notes: &notes}
				if _, err := d.engine.UpdateCaseIn(ctx, tx, c.ID, change); err != nil {
					return err
				}
				if _, err := d.engine.ReplayIn(ctx, tx, id, engine.Replay{Actor: "ann", ResetAttempts: true}); err != nil {
					return err
				}
				return failure
			})
		}
		if err := replay(errDomain); !errors.Is(err, errDomain) {
			d.t.Fatalf("Write returned %v", err)
		}
		d.wantNote("second")
		d.wantTask(id, task.Errored)
		d.must(replay(nil))
		d.wantNote("replayed")
		if _, err := d.engine.FireTimers(d.ctx, 10); err != nil {
			d.t.Fatal(err)
		}
		if c, err = d.engine.Case(d.ctx, c.ID); err != nil || len(c.Thread) != 1 {
			d.t.Errorf("the case has the thread %+v, %v", c, err)
		}
		d.fail(id)

		steps, err := d.store.FindSteps(d.ctx, id)
		d.must(err)
		act := engine.StepAct{Kind: engine.ResolveManually, Actor: "ann", Reason: "done by hand"}
		d.must(d.store.Write(d.ctx, func(ctx context.Context, tx engine.Tx) error {
			_, err := d.engine.OperateIn(ctx, tx, id, steps[0].ID, act)
			return err
		}))
		d.wantTask(id, task.ResolvedManually)
	})
}

func (d *domain) wantTask(id task.ID, want task.State) {
	d.t.Helper()
	t, err := d.store.FindTask(d.ctx, id)
	d.must(err)
	if t.State != want {
		d.t.Errorf("the task is %s, want %s", t.State, want)
	}
}

func (d *domain) fail(id task.ID) {
	d.t.Helper()
	r, err := d.engine.Register(d.ctx, task.Worker{Name: "w"})
	d.must(err)
	leases, _, err := d.engine.Poll(d.ctx, r.ID, 1, 10*time.Second, true)
	d.must(err)
	if len(leases) != 1 || leases[0].Task.ID != id {
		d.t.Fatalf("polled %d leases", len(leases))
	}
	_, err = d.engine.Settle(d.ctx, []engine.Result{{Step: leases[0].Step.ID, Token: leases[0].Step.Token,
		Status: engine.ResultFailed, Failure: &task.Failure{Message: "no"}}})
	d.must(err)
	d.wantTask(id, task.Errored)
}

// The commit wakes a waiting poll, a roll-back does not.
func TestSubmitInWakesAPoll(t *testing.T) {
	inBubble(t, func(b *bubble) {
		l, err := b.engine.ListenTo(b.ctx, feed.Filter{})
		b.must(err)
		defer l.Close()
		d := &domain{b.world, b.t}
		poll := b.poll(b.ctx, b.register(task.Worker{}), 1, 30*time.Second)
		time.Sleep(time.Second)
		if _, err := d.submit("not", errDomain, job); !errors.Is(err, errDomain) {
			b.t.Fatalf("Write returned %v", err)
		}
		time.Sleep(2 * time.Second)
		_, err = d.submit("there", nil, job)
		b.must(err)
		b.want(<-poll, 1, 3*time.Second)
		b.submit(job)
		if got := d.heard(l, 2); strings.Count(got, "task.submitted") != 2 || strings.Contains(got, "gap") {
			b.t.Errorf("heard %q, want two submissions", got)
		}
	})
}

// Acts in a caller's transaction wake waiting callers and reach listeners with the commit, without polling. A
// roll-back reports nothing.
func TestActsInACallersTransactionArePublished(t *testing.T) {
	inBubble(t, func(b *bubble) {
		d := &domain{b.world, b.t}
		limit := 0
		failed := b.submit(engine.Submission{TaskType: "job", MaxRetries: &limit})
		d.fail(failed)
		c, err := b.engine.CaseOfTask(b.ctx, failed)
		b.must(err)
		open := b.submit(job)
		steps, err := b.store.FindSteps(b.ctx, open)
		b.must(err)
		l, err := b.engine.ListenTo(b.ctx, feed.Filter{})
		b.must(err)
		defer l.Close()
		began, waited := time.Now(), make(chan time.Duration, 1)
		go func() {
			got, err := b.engine.Task(b.ctx, open, 30*time.Second)
			if err != nil || got.State != task.ResolvedManually {
				b.t.Errorf("the caller who waited got %+v, %v", got, err)
			}
			waited <- time.Since(began)
		}()
		acts := func(failure error) error {
			time.Sleep(time.Second)
			return b.store.Write(b.ctx, func(ctx context.Context, tx engine.Tx) error {
				act := engine.StepAct{Kind: engine.ResolveManually, Actor: "ann", Reason: "done by hand"}
				if _, err := b.engine.OperateIn(ctx, tx, open, steps[0].ID, act); err != nil {
					return err
				}
				change := task.CaseChange{Actor: "ann", Status: task.CaseFailed}
				if _, err := b.engine.UpdateCaseIn(ctx, tx, c.ID, change); err != nil {
					return err
				}
				if _, err := b.engine.ReplayIn(ctx, tx, failed, engine.Replay{Actor: "ann"}); err != nil {
					return err
				}
				return failure
			})
		}
		if err := acts(errDomain); !errors.Is(err, errDomain) {
			b.t.Fatalf("Write returned %v", err)
		}
		b.must(acts(nil))
		if after := <-waited; after != 2*time.Second {
			b.t.Errorf("the caller waited for %s, want 2s: until the commit", after)
		}
		got := d.heard(l, 3)
		for _, want := range []string{">resolved_manually", "case.resolved", "error>"} {
			if strings.Count(got, want) != 1 {
				b.t.Errorf("heard %q, want %q once", got, want)
			}
		}
	})
}
