package engine_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

type queued struct {
	ref     engine.LeaseRef
	ttl     time.Duration
	at      task.Instant
	started bool
	ended   int // verbs that reported to have ended it
	expired bool
}

// expiryRace has two workers with queues get a step repeatedly, while its messages expire and are started, settled
// and lost in any order.
type expiryRace struct {
	t       *rapid.T
	e       *engine.Engine
	tick    func(time.Duration)
	workers []*task.Worker
	task    task.ID
	leases  []*queued
}

// Neither a letter nor the backstop fails a started run, and each lease ends once.
func TestExpiryRace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		e, tick := newEngineOn(t, memstore.New(&memstore.Options{Seed: 1}), engine.Options{Config: settings.Config{
			Delivery: settings.Delivery{Offered: true, TTL: 40 * time.Second, ExpiryLimit: 1000}}})
		x := &expiryRace{t: rt, e: e, tick: tick}
		for i := range 2 {
			w, err := e.Register(t.Context(), task.Worker{Name: fmt.Sprint("w", i), Transport: task.TransportAMQP})
			x.must(err)
			x.workers = append(x.workers, w)
		}
		retries := 500
		receipts, err := e.Submit(t.Context(), []engine.Submission{{TaskType: "h", MaxRetries: &retries}}, false)
		x.must(err)
		x.task = receipts[0].ID
		rt.Repeat(map[string]func(*rapid.T){
			"dispatch": func(*rapid.T) { x.dispatch() },
			"start":    func(*rapid.T) { x.each(x.start) },
			"letter":   func(*rapid.T) { x.each(x.letter) },
			"settle":   func(*rapid.T) { x.each(x.settle) },
			"advance": func(*rapid.T) {
				x.tick(time.Duration(rapid.IntRange(1, 45).Draw(rt, "seconds")) * time.Second)
			},
			"upkeep": func(*rapid.T) { x.upkeep() },
			"heartbeat": func(*rapid.T) {
				_, _, err := x.e.Heartbeat(t.Context(), engine.Beat{Worker: x.draw().ID})
				x.must(err)
			},
			"": func(*rapid.T) { x.check() },
		})
	})
}

func (x *expiryRace) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *expiryRace) draw() *task.Worker { return rapid.SampledFrom(x.workers).Draw(x.t, "worker") }

func (x *expiryRace) each(verb func(*queued)) {
	if len(x.leases) > 0 {
		verb(x.leases[rapid.IntRange(0, len(x.leases)-1).Draw(x.t, "lease")])
	}
}

func (x *expiryRace) dispatch() {
	w := x.draw()
	steps, _, err := x.e.Dispatch(x.t.Context(), w.ID, 2, 0)
	x.must(err)
	for _, s := range steps {
		x.leases = append(x.leases, &queued{ttl: s.TTL, at: s.Step.AssignedAt,
			ref: engine.LeaseRef{Step: s.Step.ID, Token: s.Step.Token, Worker: w.No}})
	}
}

func (x *expiryRace) start(q *queued) {
	answers, err := x.e.Start(x.t.Context(), []engine.LeaseRef{q.ref})
	x.must(err)
	q.started = q.started || answers[0].Status == engine.Held
}

// Brokers may deliver a letter more than once.
func (x *expiryRace) letter(q *queued) {
	answers, err := x.e.ExpireDispatches(x.t.Context(), []engine.ExpiredDispatch{{Lease: q.ref}, {Lease: q.ref}})
	x.must(err)
	for _, a := range answers {
		if a.Err != nil {
			continue
		}
		if q.started {
			x.t.Fatalf("a letter failed the run under token %d", q.ref.Token)
		}
		q.ended++
		q.expired = true
	}
}

func (x *expiryRace) settle(q *queued) {
	status := rapid.SampledFrom([]engine.ResultStatus{engine.ResultFailed, engine.ResultReleased}).Draw(x.t, "status")
	r := engine.Result{Step: q.ref.Step, Token: q.ref.Token, Worker: q.ref.Worker, Status: status}
	if status == engine.ResultFailed {
		r.Failure = &task.Failure{Message: "no", Retryable: true}
		q.started = true // a result implies a start
	}
	answers, err := x.e.Settle(x.t.Context(), []engine.Result{r})
	x.must(err)
	if answers[0].Err == nil {
		q.ended++
	}
}

func (x *expiryRace) upkeep() {
	ctx := x.t.Context()
	_, err := x.e.MarkDeadWorkers(ctx)
	x.must(err)
	_, err = x.e.ReapLeases(ctx, 100)
	x.must(err)
	_, err = x.e.FireTimers(ctx, 100)
	x.must(err)
}

func (x *expiryRace) check() {
	attempts, err := x.e.Read().FindAttempts(x.t.Context(), x.task)
	x.must(err)
	records := map[int64][]task.Attempt{}
	for _, a := range attempts {
		records[a.Token] = append(records[a.Token], a)
	}
	for _, q := range x.leases {
		list := records[q.ref.Token]
		if q.ended > 1 || len(list) > 1 || q.ended > len(list) {
			x.t.Fatalf("lease %d was ended %d times and has %d records", q.ref.Token, q.ended, len(list))
		}
		if len(list) == 0 {
			continue
		}
		a := list[0]
		expired := a.Outcome == task.DispatchExpired
		switch {
		case expired && (a.StartedAt != 0 || a.Failure == nil || a.Number == 0):
			x.t.Fatalf("the expired dispatch %d is recorded as %+v", q.ref.Token, a)
		case expired && q.ended == 0 && a.FinishedAt < q.at.Add(q.ttl+30*time.Second):
			x.t.Fatalf("the backstop ended lease %d early, at %s", q.ref.Token, a.FinishedAt.Time())
		case q.expired && !expired:
			x.t.Fatalf("a letter ended lease %d, which is recorded as %s", q.ref.Token, a.Outcome)
		}
	}
	steps, err := x.e.Read().FindSteps(x.t.Context(), x.task)
	x.must(err)
	for _, q := range x.leases {
		if s := steps[0]; s.Token == q.ref.Token && s.State == task.StepInProgress && !q.started {
			x.t.Fatalf("the step runs under token %d, which nobody started", q.ref.Token)
		}
	}
}
