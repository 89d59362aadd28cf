package audit

import (
	"context"
	"math"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/chain"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// sealBatch bounds the acts that one transaction seals, sealBytes their data.
	sealBatch, sealBytes = 500, 8 << 20
	// maxPage bounds a page of links, looseBatch the acts of one call of Loose.
	maxPage, looseBatch = 1000, 20_000
)

// Trail has the use cases of the chain. It is safe for concurrent use.
type Trail struct {
	db    Database
	store Store
	now   func() task.Instant
	bytes int
}

// New returns a Trail on a database. pageBytes bounds the data of a page of links.
func New(db Database, now func() task.Instant, pageBytes int) *Trail {
	return &Trail{db: db, store: db.Chain(), now: now, bytes: pageBytes}
}

// Seal links the next unsealed acts. It returns their number, and whether more wait. Of two concurrent nodes, one
// waits or fails.
func (t *Trail) Seal(ctx context.Context) (n int, more bool, err error) {
	if some, err := t.store.AnyUnsealed(ctx); err != nil || !some {
		return 0, false, err
	}
	err = t.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		n = 0
		acts, err := t.store.Unsealed(ctx, tx, sealBatch, sealBytes)
		if err != nil || len(acts) == 0 {
			return err
		}
		head, err := t.store.Head(ctx, tx) // after the acts are locked, so that it is that of their last sealing
		if err != nil {
			return err
		}
		links := make([]chain.Link, len(acts))
		for i := range acts {
			links[i] = head.Next(Content(&acts[i]), int64(t.now()))
			head = links[i].Head()
		}
		n = len(links)
		return t.store.AddLinks(ctx, tx, links)
	})
	return n, n > 0, err
}

// Content returns the shown part of an act, which the chain covers.
func Content(stored *task.Act) *chain.Act {
	a, damage := stored.Shown()
	return &chain.Act{No: a.No, At: int64(a.At), Kind: a.Kind, Actor: a.Actor, Auth: string(a.Auth), Key: a.Key,
		Reason: a.Reason, Task: idText(a.TaskID), Step: idText(a.StepID), Case: idText(a.CaseID),
		Worker: idText(a.WorkerID), Namespace: a.Namespace, Template: a.Template, Before: a.From, After: a.To,
		Data: a.Data, Damage: damage}
}

func idText(id task.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

// Links returns a page of the links above a number. Invalid: a limit outside of 1 to 1,000.
func (t *Trail) Links(ctx context.Context, above int64, limit int) ([]Sealed, error) {
	if limit < 1 || limit > maxPage {
		return nil, task.Errorf(task.Invalid, "the limit of a page must be 1 to %d, not %d", maxPage, limit)
	}
	if above < 0 {
		return nil, task.Errorf(task.Invalid, "above must be the number of a link, not %d", above)
	}
	return t.store.Links(ctx, above, limit, t.bytes)
}

// Loose returns some acts above a number that have no link, and the number to continue above; 0 at the end.
func (t *Trail) Loose(ctx context.Context, above int64) ([]Loose, int64, error) {
	if above < 0 {
		return nil, 0, task.Errorf(task.Invalid, "above must be the number of an act, not %d", above)
	}
	if above == 0 { // Tasker numbers acts from 1, but an intruder may choose any number
		above = math.MinInt64
	}
	return t.store.Loose(ctx, above, looseBatch)
}

// Archives returns the heads of archives, the earliest first; see Reader.
func (t *Trail) Archives(ctx context.Context) ([]Archive, error) { return t.store.Archives(ctx) }
