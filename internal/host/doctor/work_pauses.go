package doctor

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// forgottenAfter is the age at which an endless pause may be forgotten.
const forgottenAfter = 24 * time.Hour

func (p *patient) pauses(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	const (
		query = `SELECT kind, namespace, name, capabilities, actor, paused_at FROM tasker_pauses
 WHERE ended_at = 0 AND until_at = 0 AND paused_at < $1 ORDER BY paused_at LIMIT 21`
		most = 20
	)
	now, err := p.clock(ctx, tx)
	if err != nil {
		return nil, err
	}
	old, err := list(ctx, tx, func(rows *sql.Rows) (of task.Pause, err error) {
		var kind string
		err = rows.Scan(&kind, &of.Namespace, &of.Name, &of.Capabilities, &of.Actor, (*int64)(&of.At))
		of.Kind = task.PauseKind(kind)
		return of, err
	}, query, int64(now.Add(-forgottenAfter)))
	if err != nil {
		return nil, err
	}
	if len(old) == 0 {
		return ok("no pause without an end is older than a day"), nil
	}
	var checks []Check
	for i, of := range old {
		if i == most {
			return append(checks, Check{Status: Warn, Seen: "there are more such pauses", Do: "See tasker pause list."}), nil
		}
		checks = append(checks, Check{Status: Warn,
			Seen: fmt.Sprintf("%s has been paused for %s by %s, without an end", of.PauseTarget, long(now.Sub(of.At)), of.Actor),
			Do:   "Resume it with tasker resume, or pause it again with --until if it has to wait."})
	}
	return checks, nil
}
