package store

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

// A case that another transaction groups at the same time waits for it, and is then left as that one decided. These are
// cases from before groups existed, and cases opened by SQL. It returns the number of cases examined; 0 means that none
// are left.
func (letterRows) Regroup(ctx context.Context, tx engine.Tx, limit int, by inbox.PrintFunc) (int, error) {
	s := letterRows{In(tx)}
	query := `SELECT ` + caseColumns + failureColumns + `, NULL FROM tasker_tasks_dlq c WHERE c.group_id IS NULL
 ORDER BY c.dlq_entry_uuid LIMIT $1` + s.Lock
	cases, err := collect(ctx, s, s.scanCase, query, limit)
	if err != nil || len(cases) == 0 {
		return 0, err
	}
	templates, err := s.templatesOf(ctx, cases)
	if err != nil {
		return 0, err
	}
	var tally deadletter.Tally
	for _, c := range cases {
		of := templates[c.DefID]
		if of == nil { // cannot be: templates stay while tasks of them do
			of = &task.Template{}
		}
		handler := handlerOf(of, c.Step)
		print := deadletter.PrintOfCase(c, handler, of.Name, "")
		if print, err = by(of.Namespace, print, func() deadletter.Facts {
			return deadletter.FactsOfCase(c, handler, of.Name, print)
		}); err != nil {
			return 0, err
		}
		g := deadletter.GroupOfCase(of.Namespace, c, print)
		g.LastAt = 0 // the deltas set it
		first := tally.Join(g)
		first.FirstAt = min(first.FirstAt, g.FirstAt)
		d := tally.Of(g.ID)
		d.Failures, d.At = d.Failures+int64(max(c.Occurrences, 1)), max(d.At, c.OccurredAt)
		if c.Status == task.CasePending {
			d.OpenCases++
		}
		err := s.Send(ctx, `UPDATE tasker_tasks_dlq SET group_id = $2 WHERE dlq_entry_uuid = $1`, s.id(c.ID), int64(g.ID))
		if err != nil {
			return 0, err
		}
	}
	return len(cases), s.AddTally(ctx, tx, &tally)
}

// templatesOf returns the templates of cases by their keys.
// A case stores the key of its template; its namespace and handler come from there. An unknown key is left out.
func (s SQL) templatesOf(ctx context.Context, cases []*task.Case) (map[int64]*task.Template, error) {
	var defs []int64
	for _, c := range cases {
		defs = append(defs, c.DefID)
	}
	slices.Sort(defs)
	found := map[int64]*task.Template{}
	for part := range slices.Chunk(slices.Compact(defs), fetched) {
		w := where{}
		of := list(&w, part, func(def int64) any { return def })
		templates, err := collect(ctx, s, scanTemplate, `SELECT `+templateColumns+
			` FROM tasker_templates WHERE def_id IN `+of, w.args...)
		if err != nil {
			return nil, err
		}
		for _, t := range templates {
			found[t.DefID] = t
		}
	}
	return found, nil
}

func handlerOf(t *task.Template, step string) string {
	for _, spec := range t.Steps {
		if spec.Name == step {
			return spec.Handler
		}
	}
	return ""
}
