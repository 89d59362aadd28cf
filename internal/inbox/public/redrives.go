package public

import (
	"cmp"
	"context"
	"strconv"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

// Problems of the operation are part of the answer; err is for a request that cannot be read at all.
func (b *backend) PreviewRedrive(ctx context.Context, req deadletters.RedriveRequest) (*deadletters.Preview, error) {
	var r reader
	return asked(ctx, &r, b.inbox.PreviewRedrive, r.redrive(&req), shownPreview)
}

func (b *backend) CreateRedrive(ctx context.Context, req deadletters.RedriveRequest) (*deadletters.Redrive, error) {
	var r reader
	return asked(ctx, &r, b.inbox.CreateRedrive, r.redrive(&req), shownRedrive)
}

// An unknown action is refused by the inbox.
func (b *backend) ActOnRedrive(ctx context.Context, id uuid.UUID, act deadletters.RedriveAct,
) (*deadletters.Redrive, error) {
	by, err := actor(act.Act)
	if err != nil {
		return nil, err
	}
	return shown(shownRedrive)(b.inbox.ActOnRedrive(ctx, task.ID(id), act.Action, by))
}

func (b *backend) Redrive(ctx context.Context, id uuid.UUID) (*deadletters.Redrive, error) {
	return shown(shownRedrive)(b.inbox.Redrive(ctx, task.ID(id)))
}

// A full page has a cursor, so the last page may turn out to be empty.
func (b *backend) Redrives(ctx context.Context, f deadletters.RedriveFilter) (*deadletters.RedrivePage, error) {
	var r reader
	filter := inbox.RedriveFilter{Namespace: f.Namespace, States: f.States, Below: r.cursor(f.Cursor),
		Limit: cmp.Or(f.Limit, defaultPage)}
	if err := r.err(); err != nil {
		return nil, err
	}
	redrives, err := b.inbox.Redrives(ctx, filter)
	if err != nil {
		return nil, shownError(err)
	}
	return &deadletters.RedrivePage{Redrives: each(redrives, shownRedrive),
		NextCursor: next(redrives, filter.Limit, func(r *deadletter.Redrive) string { return r.ID.String() })}, nil
}

// A page has 100 items unless the filter says how many; its cursor is the number of the last one.
func (b *backend) RedriveItems(ctx context.Context, id uuid.UUID, f deadletters.ItemFilter,
) (*deadletters.ItemPage, error) {
	var r reader
	above, limit := r.number(f.Cursor), cmp.Or(f.Limit, defaultItemsPage)
	if err := r.err(); err != nil {
		return nil, err
	}
	items, err := b.inbox.RedriveItems(ctx, task.ID(id), f.State, above, limit)
	if err != nil {
		return nil, shownError(err)
	}
	return itemPage(items, limit), nil
}

func itemPage(items []deadletter.Item, limit int) *deadletters.ItemPage {
	return &deadletters.ItemPage{Items: each(items, shownItem),
		NextCursor: next(items, limit, func(i deadletter.Item) string { return strconv.Itoa(i.No) })}
}
