package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/chain"
	"github.com/taskerhq/tasker/internal/model/task"
)

const dropBatch = 500

// Archived is a record of an archive.
type Archived struct {
	Head   chain.Head // the last archived link
	Acts   int64
	File   string
	Actor  string
	Reason string
}

// Archive stores an act that the links up to a head were archived, with their acts. Once it is sealed, the chain
// starts behind the head, and the database permits Drop. Conflict: the head is not in the chain, or the acts are not
// all since the last archive. Invalid: actor or reason breaks a rule.
func (t *Trail) Archive(ctx context.Context, a Archived) error {
	if problems := engine.CheckActor(a.Actor, a.Reason); len(problems) > 0 {
		return &task.Error{Code: task.Invalid, Message: "nothing was archived", Problems: problems}
	}
	data, err := json.Marshal(struct {
		Head string `json:"head"`
		Acts int64  `json:"acts"`
		File string `json:"file"`
	}{a.Head.String(), a.Acts, a.File})
	if err != nil {
		return fmt.Errorf("encode act: %w", err)
	}
	return t.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		l, err := t.store.Link(ctx, tx, a.Head.Seq)
		if err != nil {
			return err
		}
		if l == nil || l.Head() != a.Head {
			return task.Errorf(task.Conflict, "the chain does not contain the head %s: nothing was archived", a.Head)
		}
		last, err := t.store.Archived(ctx, tx)
		if err != nil {
			return err
		}
		if want := a.Head.Seq - last.Seq; a.Acts != want {
			return task.Errorf(task.Conflict, "%d acts are behind the last archive, and %d were to be archived: nothing was "+
				"archived", want, a.Acts)
		}
		now := t.now()
		if err := t.store.AddArchive(ctx, tx, Archive{Head: a.Head, At: now, Acts: a.Acts}); err != nil {
			return err
		}
		return t.db.ActStore().AddActs(ctx, tx, []task.Act{{At: now, Kind: chain.ActArchive, Auth: task.AuthNone, Data: data,
			Actor: cmp.Or(a.Actor, engine.Anonymous), Reason: cmp.Or(a.Reason, engine.NoReason)}})
	})
}

// Drop seals the act of the archive, then deletes some archived acts with their links. It returns their number, and
// whether more may be left. It may be repeated.
func (t *Trail) Drop(ctx context.Context) (n int, more bool, err error) {
	for waiting := true; waiting; {
		if _, waiting, err = t.Seal(ctx); err != nil {
			return 0, false, err
		}
	}
	err = t.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		n, err = t.store.DropArchived(ctx, tx, dropBatch)
		return err
	})
	return n, n == dropBatch, err
}
