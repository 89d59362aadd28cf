package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func redriveCases() []inboxCase {
	return []inboxCase{
		{"RoundTrip", redriveRoundTrip},
		{"Lists", redriveLists},
		{"Freeze", frozenItems},
		{"FreezeTooMuch", frozenTooMuch},
		{"FreezeMany", frozenMany},
		{"Items", savedItems},
	}
}

func (f *inboxFixture) redrive(op model.Operation, sel deadletter.Selection) *deadletter.Redrive {
	sel.Namespace = "default"
	return &deadletter.Redrive{ID: f.id(), Namespace: "default", Operation: op, Selection: sel,
		State: model.RedriveDraft, StateAt: f.now, FrozenAt: f.now, CreatedAt: f.now, Version: 1}
}

func (f *inboxFixture) freeze(r *deadletter.Redrive) []deadletter.Item {
	f.Helper()
	n := 0
	f.write(func(ctx context.Context, tx engine.Tx) (err error) {
		if err = f.inbox.AddRedrive(ctx, tx, r); err == nil {
			n, err = f.inbox.Freeze(ctx, tx, r, 1_000_000)
		}
		return err
	})
	items, err := f.inbox.ListItems(f.Context(), r.ID, "", 0, 1_000_000)
	f.must(err)
	f.same("number of items", len(items), n)
	return items
}

func redriveRoundTrip(f *inboxFixture) {
	yes := true
	r := f.redrive(model.OpRedrive, deadletter.Selection{Kind: model.KindLetter, IDs: []task.ID{f.id()},
		Groups: []deadletter.GroupID{1 << 62}, Text: "a\x00b", Parked: &yes, HeaderName: "h"})
	r.Destination, r.IncludeParked, r.Actor, r.Key, r.Reason = "orders.in", true, "ada", "key", "b\x00"
	r.Edit = &deadletter.Edit{Patch: []byte(`[]`), SetHeaders: []deadletter.Header{{Name: "x", Value: []byte{0, 255}}},
		DropHeaders: []string{"y"}, Key: []byte("k")}
	r.Plan = deadletter.Plan{Canary: 1, Factor: 2.5, Largest: 10, Observe: time.Minute, Rate: 0.5}
	r.Stop = deadletter.StopRule{ReturnedShare: 0.1, SamePrint: 2, Failed: 3}
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.inbox.AddRedrive(ctx, tx, r) })
	r.Reason = "b\uFFFD"
	find := func() *deadletter.Redrive {
		f.Helper()
		got, err := f.inbox.FindRedrive(f.Context(), r.ID)
		f.must(err)
		return got
	}
	f.same("FindRedrive", find(), r)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := f.inbox.Redrive(ctx, tx, r.ID)
		if err != nil {
			return err
		}
		f.same("Redrive", got, r)
		none, err := f.inbox.Redrive(ctx, tx, f.id())
		if none != nil {
			f.Errorf("Redrive of an unknown ID returned %v", none)
		}
		return err
	})
	r.State, r.StateAt, r.Resume, r.Halt = model.RedrivePaused, f.now+1, model.RedriveRunning, "halted"
	r.StartedAt, r.EndedAt, r.Total, r.Counts = f.now+2, f.now+3, 9, model.ItemCounts{Pending: 1, Sent: 2, Uncertain: 1}
	r.Wave, r.WaveSize, r.WaveSent, r.WaveBegan, r.Behind, r.Version = 2, 3, 1, f.now+4, 5, 6
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.inbox.SaveRedrive(ctx, tx, r) })
	f.same("saved redrive", find(), r)
}

func redriveLists(f *inboxFixture) {
	var all []*deadletter.Redrive
	for i, state := range slices.Repeat(model.RedriveStates, 2) {
		r := f.redrive(model.OpRedrive, deadletter.Selection{})
		if r.State = state; i == 0 {
			r.Namespace = "elsewhere"
		}
		all = append(all, r)
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		for _, r := range all {
			if err := f.inbox.AddRedrive(ctx, tx, r); err != nil {
				return err
			}
		}
		return nil
	})
	list := func(filter redrive.Filter) (ids []task.ID) {
		f.Helper()
		for {
			page, err := f.inbox.ListRedrives(f.Context(), filter)
			f.must(err)
			for _, r := range page {
				ids = append(ids, r.ID)
			}
			if len(page) < filter.Limit {
				return ids
			}
			filter.Below = page[len(page)-1].ID
		}
	}
	f.same("all", len(list(redrive.Filter{Limit: 3})), 14)
	f.same("of a namespace", len(list(redrive.Filter{Namespace: "default", Limit: 3})), 13)
	f.same("of states", list(redrive.Filter{Limit: 1, States: []model.RedriveState{model.RedriveDone,
		model.RedriveHalted}}), []task.ID{all[12].ID, all[11].ID, all[5].ID, all[4].ID})
	active, err := f.inbox.ActiveRedrives(f.Context(), task.ID{}, 10)
	f.must(err)
	var ids []task.ID
	for _, r := range active {
		ids = append(ids, r.ID)
	}
	f.same("active", ids, []task.ID{all[1].ID, all[2].ID, all[8].ID, all[9].ID})
}

// frozenItems freezes letters and cases, the earliest death first.
func frozenItems(f *inboxFixture) {
	letters := f.letters(6, func(i int, l *deadletter.Letter) { l.FirstAt = f.now.Add(time.Duration(10-i) * time.Second) })
	letters[1].Parked, letters[2].State = true, model.LetterDiscarded
	early, group := f.openCase("disk 7 is full", f.now.Add(time.Second))
	late, _ := f.openCase("disk 9 is full", f.now.Add(time.Minute))
	other, group2 := f.openCase("no route", f.now.Add(time.Hour))
	f.write(func(ctx context.Context, tx engine.Tx) error {
		n, err := f.inbox.Regroup(ctx, tx, 10, noRules)
		f.same("cases put into groups", n, 3)
		return err
	})
	for i, l := range letters {
		if l.Group = group; i == 3 {
			l.Group = 8
		}
	}
	f.add(letters...)
	want := func(name string, r *deadletter.Redrive, ids ...task.ID) {
		f.Helper()
		var got []task.ID
		for i, item := range f.freeze(r) {
			kind := model.KindLetter
			if slices.Contains([]task.ID{early, late, other}, item.ID) {
				kind = model.KindCase
			}
			f.same(name, item, deadletter.Item{Redrive: r.ID, No: i + 1, Kind: kind, ID: item.ID,
				State: model.ItemPending, At: r.FrozenAt})
			got = append(got, item.ID)
		}
		f.same(name, got, ids)
	}
	id := func(i int) task.ID { return letters[i].ID }
	want("all", f.redrive(model.OpRedrive, deadletter.Selection{}), early, id(5), id(4), id(3), id(2), id(0), late,
		other)
	want("open", f.redrive(model.OpRedrive, deadletter.Selection{State: model.LetterOpen}), early, id(5), id(4), id(3),
		id(0), late, other)
	want("group", f.redrive(model.OpRedrive, deadletter.Selection{Groups: []deadletter.GroupID{group, group2}}),
		early, id(5),
		id(4), id(2), id(0), late, other)
	want("cases", f.redrive(model.OpRedrive, deadletter.Selection{Kind: model.KindCase,
		Groups: []deadletter.GroupID{group}}), early, late)
	want("template", f.redrive(model.OpRedrive, deadletter.Selection{Template: f.single.Name}), early, late, other)
	want("no template", f.redrive(model.OpRedrive, deadletter.Selection{Template: "none"}))
	want("IDs", f.redrive(model.OpRedrive, deadletter.Selection{IDs: []task.ID{id(0), late, f.id()}}), id(0), late)
	want("source", f.redrive(model.OpRedrive, deadletter.Selection{Source: "orders"}), id(5), id(4), id(3), id(2),
		id(0))
	parked := f.redrive(model.OpRedrive, deadletter.Selection{Kind: model.KindLetter, State: model.LetterOpen})
	parked.IncludeParked = true
	want("parked", parked, id(5), id(4), id(3), id(1), id(0))
	oldest := f.redrive(model.OpRedrive, deadletter.Selection{State: model.LetterOpen})
	oldest.Plan.Limit = 3
	want("the oldest", oldest, early, id(5), id(4))
	opened := deadletter.Selection{FirstAfter: f.now.Add(time.Minute), FirstBefore: f.now.Add(time.Hour)}
	want("opened in a span", f.redrive(model.OpRedrive, opened), late)
	failed := f.redrive(model.OpRedrive, deadletter.Selection{Reason: task.ReasonMaxRetries})
	want("reason", failed, early, late, other)
	want("other reason", f.redrive(model.OpRedrive, deadletter.Selection{Reason: task.ReasonManual}))
	cases, more, err := f.inbox.SelectCases(f.Context(), deadletter.Selection{Namespace: "default"}, 2)
	f.must(err)
	f.same("SelectCases", cases, []task.ID{early, late})
	f.same("more cases", more, true)
}

// openCase stores a pending case of a new task, and returns it with its future group.
func (f *inboxFixture) openCase(message string, at task.Instant) (task.ID, deadletter.GroupID) {
	f.Helper()
	j := f.one()
	c := task.NewCase(f.id(), j.task, task.Errored, task.ReasonMaxRetries, at)
	c.Fingerprint, c.Step, c.Message = "E7", f.single.Steps[0].Name, message
	f.addCase(j, c)
	return c.ID, deadletter.GroupOf("default", deadletter.PrintOfCase(c, "a", f.single.Name, ""))
}

func frozenTooMuch(f *inboxFixture) {
	f.add(f.letters(5, nil)...)
	r := f.redrive(model.OpRedrive, deadletter.Selection{})
	err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
		if err := f.inbox.AddRedrive(ctx, tx, r); err != nil {
			return err
		}
		_, err := f.inbox.Freeze(ctx, tx, r, 4)
		return err
	})
	f.wantCode(err, task.TooLarge)
	if got, err := f.inbox.FindRedrive(f.Context(), r.ID); err != nil || got != nil {
		f.Errorf("a redrive that was refused is there: %v, %v", got, err)
	}
}

func frozenMany(f *inboxFixture) {
	many := 100_000
	if testing.Short() {
		many = 10_000
	}
	for range many / 5000 {
		f.add(f.letters(5000, func(i int, l *deadletter.Letter) {
			l.Identity, l.Stack = fmt.Sprint(l.ID), ""
		})...)
	}
	items := f.freeze(f.redrive(model.OpRedrive, deadletter.Selection{Groups: []deadletter.GroupID{7}}))
	f.same("items", len(items), many)
	for i, item := range items {
		if item.No != i+1 {
			f.Fatalf("item %d has the number %d", i+1, item.No)
		}
	}
}

func savedItems(f *inboxFixture) {
	f.add(f.letters(7, nil)...)
	r := f.redrive(model.OpRedrive, deadletter.Selection{})
	items := f.freeze(r)
	states := []model.ItemState{model.ItemSending, model.ItemSent, model.ItemReturned,
		model.ItemReturned, model.ItemFailed, model.ItemSkipped, model.ItemPending}
	for i := range items {
		items[i].State, items[i].At, items[i].Message = states[i], f.now+task.Instant(i), "m\x00"
		if i < 6 {
			items[i].Wave = 1
		}
	}
	items[2].Group, items[3].Group, items[1].Uncertain = 8, 8, true
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.inbox.SaveItems(ctx, tx, items) })
	for i := range items {
		items[i].Message = "m\uFFFD"
	}
	list := func(state model.ItemState, above, limit int) []deadletter.Item {
		f.Helper()
		got, err := f.inbox.ListItems(f.Context(), r.ID, state, above, limit)
		f.must(err)
		return got
	}
	f.same("all items", list("", 0, 10), items)
	f.same("items above a number", list("", 2, 3), items[2:5])
	f.same("items in a state", list(model.ItemReturned, 3, 10), items[3:4])
	f.same("items in no state", list("none", 0, 10), []deadletter.Item(nil))
	counts := model.ItemCounts{Pending: 1, Sending: 1, Sent: 1, Returned: 2, Failed: 1, Skipped: 1, Uncertain: 1}
	got, err := f.inbox.CountItems(f.Context(), r)
	f.must(err)
	f.same("counts", got, counts)
	waves, err := f.inbox.CountWaves(f.Context(), r.ID, 0)
	f.must(err)
	inWaves := counts
	inWaves.Pending, inWaves.Uncertain = 0, 0
	f.same("waves", waves, []model.RedriveWave{{No: 1, ItemCounts: inWaves}})
	waves, err = f.inbox.CountWaves(f.Context(), r.ID, 1)
	f.must(err)
	f.same("waves above the last", len(waves), 0)
	ofLetters := *r // of which most are not looked at
	ofLetters.Selection.Kind, ofLetters.Total = model.KindLetter, len(items)
	got, err = f.inbox.CountItems(f.Context(), &ofLetters)
	f.must(err)
	f.same("counts of letters", got, counts)
	ofLetters.Behind = 6
	got, err = f.inbox.CountItems(f.Context(), &ofLetters)
	f.must(err)
	f.same("counts of letters of which six are decided", got, counts)
	outcome, err := f.inbox.WaveOutcome(f.Context(), r.ID, 1)
	f.must(err)
	counts.Pending, counts.Uncertain = 0, 0
	f.same("outcome", outcome, deadletter.Outcome{ItemCounts: counts, ByGroup: map[deadletter.GroupID]int{8: 2}})
	troubled := func(what string, wave int, want bool, change ...deadletter.Item) {
		f.Helper()
		f.write(func(ctx context.Context, tx engine.Tx) error { return f.inbox.SaveItems(ctx, tx, change) })
		got, err := f.inbox.WaveTroubled(f.Context(), r.ID, wave)
		f.must(err)
		f.same("trouble with "+what, got, want)
	}
	second := slices.Clone(items)
	for i := range second {
		second[i].Wave = 2
	}
	troubled("a return and a failure", 1, true)
	troubled("the next wave", 2, false)
	troubled("what was sent, is being sent, or was skipped", 2, false, second[0], second[1], second[5])
	troubled("a failure", 2, true, second[4])
	troubled("returns", 1, true)
	troubled("none of them any more", 1, false, second[2], second[3])
	troubled("its own items", 1, true, items...)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		of, err := f.inbox.ItemOf(ctx, tx, r.ID, items[4].ID)
		if err != nil {
			return err
		}
		f.same("ItemOf", of, &items[4])
		none, err := f.inbox.ItemOf(ctx, tx, r.ID, f.id())
		if none != nil || err != nil {
			f.Errorf("ItemOf an unknown ID returned %v, %v", none, err)
		}
		return nil
	})
	pending, err := f.inbox.ListItems(f.Context(), r.ID, model.ItemPending, 0, 10)
	f.must(err)
	f.same("ListItems", pending, items[6:])
	active, err := f.inbox.ActiveRedrives(f.Context(), task.ID{}, 10)
	f.must(err)
	f.same("active redrives: none that is a draft", len(active), 0)
}
