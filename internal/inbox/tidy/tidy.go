// Package tidy deletes what the inbox no longer keeps.
package tidy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/inbox/webhooks"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	tidyBatch   = 500
	tidyRedrive = 25 // read at a time
	// groupNotice is the time from a group's mark to its deletion: longer than any transaction that read the group
	// before the mark and counts a failure in it.
	groupNotice = 24 * time.Hour
)

// Tidier deletes rows whose time has come.
type Tidier struct {
	*desk.Desk
	store Store
	ruler *groups.Ruler

	tidied  EndedRedrive
	emptied deadletter.GroupID
}

// New returns a Tidier.
func New(d *desk.Desk, store Store, ruler *groups.Ruler) *Tidier {
	return &Tidier{Desk: d, store: store, ruler: ruler}
}

// Tidy deletes letters, events, replays, redrives and groups whose time has come, and groups cases without a group:
// those of an older database, and those opened by SQL. It must run in one process at a time.
//
// Each kind has its own small transactions: capture and redrives use the same database, and no kind waits for or fails
// with another. The audit trail stays.
func (in *Tidier) Tidy(ctx context.Context) (n int, more bool, err error) {
	var errs []error
	for _, kind := range []struct {
		name string
		tidy func(context.Context) (n int, more bool, err error)
	}{
		{"letters", in.purging(in.store.PurgeLetters, 0)},
		{"events", in.purging(in.store.PurgeEvents, webhooks.EventRetention)},
		{"replays", in.purging(in.store.PurgeReplays, 0)}, {"cases", in.purging(in.regroupCases, 0)},
		{"redrives", in.tidyRedrives}, {"groups", in.tidyGroups},
	} {
		did, again, err := kind.tidy(ctx)
		n, more = n+did, more || again
		if err != nil {
			errs = append(errs, fmt.Errorf("tidy %s: %w", kind.name, err))
		}
	}
	return n, more && len(errs) == 0, errors.Join(errs...)
}

func (in *Tidier) purging(step func(ctx context.Context, tx engine.Tx, until task.Instant, limit int) (int, error),
	age time.Duration,
) func(context.Context) (n int, more bool, err error) {
	return func(ctx context.Context) (n int, more bool, err error) {
		err = in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
			n, err = step(ctx, tx, in.Now().Add(-age), tidyBatch)
			return err
		})
		return n, n == tidyBatch, err
	}
}

func (in *Tidier) regroupCases(ctx context.Context, tx engine.Tx, now task.Instant, limit int) (int, error) {
	return in.store.Regroup(ctx, tx, limit, func(namespace string, print failure.Print, facts func() deadletter.Facts) (
		failure.Print, error,
	) {
		return in.ruler.Print(ctx, tx, namespace, print, facts, now)
	})
}

// tidyRedrives deletes items of old redrives, and each redrive after its last item. A redrive of a million items takes
// many calls. One that fails is skipped until the next round.
func (in *Tidier) tidyRedrives(ctx context.Context) (n int, more bool, err error) {
	redrives, err := in.store.EndedRedrives(ctx, in.tidied, in.Now().Add(-deadletter.RedriveRetention), tidyRedrive)
	if err != nil {
		return 0, false, err
	}
	var errs []error
	for _, r := range redrives {
		if n >= tidyBatch {
			return n, true, errors.Join(errs...)
		}
		gone, deleted := false, 0
		if err := in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
			deleted, gone, err = in.store.PurgeRedrive(ctx, tx, r.ID, tidyBatch-n)
			return err
		}); err != nil {
			errs = append(errs, fmt.Errorf("redrive %s: %w", r.ID, err))
		} else if n += deleted; !gone {
			return n, true, errors.Join(errs...)
		}
		in.tidied = r
	}
	if more = len(redrives) == tidyRedrive; !more {
		in.tidied = EndedRedrive{}
	}
	return n, more, errors.Join(errs...)
}

// tidyGroups deletes empty groups without recent failures. One look marks them, and one a day later deletes those still
// empty: a transaction that counts a failure sees the mark, and keeps the group.
func (in *Tidier) tidyGroups(ctx context.Context) (n int, more bool, err error) {
	now := in.Now()
	ids, err := in.store.EmptyGroups(ctx, now, now.Add(-deadletter.GroupRetention), in.emptied, tidyBatch)
	if err != nil {
		return 0, false, err
	}
	in.emptied = 0
	if more = len(ids) == tidyBatch; more {
		in.emptied = ids[tidyBatch-1]
	}
	rules, err := in.store.Rules(ctx, "")
	if err != nil {
		return 0, false, err
	}
	for _, r := range rules { // undoing a split returns the members to the group
		ids = slices.DeleteFunc(ids, func(id deadletter.GroupID) bool { return id == r.Within })
	}
	if len(ids) == 0 {
		return 0, more, nil
	}
	err = in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		n, err = in.store.PurgeGroups(ctx, tx, ids, now, now.Add(groupNotice))
		return err
	})
	return n, more, err
}

// EndedRedrive is a redrive that has ended, and when.
type EndedRedrive struct {
	ID task.ID
	At task.Instant
}

// Store is the storage of this room; inbox.Store says what holds for all of its methods.
type Store interface {
	PurgeLetters(ctx context.Context, tx engine.Tx, until task.Instant, limit int) (int, error)
	// Regroup puts cases without a group into theirs, and returns their number: cases of older databases, and those
	// opened by SQL. by applies the rules to fingerprints.
	Regroup(ctx context.Context, tx engine.Tx, limit int, by groups.PrintFunc) (int, error)
	PurgeEvents(ctx context.Context, tx engine.Tx, before task.Instant, limit int) (int, error)
	PurgeReplays(ctx context.Context, tx engine.Tx, until task.Instant, limit int) (int, error)
	// EndedRedrives returns redrives that ended until a time, the earliest end first, behind one; without those with a
	// task that is still watched.
	EndedRedrives(ctx context.Context, behind EndedRedrive, before task.Instant, limit int) ([]EndedRedrive, error)
	// PurgeRedrive deletes items of a redrive and, after the last, the redrive. It returns the number of rows, and
	// whether the redrive is gone.
	PurgeRedrive(ctx context.Context, tx engine.Tx, id task.ID, limit int) (n int, gone bool, err error)
	// EmptyGroups returns groups behind an ID that have no letters and no cases, are part of no merge and no split
	// under way, and last failed by a time; marked ones only when their time has come.
	EmptyGroups(ctx context.Context, now, failed task.Instant, behind deadletter.GroupID, limit int) (
		[]deadletter.GroupID, error)
	// PurgeGroups marks groups to be deleted at a time (next), and deletes marked ones that are still empty and whose
	// time has come, with notes and hours. It returns their number. AddTally, AddGroups and SaveGroup remove the mark.
	PurgeGroups(ctx context.Context, tx engine.Tx, ids []deadletter.GroupID, now, next task.Instant) (int, error)

	// Of other rooms.

	Rules(ctx context.Context, namespace string) ([]*deadletter.Rule, error)
}
