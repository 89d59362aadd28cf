package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// rules are bodies, which repeat namespace, name and version.
var rules = record[deadletter.Rule]{"tasker_rules r", `r.body`, func(r *deadletter.Rule) []any {
	return []any{jsonField(r, nil)}
}}

func (s SQL) rulesInForce(ctx context.Context, namespace string) ([]*deadletter.Rule, error) {
	w := where{}
	w.add("current = 1")
	w.addIf(namespace != "", "namespace = ?", namespace)
	list, err := rules.list(ctx, s, w.text(), w.args...)
	slices.SortFunc(list, func(a, b *deadletter.Rule) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Position, b.Position),
			cmp.Compare(a.Name, b.Name))
	})
	return list, err
}

func (letterRows) RulesInForce(ctx context.Context, tx engine.Tx, namespace string) ([]*deadletter.Rule, error) {
	return In(tx).rulesInForce(ctx, namespace)
}

func (s letterRows) Rules(ctx context.Context, namespace string) ([]*deadletter.Rule, error) {
	return s.rulesInForce(ctx, namespace)
}

func (letterRows) LatestRule(ctx context.Context, tx engine.Tx, namespace, name string) (*deadletter.Rule, error) {
	s := In(tx)
	return rules.first(ctx, s, ` WHERE namespace = $1 AND name = $2
 ORDER BY version DESC LIMIT 1`+s.Lock, namespace, name)
}

func (letterRows) AddRule(ctx context.Context, tx engine.Tx, r *deadletter.Rule) error {
	s := In(tx)
	const (
		end = `UPDATE tasker_rules SET current = 0 WHERE namespace = $1 AND name = $2 AND current = 1`
		add = `INSERT INTO tasker_rules (namespace, name, version, current, body) VALUES ($1, $2, $3, $4, $5)
 ON CONFLICT DO NOTHING`
	)
	body, err := jsonText(r)
	if err != nil {
		return err
	}
	if err := s.Send(ctx, end, r.Namespace, r.Name); err != nil {
		return err
	}
	n, err := s.Exec(ctx, add, r.Namespace, r.Name, r.Version, flag(!r.Removed), body)
	if err == nil && n == 0 {
		err = task.Errorf(task.Conflict, "the rule %q has just been changed by somebody else", r.Name)
	}
	return err
}

func (s letterRows) RuleVersions(ctx context.Context, namespace, name string, from int64, limit int) (
	[]*deadletter.Rule, error,
) {
	w := where{}
	w.add("namespace = ? AND name = ?", namespace, name)
	w.addIf(from > 0, "version <= ?", from)
	return rules.list(ctx, s.SQL, w.text()+` ORDER BY version DESC LIMIT `+w.arg(limit), w.args...)
}

// Cases have no stored stack: all of a group have the frame of the group.
func (s letterRows) CaseMembers(ctx context.Context, group deadletter.GroupID, after task.ID, limit int) (
	[]inbox.CaseMember, error,
) {
	w := where{}
	w.add("c.group_id = ?", int64(group))
	w.addIf(!after.IsZero(), "c.dlq_entry_uuid > ?", s.id(after))
	query := `SELECT ` + caseColumns + failureColumns + `, NULL FROM tasker_tasks_dlq c` + w.text() +
		` ORDER BY c.dlq_entry_uuid LIMIT ` + w.arg(limit)
	cases, err := collect(ctx, s, s.scanCase, query, w.args...)
	if err != nil || len(cases) == 0 {
		return nil, err
	}
	g, err := s.FindGroup(ctx, group)
	if err != nil || g == nil {
		return nil, err
	}
	templates, err := s.templatesOf(ctx, cases)
	if err != nil {
		return nil, err
	}
	members := make([]inbox.CaseMember, len(cases))
	for i, c := range cases {
		of := templates(c)
		members[i] = inbox.CaseMember{ID: c.ID, Task: c.TaskID,
			Facts: deadletter.FactsOfCase(c, handlerOf(of, c.Step), of.Name, g.Print)}
	}
	return members, nil
}

// A case that another transaction groups waits for it, and is then left.
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
		of := templates(c)
		handler := handlerOf(of, c.Step)
		print := deadletter.PrintOfCase(c, handler, of.Name, "")
		if print, err = by(of.Namespace, print, func() deadletter.Facts {
			return deadletter.FactsOfCase(c, handler, of.Name, print)
		}); err != nil {
			return 0, err
		}
		g := deadletter.GroupOfCase(of.Namespace, c, print)
		g.LastAt = 0
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

// templatesOf returns the templates of cases, which have the namespace and handler.
func (s SQL) templatesOf(ctx context.Context, cases []*task.Case) (func(*task.Case) *task.Template, error) {
	var defs []int64
	for _, c := range cases {
		defs = append(defs, c.DefID)
	}
	slices.Sort(defs)
	found := map[int64]*task.Template{}
	err := inParts(slices.Compact(defs), func(def int64) any { return def }, nil, func(in string, args []any) error {
		list, err := collect(ctx, s, scanTemplate, `SELECT `+templateColumns+` FROM tasker_templates WHERE def_id IN `+in,
			args...)
		for _, t := range list {
			found[t.DefID] = t
		}
		return err
	})
	return func(c *task.Case) *task.Template {
		return cmp.Or(found[c.DefID], &task.Template{}) // all exist: templates stay while their tasks do
	}, err
}

func handlerOf(t *task.Template, step string) string {
	for _, spec := range t.Steps {
		if spec.Name == step {
			return spec.Handler
		}
	}
	return ""
}
