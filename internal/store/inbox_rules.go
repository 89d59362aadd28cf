package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

// scanRule reads the body of a rule, which has its namespace, name and version as well.
func scanRule(row Row) (*deadletter.Rule, error) {
	var body JSON
	if err := row.Scan(&body); err != nil {
		return nil, err
	}
	r := &deadletter.Rule{}
	return r, json.Unmarshal(body, r)
}

// rulesInForce returns the rules in force, in the order in which they are tried.
func rulesInForce(ctx context.Context, s SQL, namespace string) ([]*deadletter.Rule, error) {
	w := where{}
	w.add("current = 1")
	w.addIf(namespace != "", "namespace = ?", namespace)
	rules, err := collect(ctx, s, scanRule, `SELECT body FROM tasker_rules`+w.text(), w.args...)
	slices.SortFunc(rules, func(a, b *deadletter.Rule) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Position, b.Position),
			cmp.Compare(a.Name, b.Name))
	})
	return rules, err
}

func (letterRows) RulesInForce(ctx context.Context, tx engine.Tx, namespace string) ([]*deadletter.Rule, error) {
	return rulesInForce(ctx, In(tx), namespace)
}

func (s letterRows) Rules(ctx context.Context, namespace string) ([]*deadletter.Rule, error) {
	return rulesInForce(ctx, s.SQL, namespace)
}

func (letterRows) LatestRule(ctx context.Context, tx engine.Tx, namespace, name string) (*deadletter.Rule, error) {
	s := In(tx)
	return first(ctx, s, scanRule, `SELECT body FROM tasker_rules WHERE namespace = $1 AND name = $2
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
	query := `SELECT body FROM tasker_rules` + w.text() + ` ORDER BY version DESC LIMIT ` + w.arg(limit)
	return collect(ctx, s, scanRule, query, w.args...)
}

// No stack is stored with a case: all of a group have the frame of the group.
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
		of := templates[c.DefID]
		if of == nil { // cannot be: templates stay while tasks of them do
			of = &task.Template{}
		}
		members[i] = inbox.CaseMember{ID: c.ID, Task: c.TaskID,
			Facts: deadletter.FactsOfCase(c, handlerOf(of, c.Step), of.Name, g.Print)}
	}
	return members, nil
}
