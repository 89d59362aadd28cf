package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

func groupCases() []inboxCase {
	return []inboxCase{
		{"RoundTrip", groupRoundTrip},
		{"AddedOnce", groupAddedOnce},
		{"Notes", groupNotes},
		{"Lists", groupLists},
		{"Counts", groupCounts},
		{"MergedCounts", mergedCounts},
		{"FoldUnderLoad", foldUnderLoad},
		{"Timed", timedGroups},
		{"Regroup", regroupedCases},
	}
}

func (f *inboxFixture) group(id deadletter.GroupID, change func(g *deadletter.Group)) *deadletter.Group {
	g := &deadletter.Group{ID: id, Namespace: "default", Title: fmt.Sprint("title ", int64(id)),
		State: model.GroupOpen, StateAt: f.now, OpenedAt: f.now, FirstAt: f.now, LastAt: f.now, Version: 1,
		Print: failure.Print{Version: 1, Type: "ValueError", Message: "bad order <n>", Frame: "bill.go", Where: "bill"}}
	if change != nil {
		change(g)
	}
	return g
}

func (f *inboxFixture) addGroups(groups ...*deadletter.Group) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.inbox.AddGroups(ctx, tx, groups) })
}

func (f *inboxFixture) addDeltas(deltas ...deadletter.Delta) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.inbox.AddDeltas(ctx, tx, deltas) })
}

func (f *inboxFixture) fold(limit int) (sums []deadletter.Delta, more bool) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) (err error) {
		sums, more, err = f.inbox.FoldDeltas(ctx, tx, limit)
		return err
	})
	return sums, more
}

func (f *inboxFixture) findGroup(id deadletter.GroupID) *deadletter.Group {
	f.Helper()
	g, err := f.inbox.FindGroup(f.Context(), id)
	f.must(err)
	return g
}

func groupRoundTrip(f *inboxFixture) {
	g := f.group(1<<62+1, func(g *deadletter.Group) {
		g.Print.Rule, g.Failures, g.OpenLetters, g.OpenCases = "rule", 9, 4, 3
	})
	f.addGroups(g)
	f.same("FindGroup", f.findGroup(g.ID), g)
	g.State, g.StateAt, g.ResolvedIn, g.Title = model.GroupIgnored, f.now+1, "v2", "t"
	g.Ignore, g.IgnoredFrom = deadletter.Ignore{Until: f.now + 2, Count: 3, PerHour: 4}, 5
	g.Regression, g.Regressions, g.ResolvedAt, g.OpenFor, g.Resolutions, g.OpenedAt = true, 6, f.now+7, 8, 9, f.now+10
	g.Owner, g.Runbook, g.DueAt, g.MergedInto, g.Version = "ada", "https://x", f.now+11, 12, 2
	f.write(func(ctx context.Context, tx engine.Tx) error {
		changed := *g
		changed.Failures, changed.OpenLetters, changed.LastAt, changed.Notes = 0, 0, 0, 99 // these are counted, not saved
		return f.inbox.SaveGroup(ctx, tx, &changed)
	})
	f.same("saved group", f.findGroup(g.ID), g)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := f.inbox.Group(ctx, tx, g.ID)
		if err != nil {
			return err
		}
		f.same("Group", got, g)
		none, err := f.inbox.Group(ctx, tx, 5)
		if none != nil {
			f.Errorf("Group of an unknown ID returned %v", none)
		}
		return err
	})
	if none := f.findGroup(5); none != nil {
		f.Errorf("FindGroup of an unknown ID returned %v", none)
	}
}

func groupAddedOnce(f *inboxFixture) {
	g := f.group(1, func(g *deadletter.Group) { g.Owner = "ada" })
	hostile := f.group(2, func(g *deadletter.Group) { g.Title, g.Print.Message = "a\x00b\xff", "a\x00" })
	f.addGroups(g, hostile)
	f.addGroups(f.group(2, nil), f.group(1, nil), f.group(3, nil))
	f.same("group that was added twice", f.findGroup(1), g)
	f.same("hostile title", f.findGroup(2).Title, "a\uFFFDb\uFFFD")
	if f.findGroup(3) == nil {
		f.Error("a new group beside known ones was not stored")
	}
}

func groupNotes(f *inboxFixture) {
	f.addGroups(f.group(1, nil), f.group(2, nil))
	note := func(group deadletter.GroupID, text string) deadletter.Note {
		return deadletter.Note{Group: group, At: f.now, Author: "ada", Key: "k", Kind: "note", Text: text}
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.inbox.AddGroupNotes(ctx, tx, []deadletter.Note{note(2, "x"), note(1, "a"), note(1, "b")})
	})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.inbox.AddGroupNotes(ctx, tx, []deadletter.Note{note(1, "c\x00")})
	})
	want := []deadletter.Note{note(1, "c\uFFFD"), note(1, "b"), note(1, "a")}
	for i := range want {
		want[i].No = 3 - i
	}
	got, err := f.inbox.GroupNotes(f.Context(), 1, 0, 10)
	f.must(err)
	f.same("notes", got, want)
	got, err = f.inbox.GroupNotes(f.Context(), 1, 3, 1)
	f.must(err)
	f.same("notes below a number", got, want[1:2])
	f.same("number of notes", f.findGroup(1).Notes, 3)
}

func groupLists(f *inboxFixture) {
	var groups []*deadletter.Group
	for i := range 10 {
		groups = append(groups, f.group(deadletter.GroupID(100+i), func(g *deadletter.Group) {
			g.LastAt, g.FirstAt = f.now+task.Instant(i/2), f.now-task.Instant(i)
			g.OpenLetters = int64(i % 3)
		}))
	}
	groups[1].MergedInto, groups[2].Namespace, groups[3].State = 105, "elsewhere", model.GroupResolved
	groups[4].Owner, groups[5].Print.Where, groups[6].Title = "ada", "ship", "100% full"
	f.addGroups(groups...)
	f.addDeltas(deadletter.Delta{Group: 104, Failures: 1, OpenCases: 9, At: f.now + 100})
	list := func(filter inbox.GroupFilter, value func(g *deadletter.Group) int64) (ids []int) {
		f.Helper()
		filter.Namespace = "default"
		for filter.Limit = 3; ; {
			page, err := f.inbox.ListGroups(f.Context(), filter)
			f.must(err)
			for _, g := range page {
				ids = append(ids, int(g.ID)-100)
			}
			if len(page) < filter.Limit {
				return ids
			}
			last := page[len(page)-1]
			filter.After, filter.AfterValue = last.ID, value(last)
		}
	}
	last := func(g *deadletter.Group) int64 { return int64(g.LastAt) }
	f.same("failed last", list(inbox.GroupFilter{}, last), []int{4, 9, 8, 7, 6, 5, 3, 0})
	f.same("newest", list(inbox.GroupFilter{Order: "first"}, func(g *deadletter.Group) int64 { return int64(g.FirstAt) }),
		[]int{0, 3, 4, 5, 6, 7, 8, 9})
	f.same("most open", list(inbox.GroupFilter{Order: "open", OpenOnly: true},
		func(g *deadletter.Group) int64 { return g.OpenLetters + g.OpenCases }), []int{4, 5, 8, 7})
	f.same("state", list(inbox.GroupFilter{State: model.GroupResolved}, last), []int{3})
	f.same("owner", list(inbox.GroupFilter{Owner: "ada"}, last), []int{4})
	f.same("where", list(inbox.GroupFilter{Where: "ship"}, last), []int{5})
	f.same("text", list(inbox.GroupFilter{Text: "0% f"}, last), []int{6})
	f.same("no text", list(inbox.GroupFilter{Text: "0%f"}, last), []int(nil))
	merged, err := f.inbox.MergedGroups(f.Context(), 105)
	f.must(err)
	f.same("merged", merged, groups[1:2])
}

// mergedCounts: lists include merged groups in counts, order and filters.
func mergedCounts(f *inboxFixture) {
	const hour = task.Instant(time.Hour / time.Microsecond)
	into := func(g *deadletter.Group) { g.MergedInto = 1 }
	f.addGroups(f.group(1, func(g *deadletter.Group) { g.FirstAt, g.LastAt = f.now-hour, f.now }),
		f.group(2, func(g *deadletter.Group) {
			into(g)
			g.FirstAt, g.LastAt, g.Failures, g.OpenLetters, g.OpenCases = f.now-2*hour, f.now+5, 10, 4, 2
		}), f.group(3, func(g *deadletter.Group) { g.LastAt = f.now + 1 }), f.group(4, into))
	check := func(last task.Instant, counts ...int64) {
		f.Helper()
		page, err := f.inbox.ListGroups(f.Context(), inbox.GroupFilter{OpenOnly: true, Limit: 5})
		f.must(err)
		if len(page) != 1 || page[0].ID != 1 {
			f.Fatalf("the page has %d groups", len(page))
		}
		g := page[0]
		f.same("counts", []int64{g.Failures, g.OpenLetters, g.OpenCases}, counts)
		f.same("times", []task.Instant{g.FirstAt, g.LastAt}, []task.Instant{f.now - 2*hour, last})
	}
	check(f.now+5, 10, 4, 2)
	f.addDeltas(deadletter.Delta{Group: 4, Failures: 3, OpenLetters: 1, At: f.now + 9},
		deadletter.Delta{Group: 1, Failures: 1, At: f.now + 7})
	check(f.now+9, 14, 5, 2)
	hours, err := f.inbox.Hours(f.Context(), []deadletter.GroupID{1, 3}, 0)
	f.must(err)
	f.same("hours", hours, map[deadletter.GroupID][]deadletter.Hour{1: {{At: f.now - f.now%hour, Failures: 4}}})
	page, err := f.inbox.ListGroups(f.Context(), inbox.GroupFilter{Limit: 5})
	f.must(err)
	if len(page) != 2 || page[0].ID != 1 {
		f.Errorf("the first of %d groups is %s", len(page), page[0].ID)
	}
}

func groupCounts(f *inboxFixture) {
	const hour = task.Instant(time.Hour / time.Microsecond)
	start := f.now - f.now%hour
	f.addGroups(f.group(1, nil), f.group(2, nil))
	f.addDeltas(deadletter.Delta{Group: 1, Failures: 2, OpenLetters: 1, OpenCases: 1, At: start + hour},
		deadletter.Delta{Group: 2, Failures: 1, At: start},
		deadletter.Delta{Group: 1, Failures: 3, OpenLetters: 3, At: start + 5},
		deadletter.Delta{Group: 1, OpenLetters: -1, At: start + 3*hour})
	check := func(when string) {
		f.Helper()
		g := f.findGroup(1)
		f.same("counts "+when, []int64{g.Failures, g.OpenLetters, g.OpenCases, int64(g.LastAt)},
			[]int64{5, 3, 1, int64(start + 3*hour)})
		f.write(func(ctx context.Context, tx engine.Tx) error {
			locked, err := f.inbox.Group(ctx, tx, 1)
			f.same("locked group "+when, locked, g)
			return err
		})
		hours, err := f.inbox.Hours(f.Context(), []deadletter.GroupID{1, 2, 3}, start)
		f.must(err)
		f.same("hours "+when, hours, map[deadletter.GroupID][]deadletter.Hour{
			1: {{At: start, Failures: 3}, {At: start + hour, Failures: 2}}, 2: {{At: start, Failures: 1}}})
		hours, err = f.inbox.Hours(f.Context(), []deadletter.GroupID{1}, start+1)
		f.must(err)
		f.same("later hours "+when, len(hours[1]), 1)
	}
	check("before folding")
	sums, more := f.fold(3)
	f.same("sums", sums, []deadletter.Delta{{Group: 1, Failures: 5, OpenLetters: 4, OpenCases: 1, At: start + hour},
		{Group: 2, Failures: 1, At: start}})
	f.same("more", more, true)
	check("between folds")
	sums, more = f.fold(3)
	f.same("rest", sums, []deadletter.Delta{{Group: 1, OpenLetters: -1, At: start + 3*hour}})
	f.same("no more", more, false)
	check("after folding")
	if sums, more = f.fold(3); sums != nil || more {
		f.Errorf("folding nothing returned %v, %v", sums, more)
	}
	f.addDeltas(deadletter.Delta{Group: 1, Failures: 1, At: start + 16*24*hour})
	f.fold(3)
	hours, err := f.inbox.Hours(f.Context(), []deadletter.GroupID{1}, 0)
	f.must(err)
	f.same("hours that are kept", hours[1], []deadletter.Hour{{At: start + 16*24*hour, Failures: 1}})
}

// foldUnderLoad folds while deltas are added: each counts once.
func foldUnderLoad(f *inboxFixture) {
	const writers, each = 4, 50
	f.addGroups(f.group(1, nil), f.group(2, nil))
	var wg sync.WaitGroup
	errs := make(chan error, writers)
	for range writers {
		wg.Go(func() {
			for range each {
				if err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
					return f.inbox.AddDeltas(ctx, tx, []deadletter.Delta{{Group: 1, Failures: 1, At: f.now},
						{Group: 2, Failures: 1, OpenLetters: 1, At: f.now}})
				}); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	var sum int64
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for ended := false; ; {
		sums, _ := f.fold(7)
		for _, d := range sums {
			sum += d.Failures
		}
		if len(sums) == 0 && ended {
			break
		}
		select {
		case <-done:
			ended = true
		case err := <-errs:
			f.Fatal(err)
		default:
		}
	}
	f.same("failures folded", sum, int64(2*writers*each))
	f.same("failures of a group", f.findGroup(2).Failures, int64(writers*each))
	f.same("open letters of a group", f.findGroup(2).OpenLetters, int64(writers*each))
}

func timedGroups(f *inboxFixture) {
	ignored := func(id deadletter.GroupID, until task.Instant) *deadletter.Group {
		return f.group(id, func(g *deadletter.Group) { g.State, g.Ignore.Until = model.GroupIgnored, until })
	}
	open := ignored(4, f.now-1)
	open.State = model.GroupOpen
	f.addGroups(ignored(1, f.now), ignored(2, f.now-5), ignored(3, f.now+1), open, ignored(5, 0))
	got, err := f.inbox.Timed(f.Context(), f.now, 10)
	f.must(err)
	f.same("Timed", got, []deadletter.GroupID{2, 1})
}

func regroupedCases(f *inboxFixture) {
	_, full := f.openCase("disk 7 is full", f.now)
	_, same := f.openCase("disk 8 is full", f.now+5)
	f.same("groups of one cause", same, full)
	j := f.one()
	stale := task.NewCase(f.id(), j.task, task.Pending, task.ReasonStaleness, f.now)
	stale.Status = task.CaseResolved
	f.addCase(j, stale)
	regroup := func(limit, want int) {
		f.Helper()
		f.write(func(ctx context.Context, tx engine.Tx) error {
			n, err := f.inbox.Regroup(ctx, tx, limit, noRules)
			f.same("regrouped", n, want)
			return err
		})
	}
	regroup(2, 2)
	regroup(2, 1)
	regroup(2, 0)
	g := f.findGroup(full)
	if g == nil {
		f.Fatal("the group of two cases does not exist")
	}
	f.same("group of cases", []any{g.Failures, g.OpenCases, g.OpenLetters, g.Namespace, g.Print.Type, g.Print.Where,
		g.FirstAt,
		g.LastAt, g.State}, []any{int64(2), int64(2), int64(0), "default", "E7", "a", f.now, f.now + 5, model.GroupOpen})
	page, err := f.inbox.ListGroups(f.Context(), inbox.GroupFilter{Limit: 10})
	f.must(err)
	at := slices.IndexFunc(page, func(g *deadletter.Group) bool { return g.Print.Type == string(task.ReasonStaleness) })
	if at < 0 || page[at].OpenCases != 0 || page[at].Failures != 1 || page[at].Print.Where != f.single.Name {
		f.Errorf("the group of a resolved case without a failure is not in %v", page)
	}
}
