package upkeep_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// The clock is the database's.
func TestTheStoresClockDecides(t *testing.T) {
	within(t, func(t *testing.T) {
		a := boot(t, newDatabase(), settings.Config{})
		if ahead := a.Now().Sub(task.At(time.Now())); ahead != clockAhead {
			t.Errorf("the engine's clock is %v ahead, the store's %v", ahead, clockAhead)
		}
	})
}

// idle waits and returns each node's writes.
func idle(d time.Duration, nodes ...*node) []int {
	for _, n := range nodes {
		n.store.wrote()
	}
	time.Sleep(d)
	synctest.Wait()
	counts := make([]int, len(nodes))
	for i, n := range nodes {
		counts[i] = n.store.wrote()
	}
	return counts
}

// Each loop runs on one node. When that one stops, another has the turn at the next tick; when it dies, within
// seconds.
func TestLoopsMove(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		leave func(*node)
		most  time.Duration
	}{
		"Stopped": {(*node).stop, 1500 * time.Millisecond},
		"Dead":    {func(n *node) { n.store.setAway(true) }, 7 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			within(t, func(t *testing.T) {
				_, a, b := pair(t, settings.Config{})
				// timers, leases and deadlines write every second; workers only reads
				if got := idle(10*time.Second, a, b); got[0] < 30 || got[1] != 0 {
					t.Errorf("in ten seconds the nodes wrote %v times, want 30 and 0", got)
				}
				c.leave(a)
				due := b.submit(engine.Submission{TaskType: "job", RunAt: b.Now().Add(time.Millisecond)})
				time.Sleep(c.most)
				if got := idle(10*time.Second, b); got[0] < 30 {
					t.Errorf("in ten seconds the node that is left wrote %d times, want 30", got[0])
				}
				if l := b.take(b.register(task.Worker{}), 0); l.Task.ID != due {
					t.Errorf("got a step of %s", l.Task.ID)
				}
			})
		})
	}
}

// A stopping node releases the turns whose grant it never received.
func TestTurnUnheardOf(t *testing.T) {
	within(t, func(t *testing.T) {
		d, a, b := pair(t, settings.Config{UpkeepInterval: time.Hour}) // an unreleased turn is kept for hours
		had := d.turnOf("leases")
		if had != a.store {
			t.Fatal("the turn is not that of the node that was there first")
		}
		a.store.setUnheard(true)
		time.Sleep(time.Hour + time.Second)
		synctest.Wait()
		a.stop()
		time.Sleep(time.Hour + time.Second)
		synctest.Wait()
		if d.turnOf("leases") != b.store {
			t.Error("the other node has not got the turn")
		}
	})
}

// A node fires a known due step in time, whichever node has the turn.
func TestTimersNeedNoTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tick, due time.Duration
	}{
		"BetweenTicks":  {time.Hour, 300 * time.Millisecond},
		"BeyondTheTick": {time.Second, 3700 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			within(t, func(t *testing.T) {
				_, a, b := pair(t, settings.Config{UpkeepInterval: c.tick})
				b.submit(job)
				w := b.register(task.Worker{})
				l := b.take(w, 0)
				a.store.setAway(true) // it has the turn but cannot use it
				b.settle(l, engine.Result{Status: engine.ResultSnoozed, Snooze: c.due})
				p := <-b.poll(w, 1, time.Minute)
				if len(p.leases) != 1 {
					t.Fatalf("the step never came")
				}
				between(t, "the step", p.after, c.due, c.due+2*time.Millisecond)
			})
		})
	}
}

func (n *node) hold() (engine.Lease, task.ID) {
	n.t.Helper()
	n.submit(job)
	w := n.register(task.Worker{})
	return n.take(w, 0), w
}

func (n *node) stepOf(l engine.Lease) *task.Step {
	n.t.Helper()
	_, steps, err := n.Steps(n.t.Context(), l.Task.ID)
	if err != nil {
		n.t.Fatal(err)
	}
	return steps[0]
}

// An engine that begins beside others takes an expired lease for lost; after a gap it gives the worker another
// lease.
func TestGraceAtTheStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gap  time.Duration // between the last node's end and the next one's start
		want task.StepState
	}{
		"OthersWereThere": {5 * time.Second, task.StepEnqueued},
		"NobodyWasThere":  {30 * time.Second, task.StepInProgress},
	} {
		t.Run(name, func(t *testing.T) {
			within(t, func(t *testing.T) {
				d := newDatabase()
				a := boot(t, d, settings.Config{})
				l, _ := a.hold()
				time.Sleep(90*time.Second - c.gap)
				a.stop()
				time.Sleep(c.gap)
				b := boot(t, d, settings.Config{})
				time.Sleep(8 * time.Second)
				synctest.Wait()
				if got := b.stepOf(l); got.State != c.want {
					t.Errorf("the step is %s, want %s", got.State, c.want)
				}
			})
		})
	}
	t.Run("NobodyToAsk", func(t *testing.T) {
		within(t, func(t *testing.T) {
			p := &process{database: newDatabase()}
			p.setAway(true)
			if _, err := engine.New(t.Context(), p, engine.Options{}); !errors.Is(err, errAway) {
				t.Errorf("an engine was opened on a store that is away: %v", err)
			}
		})
	})
}

// An engine opened just after an outage has the others' grace, even if they end immediately.
func TestGraceIsTheClusters(t *testing.T) {
	within(t, func(t *testing.T) {
		d, a, b := pair(t, settings.Config{})
		l, _ := a.hold()
		time.Sleep(80 * time.Second)
		outage(true, a, b)
		time.Sleep(time.Minute)
		outage(false, a, b)
		time.Sleep(2 * time.Second)
		a.stop()
		b.stop()
		c := boot(t, d, settings.Config{})
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if got := c.stepOf(l); got.State != task.StepInProgress {
			t.Errorf("half a minute after the outage the lease is gone: the step is %s", got.State)
		}
		time.Sleep(70 * time.Second)
		synctest.Wait()
		if got := c.stepOf(l); got.State != task.StepEnqueued {
			t.Errorf("after the grace the step is %s", got.State)
		}
	})
}

func outage(begins bool, nodes ...*node) {
	for _, n := range nodes {
		n.store.setAway(begins)
	}
}

// During an outage no worker is to blame for a missing heartbeat: a lease that expired meanwhile is extended once.
func TestOutageCostsNoLease(t *testing.T) {
	within(t, func(t *testing.T) {
		_, a, b := pair(t, settings.Config{})
		alive, w := a.hold()
		gone, _ := a.hold()
		time.Sleep(30 * time.Second)
		outage(true, a, b)
		time.Sleep(2 * time.Minute)
		outage(false, a, b)
		time.Sleep(10 * time.Second)
		if _, _, err := b.Heartbeat(t.Context(), engine.Beat{Worker: w}); err != nil {
			t.Fatal(err)
		}
		if got := a.stepOf(gone); got.State != task.StepInProgress || got.Token != gone.Step.Token {
			t.Errorf("ten seconds after the outage the lease is gone: the step is %s", got.State)
		}
		time.Sleep(85 * time.Second)
		if got := a.stepOf(alive); got.State != task.StepInProgress || got.Token != alive.Step.Token {
			t.Errorf("the worker has said that it lives, and its step is %s", got.State)
		}
		if got := a.stepOf(gone); got.State != task.StepEnqueued {
			t.Errorf("the worker has not said that it lives, and its step is %s", got.State)
		}
		if w, err := a.Worker(t.Context(), w); err != nil || w.State != task.WorkerActive {
			t.Errorf("the worker is %+v, %v", w, err)
		}
	})
}

// After a short outage leases expire in time.
func TestShortOutage(t *testing.T) {
	within(t, func(t *testing.T) {
		_, a, b := pair(t, settings.Config{})
		l, _ := a.hold()
		time.Sleep(85 * time.Second)
		outage(true, a, b)
		time.Sleep(3 * time.Second)
		outage(false, a, b)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := a.stepOf(l); got.State != task.StepEnqueued {
			t.Errorf("the step is %s", got.State)
		}
	})
}

// The same for a private store, such as on a full disk.
func TestOutageOfAStoreOfOurOwn(t *testing.T) {
	t.Parallel()
	inBubble(t, time.Second, func(t *testing.T, w *world) {
		time.Sleep(5 * time.Minute) // the grace of the start is over
		w.submit(t, engine.Submission{TaskType: "h"})
		l, _ := w.take(t, 0)
		w.store.away.Store(true)
		time.Sleep(5 * time.Minute)
		w.store.away.Store(false)
		time.Sleep(10 * time.Second)
		w.settle(t, l, engine.Result{Status: engine.ResultCompleted})
	})
}

// Retention pauses between two batches.
func TestRetentionIsPolite(t *testing.T) {
	within(t, func(t *testing.T) {
		d, began := newDatabase(), time.Now()
		cfg := settings.Config{UpkeepInterval: time.Hour,
			Retention: settings.Retention{Finished: 10 * time.Second, BatchItems: 2}}
		a := boot(t, d, cfg)
		w := a.register(task.Worker{})
		var last task.ID
		for range 7 {
			last = a.submit(job)
			a.settle(a.take(w, 0), engine.Result{Status: engine.ResultCompleted})
		}
		a.store.wrote()
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if _, err := a.Task(t.Context(), last, 0); task.CodeOf(err) != task.NotFound {
			t.Errorf("the last task is still there: %v", err)
		}
		a.stop()
		// the first batch's tick also reports measurements
		onTick := func(at time.Time) bool { return at.Sub(began)%engine.ReportInterval == 0 }
		// each kind of rows has its own transaction; those of a batch follow immediately
		at := slices.Compact(slices.DeleteFunc(a.store.writes, onTick))
		if len(at) < 3 {
			t.Fatalf("after the first, 7 tasks were deleted in %d batches of 2", len(at))
		}
		for i := range at[1:] {
			if at[i+1].Sub(at[i]) < time.Millisecond {
				t.Errorf("batch %d follows the one before after %v", i+1, at[i+1].Sub(at[i]))
			}
		}
	})
}
