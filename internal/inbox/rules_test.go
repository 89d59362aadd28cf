package inbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

func (r *rig) save(name, when string, keys ...string) *deadletter.Rule {
	r.t.Helper()
	saved, err := r.SaveRule(r.t.Context(), &deadletter.Rule{Namespace: "default", Name: name, When: when, Keys: keys},
		inbox.By{Actor: "ann", Reason: "tenants"})
	if err != nil {
		r.t.Fatal(err)
	}
	return saved
}

func (r *rig) one(a inbox.Arrival) *groups.GroupStory {
	r.t.Helper()
	return r.group(r.die(a)[0].Group)
}

func (r *rig) group(id deadletter.GroupID) *groups.GroupStory {
	r.t.Helper()
	g, err := r.Group(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return g
}

func tenant(n int, cause, name string) inbox.Arrival {
	a := dead(n, cause)
	a.Content.Headers = []deadletter.Header{{Name: "tenant", Value: []byte(name)}}
	return a
}

// A rule groups new failures by version; groups keep their members.
func TestRules(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		before := r.one(tenant(1, "Timeout", "acme"))
		first := r.save("tenants", `error_type in ["Timeout", "Reset"]`, `header("tenant")`)
		r.want("version", fmt.Sprint(first.Version, first.Since), "1 1")

		acme, same, globex := r.one(tenant(2, "Timeout", "acme")), r.one(tenant(3, "Reset", "acme")),
			r.one(tenant(4, "Timeout", "globex"))
		r.want("two errors of one tenant", same.Group.ID, acme.Group.ID)
		r.want("another tenant", globex.Group.ID != acme.Group.ID, true)
		r.want("title", acme.Group.Title, "tenants: acme")
		r.want("another error", r.one(tenant(5, "Schema", "acme")).Group.Print.Rule, "")
		r.want("the old group", fmt.Sprint(r.group(before.Group.ID).Group.OpenLetters), "1")
		r.want("why", same.Why, []failure.Part{{Name: "rule", Value: "tenants version 1", From: first.When},
			{Name: "key", Value: "acme", From: first.Keys[0]}})

		second := *first
		second.Title = "A tenant"
		saved, err := r.SaveRule(t.Context(), &second, inbox.By{Version: 1})
		if err != nil {
			t.Fatal(err)
		}
		r.want("version of a new title", fmt.Sprint(saved.Version, saved.Since), "2 1")
		r.want("its group", r.one(tenant(6, "Timeout", "acme")).Group.ID, acme.Group.ID)
		r.save("tenants", first.When, `upper(header("tenant"))`)
		third := r.one(tenant(7, "Timeout", "acme"))
		r.want("a group of the new key", third.Group.Title, "tenants: ACME")
		r.want("its rule", third.Why[0], failure.Part{Name: "rule", Value: "tenants version 3", From: first.When})
		r.want("the rule of the old group", r.group(acme.Group.ID).Why[0].Value, "tenants version 1")

		_, err = r.SaveRule(t.Context(), first, inbox.By{Version: 1})
		r.refused(err, task.Conflict)
		r.refused(r.RemoveRule(t.Context(), "default", "tenant", inbox.By{}), task.NotFound)
		if err := r.RemoveRule(t.Context(), "default", "tenants", inbox.By{Reason: "enough"}); err != nil {
			t.Fatal(err)
		}
		r.want("after the removal", r.one(tenant(8, "Timeout", "acme")).Group.ID, before.Group.ID)
		story, err := r.Rule(t.Context(), "default", "tenants")
		if err != nil {
			t.Fatal(err)
		}
		r.want("versions", len(story.Versions), 4)
		r.want("removed", story.Rule.Removed, true)
		r.want("made again", r.save("tenants", "true").Since, 5)
	})
}

// The first rule that decides wins; one that fails is skipped, counted and shown.
func TestRulesInOrder(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.save("b-all", "true")
		r.save("a-fails", "1 % len(step) == 0")
		r.want("decided by", r.one(dead(1, "Timeout")).Group.Print.Rule, "b-all")
		r.want("again", r.one(dead(2, "Timeout")).Group.Print.Rule, "b-all")
		if _, err := r.SaveRule(t.Context(), &deadletter.Rule{Namespace: "default", Name: "last", Position: -1,
			When: `error_type == "Timeout"`}, inbox.By{}); err != nil {
			t.Fatal(err)
		}
		r.want("by position", r.one(dead(3, "Timeout")).Group.Print.Rule, "last")
		r.one(dead(4, "Schema"))
		rules, err := r.Rules(t.Context(), "default")
		if err != nil {
			t.Fatal(err)
		}
		r.want("rules", len(rules), 3)
		r.want("order", rules[0].Rule.Name+rules[1].Rule.Name+rules[2].Rule.Name, "lasta-failsb-all")
		r.want("faults", rules[1].Faults.Count, 3)
		r.want("place of the fault", strings.HasPrefix(rules[1].Faults.Last, "when: at 1:3: "), true)
	})
}

// A node notices other rules in the database within a second: changed by another node, or restored.
func TestRulesOfTheDatabase(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.save("acme", `header("tenant") == "acme"`)
		r.want("by the rule", r.one(tenant(1, "Timeout", "acme")).Group.Print.Rule, "acme")
		restore := func(name, when string) {
			t.Helper()
			r.overwrite(&deadletter.Rule{Namespace: "default", Name: name, When: when, Version: 1, Since: 1})
		}
		restore("acme", "false") // the same version, as after a restore and another change
		r.pass(time.Second)
		r.want("by no rule", r.one(tenant(2, "Timeout", "acme")).Group.Print.Rule, "")
		restore("acme", "there is no such function()")
		r.pass(-time.Hour) // the database's clock goes back too
		r.want("a rule that this node cannot compile", r.one(tenant(3, "Timeout", "acme")).Group.Print.Rule, "")
		rules, err := r.Rules(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		r.want("is shown", strings.Contains(rules[0].Faults.Last, "cannot be compiled"), true)
	})
}

func TestRulesAreRefused(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		long := strings.Repeat("x", deadletter.MaxRuleText)
		for at, rule := range map[string]deadletter.Rule{
			"/when":       {Name: "a", When: "error_type = 1"},
			"/group_by/1": {Name: "a", When: "true", Keys: []string{"code", "codes"}},
			"/name":       {Name: " ", When: "true"},
			"/title":      {Name: "a", When: "true", Title: "a\nb"},
			"/position":   {Name: "a", When: "true", Position: 1_000_001},
			"/group_by":   {Name: "a", When: "true", Keys: strings.Split("1,2,3,4,5,6,7,8,9", ",")},
			"/group_by/0": {Name: "a", When: "true", Keys: []string{`"` + long + `"`}},
		} {
			rule.Namespace = "default"
			_, err := r.SaveRule(t.Context(), &rule, inbox.By{})
			r.refused(err, task.Invalid)
			var refusal *task.Error
			if errors.As(err, &refusal); len(refusal.Problems) != 1 || refusal.Problems[0].Location != at {
				t.Errorf("%s: refused with %v", at, refusal.Problems)
			}
		}
		word := strings.Repeat("(abcdefghij)", 80)
		for i := range 5 {
			r.save(fmt.Sprint("costly", i), `message matches "`+word+`"`)
		}
		_, err := r.SaveRule(t.Context(), &deadletter.Rule{Namespace: "default", Name: "more",
			When: `message matches "` + word + `"`}, inbox.By{})
		r.refused(err, task.Exhausted)
		for i := 5; i < deadletter.MaxRules; i++ {
			r.save(fmt.Sprint("r", i), "false")
		}
		_, err = r.SaveRule(t.Context(), &deadletter.Rule{Namespace: "default", Name: "more", When: "true"}, inbox.By{})
		r.refused(err, task.Exhausted)
		r.save("r99", "true")
	})
}

// A rule is tried without being saved.
func TestTestRule(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		group := r.one(tenant(1, "Timeout", "acme")).Group.ID
		r.one(tenant(2, "Timeout", "globex"))
		rule := &deadletter.Rule{Namespace: "default", Name: "t", When: `header("tenant") == "acme"`,
			Keys: []string{`header("tenant")`}}
		trial, err := r.TestRule(t.Context(), groups.RuleTest{Rule: rule, Group: group})
		if err != nil {
			t.Fatal(err)
		}
		r.want("tried", fmt.Sprint(trial.Tried, trial.Matched, trial.Failed), "2 1 0")
		item := trial.Items[1] // the newest is first
		saved := r.save("t", rule.When, rule.Keys...)
		r.want("the group that it becomes", item.Group, r.one(tenant(3, "Timeout", "acme")).Group.ID)
		r.want("its title", item.Print.Title(), "t: acme")
		r.want("saved", saved.Version, 1)

		f := deadletter.Facts{Kind: model.KindLetter, Failure: failure.Report{Message: "m"}, Handler: "ship"}
		trial, err = r.TestRule(t.Context(), groups.RuleTest{Rule: rule, Facts: &f})
		if err != nil {
			t.Fatal(err)
		}
		r.want("a failure without the header", trial.Matched, 0)
		_, err = r.TestRule(t.Context(), groups.RuleTest{Rule: rule})
		r.refused(err, task.Invalid)
		_, err = r.TestRule(t.Context(), groups.RuleTest{Rule: rule, Group: 12345})
		r.refused(err, task.NotFound)
	})
}

// Rules also decide about failing tasks, in the transaction of the failure.
func TestRulesForTasks(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.save("down", `error_type == "Timeout" and handler == "ship"`)
		r.save("later", `kind == "case" and template != ""`, "code")
		group := r.one(dead(1, "Timeout")).Group.ID
		r.fail("Timeout")
		r.pass(time.Second)
		r.want("open", fmt.Sprint(r.group(group).Group.OpenLetters, r.group(group).Group.OpenCases), "1 1")
		trial, err := r.TestRule(t.Context(), groups.RuleTest{Group: group, Rule: &deadletter.Rule{Namespace: "default",
			Name: "t", When: `kind == "case" and error_type == "Timeout"`}})
		if err != nil {
			t.Fatal(err)
		}
		r.want("cases of the group", fmt.Sprint(trial.Tried, trial.Matched), "2 1")
	})
}

// overwrite stores a rule as no version of Tasker would.
func (r *rig) overwrite(rule *deadletter.Rule) {
	r.t.Helper()
	body, err := json.Marshal(rule)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.db.Write(r.t.Context(), func(ctx context.Context, tx engine.Tx) error {
		_, err := store.In(tx).Exec(ctx, `UPDATE tasker_rules SET body = $3 WHERE namespace = $1 AND name = $2`,
			rule.Namespace, rule.Name, string(body))
		return err
	}); err != nil {
		r.t.Fatal(err)
	}
}
