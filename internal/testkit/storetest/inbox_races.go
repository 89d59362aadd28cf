package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// RunInboxRaces runs the suite of concurrent changes by two processes, on a store with concurrent transactions. open
// returns the stores of two processes on one new, empty database, and closes them when t ends.
func RunInboxRaces(t *testing.T, open func(t *testing.T) (a, b InboxStore)) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(a, b *inboxFixture)
	}{
		{"SameIdentity", sameIdentity},
		{"RenamedMeanwhile", renamedMeanwhile},
		{"OppositeOrder", oppositeOrder},
		{"FoldBlocksNoWriter", foldBlocksNoWriter},
		{"TwoFolds", twoFolds},
		{"LockedLetter", lockedLetter},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			first := newFixture(t, a)
			second := *first
			second.store = b
			c.run(&inboxFixture{fixture: first, inbox: a.Inbox()}, &inboxFixture{fixture: &second, inbox: b.Inbox()})
		})
	}
}

// together runs fn in a transaction of f, and other in a goroutine while that transaction is open. fn returns once
// other may wait for its locks; the transaction ends after other has begun.
func (f *inboxFixture) together(fn func(context.Context, engine.Tx) error, other func() error) {
	f.Helper()
	result := make(chan error, 1)
	var once sync.Once
	f.write(func(ctx context.Context, tx engine.Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		once.Do(func() { go func() { result <- other() }() })
		return nil
	})
	f.must(<-result)
}

// sameIdentity adds one message twice concurrently: exactly one is stored.
func sameIdentity(a, b *inboxFixture) {
	for n := range 20 {
		mine, theirs := a.letter(n, nil), b.letter(n, nil)
		var added, late []bool
		a.together(func(ctx context.Context, tx engine.Tx) (err error) {
			added, err = a.inbox.AddLetters(ctx, tx, []*deadletter.Letter{mine})
			return err
		}, func() error {
			return b.store.Write(b.Context(), func(ctx context.Context, tx engine.Tx) (err error) {
				late, err = b.inbox.AddLetters(ctx, tx, []*deadletter.Letter{theirs})
				return err
			})
		})
		a.same("stored", []bool{added[0], late[0]}, []bool{true, false})
		if a.find(mine.ID) == nil || a.find(theirs.ID) != nil {
			a.Fatalf("round %d: not exactly the first of two letters is there", n)
		}
	}
}

// oppositeOrder adds the same letters and groups in opposite orders, without a deadlock.
func oppositeOrder(a, b *inboxFixture) {
	const many = 200
	for round := range 5 {
		var wg sync.WaitGroup
		stored := make([]int, 2)
		for i, f := range []*inboxFixture{a, b} {
			letters := f.letters(many, func(_ int, l *deadletter.Letter) { l.Source = string(rune('a' + round)) })
			var groups []*deadletter.Group
			for id := range many {
				groups = append(groups, f.group(deadletter.GroupID(1+round*many+id), nil))
			}
			if i == 1 {
				slices.Reverse(letters)
				slices.Reverse(groups)
			}
			wg.Go(func() {
				err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
					added, err := f.inbox.AddLetters(ctx, tx, letters)
					stored[i] = 0
					for _, yes := range added {
						stored[i] += flagOf(yes)
					}
					if err != nil {
						return err
					}
					return f.inbox.AddGroups(ctx, tx, groups)
				})
				if err != nil {
					f.Errorf("round %d: %v", round, err)
				}
			})
		}
		wg.Wait()
		a.same("letters stored by both", stored[0]+stored[1], many)
	}
}

func flagOf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// foldBlocksNoWriter adds deltas and groups during an uncommitted fold.
func foldBlocksNoWriter(a, b *inboxFixture) {
	a.addGroups(a.group(1, nil))
	a.addDeltas(deadletter.Delta{Group: 1, Failures: 1, At: a.now})
	a.write(func(ctx context.Context, tx engine.Tx) error {
		if _, _, err := a.inbox.FoldDeltas(ctx, tx, 10); err != nil {
			return err
		}
		if _, err := a.inbox.Group(ctx, tx, 1); err != nil { // flushes delayed statements
			return err
		}
		// These hang if they are blocked.
		b.addGroups(b.group(1, nil))
		b.addDeltas(deadletter.Delta{Group: 1, Failures: 2, At: a.now})
		return nil
	})
	a.same("failures", a.findGroup(1).Failures, int64(3))
}

// twoFolds folds the same deltas in two processes: each counts once.
func twoFolds(a, b *inboxFixture) {
	a.addGroups(a.group(1, nil))
	for range 50 {
		a.addDeltas(deadletter.Delta{Group: 1, Failures: 1, At: a.now})
	}
	var wg sync.WaitGroup
	for _, f := range []*inboxFixture{a, b} {
		wg.Go(func() {
			for range 10 {
				err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
					_, _, err := f.inbox.FoldDeltas(ctx, tx, 7)
					return err
				})
				if err != nil {
					f.Error(err)
				}
			}
		})
	}
	wg.Wait()
	a.same("failures", a.findGroup(1).Failures, int64(50))
}

// lockedLetter decides on a letter in two processes: the second sees the first's decision.
func lockedLetter(a, b *inboxFixture) {
	l := a.letter(1, func(l *deadletter.Letter) { l.State = model.LetterRedriven })
	a.add(l)
	send := deadletter.Send{Owner: l.ID, Kind: deadletter.SendLetter, No: 1, State: deadletter.SendDelivered,
		Namespace: l.Namespace, Source: l.Source, Content: "same", At: a.now, Tries: 1, Copies: 1}
	a.addSends(send)
	var seen model.LetterState
	var returning bool
	a.together(func(ctx context.Context, tx engine.Tx) error {
		found, err := a.inbox.Letters(ctx, tx, []task.ID{l.ID})
		if err != nil {
			return err
		}
		found[0].State = model.LetterOpen
		send.Died = 1
		return errors.Join(a.inbox.SaveLetters(ctx, tx, found), a.inbox.SaveSends(ctx, tx, []deadletter.Send{send}))
	}, func() error {
		return b.store.Write(b.Context(), func(ctx context.Context, tx engine.Tx) error {
			bare, err := b.inbox.BareLetters(ctx, tx, []task.ID{l.ID}) // letters are locked first
			if err != nil {
				return err
			}
			sends, err := b.inbox.SendsOf(ctx, tx, deadletter.SendLetter, []task.ID{l.ID})
			if err != nil {
				return err
			}
			a.same("state of the bare letter", bare[0].State, model.LetterOpen)
			returning = sends[0].Open()
			letters, err := b.inbox.Identified(ctx, tx, "default", "orders", []string{l.Identity})
			if err == nil {
				seen = letters[l.Identity].State
			}
			return err
		})
	})
	a.same("the send is open twice", returning, false)
	a.same("state that the second one sees", seen, model.LetterOpen)
}
