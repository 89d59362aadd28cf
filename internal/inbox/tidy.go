package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
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

// Tidy deletes letters, events, replays, redrives and groups whose time has come, and groups cases without a group:
// those of an older database, and those opened by SQL. It must run in one process at a time.
//
// Each kind has its own small transactions: capture and redrives use the same database, and no kind waits for or fails
// with another. The audit trail stays.
func (in *Inbox) Tidy(ctx context.Context) (n int, more bool, err error) {
	var errs []error
	for _, kind := range []struct {
		name string
		tidy func(context.Context) (n int, more bool, err error)
	}{
		{"letters", in.purging(in.store.PurgeLetters, 0)}, {"events", in.purging(in.store.PurgeEvents, eventRetention)},
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

func (in *Inbox) purging(step func(ctx context.Context, tx engine.Tx, until task.Instant, limit int) (int, error),
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

func (in *Inbox) regroupCases(ctx context.Context, tx engine.Tx, now task.Instant, limit int) (int, error) {
	return in.store.Regroup(ctx, tx, limit, func(namespace string, print failure.Print, facts func() deadletter.Facts) (
		failure.Print, error,
	) {
		return in.opts.Ruler.Print(ctx, tx, namespace, print, facts, now)
	})
}

// tidyRedrives deletes items of old redrives, and each redrive after its last item. A redrive of a million items takes
// many calls. One that fails is skipped until the next round.
func (in *Inbox) tidyRedrives(ctx context.Context) (n int, more bool, err error) {
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
func (in *Inbox) tidyGroups(ctx context.Context) (n int, more bool, err error) {
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
