package local_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker/protocol"
)

type damaged struct {
	open  func(t *testing.T) engine.Database
	exec  func(t *testing.T, statement string)
	loose bool // columns take any type, and JSON is only text
}

func onDamagedStores(t *testing.T, test func(t *testing.T, d damaged)) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		path := sqlitetest.File(t)
		test(t, damaged{loose: true, open: func(t *testing.T) engine.Database {
			s, err := sqlite.Open(t.Context(), path, &sqlite.Options{Seed: 1, Readers: 1})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}, exec: func(t *testing.T, statement string) {
			db, err := sql.Open("sqlite", path)
			if err == nil {
				_, err = db.ExecContext(t.Context(), "PRAGMA ignore_check_constraints = 1; "+statement)
			}
			if err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		dsn := pgtest.DSN(t)
		d, err := postgres.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		test(t, damaged{open: func(t *testing.T) engine.Database {
			s, err := postgres.Open(t.Context(), dsn, nil)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}, exec: func(t *testing.T, statement string) {
			config := d.Pool.ConnConfig.Copy()
			config.RuntimeParams["search_path"] = d.Schema
			conn, err := pgx.ConnectConfig(t.Context(), config)
			if err == nil {
				_, err = conn.Exec(t.Context(), statement)
			}
			if err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
			if err := conn.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}})
	})
}

func (d damaged) begin(t *testing.T, name string, act func(t *testing.T, r *rig)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { act(t, newRig(t, d.open(t), settings.Config{})) })
	if t.Failed() {
		t.FailNow()
	}
}

var deepJSON = strings.Repeat("[", 3000) + strings.Repeat("]", 3000)

// TestDamagedRows: lists show the sound rows, and each damaged row with a reason; polls deliver the sound ones.
func TestDamagedRows(t *testing.T) {
	onDamagedStores(t, func(t *testing.T, d damaged) {
		ids := map[string]uuid.UUID{}
		d.begin(t, "Submit", func(t *testing.T, r *rig) {
			r.template(t, pair)
			for _, name := range []string{"good", "deep", "ancient", "late", "template", "route", "ordinal", "json", "meta",
				"type", "state", "queue"} {
				ids[name] = r.submit(t, tasker.TaskRequest{TaskType: "h", CorrelationID: name, Context: json.RawMessage(`{"a":1}`)})
			}
			ids["flow"] = r.submit(t, tasker.TaskRequest{Name: "pair", CorrelationID: "flow", Context: json.RawMessage(`{}`)})
			for _, id := range ids {
				if _, err := r.OpenCase(t.Context(), id, operate.OpenCaseRequest{OpenedBy: "ann",
					Reason: "to have one"}); err != nil {
					t.Fatal(err)
				}
			}
		})
		want := map[string]string{"deep": "context nests deeper", "ancient": "is out of range", "late": "is out of range",
			"template": "with key 999999, is gone", "meta": "meta cannot be read"}
		on := func(name, statement string) {
			d.exec(t, fmt.Sprintf(statement, "(SELECT id FROM tasker_tasks WHERE correlation_id = '"+name+"')"))
		}
		on("deep", `UPDATE tasker_tasks SET context = '`+deepJSON+`' WHERE id = %s`)
		on("ancient", `UPDATE tasker_tasks SET run_at = -62200000000000000 WHERE id = %s`)
		on("meta", `UPDATE tasker_tasks SET meta = '{"tags":5}' WHERE id = %s`)
		on("late", `UPDATE tasker_tasks SET created_at = 300000000000000000 WHERE id = %s`)
		on("template", `UPDATE tasker_workflow_steps SET def_id = 999999 WHERE task_id = %s`)
		on("template", `UPDATE tasker_tasks SET def_id = 999999 WHERE id = %s`)
		on("route", `UPDATE tasker_workflow_steps SET route_id = 999999 WHERE task_id = %s`)
		on("ordinal", `UPDATE tasker_workflow_steps SET ordinal = 7 WHERE task_id = %s`)
		d.exec(t, `UPDATE tasker_workers SET started_at = -62200000000000000`)
		d.exec(t, `INSERT INTO tasker_acts (task_id, at, kind, actor, reason, from_state, to_state)
			SELECT id, 900000000000000000, 'cancel', 'x', 'y', '', '' FROM tasker_tasks WHERE correlation_id = 'good'`)
		if d.loose {
			for name, words := range map[string]string{"json": "context is not valid JSON",
				"type": "an integer column holds string", "state": `no task state "lost"`} {
				want[name] = words
			}
			on("json", `UPDATE tasker_tasks SET context = '{"a":' WHERE id = %s`)
			on("type", `UPDATE tasker_tasks SET priority = 'high' WHERE id = %s`)
			on("state", `UPDATE tasker_tasks SET state = 'lost' WHERE id = %s`)
			on("queue", `UPDATE tasker_workflow_steps SET timeout_ms = 'soon' WHERE task_id = %s`)
			on("good", `UPDATE tasker_tasks_dlq SET metadata = '{', dlq_timestamp = 'today' WHERE task_uuid = %s`)
			d.exec(t, `UPDATE tasker_templates SET body = '{' WHERE adhoc = 0`)
			want["flow"] = "body cannot be read"
		}
		d.begin(t, "Show", func(t *testing.T, r *rig) { showsAll(t, r, ids, want) })
		d.begin(t, "Poll", func(t *testing.T, r *rig) {
			got := map[string]bool{}
			for range 3 {
				polled, err := r.b.Poll(t.Context(), protocol.PollRequest{WorkerID: r.worker, Capacity: 100, Start: true})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := json.Marshal(polled); err != nil {
					t.Errorf("the poll cannot be sent: %v", err)
				}
				for _, a := range polled.Steps {
					got[a.CorrelationID] = true
				}
			}
			// an unprintable time does not stop the work
			for _, name := range []string{"good", "ancient", "late"} {
				if !got[name] {
					t.Errorf("the poll does not deliver %s", name)
				}
			}
			for _, name := range []string{"deep", "template", "ordinal"} {
				if got[name] || r.task(t, ids[name]).State != tasker.TaskError {
					t.Errorf("%s: delivered %t, the task is %s", name, got[name], r.task(t, ids[name]).State)
				}
			}
			if s, err := r.Steps(t.Context(), ids["deep"]); err != nil || s[0].LastError == nil ||
				!strings.Contains(s[0].LastError.Message, "nests deeper") {
				t.Errorf("the failure is not told: %+v, %v", s, err)
			}
			for range 3 { // the loops continue, too
				r.wait(t, time.Hour)
			}
			showsAll(t, r, ids, map[string]string{"ancient": "out of range"})
		})
	})
}

func showsAll(t *testing.T, r *rig, ids map[string]uuid.UUID, want map[string]string) {
	t.Helper()
	ctx := t.Context()
	check := func(what string, v any, err error) {
		t.Helper()
		if err == nil {
			_, err = json.Marshal(v)
		}
		if err != nil {
			t.Errorf("%s: %.300v", what, err)
		}
	}
	page, err := r.Tasks(ctx, tasker.TaskFilter{Limit: 100, WithContext: true})
	check("tasks", page, err)
	queue, err := r.b.QueueTasks(ctx, queueapi.QueueTaskFilter{Limit: 100})
	check("queue", queue, err)
	if err != nil || page == nil || len(page.Tasks) != len(ids) || len(queue.Tasks) != len(ids) {
		t.Fatalf("the lists show %d and %d of %d tasks", len(page.Tasks), len(queue.Tasks), len(ids))
	}
	for name, words := range want {
		for _, listed := range page.Tasks {
			if listed.TaskUUID == ids[name] && !strings.Contains(listed.Damage, words) {
				t.Errorf("the task %s is shown with the damage %q, want %q", name, listed.Damage, words)
			}
		}
		for _, listed := range queue.Tasks {
			if listed.TaskID == ids[name] && !strings.HasPrefix(words, "context") && !strings.Contains(listed.Damage, words) {
				t.Errorf("in the queue %s is shown with the damage %q, want %q", name, listed.Damage, words)
			}
		}
	}
	for _, listed := range page.Tasks {
		if listed.TaskUUID == ids["good"] && listed.Damage != "" {
			t.Errorf("a good task is shown with the damage %q", listed.Damage)
		}
	}
	for name, id := range ids {
		one, err := r.Task(ctx, id, 0)
		check(name, one, err)
		steps, err := r.Steps(ctx, id)
		check("steps of "+name, steps, err)
		history, err := r.b.TaskHistory(ctx, id)
		check("history of "+name, history, err)
		story, err := r.b.ExplainTask(ctx, id)
		check("explanation of "+name, story, err)
		place, err := r.b.QueueTask(ctx, id, true)
		check("place of "+name, place, err)
		c, err := r.b.CaseOfTask(ctx, id)
		check("case of "+name, c, err)
	}
	cases, err := r.b.Cases(ctx, operate.CaseFilter{Limit: 100})
	check("cases", cases, err)
	if len(cases) < len(ids) {
		t.Errorf("the list shows %d cases", len(cases))
	}
	stats, err := r.b.CaseStats(ctx, operate.CaseFilter{})
	check("counts of cases", stats, err)
	urgent, err := r.b.InvestigationQueue(ctx, operate.CaseFilter{})
	check("investigation queue", urgent, err)
	stale, err := r.b.Staleness(ctx, operate.StalenessFilter{})
	check("staleness", stale, err)
	failed, err := r.b.FailedTasks(ctx, operate.FailedTaskFilter{})
	check("failed tasks", failed, err)
	acts, err := r.b.Audit(ctx, operate.AuditFilter{Limit: 100})
	check("audit", acts, err)
	workers, err := r.b.Workers(ctx)
	check("workers", workers, err)
	templates, err := r.Templates(ctx, tasker.TemplateFilter{})
	check("templates", templates, err)
	numbers, err := r.b.QueueStats(ctx, queueapi.QueueFilter{})
	check("numbers of the queue", numbers, err)
}

// TestStoredSchemaOverBudget: submissions to a template from before a lower budget are refused cheaply; the rest of a
// batch is taken.
func TestStoredSchemaOverBudget(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		var defs strings.Builder
		for i := range 24 {
			fmt.Fprintf(&defs, `"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
		}
		tpl := &task.Template{Namespace: "default", Name: "heavy", Version: "1", Fingerprint: "f", CreatedAt: noon,
			Steps:       []task.StepSpec{{Name: "a", Handler: "h"}},
			InputSchema: []byte(`{"$defs":{` + defs.String() + `"d24":{"type":"string"}},"$ref":"#/$defs/d0"}`)}
		if faults := tpl.Link(); len(faults) > 0 {
			t.Fatal(faults)
		}
		if err := r.store.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
			_, err := tx.InsertTemplate(ctx, tpl)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			receipts, err := r.SubmitTasks(t.Context(), tasker.SubmitRequest{ItemErrors: true, Tasks: []tasker.TaskRequest{
				{Name: "heavy", Context: json.RawMessage(`1`)}, {TaskType: "h"}}})
			if err != nil || receipts[1].Error != nil {
				t.Fatalf("%+v, %v", receipts, err)
			}
			if e := receipts[0].Error; e == nil || places(e) != "/tasks/0/name" ||
				!strings.Contains(e.Error(), "cannot be used") || !strings.Contains(e.Error(), "10000 subschemas") {
				t.Errorf("refused with %v", e)
			}
		}
	})
}
