package scenario_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

// slow can hold transactions up before they begin.
type slow struct {
	engine.Database
	next chan struct{} // holds up the next transaction until it is closed
}

func (s *slow) Write(ctx context.Context, fn func(ctx context.Context, tx engine.Tx) error) error {
	if gate := s.next; gate != nil {
		s.next = nil
		<-gate
	}
	return s.Database.Write(ctx, fn)
}

type slowBubble struct {
	*bubble
	store *slow
}

func inSlowBubble(t *testing.T, fn func(b *slowBubble)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{Database: memstore.New(nil)}
		w, err := newWorld(t, s, func() engine.Database { return s }, settings.Config{})
		if err != nil {
			t.Fatal(err)
		}
		b := &slowBubble{&bubble{world: w, t: t}, s}
		b.submit(job)
		b.want(<-b.poll(b.ctx, b.register(task.Worker{}), 2, 0), 1, 0)
		fn(b)
	})
}

// claiming begins a poll whose claim is held up until release is called.
func (b *slowBubble) claiming(ctx context.Context, worker task.ID, n int) (poll <-chan polled, release func()) {
	gate := make(chan struct{})
	b.store.next = gate
	return b.poll(ctx, worker, n, 30*time.Second), func() { close(gate); synctest.Wait() }
}

func (b *slowBubble) state(id task.ID) task.StepState {
	b.t.Helper()
	_, rows, err := b.steps(id)
	b.must(err)
	return rows[0].State
}

func (b *slowBubble) wantStates(ids []task.ID, want ...task.StepState) {
	b.t.Helper()
	for i, id := range ids {
		if got := b.state(id); got != want[i] {
			b.t.Errorf("step %d is %s, want %s", i, got, want[i])
		}
	}
}

func (b *slowBubble) submitMany(n int) []task.ID {
	b.t.Helper()
	subs := make([]engine.Submission, n)
	for i := range subs {
		subs[i] = job
	}
	receipts, err := b.engine.Submit(b.ctx, subs, false)
	b.must(err)
	ids := make([]task.ID, n)
	for i, r := range receipts {
		ids[i] = r.ID
	}
	return ids
}

// A step submitted during a claim is handed over before the claim's transaction begins, even if another step is
// ready: the claim is about to take that one.
func TestHandOffBesideAClaim(t *testing.T) {
	for name, ready := range map[string]int{"VacantRoute": 0, "RouteAboutToBeEmptied": 1} {
		t.Run(name, func(t *testing.T) {
			inSlowBubble(t, func(b *slowBubble) {
				var before []task.ID
				for range ready {
					before = append(before, b.submit(job))
				}
				poll, release := b.claiming(b.ctx, b.register(task.Worker{}), 4)
				during := b.submit(job)
				if s := b.state(during); s != task.StepInProgress {
					t.Errorf("submitted during a claim the step is %s, want it handed over", s)
				}
				for _, id := range before {
					if s := b.state(id); s != task.StepEnqueued {
						t.Errorf("the step that was ready before is %s already", s)
					}
				}
				release()
				b.want(<-poll, ready+1, 0)
				for _, id := range before {
					if s := b.state(id); s != task.StepInProgress {
						t.Errorf("the step that was ready before is %s, want it claimed", s)
					}
				}
			})
		})
	}
}

// A poll gets no more than it asked for. After a claim that left steps behind, nothing is handed over past them.
func TestCapacityBesideAClaim(t *testing.T) {
	inSlowBubble(t, func(b *slowBubble) {
		const inQueue, inHand = task.StepEnqueued, task.StepInProgress
		w := b.register(task.Worker{})
		before := b.submitMany(5)
		poll, release := b.claiming(b.ctx, w, 5)
		during := b.submitMany(3)
		b.wantStates(during, inHand, inHand, inQueue) // no room left beside the claim
		release()
		b.want(<-poll, 5, 0)
		b.wantStates(before, inHand, inHand, inHand, inQueue, inQueue)

		poll, release = b.claiming(b.ctx, w, 2)
		b.wantStates([]task.ID{b.submit(job)}, inQueue)
		release()
		b.want(<-poll, 2, 0)
		b.wantStates(before, inHand, inHand, inHand, inHand, inHand)
		b.wantStates(during, inHand, inHand, inQueue)

		b.want(<-b.poll(b.ctx, w, 5, 30*time.Second), 2, 0)
		poll, release = b.claiming(b.ctx, w, 2)
		b.wantStates([]task.ID{b.submit(job)}, inHand)
		release()
		b.want(<-poll, 1, 0)
	})
}

// A poll whose caller leaves during a claim returns what it claimed and received, and stops claiming.
func TestPollGivenUpBesideAClaim(t *testing.T) {
	inSlowBubble(t, func(b *slowBubble) {
		ids := b.submitMany(1)
		ctx, cancel := context.WithCancel(b.ctx)
		poll, release := b.claiming(ctx, b.register(task.Worker{}), 4)
		ids = append(ids, b.submit(job))
		b.wantStates(ids, task.StepEnqueued, task.StepInProgress)
		cancel()
		release()
		b.want(<-poll, 0, 0)
		b.wantStates(ids, task.StepEnqueued, task.StepEnqueued)
		p := <-b.poll(b.ctx, b.register(task.Worker{}), 5, 0)
		b.want(p, 2, 0)
		for _, l := range p.leases {
			if l.Step.Token != 2 || l.Step.Attempts != 1 {
				t.Errorf("token %d and %d attempts; want the second hand-out, and only this one charged", l.Step.Token,
					l.Step.Attempts)
			}
		}
	})
}

func TestRollbackBesideAClaim(t *testing.T) {
	inSlowBubble(t, func(b *slowBubble) {
		ids := b.submitMany(1)
		poll, release := b.claiming(b.ctx, b.register(task.Worker{}), 4)
		broken := &breakable{Database: b.store.Database}
		broken.broken.Store(true)
		b.store.Database, broken.Database = broken, b.store.Database
		if _, err := b.engine.Submit(b.ctx, []engine.Submission{job}, false); task.CodeOf(err) != task.Unavailable {
			t.Errorf("got the error %v", err)
		}
		broken.broken.Store(false)
		release()
		b.want(<-poll, 1, 0)
		b.wantStates(ids, task.StepInProgress)
	})
}
