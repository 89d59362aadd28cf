package upkeep_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

var job = engine.Submission{TaskType: "job"}

// ways of learning of other nodes' changes, with their latest time.
var ways = map[string]struct {
	lossy       bool
	least, most time.Duration
}{
	"News":     {lossy: false},
	"Fallback": {lossy: true, least: time.Millisecond, most: time.Second},
}

// A step submitted on one node reaches a poll on another, even on a new route.
func TestPollLearnsOfSteps(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			within(t, func(t *testing.T) {
				d, a, b := pair(t, settings.Config{})
				d.setLossy(way.lossy)
				w := a.register(task.Worker{})
				for _, what := range []string{"the first of its route", "the second"} {
					poll := a.poll(w, 1, 30*time.Second)
					const wait = 3250 * time.Millisecond // between two looks
					time.Sleep(wait)
					b.submit(job)
					p := <-poll
					if len(p.leases) != 1 {
						t.Fatalf("%s: the poll came back with %d steps", what, len(p.leases))
					}
					between(t, what, p.after-wait, way.least, way.most)
					a.settle(p.leases[0], engine.Result{Status: engine.ResultCompleted})
				}
			})
		})
	}
}

// Only as many polls wake as there are steps.
func TestNewsWakeNoMoreThanNeeded(t *testing.T) {
	within(t, func(t *testing.T) {
		_, a, b := pair(t, settings.Config{})
		b.submit(job)
		w := a.register(task.Worker{})
		a.settle(a.take(w, 2*time.Second), engine.Result{Status: engine.ResultCompleted})
		var polls []<-chan polled
		for range 5 {
			polls = append(polls, a.poll(a.register(task.Worker{}), 2, 30*time.Second))
		}
		subs := []engine.Submission{job, job, job, job}
		a.store.wrote()
		if _, err := b.Submit(t.Context(), subs, false); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := a.store.wrote(); n > 2 {
			t.Errorf("4 steps made the polls of the other node claim in %d transactions, want at most 2", n)
		}
		steps := 0
		for _, poll := range polls {
			select {
			case p := <-poll:
				steps += len(p.leases)
			default:
			}
		}
		if steps != 4 {
			t.Errorf("the polls got %d steps of 4", steps)
		}
	})
}

// A step taken by a local poll, and idle rows, are not announced.
func TestNewsAreFew(t *testing.T) {
	within(t, func(t *testing.T) {
		d, a, b := pair(t, settings.Config{})
		w := b.register(task.Worker{})
		id := b.submit(job)
		said := d.news()
		if len(said) != 2 || !said[0].Registry || len(said[1].Routes) != 1 {
			t.Errorf("a step on a new route was announced as %+v", said)
		}
		l := b.take(w, 0)
		poll := b.poll(w, 1, 30*time.Second)
		b.settle(l, engine.Result{Status: engine.ResultCompleted})
		b.submit(job)
		if p := <-poll; len(p.leases) != 1 || l.Task.ID != id {
			t.Fatalf("the poll came back with %+v", p)
		}
		if _, _, err := b.Heartbeat(t.Context(), engine.Beat{Worker: w}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if said := d.news(); len(said) != 0 {
			t.Errorf("announced %+v", said)
		}
		for range 2 {
			if _, _, err := a.Heartbeat(t.Context(), engine.Beat{Worker: w, Draining: true}); err != nil {
				t.Fatal(err)
			}
		}
		if said := d.news(); len(said) != 1 || len(said[0].Workers) != 1 {
			t.Errorf("a worker that drains was announced as %+v", said)
		}
	})
}

func TestCallerLearnsOfSettlement(t *testing.T) {
	within(t, func(t *testing.T) {
		_, a, b := pair(t, settings.Config{})
		id := a.submit(job)
		l := b.take(b.register(task.Worker{}), 2*time.Second)
		done := make(chan *task.Task, 1)
		began := time.Now()
		go func() {
			got, err := a.Task(t.Context(), id, 30*time.Second)
			if err != nil {
				t.Error(err)
			}
			done <- got
		}()
		time.Sleep(4 * time.Second)
		b.settle(l, engine.Result{Status: engine.ResultCompleted})
		if got := <-done; got.State != task.Complete {
			t.Errorf("the task is %s", got.State)
		}
		between(t, "hearing of it", time.Since(began)-4*time.Second, 0, time.Second)
	})
}

func TestRouteOfAnotherNode(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			within(t, func(t *testing.T) {
				d, a, b := pair(t, settings.Config{})
				d.setLossy(way.lossy)
				b.submit(job)
				time.Sleep(way.most)
				synctest.Wait()
				a.take(a.register(task.Worker{}), 0)
			})
		})
	}
}

func TestDrainThroughAnotherNode(t *testing.T) {
	t.Parallel()
	for name, final := range map[string]bool{"Draining": false, "Final": true} {
		t.Run(name, func(t *testing.T) {
			within(t, func(t *testing.T) {
				_, a, b := pair(t, settings.Config{})
				a.submit(job)
				w := a.register(task.Worker{})
				a.take(w, 0)
				poll := a.poll(w, 1, 30*time.Second)
				time.Sleep(time.Second)
				if _, err := b.Drain(t.Context(), w, final, engine.WorkerAct{}); err != nil {
					t.Fatal(err)
				}
				p := <-poll
				if !p.drain || len(p.leases) > 0 {
					t.Errorf("the poll came back with %+v", p)
				}
				between(t, "hearing of it", p.after-time.Second, 0, 0)
			})
		})
	}
	t.Run("NewsLost", func(t *testing.T) {
		within(t, func(t *testing.T) {
			d, a, b := pair(t, settings.Config{})
			d.setLossy(true)
			w := a.register(task.Worker{})
			<-a.poll(w, 1, 0) // caches the worker
			if _, err := b.Drain(t.Context(), w, false, engine.WorkerAct{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(6 * time.Second)
			a.submit(job)
			if p := <-a.poll(w, 1, 0); !p.drain || len(p.leases) > 0 {
				t.Errorf("seconds later a poll came back with %+v", p)
			}
		})
	})
}

// A woken poll of a draining worker passes the step on immediately.
func TestDrainedPollWakesAnother(t *testing.T) {
	within(t, func(t *testing.T) {
		d, a, b := pair(t, settings.Config{})
		b.submit(job) // so that there is a route
		w := a.register(task.Worker{})
		a.settle(a.take(w, 2*time.Second), engine.Result{Status: engine.ResultCompleted})
		d.setLossy(true)
		var drained []<-chan polled
		for range 20 { // which one wakes is random
			w := a.register(task.Worker{})
			drained = append(drained, a.poll(w, 1, 30*time.Second))
			if _, err := b.Drain(t.Context(), w, false, engine.WorkerAct{}); err != nil {
				t.Fatal(err)
			}
		}
		const wait = 6 * time.Second // until the cached workers expire
		poll := a.poll(w, 1, 30*time.Second)
		time.Sleep(wait + 250*time.Millisecond)
		b.submit(job)
		p := <-poll
		if len(p.leases) != 1 {
			t.Fatalf("the poll came back with %d steps", len(p.leases))
		}
		between(t, "the way of the step", p.after-wait, time.Millisecond, time.Second)
		for _, poll := range drained {
			if p := <-poll; len(p.leases) > 0 {
				t.Error("a worker that drains got a step")
			}
		}
	})
}

// A long transaction does not keep a node from following others, though it delays its own news.
func TestFollowsBesideALongTransaction(t *testing.T) {
	within(t, func(t *testing.T) {
		_, a, b := pair(t, settings.Config{})
		a.submit(job)
		w := a.register(task.Worker{})
		a.settle(a.take(w, 0), engine.Result{Status: engine.ResultCompleted})
		other := engine.Submission{TaskType: "other"}
		a.submit(other) // so that its route exists
		over := make(chan struct{})
		a.store.setSlow(over)
		submitted := make(chan error, 1)
		go func() {
			_, err := a.Submit(t.Context(), []engine.Submission{other}, false)
			submitted <- err
		}()
		synctest.Wait()
		l, err := b.ListenTo(t.Context(), feed.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		const wait = 3250 * time.Millisecond
		time.Sleep(wait)
		poll := a.poll(a.register(task.Worker{Handlers: []string{"job"}}), 1, 30*time.Second)
		b.submit(job)
		p := <-poll
		if len(p.leases) != 1 {
			t.Fatalf("the poll came back with %d steps", len(p.leases))
		}
		between(t, "the way of the step", p.after, 0, 500*time.Millisecond)
		close(over)
		if err := <-submitted; err != nil {
			t.Error(err)
		}
	})
}

// A heartbeat at one node does not undo a recent drain at another.
func TestHeartbeatKeepsTheDrain(t *testing.T) {
	within(t, func(t *testing.T) {
		d, a, b := pair(t, settings.Config{})
		d.setLossy(true)
		w := a.register(task.Worker{})
		<-a.poll(w, 1, 0)
		if _, err := b.Drain(t.Context(), w, false, engine.WorkerAct{}); err != nil {
			t.Fatal(err)
		}
		if _, drain, err := a.Heartbeat(t.Context(), engine.Beat{Worker: w}); err != nil || !drain {
			t.Errorf("the heartbeat was answered %v, %v", drain, err)
		}
		if got, err := b.Worker(t.Context(), w); err != nil || got.State != task.WorkerDraining {
			t.Errorf("the worker is %+v, %v", got, err)
		}
	})
}

// A dead worker's polls end on every node.
func TestBurialEndsPollsElsewhere(t *testing.T) {
	within(t, func(t *testing.T) {
		_, a, b := pair(t, settings.Config{Leases: settings.Leases{HeartbeatInterval: 2 * time.Second}})
		w := b.register(task.Worker{}) // a has the turn to bury it
		p := <-b.poll(w, 1, 60*time.Second)
		if len(p.leases) > 0 || p.drain || p.err != nil { // it lives, so its next poll revives it
			t.Errorf("the poll came back with %+v", p)
		}
		between(t, "the burial", p.after, 6*time.Second, 10*time.Second)
		if got, err := a.Worker(t.Context(), w); err != nil || got.State != task.WorkerDead {
			t.Errorf("the worker is %+v, %v", got, err)
		}
	})
}

// While the connection for news is lost, polling finds changes; it reconnects by itself.
func TestNewsComeBack(t *testing.T) {
	within(t, func(t *testing.T) {
		d, a, b := pair(t, settings.Config{})
		b.submit(job)
		w := a.register(task.Worker{})
		a.take(w, 2*time.Second)
		d.hangUp()
		poll := a.poll(w, 1, 30*time.Second)
		b.submit(job)
		p := <-poll
		between(t, "the step without news", p.after, time.Millisecond, time.Second)
		time.Sleep(time.Second)
		synctest.Wait()
		poll = a.poll(w, 1, 30*time.Second)
		b.submit(job)
		between(t, "the step with news again", (<-poll).after, 0, 0)
		a.stop()
		if log := a.log.String(); strings.Count(log, "lost the connection for events of other nodes") != 1 ||
			!strings.Contains(log, errAway.Error()) {
			t.Errorf("the loss was logged as\n%s", log)
		}
	})
}

// The pauses between attempts to listen are bounded.
func TestListenBacksOff(t *testing.T) {
	within(t, func(t *testing.T) {
		d := newDatabase()
		a := boot(t, d, settings.Config{})
		a.store.setAway(true)
		d.hangUp()
		time.Sleep(time.Minute)
		a.store.setAway(false)
		a.stop()
		tries := a.store.listens[1:]
		if len(tries) < 60/5 || len(tries) > 60/2+8 {
			t.Errorf("it tried %d times in a minute", len(tries))
		}
		for i := range tries[1:] {
			between(t, "a pause", tries[i+1].Sub(tries[i]), 50*time.Millisecond, 5*time.Second)
		}
	})
}

// An outage ends waits with its error and is logged once; the fallback returns with the store.
func TestFollowOutlivesAnOutage(t *testing.T) {
	within(t, func(t *testing.T) {
		d, a, b := pair(t, settings.Config{UpkeepInterval: time.Hour})
		d.setLossy(true)
		id := a.submit(job)
		w := a.register(task.Worker{})
		a.take(w, 0)
		poll, caller := a.tryPoll(w, 1, 30*time.Second), make(chan error, 1)
		began := time.Now()
		go func() {
			_, err := a.Task(t.Context(), id, 30*time.Second)
			caller <- err
		}()
		synctest.Wait()
		a.store.setAway(true)
		p := <-poll
		if task.CodeOf(p.err) != task.Unavailable || len(p.leases) > 0 {
			t.Errorf("the poll that waited ended with %d steps, %v", len(p.leases), p.err)
		}
		between(t, "ending the poll", p.after, 0, time.Second)
		if err := <-caller; task.CodeOf(err) != task.Unavailable {
			t.Errorf("the caller who waited was told %v", err)
		}
		between(t, "telling the caller", time.Since(began), 0, time.Second)
		b.submit(job)
		time.Sleep(10 * time.Second)
		a.store.setAway(false)
		if p = <-a.poll(w, 1, 30*time.Second); len(p.leases) != 1 {
			t.Fatalf("after the outage a poll came back with %d steps", len(p.leases))
		}
		poll = a.poll(w, 1, 30*time.Second)
		b.submit(job)
		if p = <-poll; len(p.leases) != 1 {
			t.Fatalf("after the outage a poll that waited came back with %d steps", len(p.leases))
		}
		between(t, "looking again", p.after, time.Millisecond, time.Second)
		a.stop()
		if n := strings.Count(a.log.String(), "cannot poll for changes of other nodes"); n != 1 {
			t.Errorf("the outage was logged %d times:\n%s", n, a.log)
		}
	})
}
