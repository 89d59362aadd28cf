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

// idle lets a while pass and returns how often each node wrote.
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

// Each loop runs on one node. When that one stops, another has the turn with the
// next tick; when it dies, within seconds.
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
				// timers, leases, deadlines every second, workers reads only
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

// A node that stops gives up the turns of which it never heard that it has them.
func TestTurnUnheardOf(t *testing.T) {
	within(t, func(t *testing.T) {
		d, a, b := pair(t, settings.Config{UpkeepInterval: time.Hour}) // a turn that is not given up is kept for hours
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

// A node that knows when a step is due fires it then, whoever's turn it is.
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
				a.store.setAway(true) // it has the turn, and does nothing with it
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

// hold takes a step and returns it with the worker that has it.
func (n *node) hold() (engine.Lease, task.ID) {
	n.t.Helper()
	n.submit(job)
	w := n.register(task.Worker{})
	return n.take(w, 0), w
}

// stepOf returns a step as it is stored.
func (n *node) stepOf(l engine.Lease) *task.Step {
	n.t.Helper()
	_, steps, err := n.Steps(n.t.Context(), l.Task.ID)
	if err != nil {
		n.t.Fatal(err)
	}
	return steps[0]
}

// An engine that begins where others have been all the time takes a lease that
// ran out for lost; where nobody was, it gives the worker a lease's length more.
func TestGraceAtTheStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gap  time.Duration // between the last node's end and the next one's begin
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

// An engine that is opened just after an outage has the grace that those who were there have begun, also when
// they are gone a moment later.
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

// outage puts the store out of the reach of nodes, or ends that.
func outage(begins bool, nodes ...*node) {
	for _, n := range nodes {
		n.store.setAway(begins)
	}
}

// While the store is out of reach nobody can be blamed for a missing heartbeat:
// a lease that ran out meanwhile is held for one more. After that it is lost.
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

// A short one is none: leases run out at their time.
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

// The same where a process has its store to itself: a disk that was full.
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

// Retention lets other work pass between two of its batches.
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
		// with the tick of the first batch comes that of what was measured
		onTick := func(at time.Time) bool { return at.Sub(began)%engine.ReportInterval == 0 }
		// each kind of rows has a transaction of its own; those of a batch follow at once
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
