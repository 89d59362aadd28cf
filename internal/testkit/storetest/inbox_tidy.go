package storetest

import (
	"context"
	"fmt"
	"sync"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/tidy"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func tidyCases() []inboxCase {
	return []inboxCase{
		{"Tally", tallies},
		{"TallyRace", tallyRace},
		{"GroupBefore", groupsBefore},
		{"Groups", purgedGroups},
		{"GroupKept", keptGroup},
		{"Redrives", purgedRedrives},
	}
}

func (f *inboxFixture) tallyOf(n int, at task.Instant) *deadletter.Tally {
	t := &deadletter.Tally{}
	for i := range n {
		id := deadletter.GroupID(i + 1)
		t.Join(f.group(id, func(g *deadletter.Group) { g.LastAt = 0 }))
		*t.Of(id) = deadletter.Delta{Group: id, Failures: 1, OpenLetters: 1, At: at}
	}
	return t
}

func (f *inboxFixture) addTally(t *deadletter.Tally) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.inbox.AddTally(ctx, tx, t) })
}

// tallies: the counts of groups are the same before and after each step, for new and existing groups, in any number.
func tallies(f *inboxFixture) {
	const hour = task.Instant(3_600_000_000)
	f.addGroups(f.group(20, func(g *deadletter.Group) { g.MergedInto = 3 }))
	check := func(when string, failures int64) {
		f.Helper()
		page, err := f.inbox.ListGroups(f.Context(), inbox.GroupFilter{Order: "open", OpenOnly: true, Limit: 100})
		f.must(err)
		f.same("groups "+when, len(page), 20-1)
		hours, err := f.inbox.Hours(f.Context(), []deadletter.GroupID{2, 3}, 0)
		f.must(err)
		for _, g := range page {
			want := failures
			if g.ID == 3 {
				want *= 2
			}
			f.same(fmt.Sprint("counts of ", g.ID, " ", when), []any{g.Failures, g.OpenLetters, g.LastAt},
				[]any{want, want, f.now + task.Instant(failures)})
			if g.ID == 2 || g.ID == 3 {
				f.same("hours "+when, hours[g.ID], []deadletter.Hour{{At: f.now - f.now%hour, Failures: want}})
			}
			if g.ID != 3 {
				f.same("FindGroup "+when, f.findGroup(g.ID), g)
			}
		}
	}
	f.addTally(f.tallyOf(5, f.now+1))
	f.addTally(f.tallyOf(0, f.now))
	more := f.tallyOf(20, f.now+1)
	for i := range 5 {
		*more.Of(deadletter.GroupID(i + 1)) = deadletter.Delta{} // these are counted already
	}
	f.addTally(more)
	check("when they are new", 1)
	f.addTally(f.tallyOf(20, f.now+2))
	check("when they fail again", 2)
	f.fold(1000)
	check("after folding", 2)
	var fresh []deadletter.GroupID
	f.write(func(ctx context.Context, tx engine.Tx) (err error) {
		if fresh, err = f.inbox.FreshGroups(ctx, tx, 2); err != nil {
			return err
		}
		return f.inbox.SaveNews(ctx, tx, []*deadletter.Group{{ID: fresh[0], ToldAt: f.now, BurstAt: f.now + 1}})
	})
	f.same("fresh", fresh, []deadletter.GroupID{6, 7})
	g := f.findGroup(6)
	f.same("what was told", []task.Instant{g.ToldAt, g.BurstAt}, []task.Instant{f.now, f.now + 1})
	f.write(func(ctx context.Context, tx engine.Tx) (err error) {
		fresh, err = f.inbox.FreshGroups(ctx, tx, 1)
		shown, err2 := f.inbox.ShownFailures(ctx, tx, []deadletter.GroupID{2, 3})
		f.must(err2)
		f.same("failures of merged groups", shown, map[deadletter.GroupID]int64{3: 2})
		return err
	})
	f.same("fresh after the first", fresh, []deadletter.GroupID{7})
}

// groupsBefore: a new group takes over the decisions about the former group of its failures, for one or many groups. It
// has the same place in lists, and new counts.
func groupsBefore(f *inboxFixture) {
	of := func(id deadletter.GroupID, change func(*deadletter.Group)) *deadletter.Group {
		return f.group(id, func(g *deadletter.Group) {
			g.Failures, g.StateAt = 7, f.now-3
			change(g)
		})
	}
	old := []*deadletter.Group{
		of(1, func(*deadletter.Group) {}),
		of(2, func(g *deadletter.Group) { g.State = model.GroupAcknowledged }),
		of(3, func(g *deadletter.Group) {
			g.State, g.Ignore = model.GroupIgnored, deadletter.Ignore{Until: f.now + 9, Count: 10, PerHour: 3}
			g.IgnoredFrom = 6
		}),
		of(4, func(g *deadletter.Group) {
			g.State, g.ResolvedAt, g.ResolvedIn, g.Resolutions, g.OpenFor = model.GroupResolved, f.now-2, "1.2", 3, 99
		}),
		of(5, func(g *deadletter.Group) { g.Owner, g.Runbook, g.DueAt = "ada", "https://a", f.now+8 }),
		of(6, func(g *deadletter.Group) { g.MergedInto = 3 }),
	}
	f.addGroups(old...)
	for _, first := range []deadletter.GroupID{11, 31} {
		tally := &deadletter.Tally{}
		for i := range 7 { // the last one has no former group
			id := first + deadletter.GroupID(i)
			tally.Join(f.group(id, func(g *deadletter.Group) { g.Before, g.LastAt = deadletter.GroupID(i+1), 0 }))
			*tally.Of(id) = deadletter.Delta{Group: id, Failures: 1, OpenLetters: 1, At: f.now + 1}
		}
		if first == 31 { // enough to be stored with their counts
			for id := deadletter.GroupID(50); id < 60; id++ {
				tally.Join(f.group(id, func(g *deadletter.Group) { g.LastAt = 0 }))
			}
		}
		f.addTally(tally)
		for i, was := range append(old, f.group(7, func(*deadletter.Group) {})) {
			g := f.findGroup(first + deadletter.GroupID(i))
			f.same(fmt.Sprint("state of ", g.ID), []any{g.State, g.StateAt, g.ResolvedIn, g.ResolvedAt, g.Ignore},
				[]any{was.State, was.StateAt, was.ResolvedIn, was.ResolvedAt, was.Ignore})
			f.same(fmt.Sprint("care of ", g.ID), []any{g.Owner, g.Runbook, g.DueAt, g.MergedInto},
				[]any{was.Owner, was.Runbook, was.DueAt, was.MergedInto})
			f.same(fmt.Sprint("history of ", g.ID), []any{g.Failures, g.Resolutions, g.OpenFor, g.Notes, g.FirstAt},
				[]any{int64(1), 0, int64(0), 0, f.group(g.ID, func(*deadletter.Group) {}).FirstAt})
			told := f.now
			if i == 0 || i == 6 {
				told = 0
			}
			f.same(fmt.Sprint("told of ", g.ID), g.ToldAt, told)
		}
		// Of its ten failures, the old group and the one merged into it have had eight: 14 since the sixth.
		f.same("what the bound counts from", f.findGroup(first+2).IgnoredFrom, int64(6-7-7))
	}
	f.addTally(func() *deadletter.Tally { // an existing group keeps its state
		tally := &deadletter.Tally{}
		tally.Join(f.group(11, func(g *deadletter.Group) { g.Before = 2 }))
		return tally
	}())
	f.same("a group that is there", f.findGroup(11).State, model.GroupOpen)
}

// tallyRace: concurrent transactions on the same groups each count once.
func tallyRace(f *inboxFixture) {
	const writers, each = 4, 10
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for i := range each {
				if err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
					return f.inbox.AddTally(ctx, tx, f.tallyOf(10*(i+1), f.now))
				}); err != nil {
					f.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for n, id := range map[int64]deadletter.GroupID{writers * each: 1, writers: 100} {
		g := f.findGroup(id)
		f.same("counts", []int64{g.Failures, g.OpenLetters}, []int64{n, n})
	}
}

// empty returns purgeable groups; purge purges some and returns their number.
func (f *inboxFixture) empty(now task.Instant, behind deadletter.GroupID) []deadletter.GroupID {
	f.Helper()
	ids, err := f.inbox.EmptyGroups(f.Context(), now, f.now, behind, 10)
	f.must(err)
	return ids
}

func (f *inboxFixture) purge(now task.Instant, ids ...deadletter.GroupID) (n int) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) (err error) {
		n, err = f.inbox.PurgeGroups(ctx, tx, ids, now, now+100)
		return err
	})
	return n
}

// purgedGroups: a group is deleted with its notes and hours, once nothing of it is left or in progress.
func purgedGroups(f *inboxFixture) {
	f.addGroups(f.group(1, nil), f.group(2, func(g *deadletter.Group) { g.MergedInto = 3 }), f.group(3, nil),
		f.group(4, func(g *deadletter.Group) { g.LastAt = f.now + 1 }), f.group(5, nil), f.group(6, nil), f.group(7, nil),
		f.group(8, nil))
	f.add(f.letter(1, func(l *deadletter.Letter) { l.Group = 5 }))
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.inbox.AddMove(ctx, tx, &inbox.Move{ID: f.id(), Namespace: "default", Group: 6, Rule: "r"})
	})
	_, inCase := f.openCase("disk 7 is full", f.now)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		_, err := f.inbox.Regroup(ctx, tx, 10, noRules)
		return err
	})
	f.addDeltas(deadletter.Delta{Group: 1, Failures: 1, At: f.now})
	f.same("groups with deltas", f.empty(f.now, 0), []deadletter.GroupID{7, 8})
	f.fold(10)
	f.same("empty groups", f.empty(f.now, 0), []deadletter.GroupID{1, 7, 8})
	f.same("behind one", f.empty(f.now, 1), []deadletter.GroupID{7, 8})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.inbox.AddGroupNotes(ctx, tx, []deadletter.Note{{Group: 1, Text: "n"}, {Group: 5, Text: "n"}})
	})
	f.same("deleted without a mark", f.purge(f.now, 1, 7), 0)
	f.same("those without a mark", f.empty(f.now+99, 0), []deadletter.GroupID{8})
	f.same("deleted too early", f.purge(f.now+99, 1, 7, 8), 0)
	f.same("those due", f.empty(f.now+100, 0), []deadletter.GroupID{1, 7})
	f.add(f.letter(2, func(l *deadletter.Letter) { l.Group = 7 })) // between the look and the deletion
	f.same("deleted", f.purge(f.now+100, 1, 7), 1)
	if f.findGroup(1) != nil {
		f.Error("the group is still there")
	}
	for _, id := range []deadletter.GroupID{2, 3, 4, 5, 6, 7, 8, inCase} {
		if f.findGroup(id) == nil {
			f.Errorf("the group %s is gone", id)
		}
	}
	f.addGroups(f.group(1, nil)) // it has failed again
	hours, err := f.inbox.Hours(f.Context(), []deadletter.GroupID{1}, 0)
	f.must(err)
	f.same("hours of the new group", len(hours), 0)
	for id, want := range map[deadletter.GroupID]int{1: 0, 5: 1} {
		notes, err := f.inbox.GroupNotes(f.Context(), id, 0, 10)
		f.must(err)
		f.same(fmt.Sprint("notes of ", id), len(notes), want)
	}
}

// keptGroup: a group with a failure or an act after its mark is not deleted, and keeps its counts.
func keptGroup(f *inboxFixture) {
	f.addTally(f.tallyOf(10, f.now))
	f.write(func(ctx context.Context, tx engine.Tx) error {
		ids, err := f.inbox.FreshGroups(ctx, tx, 10)
		if err != nil {
			return err
		}
		groups, err := f.inbox.Groups(ctx, tx, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := f.inbox.SaveNews(ctx, tx, []*deadletter.Group{groups[id]}); err != nil {
				return err
			}
		}
		return nil
	})
	f.same("empty groups", len(f.empty(f.now, 0)), 10)
	f.purge(f.now, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	f.addTally(f.tallyOf(3, f.now+5)) // few: their counts are deltas
	f.addTally(f.tallyOf(9, f.now+7))
	g := f.findGroup(10)
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.inbox.SaveGroup(ctx, tx, g) })
	f.same("deleted", f.purge(f.now+100, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 0)
	for id, n := range map[deadletter.GroupID]int64{1: 3, 3: 3, 4: 2, 9: 2, 10: 1} {
		g := f.findGroup(id)
		f.same(fmt.Sprint("counts of ", id), []int64{g.Failures, g.OpenLetters}, []int64{n, n})
	}
	f.same("failed last", f.findGroup(9).LastAt, f.now+7)
}

// purgedRedrives: a redrive is deleted after its last item, and not before its cases' tasks have ended.
func purgedRedrives(f *inboxFixture) {
	f.add(f.letters(7, nil)...)
	end := func(at task.Instant) *deadletter.Redrive {
		r := f.redrive(model.OpRedrive, deadletter.Selection{Kind: model.KindLetter})
		f.freeze(r)
		r.State, r.EndedAt = model.RedriveDone, at
		f.write(func(ctx context.Context, tx engine.Tx) error { return f.inbox.SaveRedrive(ctx, tx, r) })
		return r
	}
	late, early, open, watched := end(f.now), end(f.now-5), end(0), end(f.now-9)
	end(f.now + 1)
	items, err := f.inbox.ListItems(f.Context(), watched.ID, model.ItemPending, 0, 1)
	f.must(err)
	items[0].State = model.ItemSent
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.inbox.SaveItems(ctx, tx, items) })
	ended := func(behind tidy.EndedRedrive) []tidy.EndedRedrive {
		f.Helper()
		list, err := f.inbox.EndedRedrives(f.Context(), behind, f.now, 10)
		f.must(err)
		return list
	}
	want := []tidy.EndedRedrive{{ID: watched.ID, At: f.now - 9}, {ID: early.ID, At: f.now - 5},
		{ID: late.ID, At: f.now}}
	f.same("ended redrives", ended(tidy.EndedRedrive{}), want)
	f.same("ended redrives behind one", ended(want[1]), want[2:])
	for i, step := range []struct {
		n    int
		gone bool
	}{{3, false}, {3, false}, {2, true}, {1, true}} {
		var n int
		var gone bool
		f.write(func(ctx context.Context, tx engine.Tx) (err error) {
			n, gone, err = f.inbox.PurgeRedrive(ctx, tx, early.ID, 3)
			return err
		})
		f.same(fmt.Sprint("rows of step ", i), []any{n, gone}, []any{step.n, step.gone})
		got, err := f.inbox.FindRedrive(f.Context(), early.ID)
		f.must(err)
		f.same("the redrive is gone", got == nil, step.gone)
	}
	for _, r := range []*deadletter.Redrive{late, open, watched} {
		items, err := f.inbox.ListItems(f.Context(), r.ID, "", 0, 10)
		f.must(err)
		f.same("items of another redrive", len(items), 7)
	}
	f.openCase("disk 7 is full", f.now)
	r := f.redrive(model.OpRedrive, deadletter.Selection{Kind: model.KindCase})
	items = f.freeze(r)
	r.State, r.EndedAt, items[0].State = model.RedriveDone, f.now-20, model.ItemSent
	f.write(func(ctx context.Context, tx engine.Tx) error {
		if err := f.inbox.SaveRedrive(ctx, tx, r); err != nil {
			return err
		}
		return f.inbox.SaveItems(ctx, tx, items)
	})
	f.same("with a case whose task runs", ended(tidy.EndedRedrive{})[0], want[0])
}
