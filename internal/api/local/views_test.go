package local_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/operate"
)

type asked struct {
	t   *testing.T
	rig *rig
	// ask runs a query, in which @. precedes every table, by the rig's time.
	ask func(query string) answer
	// timeText is an expression for a time as text, to the microsecond.
	timeText func(column string) string
}

type answer interface {
	Next() bool
	Scan(...any) error
	Err() error
}

const microseconds = "2006-01-02T15:04:05.000000Z"

func inMinutes(m float64) float64 {
	return math.Round(math.Round(m*60)/60*100) / 100
}

// TestViewsAgree compares the engine and the views on a population, now and at the times when a warning begins or a
// task becomes stale.
func TestViewsAgree(t *testing.T) {
	t.Parallel()
	cfg := handDetected()
	cfg.StalenessThresholds.WaitingForDependencies = 50 * time.Minute
	cfg.Cases.PriorityBases.StalenessTimeout = 300
	for name, open := range map[string]func(*testing.T, settings.Config) *asked{"PostgreSQL": askPostgres,
		"SQLite": askSQLite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := open(t, cfg)
			a.showsTemplates()
			seen := map[string]int{}
			a.compare(seen)
			for range 12 {
				next := a.nextTurn()
				if next.IsZero() {
					break
				}
				a.rig.silent(next.Sub(a.rig.clock()) - time.Microsecond)
				a.compare(seen)
				a.rig.silent(time.Microsecond)
				a.compare(seen)
			}
			for _, what := range []string{"healthy", "warning", "stale", "steps_in_process", "waiting_for_retry",
				"waiting_for_dependencies", "queue", "dashboard",
				"template", "global", "promise", "max_duration", "time", "attempt", "outside"} {
				if seen[what] == 0 {
					t.Errorf("nothing was compared about %s: %v", what, seen)
				}
			}
		})
	}
}

func (a *asked) showsTemplates() {
	a.t.Helper()
	type shown struct{ Name, Config string }
	got := rowsOf(a,
		`SELECT DISTINCT task_name, CAST(template_config AS text) FROM @.v_task_state_analysis WHERE task_name IN ('plain', 'hasty') ORDER BY 1`,
		func(r *shown) []any { return []any{&r.Name, &r.Config} })
	for i := range got {
		got[i].Config = string(canonical(a.t, []byte(got[i].Config)))
	}
	same(a.t, "template_config", got,
		[]shown{{"hasty", `{"max_steps_in_process_minutes":2,"max_waiting_for_retry_minutes":1}`}, {"plain", "{}"}})
}

func (a *asked) compare(seen map[string]int) {
	a.t.Helper()
	stale, queue, dashboard := a.staleness(), a.queue(), a.dashboard()
	same(a.t, "v_task_staleness_monitoring", stale, a.stalenessByEngine())
	same(a.t, "v_dlq_investigation_queue", queue, a.queueByEngine())
	same(a.t, "v_dlq_dashboard", dashboard, a.dashboardByEngine())
	for _, s := range stale {
		seen[string(s.Health)]++
		seen[string(s.State)]++
		seen[string(s.Source)]++
		seen[string(s.Promise)]++
	}
	seen["queue"] += len(queue)
	seen["dashboard"] += len(dashboard)
}

// nextTurn returns when the next warning begins or the next task is stale; zero for none.
func (a *asked) nextTurn() time.Time {
	a.t.Helper()
	var next time.Time
	type turn struct {
		StaleAt   string
		Threshold float64
	}
	for _, r := range rowsOf(a,
		`SELECT time(stale_at), CAST(threshold_minutes AS double precision) FROM @.v_task_state_analysis WHERE threshold_minutes > 0`,
		func(r *turn) []any { return []any{&r.StaleAt, &r.Threshold} }) {
		stale, err := time.Parse(microseconds, r.StaleAt)
		if err != nil {
			a.t.Fatal(err)
		}
		threshold := time.Duration(r.Threshold * float64(time.Minute)).Round(time.Second)
		for _, at := range []time.Time{stale.Add(-threshold * 2 / 10), stale} {
			if at.After(a.rig.clock()) && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
	}
	return next
}

// rowsOf returns all rows; time(x) is x as text.
func rowsOf[T any](a *asked, query string, fields func(*T) []any) []T {
	a.t.Helper()
	for {
		before, rest, found := strings.Cut(query, "time(")
		if !found {
			break
		}
		column, after, _ := strings.Cut(rest, ")")
		query = before + a.timeText(column) + after
	}
	rows := a.ask(query)
	var out []T
	for rows.Next() {
		var row T
		if err := rows.Scan(fields(&row)...); err != nil {
			a.t.Fatalf("%s: %v", query, err)
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		a.t.Fatalf("%s: %v", query, err)
	}
	return out
}

type staleRow struct {
	Task                        uuid.UUID
	Namespace, Name             string
	State                       tasker.TaskState
	InState, Threshold, Counted float64
	Health                      operate.Health
	Source                      operate.ThresholdSource
	Promise                     operate.Promise
	Step, Until, StaleAt        string
}

func (a *asked) staleness() []staleRow {
	a.t.Helper()
	return rowsOf(a,
		`SELECT task_uuid, namespace_name, task_name, current_state, CAST(time_in_state_minutes AS double precision),
 CAST(coalesce(staleness_threshold_minutes, 0) AS double precision), CAST(counted_minutes AS double precision), health_status, threshold_source,
 coalesce(promise, ''), coalesce(promised_step, ''), coalesce(time(promised_until), ''), coalesce(time(stale_at), '') FROM @.v_task_staleness_monitoring`,
		func(r *staleRow) []any {
			return []any{&r.Task, &r.Namespace, &r.Name, &r.State, &r.InState, &r.Threshold, &r.Counted, &r.Health, &r.Source,
				&r.Promise, &r.Step, &r.Until, &r.StaleAt}
		})
}

func (a *asked) stalenessByEngine() []staleRow {
	a.t.Helper()
	list, err := a.rig.b.Staleness(a.t.Context(), operate.StalenessFilter{Limit: 1000})
	if err != nil {
		a.t.Fatal(err)
	}
	at := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return t.Format(microseconds)
	}
	var want []staleRow
	for _, s := range list {
		want = append(want, staleRow{s.TaskUUID, s.Namespace, s.TaskName, s.CurrentState, inMinutes(s.TimeInStateMinutes),
			inMinutes(s.StalenessThresholdMinutes),
			inMinutes(s.CountedMinutes), s.Health, s.ThresholdSource, s.Promise, s.PromisedStep, at(s.PromisedUntil),
			at(s.StaleAt)})
	}
	return want
}

type queueRow struct {
	Case, Task      uuid.UUID
	Namespace, Name string
	Was, State      tasker.TaskState
	Reason          tasker.CaseReason
	Opened          string
	Minutes, Score  float64
	Recovered       bool
}

func (a *asked) queue() []queueRow {
	a.t.Helper()
	return rowsOf(a,
		`SELECT dlq_entry_uuid, task_uuid, namespace_name, task_name, original_state, current_state, dlq_reason, time(dlq_timestamp),
 CAST(minutes_in_dlq AS double precision), CAST(priority_score AS double precision), recovered FROM @.v_dlq_investigation_queue`,
		func(r *queueRow) []any {
			return []any{&r.Case, &r.Task, &r.Namespace, &r.Name, &r.Was, &r.State, &r.Reason, &r.Opened, &r.Minutes, &r.Score,
				&r.Recovered}
		})
}

func (a *asked) queueByEngine() []queueRow {
	a.t.Helper()
	list, err := a.rig.b.InvestigationQueue(a.t.Context(), operate.CaseFilter{Limit: 1000})
	if err != nil {
		a.t.Fatal(err)
	}
	var want []queueRow
	for _, q := range list {
		want = append(want, queueRow{q.CaseUUID, q.TaskUUID, q.Namespace, q.TaskName, q.OriginalState, q.CurrentState,
			q.Reason, q.OpenedAt.Format(microseconds),
			inMinutes(q.MinutesInDLQ), inMinutes(q.PriorityScore), q.Recovered})
	}
	return want
}

type dashboardRow struct {
	Reason                                      tasker.CaseReason
	Total, Pending, Resolved, Failed, Cancelled int
	Oldest, Newest                              string
	Average                                     *float64
}

func (a *asked) dashboard() []dashboardRow {
	a.t.Helper()
	return rowsOf(a,
		`SELECT dlq_reason, total_entries, pending, manually_resolved, permanent_failures, cancelled, time(oldest_entry), time(newest_entry),
 CAST(avg_resolution_time_minutes AS double precision) FROM @.v_dlq_dashboard`,
		func(r *dashboardRow) []any {
			return []any{&r.Reason, &r.Total, &r.Pending, &r.Resolved, &r.Failed, &r.Cancelled, &r.Oldest, &r.Newest, &r.Average}
		})
}

func (a *asked) dashboardByEngine() []dashboardRow {
	a.t.Helper()
	list, err := a.rig.b.CaseStats(a.t.Context(), operate.CaseFilter{})
	if err != nil {
		a.t.Fatal(err)
	}
	var want []dashboardRow
	for _, s := range list {
		row := dashboardRow{s.Reason, s.TotalEntries, s.Pending, s.ManuallyResolved, s.PermanentFailures, s.Cancelled,
			s.OldestEntry.Format(microseconds), s.NewestEntry.Format(microseconds), nil}
		if s.AvgResolutionTimeMinutes != nil {
			average := inMinutes(*s.AvgResolutionTimeMinutes)
			row.Average = &average
		}
		want = append(want, row)
	}
	return want
}
