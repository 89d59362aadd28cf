package storetest

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func leaseCases() []testCase {
	return []testCase{
		{"DueTimers", dueTimers},
		{"DueLeases", dueLeases},
		{"DueSeesOwnSave", dueSeesOwnSave},
		{"Scheduled", scheduled},
		{"Renewed", renewed},
		{"Held", held},
		{"HeldLimit", heldLimit},
		{"InQueues", inQueues},
		{"InQueuesMany", inQueuesMany},
		{"SharedTask", sharedTask},
	}
}

func (f *fixture) due(queue int64, until task.Instant, limit int) []task.ID {
	f.Helper()
	var ids []task.ID
	f.write(func(ctx context.Context, tx engine.Tx) error {
		works, err := tx.Due(ctx, queue, until, limit)
		ids = workIDs(works)
		return err
	})
	return ids
}

// checkDue expects jobs in a queue, due at now plus 1, 2 and 3 minutes.
func (f *fixture) checkDue(queue int64, jobs []job) {
	f.Helper()
	f.equal("too early", f.due(queue, f.now.Add(time.Minute)-1, 10), []task.ID(nil))
	f.equal("at the first", f.due(queue, f.now.Add(time.Minute), 10), stepIDs(jobs[0]))
	f.equal("all", f.due(queue, f.now.Add(time.Hour), 10), stepIDs(jobs...))
	f.equal("limit", f.due(queue, f.now.Add(time.Hour), 2), stepIDs(jobs[:2]...))
}

func dueTimers(f *fixture) {
	jobs := f.many(4) // the last one stays ready
	for i, j := range []job{jobs[2], jobs[0], jobs[1]} {
		at := f.now.Add(time.Duration(3-i) * time.Minute)
		f.move(j, func(s *task.Step) error {
			if err := s.Claim(1, f.now, f.now.Add(time.Hour)); err != nil {
				return err
			}
			return s.Postpone(f.now, at, task.Scheduling{})
		})
	}
	f.checkDue(task.Timers, []job{jobs[1], jobs[0], jobs[2]})
	f.equal("leases", f.due(task.Leases, f.now.Add(time.Hour), 10), []task.ID(nil))
}

func dueLeases(f *fixture) {
	jobs := f.many(4)
	for i, j := range []job{jobs[2], jobs[0], jobs[1]} {
		at := f.now.Add(time.Duration(3-i) * time.Minute)
		f.move(j, func(s *task.Step) error { return s.Assign(1, f.now, at) })
	}
	f.checkDue(task.Leases, []job{jobs[1], jobs[0], jobs[2]})
	f.equal("timers", f.due(task.Timers, f.now.Add(time.Hour), 10), []task.ID(nil))
}

func dueSeesOwnSave(f *fixture) {
	j := f.one()
	f.move(j, func(s *task.Step) error { return s.Claim(1, f.now, f.now) })
	f.write(func(ctx context.Context, tx engine.Tx) error {
		works, err := tx.Due(ctx, task.Leases, f.now, 10)
		if err != nil {
			return err
		}
		f.equal("due", workIDs(works), stepIDs(j))
		works[0].Step.Renew(f.now.Add(time.Minute))
		if err := tx.SaveSteps(ctx, []*task.Step{works[0].Step}); err != nil {
			return err
		}
		works, err = tx.Due(ctx, task.Leases, f.now, 10)
		f.equal("due after the renewal", workIDs(works), []task.ID(nil))
		return err
	})
}

// A step may be pending and wait for its task's run_at.
func scheduled(f *fixture) {
	j := f.build(f.single, 0)
	at := f.now.Add(time.Hour)
	s := j.steps[0]
	s.State, s.ReadyAt = task.StepPending, 0
	s.Schedule(at)
	j.task.RunAt, j.task.State, j.task.Counts = at, task.Pending, task.Counts{Pending: 1}
	f.insert(j)
	f.wantJob(j)
	f.equal("before", f.due(task.Timers, at-1, 10), []task.ID(nil))
	f.equal("at its time", f.due(task.Timers, at, 10), stepIDs(j))
	f.move(j, func(s *task.Step) error { return s.Enqueue(at, task.Scheduling{}) })
	f.equal("after", f.due(task.Timers, at, 10), []task.ID(nil))
	f.equal("ready", f.ready(10, f.routes[0].ID), stepIDs(j))
}

func renewed(f *fixture) {
	j := f.one()
	f.move(j, func(s *task.Step) error { return s.Claim(1, f.now, f.now.Add(time.Minute)) })
	f.move(j, func(s *task.Step) error { s.Renew(f.now.Add(5 * time.Minute)); return nil })
	f.equal("at the old time", f.due(task.Leases, f.now.Add(time.Minute), 10), []task.ID(nil))
	f.equal("at the new time", f.due(task.Leases, f.now.Add(5*time.Minute), 10), stepIDs(j))
	f.wantJob(j)
}

func (f *fixture) heldBy(worker int64, limit int) map[task.ID]bool {
	f.Helper()
	var set map[task.ID]bool
	f.write(func(ctx context.Context, tx engine.Tx) error {
		works, err := tx.Held(ctx, worker, limit)
		set = map[task.ID]bool{}
		for _, w := range works {
			set[w.Step.ID] = true
			f.equal("task of a held step", w.Task.ID, w.Step.TaskID)
		}
		return err
	})
	return set
}

func held(f *fixture) {
	jobs := f.many(5)
	f.move(jobs[0], func(s *task.Step) error { return s.Assign(1, f.now, f.now.Add(time.Minute)) })
	f.move(jobs[1], func(s *task.Step) error { return s.Claim(1, f.now, f.now.Add(time.Minute)) })
	f.move(jobs[2], func(s *task.Step) error { return s.Claim(2, f.now, f.now.Add(time.Minute)) })
	f.move(jobs[3], func(s *task.Step) error { return s.Claim(1, f.now, f.now.Add(time.Minute)) })
	f.move(jobs[3], func(s *task.Step) error { return s.Succeed(f.now, nil) }) // keeps the worker
	f.equal("worker 1", f.heldBy(1, 10), map[task.ID]bool{jobs[0].steps[0].ID: true, jobs[1].steps[0].ID: true})
	f.equal("worker 2", f.heldBy(2, 10), map[task.ID]bool{jobs[2].steps[0].ID: true})
	f.equal("worker 3", f.heldBy(3, 10), map[task.ID]bool{})
	f.equal("worker 0", f.heldBy(0, 10), map[task.ID]bool{})
	counts, err := f.store.QueueStore().CountHeld(f.Context())
	f.must(err)
	f.equal("number of held steps", counts, map[int64]int{1: 2, 2: 1})
}

// inQueues: ready, leased and timed steps, and none of other tasks.
func inQueues(f *fixture) {
	jobs := f.many(4)
	f.move(jobs[0], func(s *task.Step) error { return s.Assign(1, f.now, f.now.Add(time.Minute)) })
	f.move(jobs[1], func(s *task.Step) error { return s.Claim(2, f.now, f.now.Add(time.Minute)) })
	f.move(jobs[2], func(s *task.Step) error { return s.Claim(2, f.now, f.now.Add(time.Minute)) })
	f.move(jobs[2], func(s *task.Step) error { return s.Succeed(f.now, nil) })
	f.move(jobs[3], func(s *task.Step) error { return s.Claim(2, f.now, f.now.Add(time.Minute)) })
	f.move(jobs[3], func(s *task.Step) error { return s.Wait(f.now.Add(time.Hour)) })
	diamond := f.build(f.diamond, 0) // only its first step is ready
	f.insert(diamond)
	all := []engine.Sized{{Task: jobs[0].task.ID, Steps: 1}, {Task: diamond.task.ID, Steps: 4},
		{Task: jobs[1].task.ID, Steps: 1}, {Task: jobs[3].task.ID, Steps: 1},
		{Task: jobs[2].task.ID, Steps: 1},
		{Task: f.store.IDs().Take(f.now.Time(), 1), Steps: 1}}
	f.wantInQueues("all", all, jobs[0].steps[0], jobs[1].steps[0], jobs[3].steps[0], diamond.steps[0])
	f.wantInQueues("one", all[:1], jobs[0].steps[0])
	f.wantInQueues("settled", all[4:])
	f.wantInQueues("of nothing", nil)
}

// inQueuesMany needs more than one statement.
func inQueuesMany(f *fixture) {
	jobs := f.many(150)
	var all []engine.Sized
	var steps []*task.Step
	for _, j := range jobs {
		all, steps = append(all, engine.Sized{Task: j.task.ID, Steps: 1}), append(steps, j.steps[0])
	}
	f.wantInQueues("many", all, steps...)
}

// wantInQueues compares queued steps, sorted by ID.
func (f *fixture) wantInQueues(what string, of []engine.Sized, want ...*task.Step) {
	f.Helper()
	got, err := f.store.InQueues(f.Context(), of)
	f.must(err)
	byID := func(a, b *task.Step) int { return bytes.Compare(a.ID[:], b.ID[:]) }
	slices.SortFunc(got, byID)
	slices.SortFunc(want, byID)
	f.equal(what, got, want)
}

func heldLimit(f *fixture) {
	for _, j := range f.many(5) {
		f.move(j, func(s *task.Step) error { return s.Claim(1, f.now, f.now.Add(time.Minute)) })
	}
	f.equal("with a limit", len(f.heldBy(1, 3)), 3)
	f.equal("without", len(f.heldBy(1, 100)), 5)
}

func sharedTask(f *fixture) {
	def := &task.Template{Namespace: "default", Name: "pair", Version: "1", CreatedAt: f.now.Time(),
		Steps: []task.StepSpec{{Name: "x", Handler: "a"}, {Name: "y", Handler: "b"}}}
	def.Link()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		_, err := tx.InsertTemplate(ctx, def)
		return err
	})
	j := f.build(def, 0)
	f.insert(j)
	shares := func(what string, works []engine.Work, err error) error {
		if err == nil && (len(works) != 2 || works[0].Task != works[1].Task) {
			f.Errorf("%s: two steps of one task do not share it", what)
		}
		return err
	}
	f.fail(func(ctx context.Context, tx engine.Tx) error {
		works, err := tx.Ready(ctx, []int64{f.routes[0].ID, f.routes[1].ID}, 10)
		return shares("Ready", works, err)
	})
	for _, s := range j.steps {
		f.must(s.Claim(1, f.now, f.now))
	}
	f.write(j.save)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		works, err := tx.Held(ctx, 1, 10)
		if err := shares("Held", works, err); err != nil {
			return err
		}
		works, err = tx.Due(ctx, task.Leases, f.now, 10)
		return shares("Due", works, err)
	})
}
