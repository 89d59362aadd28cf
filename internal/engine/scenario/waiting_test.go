package scenario_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

// Waits in a bubble whose time passes only while everybody waits, so that durations are exact.

// bubble is a world in which calls may block.
type bubble struct {
	*world
	t      *testing.T
	broken *atomic.Bool // whether transactions fail
}

// breakable rolls transactions back while it is broken.
type breakable struct {
	engine.Database
	broken atomic.Bool
}

func (s *breakable) Write(ctx context.Context, fn func(ctx context.Context, tx engine.Tx) error) error {
	return s.Database.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		if err := fn(ctx, tx); err != nil || !s.broken.Load() {
			return err
		}
		return task.Errorf(task.Unavailable, "the store is away")
	})
}

func inBubble(t *testing.T, fn func(b *bubble)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &breakable{Database: memstore.New(nil)}
		w, err := newWorld(t, s, func() engine.Database { return s }, settings.Config{})
		if err != nil {
			t.Fatal(err)
		}
		fn(&bubble{w, t, &s.broken})
	})
}

func (b *bubble) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bubble) register(w task.Worker) task.ID {
	b.t.Helper()
	r, err := b.engine.Register(b.ctx, w)
	b.must(err)
	return r.ID
}

func (b *bubble) submit(sub engine.Submission) task.ID {
	b.t.Helper()
	r, err := b.engine.Submit(b.ctx, []engine.Submission{sub}, false)
	b.must(err)
	return r[0].ID
}

// polled is the result of a poll and its duration.
type polled struct {
	leases []engine.Lease
	drain  bool
	err    error
	after  time.Duration
}

func (b *bubble) poll(ctx context.Context, worker task.ID, n int, wait time.Duration) <-chan polled {
	out := make(chan polled, 1)
	go func() {
		began := time.Now()
		var p polled
		p.leases, p.drain, p.err = b.engine.Poll(ctx, worker, n, wait, true)
		p.after = time.Since(began)
		out <- p
	}()
	synctest.Wait() // until it waits
	return out
}

func (b *bubble) want(p polled, steps int, after time.Duration) {
	b.t.Helper()
	b.must(p.err)
	if len(p.leases) != steps || p.after != after {
		b.t.Errorf("the poll came back after %s with %d steps, want %s and %d", p.after, len(p.leases), after, steps)
	}
}

var job = engine.Submission{TaskType: "job", Context: []byte(`{"n":1}`)}

func TestPollWakesOnSubmit(t *testing.T) {
	inBubble(t, func(b *bubble) {
		// the first time the route is new too
		for _, wait := range []time.Duration{time.Second, 7 * time.Second} {
			poll := b.poll(b.ctx, b.register(task.Worker{}), 1, 30*time.Second)
			time.Sleep(wait)
			b.submit(job)
			p := <-poll
			b.want(p, 1, wait)
			if l := p.leases[0]; l.Step.State != task.StepInProgress || string(l.Task.Context) != string(job.Context) ||
				l.Step.Token != 1 {
				t.Errorf("got the lease %+v", l)
			}
			r, err := b.engine.Settle(b.ctx,
				[]engine.Result{{Step: p.leases[0].Step.ID, Token: 1, Status: engine.ResultCompleted}})
			if err != nil || r[0].Err != nil {
				t.Errorf("settle: %v, %v", err, r[0].Err)
			}
		}
	})
}

func TestPollEndsInTime(t *testing.T) {
	inBubble(t, func(b *bubble) {
		w := b.register(task.Worker{})
		b.want(<-b.poll(b.ctx, w, 1, 0), 0, 0)
		b.want(<-b.poll(b.ctx, w, 1, 30*time.Second), 0, 30*time.Second)
		b.want(<-b.poll(b.ctx, w, 1, time.Hour), 0, time.Minute) // the longest poll that is allowed
	})
}

// A cancelled poll takes nothing.
func TestPollGivenUp(t *testing.T) {
	inBubble(t, func(b *bubble) {
		ctx, cancel := context.WithCancel(b.ctx)
		w := b.register(task.Worker{})
		poll := b.poll(ctx, w, 1, 30*time.Second)
		time.Sleep(time.Second)
		cancel()
		if p := <-poll; len(p.leases) != 0 || p.after != time.Second {
			t.Errorf("the poll came back after %s with %d steps", p.after, len(p.leases))
		}
		b.submit(job)
		b.want(<-b.poll(b.ctx, w, 5, 0), 1, 0)
	})
}

// A failed commit of a submission takes nothing from a waiting poll.
func TestPollOutlivesAFailedSubmission(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.submit(job) // creates the route and the template
		b.want(<-b.poll(b.ctx, b.register(task.Worker{}), 1, 0), 1, 0)
		poll := b.poll(b.ctx, b.register(task.Worker{}), 1, 30*time.Second)
		time.Sleep(time.Second)
		b.broken.Store(true)
		if _, err := b.engine.Submit(b.ctx, []engine.Submission{job}, false); task.CodeOf(err) != task.Unavailable {
			t.Errorf("got the error %v", err)
		}
		b.broken.Store(false)
		synctest.Wait()
		if len(poll) > 0 {
			p := <-poll
			t.Fatalf("the poll came back after %s with %d steps, error %v", p.after, len(p.leases), p.err)
		}
		time.Sleep(time.Second)
		b.submit(job)
		b.want(<-poll, 1, 2*time.Second)
	})
}

func TestOneStepOnePoll(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.submit(job)
		b.want(<-b.poll(b.ctx, b.register(task.Worker{}), 1, 0), 1, 0)
		first := b.poll(b.ctx, b.register(task.Worker{}), 1, 30*time.Second)
		second := b.poll(b.ctx, b.register(task.Worker{}), 1, 30*time.Second)
		time.Sleep(time.Second)
		b.submit(job)
		synctest.Wait()
		winner, loser := first, second
		if len(second) > 0 {
			winner, loser = second, first
		}
		b.want(<-winner, 1, time.Second)
		b.want(<-loser, 0, 30*time.Second)
	})
}

// Each waiting poll gets as many steps as it asked for, the last one the rest.
func TestPollsShareABatch(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.submit(job) // creates the route and the template
		b.want(<-b.poll(b.ctx, b.register(task.Worker{}), 1, 0), 1, 0)
		polls := b.three()
		b.submitFive()
		var got []int
		for _, poll := range polls {
			p := <-poll
			b.must(p.err)
			got = append(got, len(p.leases))
		}
		slices.Sort(got)
		if !slices.Equal(got, []int{1, 2, 2}) {
			t.Errorf("the polls got %d steps", got)
		}
	})
}

// The first batch on a new route wakes polls, which claim meanwhile. Such a claim may take half of a poll's steps
// while the other half waits in vain, so the poll returns fewer than exist. But no poll returns empty or late, and
// the next one gets the rest.
func TestPollsShareTheFirstBatch(t *testing.T) {
	inBubble(t, func(b *bubble) {
		polls := b.three()
		b.submitFive()
		total := 0
		for _, poll := range polls {
			p := <-poll
			total += len(p.leases)
			if p.err != nil || len(p.leases) == 0 || len(p.leases) > 2 || p.after != 0 {
				t.Errorf("a poll came back after %s with %d steps, error %v", p.after, len(p.leases), p.err)
			}
		}
		b.want(<-b.poll(b.ctx, b.register(task.Worker{}), 5, 0), 5-total, 0)
	})
}

// three lets three workers poll for two steps each.
func (b *bubble) three() []<-chan polled {
	var polls []<-chan polled
	for range 3 {
		polls = append(polls, b.poll(b.ctx, b.register(task.Worker{}), 2, 30*time.Second))
	}
	return polls
}

func (b *bubble) submitFive() {
	b.t.Helper()
	r, err := b.engine.Submit(b.ctx, []engine.Submission{job, job, job, job, job}, false)
	b.must(err)
	if len(r) != 5 {
		b.t.Fatalf("%d receipts of 5", len(r))
	}
}

func TestPollIsLeftAloneByForeignWork(t *testing.T) {
	inBubble(t, func(b *bubble) {
		poll := b.poll(b.ctx, b.register(task.Worker{Handlers: []string{"other"}}), 1, 30*time.Second)
		plain := b.poll(b.ctx, b.register(task.Worker{}), 1, 30*time.Second)
		time.Sleep(time.Second)
		gpu := job
		gpu.Capabilities = []string{"gpu"}
		b.submit(gpu)
		b.want(<-poll, 0, 30*time.Second)
		b.want(<-plain, 0, 30*time.Second)
	})
}

func TestPollWakesOnDependants(t *testing.T) {
	inBubble(t, func(b *bubble) {
		_, _, err := b.engine.RegisterTemplate(b.ctx, modelTemplate("chain"), engine.Registration{})
		b.must(err)
		b.submit(engine.Submission{Name: "chain", Context: []byte("7")})
		a := <-b.poll(b.ctx, b.register(task.Worker{}), 1, 0)
		b.want(a, 1, 0)
		poll := b.poll(b.ctx, b.register(task.Worker{}), 1, 30*time.Second)
		time.Sleep(time.Second)
		_, err = b.engine.Settle(b.ctx,
			[]engine.Result{{Step: a.leases[0].Step.ID, Token: 1, Status: engine.ResultCompleted, Result: []byte(`"A"`)}})
		b.must(err)
		p := <-poll
		b.want(p, 1, time.Second)
		if l := p.leases[0]; string(l.ParentResults["a"]) != `"A"` || string(l.Task.Context) != "7" {
			t.Errorf("got the lease %+v", l)
		}
	})
}

// A worker that drains while it polls gets nothing more.
func TestPollOfADrainingWorker(t *testing.T) {
	for name, final := range map[string]bool{"Draining": false, "Final": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				w := b.register(task.Worker{})
				poll := b.poll(b.ctx, w, 1, 30*time.Second)
				_, err := b.engine.Drain(b.ctx, w, final, engine.WorkerAct{})
				b.must(err)
				b.submit(job)
				p := <-poll
				b.must(p.err)
				if len(p.leases) != 0 {
					t.Errorf("a draining worker got %d steps", len(p.leases))
				}
				b.want(<-b.poll(b.ctx, b.register(task.Worker{}), 1, 0), 1, 0)
			})
		})
	}
}

// A worker frozen during its poll is found dead. Its next poll brings it back; it receives no order to end.
func TestPollOfAFrozenWorker(t *testing.T) {
	inBubble(t, func(b *bubble) {
		w := b.register(task.Worker{})
		poll := b.poll(b.ctx, w, 1, 30*time.Second)
		b.set(b.now.Add(10 * time.Minute))
		dead, err := b.engine.MarkDeadWorkers(b.ctx)
		b.must(err)
		if p := <-poll; dead != 1 || p.err != nil || p.drain {
			t.Errorf("%d workers are dead, and the poll says drain=%t, %v; want 1 and false", dead, p.drain, p.err)
		}
		b.submit(job)
		b.want(<-b.poll(b.ctx, w, 1, 0), 1, 0)
	})
}

func TestTaskWait(t *testing.T) {
	inBubble(t, func(b *bubble) {
		id := b.submit(job)
		began := time.Now()
		still, err := b.engine.Task(b.ctx, id, 10*time.Second)
		b.must(err)
		if still.State != task.StepsInProcess || time.Since(began) != 10*time.Second {
			t.Errorf("the task is %s after %s", still.State, time.Since(began))
		}
		type answer struct {
			task *task.Task
			err  error
		}
		done := make(chan answer, 1)
		go func() {
			found, err := b.engine.Task(b.ctx, id, 30*time.Second)
			done <- answer{found, err}
		}()
		synctest.Wait()
		time.Sleep(time.Second)
		p := <-b.poll(b.ctx, b.register(task.Worker{}), 1, 0)
		_, err = b.engine.Settle(b.ctx, []engine.Result{{Step: p.leases[0].Step.ID, Token: p.leases[0].Step.Token,
			Status: engine.ResultFailed, Failure: &task.Failure{Message: "x"}}})
		b.must(err)
		a := <-done
		b.must(a.err)
		if a.task.State != task.Errored || time.Since(began) != 11*time.Second {
			t.Errorf("the task is %s after %s", a.task.State, time.Since(began))
		}
	})
}
