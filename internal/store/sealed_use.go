package store

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
)

// KeyUse counts the rows of a table with values of a key.
type KeyUse struct {
	Table string
	Rows  int
}

// sealedIn are the columns with encrypted values. Those of failures are in base64.
var sealedIn = []struct {
	table, column string
	base64        bool
}{
	{"tasker_tasks", "context", false},
	{"tasker_workflow_steps", "result", false},
	{"tasker_attempts", "failure", true},
	{"tasker_checkpoints", "body", false},
	{"tasker_tasks_dlq", "task_snapshot", false},
	{"tasker_tasks_dlq", "metadata", false},
	{"tasker_case_occurrences", "task_snapshot", false},
	{"tasker_acts", "data", false},
	{"tasker_schedules", "spec", false},
	{"tasker_child_items", "items", false},
	{"tasker_children", "result", false},
	{"tasker_signals", "payload", false},
}

// KeyUses counts, up to limit in each column, the rows with a text, such as the beginning of all values of a key. It
// reads all rows, for the rare removal of a key.
func (s SQL) KeyUses(ctx context.Context, text string, limit int) ([]KeyUse, error) {
	var out []KeyUse
	for _, in := range sealedIn {
		texts := []string{text}
		if in.base64 {
			texts = withinBase64(text)
		}
		var w where
		var any []string
		for _, t := range texts {
			any = append(any, "CAST("+in.column+" AS text) LIKE "+w.arg("%"+t+"%"))
		}
		query := fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 FROM %s WHERE %s LIMIT %s) AS q`, in.table,
			strings.Join(any, " OR "), w.arg(limit))
		n, err := first(ctx, s, scanInt, query, w.args...)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			out = append(out, KeyUse{in.table, int(n)})
		}
	}
	return out, nil
}

// withinBase64 returns the forms of a text in base64, by its offset in three bytes, without the parts that depend on
// its neighbours.
func withinBase64(text string) []string {
	var out []string
	for skip := range 3 {
		code := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", skip) + text))
		from := (skip*8 + 5) / 6
		whole := (skip + len(text)) / 3 * 4
		out = append(out, code[from:whole])
	}
	return out
}
