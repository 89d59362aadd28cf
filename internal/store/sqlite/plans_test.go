package sqlite

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/store"
)

// A redrive may have a million items: no query of a runner or a page reads all of them for a few.
func TestItemsAreFoundByIndexes(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "plans.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	plans := &planner{Conn: s.Conn, t: t}
	rows := store.SQL{Conn: plans, Dialect: s.Dialect}.Inbox()
	tx := &plannedTx{sql: store.SQL{Conn: plans, Dialect: s.Dialect}}
	id := s.IDs().Take(time.Now(), 1)
	const returned = `INSERT INTO tasker_redrive_items (redrive_id, no, kind, item_id, state, wave, at, group_id, uncertain,
  message) VALUES (?, 1, 'letter', ?, 'returned', 1, 1, 1, 0, '')`
	if err := s.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		_, err := store.In(tx).Exec(ctx, returned, id.Seq(), id.Seq())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	r := &deadletter.Redrive{ID: id, Operation: model.OpRedrive,
		Selection: deadletter.Selection{Kind: model.KindLetter}}
	for name, ask := range map[string]func() error{
		"item of a letter": func() error { _, err := rows.ItemOf(t.Context(), tx, id, id); return err },
		"sending": func() error {
			_, err := rows.ListItems(t.Context(), id, model.ItemSending, 0, 10)
			return err
		},
		"returned": func() error {
			_, err := rows.ListItems(t.Context(), id, model.ItemReturned, 0, 10)
			return err
		},
		"cases of a wave": func() error {
			_, err := rows.SentCases(t.Context(), deadletter.Item{Redrive: id}, 1, 10)
			return err
		},
		"wave":    func() error { _, err := rows.WaveOutcome(t.Context(), id, 1); return err },
		"trouble": func() error { _, err := rows.WaveTroubled(t.Context(), id, 1); return err },
		"waves":   func() error { _, err := rows.CountWaves(t.Context(), id, 3); return err },
		"counts":  func() error { _, err := rows.CountItems(t.Context(), r); return err },
	} {
		plans.seen = ""
		if err := ask(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !strings.Contains(plans.seen, "USING") {
			t.Fatalf("%s: the plan is %q", name, plans.seen)
		}
		for step := range strings.Lines(plans.seen) {
			if strings.Contains(step, "SCAN") && !strings.Contains(step, "SCAN i") ||
				strings.HasSuffix(strings.TrimSpace(step), "PRIMARY KEY (redrive_id=?)") ||
				strings.HasSuffix(strings.TrimSpace(step), "PRIMARY KEY (redrive_id=? AND no>?)") {
				t.Errorf("%s reads the whole redrive: %s", name, plans.seen)
			}
		}
	}
}

// planner asks SQLite for the plan of each query on items of a redrive.
type planner struct {
	store.Conn
	t    *testing.T
	seen string
}

func (p *planner) Query(ctx context.Context, query string, args []any, each func(store.Row) error) error {
	if strings.Contains(query, "tasker_redrive_items") {
		err := p.Conn.Query(ctx, "EXPLAIN QUERY PLAN "+query, args, func(row store.Row) error {
			var id, parent, unused int64
			var detail store.Text
			err := row.Scan(&id, &parent, &unused, &detail)
			p.seen += string(detail) + "\n"
			return err
		})
		if err != nil {
			p.t.Errorf("explain %s: %v", query, err)
		}
	}
	return p.Conn.Query(ctx, query, args, each)
}

// plannedTx is a transaction whose queries are planned.
type plannedTx struct {
	engine.Tx
	sql store.SQL
}

func (t *plannedTx) Handle() engine.Handle { return plannedHandle{t.sql} }

type plannedHandle struct{ sql store.SQL }

func (h plannedHandle) SQL() store.SQL         { return h.sql }
func (plannedHandle) AfterCommit(func()) bool  { return false }
func (plannedHandle) AfterRollback(func(bool)) {}
