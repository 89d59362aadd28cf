package groups

import (
	"cmp"
	"context"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

const testedMembers = 100

// RuleTest asks for the decision of a rule about a failure, or about recent members of a group, without saving it.
type RuleTest struct {
	Rule  *deadletter.Rule
	Facts *deadletter.Facts // nil with Group
	Group deadletter.GroupID
}

// RuleTrial counts the decisions of a RuleTest. Tried includes Matched and Failed.
type RuleTrial struct {
	Tried, Matched, Failed int
	Items                  []RuleItem
}

// RuleItem is the decision about one failure.
type RuleItem struct {
	Kind    model.Kind
	ID      task.ID // zero for a failure that is not stored
	Matched bool
	Group   deadletter.GroupID // by the rule
	Print   failure.Print
	Error   string
}

// TestRule tries a rule as if it were saved, and stores nothing. Invalid as for SaveRule; NotFound for a group of
// another namespace.
func (in *Sorter) TestRule(ctx context.Context, t RuleTest) (*RuleTrial, error) {
	if err := desk.Reach(ctx, t.Rule.Namespace); err != nil {
		return nil, err
	}
	rule := *t.Rule
	if rule.Within = 0; (t.Facts == nil) == (t.Group == 0) {
		return nil, desk.Invalid("the rule was not tried", "", "give one of failure and group_id")
	}
	program, err := in.checkRule(&rule)
	if err != nil {
		return nil, err
	}
	latest, err := in.store.RuleVersions(ctx, rule.Namespace, rule.Name, 0, 1)
	if err != nil {
		return nil, err
	}
	var before *deadletter.Rule
	if len(latest) > 0 {
		before = latest[0]
	}
	// The version decides about the IDs of groups, so the trial needs the next one.
	rule.Follow(before)
	trial := &ruleTrial{rule: &rule, program: program}
	if t.Facts != nil {
		trial.item(t.Facts.Kind, task.ID{}, failure.PrintOf(t.Facts.Failure, "", cmp.Or(t.Facts.Handler, t.Facts.Source)),
			t.Facts)
		return &trial.RuleTrial, nil
	}
	g, err := in.GroupOf(ctx, t.Group)
	if err != nil {
		return nil, err
	}
	if g.Namespace != rule.Namespace {
		return nil, noGroup(t.Group)
	}
	return &trial.RuleTrial, in.tryOnGroup(ctx, trial, g)
}

type ruleTrial struct {
	RuleTrial
	rule    *deadletter.Rule
	program RuleProgram
}

func (t *ruleTrial) item(kind model.Kind, id task.ID, print failure.Print, f *deadletter.Facts) {
	item := RuleItem{Kind: kind, ID: id}
	matched, keys, err := t.program.Decide(f)
	t.Tried++
	switch {
	case err != nil:
		item.Error = err.Error()
		t.Failed++
	case matched:
		item.Matched, item.Print = true, print.Ruled(t.rule.Name, t.rule.Since, keys, t.rule.Title)
		item.Group = deadletter.GroupOf(t.rule.Namespace, item.Print)
		t.Matched++
	}
	t.Items = append(t.Items, item)
}

// tryOnGroup tries a rule on recent members of a group and its merged groups: up to 100 letters, then cases up to 200
// in all.
func (in *Sorter) tryOnGroup(ctx context.Context, t *ruleTrial, g *deadletter.Group) error {
	ids, err := in.letters.WithMerged(ctx, []deadletter.GroupID{g.ID})
	if err != nil {
		return err
	}
	sensitive, err := in.sources.SensitiveHeaders(ctx, g.Namespace)
	if err != nil {
		return err
	}
	page, err := in.store.ListLetters(ctx, letters.LetterFilter{Selection: deadletter.Selection{Namespace: g.Namespace,
		Groups: ids}, Limit: testedMembers})
	if err != nil {
		return err
	}
	for _, listed := range page.Letters {
		l, err := in.store.FindLetter(ctx, listed.ID)
		if err != nil {
			return err
		}
		if l != nil {
			facts := deadletter.FactsOfLetter(l, l.Failure, l.Handler, l.Stack, sensitive[l.Source])
			t.item(model.KindLetter, l.ID, g.Print, &facts)
		}
	}
	for _, id := range ids {
		members, err := in.store.CaseMembers(ctx, id, task.ID{}, testedMembers)
		if err != nil {
			return err
		}
		for _, m := range members[:min(len(members), 2*testedMembers-t.Tried)] {
			t.item(model.KindCase, m.ID, g.Print, &m.Facts)
		}
	}
	return nil
}
