package scenario_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

// asked counts the questions of its transactions and delays each, so that callers gather.
type asked struct {
	engine.Database
	mu           sync.Mutex
	ready, steps int
}

type askedTx struct {
	engine.Tx
	of *asked
}

func (s *asked) Write(ctx context.Context, fn func(ctx context.Context, tx engine.Tx) error) error {
	return s.Database.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		time.Sleep(time.Millisecond)
		return fn(ctx, askedTx{tx, s})
	})
}

func (t askedTx) Ready(ctx context.Context, routes []int64, limit int) ([]engine.Work, error) {
	t.of.mu.Lock()
	t.of.ready++
	t.of.mu.Unlock()
	return t.Tx.Ready(ctx, routes, limit)
}

func (t askedTx) Steps(ctx context.Context, of []engine.Family) ([][]*task.Step, error) {
	t.of.mu.Lock()
	t.of.steps++
	t.of.mu.Unlock()
	return t.Tx.Steps(ctx, of)
}

func (s *asked) questions() (ready, steps int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ready, steps = s.ready, s.steps
	s.ready, s.steps = 0, 0
	return ready, steps
}

func inAskedBubble(t *testing.T, fn func(b *bubble, s *asked)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &asked{Database: memstore.New(nil)}
		w, err := newWorld(t, s, func() engine.Database { return s }, settings.Config{})
		if err != nil {
			t.Fatal(err)
		}
		fn(&bubble{world: w, t: t}, s)
	})
}

func (b *bubble) submitMany(sub engine.Submission, n int) {
	b.t.Helper()
	for n > 0 {
		subs := make([]engine.Submission, min(n, 1000))
		for i := range subs {
			subs[i] = sub
		}
		_, err := b.engine.Submit(b.ctx, subs, false)
		b.must(err)
		n -= len(subs)
	}
}

// pollAll polls for many workers at the same time: the first is served alone, the others together.
func (b *bubble) pollAll(workers []task.ID, n int) [][]engine.Lease {
	b.t.Helper()
	out := make([][]engine.Lease, len(workers))
	var wg sync.WaitGroup
	for i, w := range workers {
		wg.Go(func() {
			if i > 0 {
				time.Sleep(10 * time.Microsecond)
			}
			var err error
			if out[i], _, err = b.engine.Poll(b.ctx, w, n, 0, true); err != nil {
				b.t.Error(err)
			}
		})
	}
	wg.Wait()
	return out
}

func (b *bubble) registerMany(w task.Worker, n int) []task.ID {
	ids := make([]task.ID, n)
	for i := range ids {
		ids[i] = b.register(w)
	}
	return ids
}

func (b *bubble) wantDealt(got [][]engine.Lease, want ...int) {
	b.t.Helper()
	seen := map[task.ID]bool{}
	for i, leases := range got {
		if len(leases) != want[i] {
			b.t.Errorf("poller %d got %d steps, want %d", i, len(leases), want[i])
		}
		for _, l := range leases {
			if seen[l.Step.ID] {
				b.t.Errorf("the step %s was dealt twice", l.Step.ID)
			}
			seen[l.Step.ID] = true
		}
	}
}

func TestAlikePollersShareALook(t *testing.T) {
	inAskedBubble(t, func(b *bubble, s *asked) {
		other := job
		other.TaskType = "other"
		b.submitMany(job, 12)
		b.submitMany(other, 1)
		workers := append(b.registerMany(task.Worker{Handlers: []string{"job"}}, 8),
			b.registerMany(task.Worker{Handlers: []string{"other"}}, 2)...)
		s.questions()
		got := b.pollAll(workers, 2)
		total, others := 0, 0
		for i, leases := range got {
			if len(leases) > 2 {
				t.Errorf("a poller got %d steps, its capacity is 2", len(leases))
			}
			for _, l := range leases {
				if l.Template.Name != []string{"job", "other"}[i/8] {
					t.Errorf("poller %d got a step of %s", i, l.Template.Name)
				}
			}
			if total += len(leases); i >= 8 {
				others += len(leases)
			}
		}
		if total != 13 || others != 1 {
			t.Errorf("%d steps were dealt, %d of them of the other kind; want 13 and 1", total, others)
		}
		if ready, _ := s.questions(); ready != 3 {
			t.Errorf("10 polls of two kinds looked %d times, want 3", ready)
		}
	})
}

// A poll receives more steps than one look fetches.
func TestPollsBeyondOneLook(t *testing.T) {
	inAskedBubble(t, func(b *bubble, s *asked) {
		b.submitMany(job, 3900)
		workers := b.registerMany(task.Worker{}, 4)
		s.questions()
		got := b.pollAll(workers, 1000)
		least := 1000
		for _, leases := range got {
			least = min(least, len(leases))
		}
		seen := map[task.ID]bool{}
		for _, leases := range got {
			for _, l := range leases {
				seen[l.Step.ID] = true
			}
		}
		if least != 900 || len(seen) != 3900 {
			t.Errorf("%d different steps were dealt, at least %d to each; want 3900 and 900", len(seen), least)
		}
		if ready, _ := s.questions(); ready != 3 {
			t.Errorf("looked %d times, want 3", ready)
		}
	})
}

// One question reads the dependants of a whole report, another the results of parents for a whole poll.
func TestFamiliesAreOneQuestion(t *testing.T) {
	inAskedBubble(t, func(b *bubble, s *asked) {
		_, _, err := b.engine.RegisterTemplate(b.ctx, modelTemplate("chain"), engine.Registration{})
		b.must(err)
		b.submitMany(engine.Submission{Name: "chain"}, 20)
		w := b.register(task.Worker{})
		first, _, err := b.engine.Poll(b.ctx, w, 20, 0, true)
		b.must(err)
		b.wantDealt([][]engine.Lease{first}, 20)
		s.questions()
		report := make([]engine.Result, len(first))
		for i, l := range first {
			report[i] = engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted,
				Result: []byte(`"A"`)}
		}
		_, err = b.engine.Settle(b.ctx, report)
		b.must(err)
		if _, steps := s.questions(); steps != 1 {
			t.Errorf("a report on 20 tasks asked %d times for dependants", steps)
		}
		second, _, err := b.engine.Poll(b.ctx, w, 20, 0, true)
		b.must(err)
		b.wantDealt([][]engine.Lease{second}, 20)
		for _, l := range second {
			if string(l.ParentResults["a"]) != `"A"` {
				t.Errorf("got the parents' results %q", l.ParentResults)
			}
		}
		if _, steps := s.questions(); steps != 1 {
			t.Errorf("a poll of 20 steps asked %d times for their parents", steps)
		}
	})
}

// The same when the dependants go straight to polls that wait.
func TestHandedOffFamiliesAreOneQuestion(t *testing.T) {
	inAskedBubble(t, func(b *bubble, s *asked) {
		_, _, err := b.engine.RegisterTemplate(b.ctx, modelTemplate("chain"), engine.Registration{})
		b.must(err)
		b.submitMany(engine.Submission{Name: "chain"}, 20)
		first, _, err := b.engine.Poll(b.ctx, b.register(task.Worker{}), 20, 0, true)
		b.must(err)
		var polls [4]<-chan polled
		for i := range polls {
			polls[i] = b.poll(b.ctx, b.register(task.Worker{}), 5, 30*time.Second)
		}
		report := make([]engine.Result, len(first))
		for i, l := range first {
			report[i] = engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted,
				Result: []byte(`"A"`)}
		}
		time.Sleep(time.Second)
		s.questions()
		_, err = b.engine.Settle(b.ctx, report)
		b.must(err)
		got := make([][]engine.Lease, len(polls))
		for i, p := range polls {
			got[i] = (<-p).leases
		}
		b.wantDealt(got, 5, 5, 5, 5)
		if ready, steps := s.questions(); ready != 0 || steps != 2 {
			t.Errorf("asked %d times for steps of families and %d times for ready ones, want 2 and 0", steps, ready)
		}
	})
}

func TestCancelIsFewQuestions(t *testing.T) {
	inAskedBubble(t, func(b *bubble, s *asked) {
		ids := make([]task.ID, 10)
		for i := range ids {
			ids[i] = b.submit(job)
		}
		nobody := b.store.IDs().Take(b.now, 1)
		s.questions()
		got, err := b.engine.Cancel(b.ctx, append(ids, nobody, ids[0]), engine.Cancellation{Actor: "me"})
		b.must(err)
		for i, r := range got[:10] {
			if r.Err != nil || r.State != task.Cancelled {
				t.Errorf("task %d is %s, %v", i, r.State, r.Err)
			}
		}
		if task.CodeOf(got[10].Err) != task.NotFound || got[11].Err != nil || got[11].State != task.Cancelled {
			t.Errorf("an unknown task was answered %v, one that was cancelled before %v", got[10].Err, got[11].Err)
		}
		if _, steps := s.questions(); steps != 1 {
			t.Errorf("asked %d times for steps", steps)
		}
	})
}
