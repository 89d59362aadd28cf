package store

import (
	"context"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

const actColumns = `id, task_id, step_id, case_id, worker_id, namespace, template, at, kind, actor, auth, key_name,
 reason, from_state, to_state, data`

func (s SQL) scanAct(row Row) (task.Act, error) { return s.scanActAnd(row) }

// scanActAnd reads actColumns and more. A damaged act with a number is returned with the reason in Unread: an audit
// trail must not lose entries.
func (s SQL) scanActAnd(row Row, more ...any) (a task.Act, err error) {
	err = scan(row,
		append([]any{&a.No, s.ScanID(&a.TaskID), s.ScanID(&a.StepID), s.ScanID(&a.CaseID), s.ScanID(&a.WorkerID),
			(*Text)(&a.Namespace), (*Text)(&a.Template), &a.At, (*Text)(&a.Kind), (*Text)(&a.Actor), (*Text)(&a.Auth),
			(*Text)(&a.Key), (*Text)(&a.Reason), (*Text)(&a.From), (*Text)(&a.To), (*JSON)(&a.Data)}, more...), &a.TaskID,
		&a.Unread)
	if a.No != 0 && a.Unread != "" {
		return a, nil
	}
	return a, err
}

// AddActs stores acts of operators. The database numbers them in the order of the inserts. Triggers refuse changes and
// deletions.
func (SQL) AddActs(ctx context.Context, tx engine.Tx, acts []task.Act) error {
	s := In(tx)
	const query = `INSERT INTO tasker_acts (task_id, step_id, case_id, worker_id, namespace, template, at, kind, actor,
  auth, key_name, reason, from_state, to_state, data) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
  $14, $15)`
	for _, a := range acts {
		if err := s.Send(ctx, query, s.nullableID(a.TaskID), s.nullableID(a.StepID), s.nullableID(a.CaseID),
			s.nullableID(a.WorkerID), nullable(a.Namespace), nullable(a.Template), int64(a.At), a.Kind, a.Actor,
			string(a.Auth), nullable(a.Key), a.Reason, a.From, a.To, document(a.Data)); err != nil {
			return err
		}
	}
	return nil
}

// nullableID stores the zero ID as NULL, which keeps most rows out of indexes with the condition IS NOT NULL.
func (s SQL) nullableID(id task.ID) any {
	if id.IsZero() {
		return nil
	}
	return s.id(id)
}

// FindActs returns the acts on a task and its steps, oldest first, with whole data; ListActs bounds the data of a page.
func (s SQL) FindActs(ctx context.Context, id task.ID) ([]task.Act, error) {
	return collect(ctx, s, s.scanAct, `SELECT `+actColumns+` FROM tasker_acts WHERE task_id = $1 ORDER BY id`, s.id(id))
}

var listedAct = strings.TrimSuffix(actColumns, `data`) + small(`data`) + `, ` + large(`data`)

func (s SQL) scanListedAct(row Row) (task.Act, error) {
	var omitted int
	a, err := s.scanActAnd(row, &omitted)
	a.DataOmitted = omitted != 0
	return a, err
}

// ListActs returns a page of acts, newest first. Filters on a task, a case or a worker use an index each; the others
// filter along the primary key. Data beyond f.Bytes is left out, with DataOmitted set.
func (s SQL) ListActs(ctx context.Context, f engine.ActFilter) ([]task.Act, error) {
	w := where{}
	w.addIf(!f.Task.IsZero(), "task_id = ?", s.id(f.Task))
	w.addIf(!f.Case.IsZero(), "case_id = ?", s.id(f.Case))
	w.addIf(!f.Worker.IsZero(), "worker_id = ?", s.id(f.Worker))
	w.addIf(f.Namespace != "", "namespace = ?", f.Namespace)
	w.addIf(f.Template != "", "template = ?", f.Template)
	w.addIf(f.Actor != "", "actor = ?", f.Actor)
	w.addIf(f.Key != "", "key_name = ?", f.Key)
	w.addIf(f.Kind != "", "kind = ?", f.Kind)
	w.addIf(f.After != 0, "at >= ?", int64(f.After))
	w.addIf(f.Before != 0, "at < ?", int64(f.Before))
	w.addIf(f.Below != 0, "id < ?", f.Below)
	query := `SELECT ` + listedAct + ` FROM tasker_acts` + w.text() + ` ORDER BY id DESC LIMIT ` + w.arg(f.Limit)
	acts, err := collect(ctx, s, s.scanListedAct, query, w.args...)
	if err != nil {
		return nil, err
	}
	// an engine may keep only a part of an ID
	acts = slices.DeleteFunc(acts, func(a task.Act) bool {
		return !f.Task.IsZero() && a.TaskID != f.Task || !f.Case.IsZero() && a.CaseID != f.Case ||
			!f.Worker.IsZero() && a.WorkerID != f.Worker
	})
	page := make([]documentOf, len(acts))
	for i := range acts {
		page[i] = documentOf{acts[i].No, &acts[i].Data, &acts[i].DataOmitted}
	}
	return acts, s.addLarge(ctx, dataOfAct, page, f.Bytes)
}

const dataOfAct = `SELECT data FROM tasker_acts WHERE id = $1`
