package doctor

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/kit/vault"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

// maxUses bounds the counted rows per key and column.
const maxUses = 10_000

// keyNote begins the notes about keys; see package node.
const keyNote = "encryption:"

// keys returns a check for each encryption key that the database has ever needed.
func (p *patient) keys(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	db := store.SQL{Conn: reading{tx: tx}}
	notes, err := db.Notes(ctx, keyNote)
	if err != nil {
		return nil, err
	}
	if len(notes) == 0 {
		return ok("no values are encrypted"), nil
	}
	var out []Check
	for _, note := range slices.Sorted(maps.Keys(notes)) {
		id := strings.TrimPrefix(note, keyNote)
		var k struct {
			Since task.Instant `json:"since"`
		}
		if err := json.Unmarshal([]byte(notes[note]), &k); err != nil {
			return nil, fmt.Errorf("read note %s: %w", note, err)
		}
		uses, err := db.KeyUses(ctx, vault.Prefix+id+":", maxUses)
		if err != nil {
			return nil, err
		}
		seen := []string{}
		for _, u := range uses {
			more := ""
			if u.Rows == maxUses {
				more = " or more"
			}
			seen = append(seen, fmt.Sprintf("%d%s in %s", u.Rows, more, u.Table))
		}
		if len(seen) == 0 {
			seen = []string{"nothing needs it"}
		}
		out = append(out, Check{Name: "key_" + strings.ReplaceAll(id, "-", "_"), Status: OK, Seen: fmt.Sprintf(
			"key %s, first used %s: %s", id, k.Since.Time().Format("2006-01-02"), strings.Join(seen, ", "))})
	}
	return out, nil
}

// reading is a transaction as a read-only store.Conn.
type reading struct {
	store.Conn // nil: no writes

	tx *sql.Tx
}

// Query implements store.Conn.
func (r reading) Query(ctx context.Context, query string, args []any, each func(store.Row) error) error {
	rows, err := r.tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
