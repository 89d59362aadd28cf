package store

import (
	"context"

	"github.com/taskerhq/tasker/internal/audit"
	"github.com/taskerhq/tasker/internal/chain"
	"github.com/taskerhq/tasker/internal/engine"
)

const archiveColumns = `seq, hash, at, acts`

func scanArchive(row Row) (a audit.Archive, err error) {
	var hash blob
	err = row.Scan(&a.Head.Seq, &hash, &a.At, &a.Acts)
	a.Head.Hash = hashOf(hash)
	return a, err
}

// Archives returns the heads up to which the chain was archived, the earliest first.
func (s chainRows) Archives(ctx context.Context) ([]audit.Archive, error) {
	return collect(ctx, s, scanArchive, `SELECT `+archiveColumns+` FROM tasker_act_archives ORDER BY seq`)
}

// Link returns a link, or nil.
func (chainRows) Link(ctx context.Context, tx engine.Tx, seq int64) (*chain.Link, error) {
	return first(ctx, In(tx), scanLink, `SELECT `+linkColumns+` FROM tasker_act_links WHERE seq = $1`, seq)
}

// AddArchive stores that the chain has been archived up to a link.
func (chainRows) AddArchive(ctx context.Context, tx engine.Tx, a audit.Archive) error {
	return In(tx).Send(ctx, `INSERT INTO tasker_act_archives (`+archiveColumns+`) VALUES ($1, $2, $3, $4)`, a.Head.Seq,
		a.Head.Hash[:], int64(a.At), a.Acts)
}

// DropArchived deletes links that have been archived, with their acts, which the triggers permit. The act goes first:
// its link is what permits it.
func (chainRows) DropArchived(ctx context.Context, tx engine.Tx, limit int) (int, error) {
	s := In(tx)
	last, err := first(ctx, s, scanInt, `SELECT coalesce(max(seq), 0) FROM (SELECT seq FROM tasker_act_links
  WHERE seq <= (SELECT max(seq) FROM tasker_act_archives) ORDER BY seq LIMIT $1) part`, limit)
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
