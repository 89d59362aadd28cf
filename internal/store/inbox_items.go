package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const itemColumns = `i.redrive_id, i.no, i.kind, i.item_id, i.state, i.wave, i.at, i.group_id, i.uncertain, i.message`

func itemFields(i *deadletter.Item) []any {
	return []any{&i.Redrive, &i.No, (*string)(&i.Kind), &i.ID, (*string)(&i.State), &i.Wave, &i.At, (*int64)(&i.Group),
		&i.Uncertain, &i.Message}
}

var items = record[deadletter.Item]{"tasker_redrive_items i", itemColumns, itemFields}

var itemStates = []model.ItemState{model.ItemPending, model.ItemSending, model.ItemUnknown, model.ItemSent,
	model.ItemReturned, model.ItemCompleted, model.ItemFailed, model.ItemSkipped}

// notableItems are the states of the partial index.
var notableItems = []model.ItemState{model.ItemReturned, model.ItemFailed, model.ItemSkipped}

// An empty state means all. An unknown state must not reach the query, where states are literals.
func (s letterRows) ListItems(ctx context.Context, id task.ID, state model.ItemState, above,
	limit int,
) ([]deadletter.Item, error) {
	w := where{}
	w.add("i.redrive_id = ?", s.id(id))
	w.add("i.no > ?", above)
	if state != "" {
		if !slices.Contains(itemStates, state) {
			return nil, nil
		}
		w.add("i.state = " + quoted(state))
		// The condition must match that of the partial index.
		w.addIf(slices.Contains(notableItems, state), "i.state IN ("+quoted(notableItems...)+")")
	}
	return items.values(ctx, s.SQL, w.text()+` ORDER BY i.no LIMIT `+w.arg(limit), w.args...)
}

// One statement stores consecutive items that change alike, as those of a batch do.
func (letterRows) SaveItems(ctx context.Context, tx engine.Tx, list []deadletter.Item) error {
	s := In(tx)
	const query = `UPDATE tasker_redrive_items SET state = $4, wave = $5, at = $6, group_id = $7, uncertain = $8,
  message = $9 WHERE redrive_id = $1 AND no >= $2 AND no <= $3`
	sorted := slices.SortedFunc(slices.Values(list), func(a, b deadletter.Item) int {
		return cmp.Or(compareIDs(a.Redrive, b.Redrive), cmp.Compare(a.No, b.No))
	})
	for len(sorted) > 0 {
		i, n := sorted[0], 1
		for n < len(sorted) && sorted[n] == following(i, sorted[n], n) {
			n++
		}
		err := s.Send(ctx, query, s.id(i.Redrive), i.No, i.No+n-1, string(i.State), i.Wave, int64(i.At), int64(i.Group),
			flag(i.Uncertain), clean(i.Message))
		if err != nil {
			return err
		}
		sorted = sorted[n:]
	}
	return nil
}

// following is the item n numbers behind item i, which is stored together with it; its kind and ID do not change.
func following(i, of deadletter.Item, n int) deadletter.Item {
	i.No, i.Kind, i.ID = i.No+n, of.Kind, of.ID
	return i
}

// The row is locked: an arriving letter and the redrive may both record a result.
func (letterRows) ItemOf(ctx context.Context, tx engine.Tx, redrive, of task.ID) (*deadletter.Item, error) {
	s := In(tx)
	return items.first(ctx, s, ` WHERE i.redrive_id = $1 AND i.item_id = $2`+s.Lock, s.id(redrive), s.id(of))
}

func (s letterRows) SentCases(ctx context.Context, behind deadletter.Item, wave, limit int) (
	[]redrive.CaseItem, error,
) {
	w := where{}
	w.add("i.kind = 'case'")
	w.add("i.state = 'sent'")
	if wave > 0 {
		w.add("i.redrive_id = ?", s.id(behind.Redrive))
		w.add("i.wave = ?", wave)
		w.add("i.no > ?", behind.No)
	} else {
		w.add("(i.redrive_id, i.no) > (?, ?)", s.id(behind.Redrive), behind.No)
	}
	query := `SELECT ` + itemColumns + `, coalesce(c.resolution_status, ''), coalesce(c.group_id, 0),
  coalesce(t.state, ''), coalesce(t.state_at, 0) FROM (SELECT ` + itemColumns + ` FROM tasker_redrive_items i` +
		w.text() + ` ORDER BY i.redrive_id, i.no LIMIT ` + w.arg(limit) + `) i
 LEFT JOIN tasker_tasks_dlq c ON c.dlq_entry_uuid = i.item_id LEFT JOIN tasker_tasks t ON t.id = c.task_uuid
 ORDER BY i.redrive_id, i.no`
	return collect(ctx, s, func(row Row) (c redrive.CaseItem, err error) {
		err = s.read(row, append(itemFields(&c.Item), (*string)(&c.Status), (*int64)(&c.Group), (*string)(&c.Task),
			&c.Since)...)
		return c, err
	}, query, w.args...)
}

// The counts come from an index alone, and only returned items are read, since a runner asks for each batch. Wave 0 has
// the unsent items, and no outcome.
func (s letterRows) WaveOutcome(ctx context.Context, id task.ID, wave int) (deadletter.Outcome, error) {
	out := deadletter.Outcome{ByGroup: map[deadletter.GroupID]int{}}
	var err error
	if out.ItemCounts, err = s.countWave(ctx, id, wave); err != nil {
		return out, err
	}
	const returned = `SELECT group_id, count(*) FROM tasker_redrive_items
 WHERE redrive_id = $1 AND wave = $2 AND wave > 0 AND state = 'returned' AND group_id <> 0 GROUP BY group_id`
	if out.Returned > 0 {
		err = s.Query(ctx, returned, []any{s.id(id), wave}, func(row Row) error {
			var group deadletter.GroupID
			var n int
			err := row.Scan((*int64)(&group), &n)
			out.ByGroup[group] = n
			return err
		})
	}
	return out, err
}

// It names all states of the partial index, so that PostgreSQL needs nothing else.
func (s letterRows) WaveTroubled(ctx context.Context, id task.ID, wave int) (bool, error) {
	n, err := s.countOf(ctx, `wave = $2 AND state IN ('returned', 'failed', 'skipped') AND state <> 'skipped'`,
		s.id(id), wave)
	if err != nil || n > 0 {
		return n > 0, err
	}
	n, err = s.countOf(ctx, `wave = $2 AND state = 'unknown'`, s.id(id), wave)
	return n > 0, err
}

func (s letterRows) countOf(ctx context.Context, condition string, args ...any) (int, error) {
	n, err := first(ctx, s, scanInt, `SELECT count(*) FROM tasker_redrive_items WHERE redrive_id = $1 AND `+condition,
		args...)
	return int(n), err
}

func (s letterRows) countWave(ctx context.Context, id task.ID, wave int) (model.ItemCounts, error) {
	return s.countItems(ctx, `redrive_id = $1 AND wave = $2 AND wave > 0`, s.id(id), wave)
}

func (s letterRows) countItems(ctx context.Context, condition string, args ...any) (c model.ItemCounts, err error) {
	err = s.Query(ctx, `SELECT state, count(*) FROM tasker_redrive_items WHERE `+condition+` GROUP BY state`, args,
		func(row Row) error {
			var state Text
			var n int
			err := row.Scan(&state, &n)
			addItems(&c, model.ItemState(state), n)
			return err
		})
	return c, err
}

func (letterRows) DecidedItems(ctx context.Context, tx engine.Tx, id task.ID, wave int) (int, error) {
	c, err := letterRows{In(tx)}.countWave(ctx, id, wave)
	return c.Decided(), err
}

// nearBehind bounds the items behind Redrive.Behind that may be decided: the batch under way, and items sent around
// cases that were left.
const nearBehind = 5000

func (s letterRows) CountWaves(ctx context.Context, id task.ID, above int) (out []model.RedriveWave, err error) {
	err = s.Query(ctx, `SELECT wave, state, count(*) FROM tasker_redrive_items WHERE redrive_id = $1 AND wave > $2
  AND wave > 0 GROUP BY wave, state ORDER BY wave, state`, []any{s.id(id), above}, func(row Row) error {
		var state Text
		var wave, n int
		if err := row.Scan(&wave, &state, &n); err != nil {
			return err
		}
		if len(out) == 0 || out[len(out)-1].No != wave {
			out = append(out, model.RedriveWave{No: wave})
		}
		addItems(&out[len(out)-1].ItemCounts, model.ItemState(state), n)
		return nil
	})
	return out, err
}

// A redrive may have a million items, decided in order: the few special ones are counted, and the row has the rest.
// Cases are counted item by item, since a sent one may be completed.
func (s letterRows) CountItems(ctx context.Context, r *deadletter.Redrive) (model.ItemCounts, error) {
	id := s.id(r.ID)
	uncertain, err := s.countOf(ctx, `uncertain = 1`, id)
	if err != nil {
		return model.ItemCounts{}, err
	}
	if r.Operation == model.OpRedrive && hasCases(r.Selection) {
		c, err := s.countItems(ctx, `redrive_id = $1`, id)
		c.Uncertain = uncertain
		return c, err
	}
	c, err := s.countItems(ctx, `redrive_id = $1 AND state IN ('returned', 'failed', 'skipped')`, id)
	if err != nil {
		return c, err
	}
	c.Uncertain = uncertain
	if c.Sending, err = s.countOf(ctx, `state = 'sending'`, id); err != nil { // by index, like the next one
		return c, err
	}
	if c.Unknown, err = s.countOf(ctx, `state = 'unknown'`, id); err != nil {
		return c, err
	}
	ahead, err := s.countOf(ctx, `no > $2 AND no <= $3 AND state <> 'pending'`, id, r.Behind, r.Behind+nearBehind)
	c.Pending = max(r.Total-r.Behind-ahead, 0)
	rest := max(r.Total-c.Pending-c.Sending-c.Unknown-c.Decided(), 0)
	if r.Operation == model.OpRedrive {
		c.Sent = rest
	} else {
		c.Completed = rest
	}
	return c, err
}

func addItems(c *model.ItemCounts, state model.ItemState, n int) {
	counts := map[model.ItemState]*int{model.ItemPending: &c.Pending, model.ItemSending: &c.Sending,
		model.ItemUnknown: &c.Unknown, model.ItemSent: &c.Sent, model.ItemReturned: &c.Returned,
		model.ItemCompleted: &c.Completed, model.ItemFailed: &c.Failed, model.ItemSkipped: &c.Skipped}
	if count := counts[state]; count != nil {
		*count += n
	}
}
