package local_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker/protocol"
)

type readyRow struct {
	Step, Task                    uuid.UUID
	Name                          string
	State                         tasker.StepState
	Satisfied, Eligible, Ready    bool
	Failed, Next                  *time.Time
	Parents, Done, Attempts, Most int
	Attempted                     *time.Time
}

// TestReadinessAgrees compares both on every step of a population, together and one by one: the answer does not depend
// on the other steps.
func TestReadinessAgrees(t *testing.T) {
	t.Parallel()
	p := newPSQL(t, handDetected())
	const ask = `SELECT workflow_step_uuid, task_uuid, name, current_state, dependencies_satisfied, retry_eligible, ready_for_execution, last_failure_at,
 next_retry_at, total_parents, completed_parents, attempts, max_attempts, last_attempted_at FROM @.get_step_readiness_status($1, $2)`
	states := map[tasker.StepState]int{}
	crowd := populate(t, p.rig, 12, 300)
	p.strand()
	for _, id := range crowd.tasks {
		var want []readyRow
		steps, err := p.rig.Steps(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			states[s.State]++
			row := readyRow{s.StepUUID, s.TaskUUID, s.Name, s.State, s.DependenciesSatisfied, s.RetryEligible,
				s.ReadyForExecution, s.LastFailureAt,
				s.NextRetryAt, s.TotalParents, s.CompletedParents, s.Attempts, s.MaxAttempts, s.LastAttemptedAt}
			want = append(want, row)
			same(t, "one step", inUTC(query[readyRow](p, ask, id, []uuid.UUID{s.StepUUID})), []readyRow{row})
		}
		same(t, "all steps", inUTC(query[readyRow](p, ask, id, nil)), want)
	}
	if len(states) < 7 {
		t.Errorf("the steps are in few states: %v", states)
	}
}

func inUTC(rows []readyRow) []readyRow {
	for _, r := range rows {
		for _, at := range []*time.Time{r.Failed, r.Next, r.Attempted} {
			if at != nil {
				*at = at.UTC()
			}
		}
	}
	return rows
}

func TestSnapshotsAgree(t *testing.T) {
	t.Parallel()
	p := newPSQL(t, handDetected())
	crowd := populate(t, p.rig, 13, 300)
	p.strand()
	taken := 0
	for _, id := range crowd.tasks {
		p.rig.silent(time.Second)
		want := p.text(`SELECT @.tasker_snapshot($1, 'manual_dlq', NULL, NULL, 'look')`, id)
		c, err := p.rig.b.OpenCase(t.Context(), id, operate.OpenCaseRequest{OpenedBy: "ann", Reason: "look"})
		if err != nil {
			refusal(t, err, tasker.CodeConflict)
			continue
		}
		taken++
		same(t, "snapshot", p.decode(want), p.decode(string(c.Snapshot)))
	}
	if taken < 20 {
		t.Errorf("only %d snapshots were taken", taken)
	}
}

// TestDetectionAgrees: the engine and the SQL function, on two equal databases, detect the same and leave the same
// rows. Then it repairs both through the engine.
func TestDetectionAgrees(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]settings.Config{"Cases": handDetected(), "NoCases": withoutCases()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			byEngine, bySQL := newPSQL(t, cfg), newPSQL(t, cfg)
			crowd := populate(t, byEngine.rig, 14, 350)
			populate(t, bySQL.rig, 14, 350)
			byEngine.strand()
			bySQL.strand()
			same(t, "the populations", bySQL.dump(), byEngine.dump())

			want := detectByEngine(t, byEngine, true)
			same(t, "what would be done", detectBySQL(bySQL, true), want)
			same(t, "get_stale_tasks_for_dlq",
				len(query[struct{ Task uuid.UUID }](bySQL,
					`SELECT task_uuid FROM @.get_stale_tasks_for_dlq(p_batch_size => 1000)`)), len(want))
			same(t, "a dry run", bySQL.dump(), byEngine.dump())

			want = detectByEngine(t, byEngine, false)
			actions := map[operate.DetectionAction]int{}
			for _, d := range want {
				actions[d.Action]++
			}
			if actions[operate.ErroredOnly] < 2 || cfg.Cases.Enabled != settings.Off && actions[operate.MovedAndErrored] < 20 {
				t.Fatalf("the population shows little: %v", actions)
			}
			same(t, "what was done", detectBySQL(bySQL, false), want)
			same(t, "the databases", bySQL.dump(), byEngine.dump())
			if n := bySQL.text(`SELECT count(*)::text FROM @.tasker_tasks_dlq WHERE dlq_reason = 'dependency_cycle_detected'
 AND original_state = 'waiting_for_dependencies'`); n == "0" && cfg.Cases.Enabled != settings.Off {
				t.Error("no task that goes round in circles was detected")
			}
			same(t, "what is left", detectBySQL(bySQL, false), detectByEngine(t, byEngine, false))

			byEngine.repair(crowd.tasks)
			bySQL.repair(crowd.tasks)
			same(t, "after the repair", bySQL.dump(), byEngine.dump())
		})
	}
}

func withoutCases() settings.Config {
	cfg := handDetected()
	cfg.Cases.Enabled = settings.Off
	return cfg
}

type detectedRow struct {
	Task               uuid.UUID
	Namespace, Name    string
	State              tasker.TaskState
	InState, Threshold float64
	Action             operate.DetectionAction
	Moved, Errored     bool
}

func detectBySQL(p *psql, dry bool) map[uuid.UUID]detectedRow {
	p.t.Helper()
	out := map[uuid.UUID]detectedRow{}
	for _, r := range query[detectedRow](p,
		`SELECT task_uuid, namespace_name, task_name, current_state, time_in_state_minutes::float8, staleness_threshold_minutes::float8,
 action_taken, moved_to_dlq, transition_success FROM @.detect_and_transition_stale_tasks($1, 1000)`, dry) {
		out[r.Task] = r
	}
	return out
}

func detectByEngine(t *testing.T, p *psql, dry bool) map[uuid.UUID]detectedRow {
	t.Helper()
	list, err := p.rig.b.DetectStaleness(t.Context(), operate.DetectRequest{DryRun: dry, BatchSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	out := map[uuid.UUID]detectedRow{}
	for _, d := range list {
		out[d.TaskUUID] = detectedRow{d.TaskUUID, d.Namespace, d.TaskName, d.CurrentState, inMinutes(d.TimeInStateMinutes),
			inMinutes(d.ThresholdMinutes),
			d.ActionTaken, d.MovedToDLQ, d.TransitionSuccess}
	}
	return out
}

// repair resets every step in error and works until nothing is left, repeatedly: a lost lease may have been the last
// attempt. Then every task must be over, except the cyclic ones.
func (p *psql) repair(tasks []uuid.UUID) {
	p.t.Helper()
	for range 10 {
		p.reset(tasks)
		p.rig.wait(p.t, 15*time.Minute)
		p.work()
	}
	for _, id := range tasks {
		if k := p.rig.task(p.t, id); k.Name != "ring" && (k.FinishedAt == nil || k.State == tasker.TaskError) {
			p.t.Errorf("after the repair the task %s (%s) is %s", id, k.Name, k.State)
		}
	}
}

// reset resets every step in error; work completes what is ready or becomes so.
func (p *psql) reset(tasks []uuid.UUID) {
	p.t.Helper()
	for _, id := range tasks {
		if p.rig.task(p.t, id).State != tasker.TaskError {
			continue
		}
		steps, err := p.rig.Steps(p.t.Context(), id)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, s := range steps {
			if s.State == tasker.StepError {
				p.rig.act(p.t, id, s.Name, tasker.ResetForRetry)
			}
		}
	}
}

func (p *psql) work() {
	p.t.Helper()
	for {
		resp, err := protocol.Of(p.rig.Client).Poll(p.t.Context(),
			protocol.PollRequest{WorkerID: p.rig.worker, Start: true, Capacity: 1000})
		if err != nil {
			p.t.Fatal(err)
		}
		if len(resp.Steps) == 0 {
			return
		}
		var results []protocol.StepResult
		for _, a := range resp.Steps {
			res := completed(`1`)
			res.StepUUID, res.Token = a.StepUUID, a.Token
			results = append(results, res)
		}
		answers, err := protocol.Of(p.rig.Client).Settle(p.t.Context(),
			protocol.SettleRequest{WorkerID: p.rig.worker, Results: results})
		if err != nil {
			p.t.Fatal(err)
		}
		for _, a := range answers {
			if a.Error != nil {
				p.t.Fatal(a.Error)
			}
		}
	}
}

// TestCaseOfNoTask: a case of a missing task, or of one in an unexpected state, is refused with a reason. A task with a
// pending case gets no other.
func TestCaseOfNoTask(t *testing.T) {
	t.Parallel()
	p := newPSQL(t, handDetected())
	p.rig.template(t, nightly)
	id := p.rig.submit(t, tasker.TaskRequest{Name: "nightly"})
	const open = `SELECT @.create_dlq_entry($1, $2, $3, $4, p_dlq_reason => 'manual_dlq')::text`
	for _, c := range []struct {
		task             any
		namespace, name  any
		state, complaint any
	}{
		{uuid.MustParse("01890000-0000-7000-8000-000000000001"), nil, nil, nil,
			"there is no task 01890000-0000-7000-8000-000000000001"},
		{nil, nil, nil, nil, "there is no task NULL"},
		{id, "other", nil, nil, "the task " + id.String() + " is one of default/nightly, not of other/nightly"},
		{id, nil, "daily", nil, "the task " + id.String() + " is one of default/nightly, not of default/daily"},
		{id, nil, nil, "error", "the task " + id.String() + " is in the state steps_in_process, not error"},
	} {
		var entry *string
		err := p.conn.QueryRow(t.Context(), strings.ReplaceAll(open, "@", p.schema), c.task, c.namespace, c.name, c.state).
			Scan(&entry)
		if refused := (*pgconn.PgError)(nil); !errors.As(err, &refused) || refused.Message != c.complaint {
			t.Errorf("%v: it answers %v, %v, not %q", c, entry, err, c.complaint)
		}
	}
	if got := p.text(open, id, "default", "nightly", "steps_in_process"); got == "" {
		t.Error("no case is opened")
	}
	if got := query[struct{ Entry *string }](p, open, id, nil, nil, nil); len(got) != 1 || got[0].Entry != nil {
		t.Errorf("a second case: %v", got)
	}
}
