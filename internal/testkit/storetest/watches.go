package storetest

import (
	"context"
	"math"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func watchCases() []testCase {
	return []testCase{
		{"InOrder", watchesInOrder},
		{"Moved", watchesMoved},
		{"Survey", survey},
		{"SurveyInParts", surveyInParts},
		{"Notes", notes},
		{"TasksByID", tasksByID},
		{"WatchesOfLive", watchesOfLive}, {"Deadlines", deadlines}, {"ReadyAfter", readyAfter},
	}
}

func (f *fixture) watches(until task.Instant, limit int) []engine.Watch {
	f.Helper()
	list, err := f.store.WatchStore().Watches(f.Context(), engine.Watch{At: math.MinInt64}, until, limit)
	f.must(err)
	return list
}

func watchesInOrder(f *fixture) {
	var all []engine.Watch
	for i, j := range f.many(6) {
		all = append(all, engine.Watch{Task: j.task.ID, At: f.now.Add(time.Duration(i/2) * time.Minute)})
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.store.WatchStore().Watch(ctx, tx, []engine.Watch{all[3], all[0], all[5], all[1], all[4], all[2]})
	})
	f.equal("all", f.watches(f.now.Add(time.Hour), 10), all)
	f.equal("the first", f.watches(f.now.Add(time.Hour), 3), all[:3])
	f.equal("those due", f.watches(f.now.Add(time.Minute), 10), all[:4])
	f.equal("none yet", f.watches(f.now-1, 10), []engine.Watch(nil))
	got, err := f.store.WatchStore().Watches(f.Context(), all[2], f.now.Add(time.Hour), 2)
	f.must(err)
	f.equal("behind one", got, all[3:5])
	// Stored again: earlier, and later.
	all[0].At, all[5].At = f.now.Add(time.Hour), f.now.Add(-time.Hour)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.store.WatchStore().Watch(ctx, tx, []engine.Watch{all[0], all[5]})
	})
	f.equal("moved", f.watches(f.now.Add(time.Hour), 10), []engine.Watch{all[5], all[1], all[2], all[3], all[4], all[0]})
}

// watchesOfLive: finished tasks do not count, though their watches exist.
func watchesOfLive(f *fixture) {
	jobs := f.many(5)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		var all []engine.Watch
		for _, j := range jobs {
			all = append(all, engine.Watch{Task: j.task.ID, At: f.now})
		}
		return f.store.WatchStore().Watch(ctx, tx, all)
	})
	count := func(what string, limit, want int) {
		f.Helper()
		n, err := f.store.WatchStore().CountWatches(f.Context(), limit)
		f.must(err)
		f.equal(what, n, want)
	}
	count("all live", 100, 5)
	f.finish(jobs[1], f.now)
	f.move(jobs[3], func(s *task.Step) error { return s.Exhaust(f.now) })
	count("one complete, one in error", 100, 3)
}

// deadlines: live tasks, the earliest deadline first.
func deadlines(f *fixture) {
	jobs := f.many(5)
	for i, at := range []time.Duration{30, 10, 20, 5, 0} {
		if at > 0 {
			jobs[i].task.DeadlineAt = f.now.Add(at * time.Minute)
		}
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		var all []*task.Task
		for _, j := range jobs {
			all = append(all, j.task)
		}
		return tx.SaveTasks(ctx, all)
	})
	f.finish(jobs[3], f.now)
	find := func(until time.Duration, limit int) []task.ID {
		f.Helper()
		got, err := f.store.Deadlines(f.Context(), f.now.Add(until), limit)
		f.must(err)
		var ids []task.ID
		for _, t := range got {
			ids = append(ids, t.ID)
		}
		return ids
	}
	f.equal("all", find(time.Hour, 10), []task.ID{jobs[1].task.ID, jobs[2].task.ID, jobs[0].task.ID})
	f.equal("until a time", find(20*time.Minute, 10), []task.ID{jobs[1].task.ID, jobs[2].task.ID})
	f.equal("some", find(time.Hour, 1), []task.ID{jobs[1].task.ID})
	f.equal("none yet", find(time.Minute, 10), []task.ID(nil))
}

func watchesMoved(f *fixture) {
	var all []engine.Watch
	for i, j := range f.many(4) {
		all = append(all, engine.Watch{Task: j.task.ID, At: f.now + task.Instant(i)})
	}
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.store.WatchStore().Watch(ctx, tx, all) })
	elsewhere := func(w engine.Watch) engine.Watch { return engine.Watch{Task: w.Task, At: w.At + 1} }
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.store.WatchStore().Rewatch(ctx, tx,
			[]engine.WatchMove{{Watch: all[0], Next: f.now.Add(time.Hour)}, {Watch: all[1]},
				{Watch: elsewhere(all[2]), Next: f.now.Add(time.Hour)}, {Watch: elsewhere(all[3])}})
	})
	f.equal("moved, deleted, and as they were", f.watches(f.now.Add(time.Hour), 10),
		[]engine.Watch{all[2], all[3], {Task: all[0].Task, At: f.now.Add(time.Hour)}})
}

func (f *fixture) survey(after, before task.ID, limit int) ([]task.ID, task.ID) {
	f.Helper()
	live, stop, err := f.store.Survey(f.Context(), after, before, limit)
	f.must(err)
	var ids []task.ID
	for _, t := range live {
		ids = append(ids, t.ID)
	}
	return ids, stop
}

func survey(f *fixture) {
	jobs := f.many(6)
	jobs[2].task.Context = nil
	f.finish(jobs[1], f.now)
	f.move(jobs[3], func(s *task.Step) error { return s.Exhaust(f.now) })
	id := func(i int) task.ID { return jobs[i].task.ID }
	last := task.MakeID(math.MaxInt64>>4, 0)
	got, stop := f.survey(task.ID{}, last, 100)
	f.equal("all", got, []task.ID{id(0), id(2), id(4), id(5)})
	if !stop.IsZero() {
		f.Errorf("it stopped at %s", stop)
	}
	got, _ = f.survey(id(0), id(5), 100)
	f.equal("between", got, []task.ID{id(2), id(4)})
	got, _ = f.survey(id(5), last, 100)
	f.equal("behind the last", got, []task.ID(nil))
	live, _, err := f.store.Survey(f.Context(), task.ID{}, last, 1)
	f.must(err)
	f.equal("a row", live, []*task.Task{jobs[0].task})
}

// surveyInParts continues where it stopped, even where nothing is live.
func surveyInParts(f *fixture) {
	jobs := f.many(7)
	for _, j := range jobs[1:6] {
		f.finish(j, f.now)
	}
	var got []task.ID
	var at task.ID
	for parts := 1; ; parts++ {
		ids, stop := f.survey(at, task.MakeID(math.MaxInt64>>4, 0), 2)
		got = append(got, ids...)
		if at = stop; stop.IsZero() {
			break
		}
		if parts > 4 {
			f.Fatal("it does not end")
		}
	}
	f.equal("live", got, []task.ID{jobs[0].task.ID, jobs[6].task.ID})
}

func notes(f *fixture) {
	read := func(key string) string {
		text, err := f.store.NoteStore().FindNote(f.Context(), key)
		f.must(err)
		return text
	}
	f.equal("none", read("a"), "")
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.store.NoteStore().Note(ctx, tx, "a", "1") })
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.store.NoteStore().Note(ctx, tx, "b", hostile()[0])
	})
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.store.NoteStore().Note(ctx, tx, "a", "2") })
	f.equal("a", read("a"), "2")
	f.equal("b", read("b"), hostile()[0])

	for _, text := range []string{"first", "second"} {
		f.write(func(ctx context.Context, tx engine.Tx) error {
			return f.store.NoteStore().FirstNote(ctx, tx, "c", text)
		})
	}
	f.equal("the first", read("c"), "first")
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.store.NoteStore().Note(ctx, tx, "c", "another")
	})
	f.equal("replaced", read("c"), "another")

	for _, key := range []string{"p/1", "p/2", "p%", "P/3", "p"} {
		f.write(func(ctx context.Context, tx engine.Tx) error { return f.store.NoteStore().Note(ctx, tx, key, key) })
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.store.NoteStore().DropNotes(ctx, tx, []string{"p/2", "none"})
	})
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.store.NoteStore().DropNotes(ctx, tx, nil) })
	of, err := f.store.NoteStore().Notes(f.Context(), "p/")
	f.must(err)
	f.equal("of a prefix", of, map[string]string{"p/1": "p/1"})
}

func tasksByID(f *fixture) {
	jobs := f.many(300)
	jobs[0].task.Meta.Tags = nil
	var ids []task.ID
	var want, withGaps []*task.Task
	for i := len(jobs) - 1; i >= 0; i-- {
		none := task.MakeID(jobs[i].task.ID.Seq(), jobs[i].task.ID.Low()+1)
		ids = append(ids, jobs[i].task.ID, none)
		want, withGaps = append(want, jobs[i].task), append(withGaps, jobs[i].task, nil)
	}
	got, err := f.store.FindTasks(f.Context(), ids)
	f.must(err)
	f.equal("found", got, want)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := tx.Tasks(ctx, ids)
		f.equal("in a transaction", got, withGaps)
		return err
	})
}

func readyAfter(f *fixture) {
	jobs := make([]job, 5)
	for i := range jobs {
		jobs[i] = f.build(f.single, 0) // ready at one time: all keys are the same
	}
	f.insert(jobs...)
	f.move(jobs[1], func(s *task.Step) error { return s.Claim(1, f.now, f.now.Add(time.Minute)) })
	var got []task.ID
	for key, id := int64(math.MinInt64), (task.ID{}); ; {
		steps, err := f.store.QueueStore().ReadyAfter(f.Context(), f.routes[0].ID, key, id, 3)
		f.must(err)
		for _, s := range steps {
			got = append(got, s.TaskID)
			key, id = s.Key, s.ID
		}
		if len(steps) < 3 {
			break
		}
	}
	f.equal("page by page", got, []task.ID{jobs[0].task.ID, jobs[2].task.ID, jobs[3].task.ID, jobs[4].task.ID})
	none, err := f.store.QueueStore().ReadyAfter(f.Context(), f.routes[1].ID, math.MinInt64, task.ID{}, 3)
	f.must(err)
	f.equal("of another route", len(none), 0)
}
