package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

const day = 24 * time.Hour

// The documentation promises 90 and 400 days.
func TestRetentionOfRedrivesAndGroups(t *testing.T) {
	t.Parallel()
	if deadletter.RedriveRetention != 90*day || deadletter.GroupRetention != 400*day {
		t.Error("the times are others")
	}
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		first := r.die(dead(1, "Timeout"))[0]
		kept := r.die(dead(2, "Schema"))[0]
		rd := r.redrive(deadletter.Selection{Namespace: "default", Source: "orders"}).ID
		r.pass(time.Minute) // it ends
		r.die(back(r.letter(kept.Letter), "Schema"))
		if _, err := r.ChangeGroup(t.Context(), first.Group, groups.GroupChange{Note: "the disk"}); err != nil {
			t.Fatal(err)
		}
		r.pass(89 * day)
		if got, err := r.Redrive(t.Context(), rd); err != nil || got.State != model.RedriveDone {
			t.Fatalf("after 89 days: %v, %v", got, err)
		}
		r.pass(2 * day)
		_, err := r.Redrive(t.Context(), rd)
		r.refused(err, task.NotFound)
		var refused *task.Error
		if !errors.As(err, &refused) || !strings.Contains(refused.Hint, "90 days") {
			t.Errorf("a redrive that is gone is answered with %v", err)
		}
		_, err = r.RedriveItems(t.Context(), rd, "", 0, 10)
		r.refused(err, task.NotFound)
		_, err = r.ActOnRedrive(t.Context(), rd, model.CancelRedrive, inbox.By{})
		r.refused(err, task.NotFound)
		// Its letter remains, with its explanation, and can be sent back.
		l, e, err := r.ExplainLetter(t.Context(), kept.Letter)
		if err != nil || l.Redrive != rd || e.Summary == "" {
			t.Fatalf("the letter: %+v, %+v, %v", l, e, err)
		}
		r.pass(308 * day) // 399 in all
		if _, err := r.Group(t.Context(), first.Group); err != nil {
			t.Fatalf("after 399 days: %v", err)
		}
		r.pass(2 * day)
		r.pass(day)
		r.pass(time.Hour)
		_, err = r.Group(t.Context(), first.Group)
		r.refused(err, task.NotFound)
		if g, err := r.Group(t.Context(), kept.Group); err != nil || g.Group.OpenLetters != 1 {
			t.Errorf("the group of an open letter: %v", err)
		}
		r.lastAct("change_group") // acts stay
		// A new failure makes a group with this failure alone.
		r.want("group", r.die(dead(3, "Timeout"))[0].Group, first.Group)
		if g, err := r.Group(t.Context(), first.Group); err != nil || g.Group.Failures != 1 || len(g.Notes) != 0 {
			t.Errorf("the group after a new failure: %v", err)
		}
	})
}

// The group of a split stays: undoing the split returns its members.
func TestSplitGroupIsKept(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		whole := r.die(dead(1, "Timeout"))[0].Group
		if _, err := r.SplitGroup(t.Context(), whole, groups.SplitRequest{When: "true"}); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Minute)
		r.pass(401 * day)
		r.pass(2 * day)
		if _, err := r.Group(t.Context(), whole); err != nil {
			t.Errorf("the group that was split: %v", err)
		}
	})
}

// A row that cannot be deleted holds up no other.
func TestTidyPassesOverWhatFails(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		if _, shared := r.db.(engine.Cluster); shared {
			t.Skip("the trigger is one of SQLite")
		}
		group := r.die(dead(1, "Timeout"))[0].Group
		stuck := r.redrive(deadletter.Selection{Namespace: "default", Source: "orders"}).ID
		r.die(dead(2, "Timeout"))
		other := r.redrive(deadletter.Selection{Namespace: "default", Source: "orders"}).ID
		r.pass(time.Minute) // they end
		if err := r.db.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
			_, err := store.In(tx).Exec(ctx, fmt.Sprintf(`CREATE TRIGGER stuck BEFORE DELETE ON tasker_redrives
 WHEN OLD.redrive_id = %d BEGIN SELECT RAISE(ABORT, 'stuck'); END`, stuck.Seq()))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for _, later := range []time.Duration{401 * day, 2 * day} {
			r.later(later)
			if _, _, err := r.Triage(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, _, err := r.Tidy(t.Context()); err == nil || !strings.Contains(err.Error(), stuck.String()) {
				t.Errorf("tidying has not failed with the redrive: %v", err)
			}
		}
		_, err := r.Redrive(t.Context(), other)
		r.refused(err, task.NotFound)
		_, err = r.Group(t.Context(), group)
		r.refused(err, task.NotFound)
		if _, err := r.Redrive(t.Context(), stuck); err != nil {
			t.Errorf("the redrive that cannot be deleted: %v", err)
		}
	})
}
