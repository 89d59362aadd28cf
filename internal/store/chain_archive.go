package store

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/audit"
	"github.com/taskerhq/tasker/internal/kit/chain"
)

const archiveColumns = `seq, hash, at, acts`

func scanArchive(row Row) (a audit.Archive, err error) {
	var hash blob
	err = row.Scan(&a.Head.Seq, &hash, &a.At, &a.Acts)
	a.Head.Hash = hashOf(hash)
	return a, err
}

// Archives returns the heads up to which the chain was archived; see audit.Reader.
func (s chainRows) Archives(ctx context.Context) ([]audit.Archive, error) {
	archives, sealed, err := s.archives(ctx)
	for n := len(archives); n > sealed && err == nil; n-- {
		seq := archives[n-1].Head.Seq
		kept, err := first(ctx, s, scanInt, `SELECT seq FROM tasker_act_links WHERE seq = $1`, seq)
		if err != nil || kept == 0 {
			return archives[:n], err
		}
	}
	return archives[:sealed], err
}

// Archived returns the last head whose own act is sealed; the zero Head without one.
func (chainRows) Archived(ctx context.Context, tx engine.Tx) (chain.Head, error) {
	archives, sealed, err := chainRows{In(tx)}.archives(ctx)
	if err != nil || sealed == 0 {
		return chain.Head{}, err
	}
	return archives[sealed-1].Head, nil
}

func (s chainRows) archives(ctx context.Context) (archives []audit.Archive, sealed int, err error) {
	archives, err = collect(ctx, s, scanArchive, `SELECT `+archiveColumns+` FROM tasker_act_archives ORDER BY seq`)
	if err != nil || len(archives) == 0 {
		return nil, 0, err
	}
	acts, err := collect(ctx, s, func(row Row) (h chain.Head, err error) {
		var data blob
		err = row.Scan(&data)
		return (&chain.Act{Kind: chain.ActArchive, Data: data}).ArchivedHead(), err
	}, `SELECT a.data FROM tasker_acts a JOIN tasker_act_links l ON l.act_id = a.id WHERE a.kind = $1`, chain.ActArchive)
	for i, a := range archives {
		if slices.Contains(acts, a.Head) {
			sealed = i + 1
		}
	}
	return archives, sealed, err
}

// Link returns a link, or nil.
func (chainRows) Link(ctx context.Context, tx engine.Tx, seq int64) (*chain.Link, error) {
	return first(ctx, In(tx), scanLink, `SELECT `+linkColumns+` FROM tasker_act_links WHERE seq = $1`, seq)
}

// AddArchive stores that the chain is archived up to a link.
func (chainRows) AddArchive(ctx context.Context, tx engine.Tx, a audit.Archive) error {
	return In(tx).Send(ctx, `INSERT INTO tasker_act_archives (`+archiveColumns+`) VALUES ($1, $2, $3, $4)`, a.Head.Seq,
		a.Head.Hash[:], int64(a.At), a.Acts)
}

// DropArchived deletes archived links with their acts, which the triggers permit. The act goes first: its link permits
// that.
func (chainRows) DropArchived(ctx context.Context, tx engine.Tx, limit int) (int, error) {
	s := In(tx)
	archived, err := chainRows{s}.Archived(ctx, tx)
	if err != nil || archived.Seq == 0 {
		return 0, err
	}
	last, err := first(ctx, s, scanInt, `SELECT coalesce(max(seq), 0) FROM (SELECT seq FROM tasker_act_links
  WHERE seq <= $1 ORDER BY seq LIMIT $2) part`, archived.Seq, limit)
	if err != nil || last == 0 {
		return 0, err
	}
	if err := s.Send(ctx, `DELETE FROM tasker_acts WHERE id IN (SELECT act_id FROM tasker_act_links WHERE seq <= $1)`,
		last); err != nil {
		return 0, err
	}
	n, err := s.Exec(ctx, `DELETE FROM tasker_act_links WHERE seq <= $1`, last)
	return int(n), err
}
