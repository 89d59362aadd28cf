package local_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

const nightly = `
name: nightly
version: "1"
lifecycle: {max_waiting_for_dependencies_minutes: 90}
steps:
  - {name: extract, handler: h}
  - {name: transform, handler: h}
  - {name: load, handler: h, dependencies: [extract, transform]}
`

// TestScheduledTaskAgrees: the times of a scheduled task count from its run_at, in the database and in the engine.
func TestScheduledTaskAgrees(t *testing.T) {
	t.Parallel()
	p := newPSQL(t, handDetected())
	p.rig.template(t, nightly)
	at := p.rig.clock().Add(24 * time.Hour)
	id := p.rig.submit(t, tasker.TaskRequest{Name: "nightly", RunAt: &at})
	p.rig.act(t, id, "extract", tasker.ResolveManually)
	for _, c := range []struct {
		after  time.Duration
		health operate.Health
	}{{23 * time.Hour, operate.Healthy}, {2*time.Hour + 15*time.Minute, operate.Warning},
		{15 * time.Minute, operate.Stale}} {
		p.rig.silent(c.after)
		want := seen{id, string(c.health)}
		same(t, "the view says", query[seen](p, `SELECT task_uuid, health_status FROM @.v_task_staleness_monitoring`),
			[]seen{want})
		list, err := p.rig.b.Staleness(t.Context(), operate.StalenessFilter{})
		if err != nil || len(list) != 1 {
			t.Fatalf("the engine lists %+v, %v", list, err)
		}
		same(t, "the engine says", seen{list[0].TaskUUID, string(list[0].Health)}, want)
		stale := query[struct{ ID uuid.UUID }](p, `SELECT task_uuid FROM @.get_stale_tasks_for_dlq()`)
		if (len(stale) == 1) != (c.health == operate.Stale) {
			t.Errorf("when it is %s the function finds %d stale tasks", c.health, len(stale))
		}
	}
}

type seen struct {
	Task   uuid.UUID
	Health string
}
