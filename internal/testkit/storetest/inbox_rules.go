package storetest

import (
	"context"
	"fmt"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

func ruleCases() []inboxCase {
	return []inboxCase{
		{"Versions", ruleVersions},
		{"Order", ruleOrder},
		{"CaseMembers", caseMembers},
	}
}

func noRules(_ string, print failure.Print, _ func() deadletter.Facts) (failure.Print, error) {
	return print, nil
}

func someRule(namespace, name string, version int64) *deadletter.Rule {
	return &deadletter.Rule{Namespace: namespace, Name: name, Position: 3, When: `message contains "'x\\"`,
		Keys: []string{"code", `header("t")`}, Title: "Ä", Within: 77, Version: version, Since: 1, SavedAt: 5, Actor: "ann",
		Key: "k", Reason: "r"}
}

func (f *inboxFixture) addRule(r *deadletter.Rule) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.inbox.AddRule(ctx, tx, r) })
}

// ruleVersions: every version stays, and at most the latest is in force.
func ruleVersions(f *inboxFixture) {
	first, second, other := someRule("default", "a", 1), someRule("default", "a", 2), someRule("other", "a", 1)
	second.When = "true"
	for _, r := range []*deadletter.Rule{first, second, other} {
		f.addRule(r)
	}
	err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
		return f.inbox.AddRule(ctx, tx, second)
	})
	f.same("a version that exists", task.CodeOf(err), task.Conflict)
	rules, err := f.inbox.Rules(f.Context(), "default")
	f.must(err)
	f.same("in force", rules, []*deadletter.Rule{second})
	rules, err = f.inbox.Rules(f.Context(), "")
	f.must(err)
	f.same("in force anywhere", rules, []*deadletter.Rule{second, other})

	removed := someRule("default", "a", 3)
	removed.Removed = true
	f.addRule(removed)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		rules, err := f.inbox.RulesInForce(ctx, tx, "default")
		f.must(err)
		f.same("in force after the removal", len(rules), 0)
		latest, err := f.inbox.LatestRule(ctx, tx, "default", "a")
		f.must(err)
		f.same("latest", latest, removed)
		latest, err = f.inbox.LatestRule(ctx, tx, "default", "b")
		f.same("a rule that never was", latest, (*deadletter.Rule)(nil))
		return err
	})
	versions, err := f.inbox.RuleVersions(f.Context(), "default", "a", 0, 2)
	f.must(err)
	f.same("versions", versions, []*deadletter.Rule{removed, second})
	versions, err = f.inbox.RuleVersions(f.Context(), "default", "a", 2, 10)
	f.must(err)
	f.same("versions from 2", versions, []*deadletter.Rule{second, first})
}

// ruleOrder: rules are in the order of their application.
func ruleOrder(f *inboxFixture) {
	for i, name := range []string{"d", "b", "a", "c"} {
		r := someRule("default", name, 1)
		r.Position = []int{2, 1, 2, -5}[i]
		f.addRule(r)
	}
	rules, err := f.inbox.Rules(f.Context(), "default")
	f.must(err)
	order := ""
	for _, r := range rules {
		order += r.Name
	}
	f.same("order", order, "cbad")
}

// caseMembers: the cases of a group, in the form for rules.
func caseMembers(f *inboxFixture) {
	_, group := f.openCase("disk 7 is full", f.now)
	f.openCase("disk 8 is full", f.now+5)
	f.openCase("no route", f.now+6)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		_, err := f.inbox.Regroup(ctx, tx, 10, noRules)
		return err
	})
	all, err := f.inbox.CaseMembers(f.Context(), group, task.ID{}, 10)
	f.must(err)
	if len(all) != 2 {
		f.Fatalf("the group has the members %v", all)
	}
	got := all[0].Facts
	f.same("facts", fmt.Sprint(got.Kind, got.Failure.Type, got.Failure.Message, got.Handler, got.Template),
		fmt.Sprint(model.KindCase, "E7", "disk 7 is full", "a", f.single.Name))
	next, err := f.inbox.CaseMembers(f.Context(), group, all[0].ID, 10)
	f.must(err)
	f.same("behind the first", next, all[1:])
}
