package storetest

import (
	"context"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func largeResultCases() []testCase {
	return []testCase{
		{"SentAndTaken", largeTaken},
		{"SentTwice", largeTwice},
		{"AtMostSoMany", largeBounded},
		{"Unused", largeUnused},
		{"DoomedAndDropped", largeDoomed},
	}
}

func (f *fixture) large(s *task.Step, token int64, content string) *task.LargeResult {
	return task.NewLargeResult(s.ID, token, int64(len(content)), sha256.Sum256([]byte(content)), f.now)
}

// addLarge adds large results, and reports whether the last one was added.
func (f *fixture) addLarge(most int, list ...*task.LargeResult) (added bool) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		var err error
		for _, l := range list {
			if added, err = f.store.LargeResultStore().AddLargeResult(ctx, tx, l, most); err != nil {
				return err
			}
		}
		return nil
	})
	return added
}

// takeLarge returns nil for an unavailable one.
func (f *fixture) takeLarge(key string) (l *task.LargeResult) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) (err error) {
		l, err = f.store.LargeResultStore().TakeLargeResult(ctx, tx, key)
		return err
	})
	return l
}

// wantUnused compares the unreferenced large results.
func (f *fixture) wantUnused(sentBefore task.Instant, want ...*task.LargeResult) {
	f.Helper()
	got, err := f.store.LargeResultStore().FindUnusedLargeResults(f.Context(), sentBefore, 10)
	if err != nil {
		f.Fatal(err)
	}
	list := make([]task.LargeResult, len(want))
	for i, l := range want {
		list[i] = *l
	}
	slices.SortFunc(list, func(a, b task.LargeResult) int { return strings.Compare(a.Key, b.Key) })
	f.equal("unused", got, slices.Concat([]task.LargeResult(nil), list))
}

func (f *fixture) refer(s *task.Step, result []byte) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		works, err := tx.Work(ctx, []task.ID{s.ID})
		if err != nil {
			return err
		}
		works[0].Step.Result = result
		return tx.SaveSteps(ctx, []*task.Step{works[0].Step})
	})
}

func largeTaken(f *fixture) {
	j := f.build(f.single, 0)
	f.insert(j)
	l := f.large(j.steps[0], 3, `{"a":1}`)
	f.equal("added", f.addLarge(20, l), true)
	taken := *l
	taken.State = task.LargeTaken
	f.equal("taken", f.takeLarge(l.Key), &taken)
	f.equal("taken twice", f.takeLarge(l.Key), (*task.LargeResult)(nil))
	f.equal("unknown", f.takeLarge(l.Key+"0"), (*task.LargeResult)(nil))
	f.equal("sent again when taken", f.addLarge(20, l), false)
	f.refer(j.steps[0], l.Reference())
	f.wantUnused(f.now.Add(time.Hour))
}

// largeTwice: a repeated send renews the age.
func largeTwice(f *fixture) {
	j := f.build(f.single, 0)
	f.insert(j)
	l := f.large(j.steps[0], 3, `1`)
	again := *l
	again.At = f.now.Add(time.Hour)
	f.equal("added", f.addLarge(20, l, &again), true)
	f.finish(j, f.now)
	f.wantUnused(f.now.Add(time.Minute))
	f.wantUnused(f.now.Add(2*time.Hour), &again)
}

// largeBounded: the bound is per step, and ignores repeated sends.
func largeBounded(f *fixture) {
	jobs := f.many(2)
	for i := range 3 {
		f.equal("added", f.addLarge(3, f.large(jobs[0].steps[0], 1, strconv.Itoa(i))), true)
	}
	f.equal("one too many", f.addLarge(3, f.large(jobs[0].steps[0], 2, `9`)), false)
	f.equal("again", f.addLarge(3, f.large(jobs[0].steps[0], 1, `0`)), true)
	f.equal("of another step", f.addLarge(3, f.large(jobs[1].steps[0], 1, `0`)), true)
}

func largeUnused(f *fixture) {
	jobs := f.many(4)
	step := func(i int) *task.Step { return jobs[i].steps[0] }
	kept, deleted := f.large(step(0), 1, `0`), f.large(step(1), 1, `1`)
	replaced, sent := f.large(step(2), 1, `2`), f.large(step(3), 1, `3`)
	later := f.large(step(2), 2, `2`) // the same content under another lease
	f.addLarge(20, kept, deleted, replaced, sent, later)
	for _, l := range []*task.LargeResult{kept, deleted, replaced, later} {
		f.takeLarge(l.Key)
		l.State = task.LargeTaken
	}
	f.refer(step(0), kept.Reference())
	f.refer(step(1), deleted.Reference())
	f.refer(step(2), later.Reference())
	f.wantUnused(f.now.Add(time.Hour), replaced) // the lease of the sent one may be in force
	f.finish(jobs[3], f.now.Add(2*time.Hour))
	f.finish(jobs[1], f.now.Add(time.Minute))
	f.equal("deleted", deleteFinished(f, f.now.Add(time.Hour), 10), 1)
	f.wantUnused(f.now, deleted, replaced)
	f.wantUnused(f.now.Add(time.Second), deleted, replaced, sent)
	f.refer(step(2), []byte(`"small"`))
	f.wantUnused(f.now, deleted, replaced, later)
}

func largeDoomed(f *fixture) {
	jobs := f.many(2)
	l, other := f.large(jobs[0].steps[0], 1, `0`), f.large(jobs[1].steps[0], 1, `1`)
	f.addLarge(20, l, other)
	doom := func(from task.LargeResultState) (doomed bool) {
		f.write(func(ctx context.Context, tx engine.Tx) (err error) {
			doomed, err = f.store.LargeResultStore().DoomLargeResult(ctx, tx, l.Key, from)
			return err
		})
		return doomed
	}
	f.equal("in another state", doom(task.LargeTaken), false)
	f.equal("doomed", doom(task.LargeSent), true)
	f.equal("doomed again", doom(task.LargeSent), false)
	f.equal("taken when doomed", f.takeLarge(l.Key), (*task.LargeResult)(nil))
	f.equal("sent when doomed", f.addLarge(20, l), false)
	l.State = task.LargeDoomed
	f.wantUnused(f.now, l)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.store.LargeResultStore().DropLargeResults(ctx, tx, []string{l.Key, other.Key, "unknown"})
	})
	f.wantUnused(f.now.Add(time.Hour)) // the lease of the other one may be in force
	f.finish(jobs[1], f.now)
	f.wantUnused(f.now.Add(time.Hour), other)
}
