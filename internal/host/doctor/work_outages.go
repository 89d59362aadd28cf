package doctor

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/model/task"
)

func (p *patient) outages(ctx context.Context, tx *sql.Tx) ([]Check, error) {
	const (
		query = `SELECT namespace, body FROM tasker_outages WHERE closed_at = 0 ORDER BY outage_id LIMIT 21`
		most  = 20
	)
	now, err := p.clock(ctx, tx)
	if err != nil {
		return nil, err
	}
	open, err := list(ctx, tx, func(rows *sql.Rows) (o task.Outage, err error) {
		var namespace string
		var body []byte
		if err = rows.Scan(&namespace, &body); err == nil {
			err = json.Unmarshal(body, &o)
		}
		o.Namespace = namespace
		return o, err
	}, query)
	if err != nil {
		return nil, err
	}
	if len(open) == 0 {
		return ok("no route has an outage"), nil
	}
	var checks []Check
	for i, o := range open {
		if i == most {
			return append(checks, Check{Status: Warn, Seen: "there are more outages", Do: "See tasker outage list."}), nil
		}
		checks = append(checks, Check{Status: Warn,
			Seen: fmt.Sprintf("handler %q in namespace %q has had an outage for %s, with %d probes so far: %s", o.Handler,
				o.Namespace, long(now.Sub(o.OpenedAt)), o.Probes, o.Title),
			Do: "Repair what fails there; a probe then closes it. See tasker outage list."})
	}
	return checks, nil
}
