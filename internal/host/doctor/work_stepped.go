package doctor

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// steppedNote begins package engine's notes about rows that loops step over.
	steppedNote = "stepped_over:"
	// steppedFor bounds the age of a current note: failing rows are retried within a minute.
	steppedFor = 3 * time.Minute
)

func (p *patient) stepped(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	now, err := p.clock(ctx, tx)
	if err != nil {
		return nil, err
	}
	type note struct {
		loop  string
		At    task.Instant `json:"at"`
		Rows  int          `json:"rows"`
		First string       `json:"first"`
	}
	notes, err := list(ctx, tx, func(rows *sql.Rows) (n note, err error) {
		var text []byte
		if err = rows.Scan(&n.loop, &text); err == nil {
			err = json.Unmarshal(text, &n)
		}
		return n, err
	}, `SELECT key, value FROM tasker_meta WHERE key LIKE $1 ORDER BY key`, steppedNote+"%")
	if err != nil {
		return nil, err
	}
	var checks []Check
	for _, n := range notes {
		if n.At < now.Add(-steppedFor) {
			continue
		}
		checks = append(checks, Check{Status: Warn,
			Seen: fmt.Sprintf("the loop %q stepped over %d rows that fail, %s ago, such as %s",
				strings.TrimPrefix(n.loop, steppedNote), n.Rows, long(now.Sub(n.At)), n.First),
			Do: "Remove the cause: each is tried again within a minute, and holds up no other. The log of the server names " +
				"them."})
	}
	if len(checks) == 0 {
		return ok("no server steps over rows that fail"), nil
	}
	return checks, nil
}
