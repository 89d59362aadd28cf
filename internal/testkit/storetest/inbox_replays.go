package storetest

import (
	"context"
	"errors"
	"slices"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/replay"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func replayCases() []inboxCase {
	return []inboxCase{
		{"RoundTrip", replayRoundTrip},
		{"WithTransaction", replayWithTransaction},
		{"Lists", replayLists},
		{"Purge", replayPurge},
	}
}

func (f *inboxFixture) replay(change func(r *deadletter.Replay)) *deadletter.Replay {
	from, to, key := int64(0), int64(1)<<62, "k\n\u00e9"
	r := &deadletter.Replay{ID: f.id(), Namespace: "default", Source: "orders", State: model.ReplayRunning,
		Spec: deadletter.ReplaySpec{Topic: "orders", Into: deadletter.ReplayIntoTasks, Repeat: "again", Since: f.now,
			Before: f.now + 1, FromOffset: &from, ToOffset: &to, Partitions: []int32{0, 1<<31 - 1}, Key: &key,
			Intake:  &deadletter.Intake{TaskType: "header:event_type"},
			Headers: []deadletter.Header{{Name: "a", Value: []byte{0, 255}}}, Rate: 0.5},
		Progress: deadletter.ReplayProgress{Parts: []model.ReplayPart{{Partition: 3, From: 1, To: 1 << 62, Next: 2}},
			Counts: model.ReplayCounts{Letters: 1, Tasks: 2, Known: 3, Gone: 4}, Why: "because", RetryAt: f.now + 2,
			PacedAt: f.now + 3, StateAt: f.now + 4, StartedAt: f.now + 5, EndedAt: f.now + 6},
		Actor: "ann", Key: "key", Reason: "reason", CreatedAt: f.now, PurgeAt: f.now + 7, Version: 2}
	if change != nil {
		change(r)
	}
	return r
}

func (f *inboxFixture) addReplays(list ...*deadletter.Replay) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		for _, r := range list {
			if err := f.inbox.AddReplay(ctx, tx, r); err != nil {
				return err
			}
		}
		return nil
	})
}

func (f *inboxFixture) findReplay(id task.ID) *deadletter.Replay {
	f.Helper()
	got, err := f.inbox.FindReplay(f.Context(), id)
	f.must(err)
	return got
}

func replayRoundTrip(f *inboxFixture) {
	r := f.replay(func(r *deadletter.Replay) { r.Reason, r.Progress.Why = "b\x00", "w\u2028" })
	bare := &deadletter.Replay{ID: f.id(), Namespace: "default", Source: "orders", State: model.ReplayDraft,
		Version: 1}
	f.addReplays(r, bare)
	r.Reason = "b\uFFFD"
	f.same("FindReplay", f.findReplay(r.ID), r)
	f.same("a bare one", f.findReplay(bare.ID), bare)
	f.same("an unknown one", f.findReplay(f.id()), (*deadletter.Replay)(nil))
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := f.inbox.Replay(ctx, tx, r.ID)
		if err != nil {
			return err
		}
		f.same("Replay", got, r)
		none, err := f.inbox.Replay(ctx, tx, f.id())
		f.same("an unknown one in a transaction", none, (*deadletter.Replay)(nil))
		return err
	})
	r.State, r.Version, r.PurgeAt = model.ReplayDone, 3, f.now+99
	r.Progress.Parts[0].Next, r.Progress.Counts.Known, r.Progress.Why = 9, 8, ""
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.inbox.SaveReplay(ctx, tx, r) })
	f.same("saved replay", f.findReplay(r.ID), r)
	f.same("the other one", f.findReplay(bare.ID), bare)
}

// A replay's position is stored if and only if its messages' outcome is.
func replayWithTransaction(f *inboxFixture) {
	r, gone := f.replay(nil), errors.New("given up")
	f.addReplays(r)
	letter := f.letter(1, nil)
	err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
		_, err := f.inbox.AddLetters(ctx, tx, []*deadletter.Letter{letter})
		f.must(err)
		moved := *r
		moved.Progress.Parts = []model.ReplayPart{{Partition: 3, From: 1, To: 1 << 62, Next: 3}}
		f.must(f.inbox.SaveReplay(ctx, tx, &moved))
		return gone
	})
	if !errors.Is(err, gone) {
		f.Errorf("Write returned %v", err)
	}
	f.same("the replay", f.findReplay(r.ID), r)
	f.same("the letter", f.find(letter.ID), (*deadletter.Letter)(nil))
}

func replayLists(f *inboxFixture) {
	var all []*deadletter.Replay
	for i, state := range slices.Repeat(model.ReplayStates, 2) {
		all = append(all, f.replay(func(r *deadletter.Replay) {
			if r.State = state; i == 0 {
				r.Namespace = "elsewhere"
			}
		}))
	}
	f.addReplays(all...)
	ids := func(list []*deadletter.Replay, err error) (ids []task.ID) {
		f.Helper()
		f.must(err)
		for _, r := range list {
			ids = append(ids, r.ID)
		}
		return ids
	}
	var newest []task.ID
	for _, r := range slices.Backward(all) {
		newest = append(newest, r.ID)
	}
	var pages []task.ID
	for filter := (replay.Filter{Limit: 5}); ; filter.Below = pages[len(pages)-1] {
		page := ids(f.inbox.ListReplays(f.Context(), filter))
		if pages = append(pages, page...); len(page) < 5 {
			break
		}
	}
	f.same("pages", pages, newest)
	f.same("of a namespace", ids(f.inbox.ListReplays(f.Context(), replay.Filter{Namespace: "elsewhere", Limit: 9})),
		[]task.ID{all[0].ID})
	f.same("running", ids(f.inbox.RunningReplays(f.Context(), 9)), []task.ID{all[1].ID, all[7].ID})
	f.same("the first that runs", ids(f.inbox.RunningReplays(f.Context(), 1)), []task.ID{all[1].ID})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		for namespace, want := range map[string]int{"default": 7, "elsewhere": 1, "none": 0} {
			n, err := f.inbox.OpenReplays(ctx, tx, namespace)
			f.must(err)
			f.same("open in "+namespace, n, want)
		}
		return nil
	})
}

func replayPurge(f *inboxFixture) {
	at := func(at task.Instant) *deadletter.Replay {
		return f.replay(func(r *deadletter.Replay) { r.PurgeAt = at })
	}
	late, open, early, due := at(f.now+3), at(0), at(f.now+1), at(f.now+2)
	f.addReplays(late, open, early, due)
	purge := func(limit, want int) {
		f.Helper()
		f.write(func(ctx context.Context, tx engine.Tx) error {
			n, err := f.inbox.PurgeReplays(ctx, tx, f.now+2, limit)
			f.same("purged replays", n, want)
			return err
		})
	}
	purge(1, 1)
	f.same("the earliest", f.findReplay(early.ID), (*deadletter.Replay)(nil))
	purge(9, 1)
	purge(9, 0)
	f.same("a due one", f.findReplay(due.ID), (*deadletter.Replay)(nil))
	f.same("a late one", f.findReplay(late.ID), late)
	f.same("an open one", f.findReplay(open.ID), open)
}
