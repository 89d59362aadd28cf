package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// storm is the number of groups in the benchmark of lists.
const storm = 50_000

// BenchmarkGroups measures lists of 50,000 unfolded groups, in every order and with every filter. 2,000 groups have
// failed again, and 100 are merged into others.
func BenchmarkGroups(b *testing.B, s InboxStore) {
	rows := s.Inbox()
	now := task.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	stormOf(b, s, now)
	for name, f := range map[string]inbox.GroupFilter{
		"last": {}, "open": {Order: "open"}, "first": {Order: "first"},
		"last, open only": {OpenOnly: true}, "open, open only": {Order: "open", OpenOnly: true},
		"first, open only": {Order: "first", OpenOnly: true},
		"state":            {State: model.GroupOpen}, "state of none": {State: model.GroupResolved},
		"owner": {Owner: "ada"}, "where": {Where: "bill-7"}, "where of none": {Where: "nowhere"},
		"text": {Text: "lines 4999"}, "text of none": {Text: "nothing"},
		"next page of last":  {After: 1 << 61, AfterValue: int64(now) + storm/2},
		"next page of open":  {Order: "open", After: 1 << 61, AfterValue: 1},
		"next page of first": {Order: "first", After: 1 << 61, AfterValue: int64(now) + storm/2},
	} {
		for _, namespace := range []string{"default", ""} {
			b.Run(fmt.Sprintf("%s/%q", name, namespace), func(b *testing.B) {
				f.Namespace, f.Limit = namespace, 100
				for b.Loop() {
					if _, err := rows.ListGroups(b.Context(), f); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// stormOf stores groups of one failure each, like captures, and more failures of some.
func stormOf(b *testing.B, s InboxStore, now task.Instant) {
	b.Helper()
	const batch, again, merged = 500, 2000, 100
	rows := s.Inbox()
	write := func(fn func(ctx context.Context, tx engine.Tx) error) {
		if err := s.Write(b.Context(), fn); err != nil {
			b.Fatal(err)
		}
	}
	groups := make([]*deadletter.Group, storm)
	for i := range groups {
		print := failure.Print{Version: 1, Type: fmt.Sprint("Error", i%17), Message: fmt.Sprint("no lines ", i),
			Frame: "bill.go", Where: fmt.Sprint("bill-", i%1000)}
		groups[i] = deadletter.NewGroup("default", print, now+task.Instant(i))
	}
	began := time.Now()
	for n := 0; n < storm+again; n += batch {
		write(func(ctx context.Context, tx engine.Tx) error {
			var tally deadletter.Tally
			for _, g := range groups[n%storm : n%storm+batch] {
				*tally.Of(tally.Join(g).ID) = deadletter.Delta{Group: g.ID, Failures: 1, OpenLetters: 1, At: g.FirstAt}
			}
			return rows.AddTally(ctx, tx, &tally)
		})
	}
	write(func(ctx context.Context, tx engine.Tx) error {
		for i, g := range groups[:merged] {
			g.MergedInto = groups[storm-1-i/2].ID
			if err := rows.SaveGroup(ctx, tx, g); err != nil {
				return err
			}
		}
		return nil
	})
	b.Logf("%d groups stored in %s", storm, time.Since(began).Round(time.Millisecond))
}
