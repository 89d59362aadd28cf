package store

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/audit"
	"github.com/taskerhq/tasker/internal/kit/chain"
	"github.com/taskerhq/tasker/internal/model/task"
)

type chainRows struct{ SQL }

var _ audit.Store = chainRows{}

// Chain returns the storage of the hash chain of the audit trail.
func (s SQL) Chain() audit.Store { return chainRows{s} }

const linkColumns = `seq, act_id, sealed_at, content, hash`

var insertLinks = bulkOf(`INSERT INTO tasker_act_links (`+linkColumns+`)`, "nnnbb", ``)

// waits is a condition on u, a row of tasker_act_unsealed: its act has no link. The row of a removed act stays as
// evidence.
const waits = `EXISTS (SELECT 1 FROM tasker_acts a WHERE a.id = u.act_id) AND
  NOT EXISTS (SELECT 1 FROM tasker_act_links l WHERE l.act_id = u.act_id)`

func scanLink(row Row) (*chain.Link, error) {
	l := &chain.Link{}
	var content, hash blob
	err := row.Scan(&l.Seq, &l.Act, &l.SealedAt, &content, &hash)
	l.Content, l.Hash = hashOf(content), hashOf(hash)
	return l, err
}

// hashOf reads a hash. One of another length becomes the zero hash, which is the hash of nothing.
func hashOf(b blob) (h chain.Hash) {
	if len(b) == len(h) {
		copy(h[:], b)
	}
	return h
}

// AnyUnsealed reports whether acts wait for their link.
func (s chainRows) AnyUnsealed(ctx context.Context) (bool, error) {
	n, err := first(ctx, s, scanInt, `SELECT 1 FROM tasker_act_unsealed u WHERE `+waits+` LIMIT 1`)
	return n != 0, err
}

// Unsealed returns acts that wait for their link, locked; see audit.Sealing.
func (chainRows) Unsealed(ctx context.Context, tx engine.Tx, limit, bytes int) ([]task.Act, error) {
	s := In(tx)
	nos, err := collect(ctx, s, scanInt, `SELECT u.act_id FROM tasker_act_unsealed u WHERE `+waits+
		` ORDER BY u.act_id LIMIT $1`+s.Lock, limit)
	if err != nil {
		return nil, err
	}
	acts, err := chainRows{s}.acts(ctx, nos, bytes)
	if err != nil || len(acts) == 0 {
		return nil, err
	}
	if err := (chainRows{s}).whole(ctx, &acts[0]); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(acts, func(a task.Act) bool { return a.DataOmitted }); i > 0 {
		acts = acts[:i]
	}
	return acts, nil
}

func (s chainRows) acts(ctx context.Context, nos []int64, bytes int) ([]task.Act, error) {
	var acts []task.Act
	for part := range slices.Chunk(slices.Sorted(slices.Values(nos)), fetched) {
		w := where{}
		in := list(&w, part, func(n int64) any { return n })
		some, err := collect(ctx, s, s.scanListedAct, `SELECT `+listedAct+` FROM tasker_acts WHERE id IN `+in+
			` ORDER BY id`, w.args...)
		if err != nil {
			return nil, err
		}
		acts = append(acts, some...)
	}
	page := make([]documentOf, len(acts))
	for i := range acts {
		page[i] = documentOf{acts[i].No, &acts[i].Data, &acts[i].DataOmitted}
	}
	return acts, s.addLarge(ctx, dataOfAct, page, bytes)
}

func (s chainRows) whole(ctx context.Context, a *task.Act) error {
	return s.addLarge(ctx, dataOfAct, []documentOf{{a.No, &a.Data, &a.DataOmitted}}, 0)
}

// Head returns the last link of the chain, or the last archived head.
func (chainRows) Head(ctx context.Context, tx engine.Tx) (chain.Head, error) {
	s := In(tx)
	l, err := first(ctx, s, scanLink, `SELECT `+linkColumns+` FROM tasker_act_links ORDER BY seq DESC LIMIT 1`)
	if err != nil {
		return chain.Head{}, err
	}
	if l != nil {
		return l.Head(), nil
	}
	a, err := first(ctx, s, scanArchive, `SELECT `+archiveColumns+` FROM tasker_act_archives ORDER BY seq DESC LIMIT 1`)
	return a.Head, err
}

// AddLinks stores links; their acts no longer wait.
func (chainRows) AddLinks(ctx context.Context, tx engine.Tx, links []chain.Link) error {
	s := In(tx)
	rows, nos := make([][]any, len(links)), make([]int64, len(links))
	for i, l := range links {
		rows[i] = []any{l.Seq, l.Act, l.SealedAt, l.Content[:], l.Hash[:]}
		nos[i] = l.Act
	}
	send := func(query string, args []any) error { return s.Send(ctx, query, args...) }
	if err := insertLinks.run(s.Dialect, rows, send); err != nil {
		return err
	}
	for part := range slices.Chunk(nos, fetched) {
		w := where{}
		in := list(&w, part, func(n int64) any { return n })
		if err := send(`DELETE FROM tasker_act_unsealed WHERE act_id IN `+in, w.args); err != nil {
			return err
		}
	}
	return nil
}

// Links returns a page of the chain; see audit.Reader. An act was committed before its link, so the second query sees
// the acts of all links of the first.
func (s chainRows) Links(ctx context.Context, above int64, limit, bytes int) ([]audit.Sealed, error) {
	links, err := collect(ctx, s, scanLink, `SELECT `+linkColumns+` FROM tasker_act_links WHERE seq > $1 ORDER BY seq
  LIMIT $2`, above, limit)
	if err != nil {
		return nil, err
	}
	nos := make([]int64, len(links))
	for i, l := range links {
		nos[i] = l.Act
	}
	acts, err := s.acts(ctx, nos, bytes)
	if err != nil {
		return nil, err
	}
	byNo := make(map[int64]*task.Act, len(acts))
	for i := range acts {
		byNo[acts[i].No] = &acts[i]
	}
	sealed := make([]audit.Sealed, 0, len(links))
	for _, l := range links {
		a := byNo[l.Act]
		if a != nil && a.DataOmitted {
			if len(sealed) > 0 {
				break
			}
			if err := s.whole(ctx, a); err != nil {
				return nil, err
			}
		}
		sealed = append(sealed, audit.Sealed{Link: *l, Act: a})
	}
	return sealed, nil
}

// Loose returns acts without a link; see audit.Reader. It reads in bounded parts, so that no statement takes long.
func (s chainRows) Loose(ctx context.Context, above int64, limit int) ([]audit.Loose, int64, error) {
	last, err := first(ctx, s, scanInt, `SELECT coalesce(max(id), 0) FROM (SELECT id FROM tasker_acts WHERE id > $1
  ORDER BY id LIMIT $2) part`, above, limit)
	if err != nil {
		return nil, 0, err
	}
	w := where{}
	w.add("u.act_id > ?", above)
	w.add("NOT EXISTS (SELECT 1 FROM tasker_acts a WHERE a.id = u.act_id)")
	w.addIf(last != 0, "u.act_id <= ?", last)
	loose, err := collect(ctx, s, func(row Row) (l audit.Loose, err error) {
		l.Waiting = true
		return l, row.Scan(&l.No)
	}, `SELECT u.act_id FROM tasker_act_unsealed u`+w.text()+` ORDER BY u.act_id LIMIT 1000`, w.args...)
	if err != nil || last == 0 {
		return loose, 0, err
	}
	const query = `SELECT a.id, CASE WHEN u.act_id IS NULL THEN 0 ELSE 1 END FROM tasker_acts a
 LEFT JOIN tasker_act_unsealed u ON u.act_id = a.id WHERE a.id > $1 AND a.id <= $2
  AND NOT EXISTS (SELECT 1 FROM tasker_act_links l WHERE l.act_id = a.id) ORDER BY a.id`
	present, err := collect(ctx, s, func(row Row) (l audit.Loose, err error) {
		var waiting int64
		err = row.Scan(&l.No, &waiting)
		l.Exists, l.Waiting = true, waiting != 0
		return l, err
	}, query, above, last)
	return append(loose, present...), last, err
}
