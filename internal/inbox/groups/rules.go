package groups

import (
	"context"
	"errors"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// maxRuleCost bounds the total cost of a namespace's rules: their regular expressions run on the message of every
	// failure.
	maxRuleCost   = 5000
	shownVersions = 100
)

// RuleStatus is a rule in force, with its failures on this node.
type RuleStatus struct {
	Rule   *deadletter.Rule
	Faults RuleFaults
}

// RuleStory is a rule with its versions.
type RuleStory struct {
	RuleStatus
	Versions []*deadletter.Rule // the latest first, at most 100; the first is in force
}

// SaveRule adds a rule, or a new version of one. It applies to new failures, on other nodes within a second, and moves
// nothing between groups. Exhausted: the namespace has too many rules.
func (in *Sorter) SaveRule(ctx context.Context, r *deadletter.Rule, by desk.By) (*deadletter.Rule, error) {
	if err := desk.Reach(ctx, r.Namespace); err != nil {
		return nil, err
	}
	next := *r
	next.Within = 0
	if _, err := in.checkRule(&next); err != nil {
		return nil, err
	}
	return desk.Acting(ctx, in.Desk, by, func(ctx context.Context, tx engine.Tx, by desk.By) (*deadletter.Rule, error) {
		latest, err := in.store.LatestRule(ctx, tx, r.Namespace, r.Name)
		if err != nil {
			return nil, err
		}
		// Rules and splits share one space of names, since names are part of the IDs of groups.
		if latest != nil && latest.Within != 0 {
			return nil, desk.Hinted(task.Conflict, "choose another name", "the name %q is that of a split of group %s", r.Name,
				latest.Within)
		}
		version := int64(0) // a removed rule counts as none: an expected version is a conflict
		if latest != nil && !latest.Removed {
			version = latest.Version
		}
		if err := by.Expected("the rule", version); err != nil {
			return nil, err
		}
		next.Follow(latest)
		rules, err := in.store.RulesInForce(ctx, tx, r.Namespace)
		if err != nil {
			return nil, err
		}
		if err := roomForRule(rules, &next); err != nil {
			return nil, err
		}
		return &next, in.addRule(ctx, tx, &next, by)
	})
}

// checkRule returns the program of a rule with its cost, or refuses the rule. It checks bounds first, so the compiler
// gets no overlong text.
func (in *Sorter) checkRule(r *deadletter.Rule) (RuleProgram, error) {
	problems := r.Validate()
	if len(problems) == 0 {
		var program RuleProgram
		if program, problems = in.ruler.compile(r); len(problems) == 0 {
			r.Cost = program.Cost()
			return program, nil
		}
	}
	return nil, &task.Error{Code: task.Invalid, Message: "the rule was not saved", Problems: problems}
}

// roomForRule refuses a rule beyond the number and total cost of a namespace. The version that next replaces does not
// count.
func roomForRule(rules []*deadletter.Rule, next *deadletter.Rule) error {
	n, cost := 1, next.Cost
	for _, r := range rules {
		if r.Name != next.Name {
			n, cost = n+1, cost+r.Cost
		}
	}
	switch {
	case n > deadletter.MaxRules:
		return desk.Hinted(task.Exhausted, "remove a rule, or join several in one condition",
			"the namespace has %d rules, as many as it may have", deadletter.MaxRules)
	case cost > maxRuleCost:
		return desk.Hinted(task.Exhausted, "use contains, startsWith and endsWith where they suffice",
			"the regular expressions of the namespace's rules would have the size %d; the limit is %d", cost, maxRuleCost)
	}
	return nil
}

func (in *Sorter) addRule(ctx context.Context, tx engine.Tx, r *deadletter.Rule, by desk.By) error {
	r.SavedAt, r.Actor, r.Key, r.Reason = in.Now(), by.Actor, by.Key, by.Reason
	kind, namespace := "save_rule", r.Namespace
	if r.Removed {
		kind = "remove_rule"
	}
	tx.Handle().AfterCommit(func() { in.ruler.forget(namespace) })
	return errors.Join(in.store.AddRule(ctx, tx, r), in.Act(ctx, tx, desk.Act{Kind: kind, By: by, Namespace: namespace,
		Of: r.Name, Data: struct {
			Version int64    `json:"version"`
			When    string   `json:"when,omitempty"`
			Keys    []string `json:"group_by,omitempty"`
		}{r.Version, r.When, r.Keys}}))
}

// RemoveRule ends a rule. Its groups and versions stay. WrongState: the rule is a split, see UnsplitGroup.
func (in *Sorter) RemoveRule(ctx context.Context, namespace, name string, by desk.By) error {
	_, err := desk.Acting(ctx, in.Desk, by, func(ctx context.Context, tx engine.Tx, by desk.By) (*deadletter.Rule, error) {
		if !desk.Nameable(ctx, namespace, name) {
			return nil, noRule(name)
		}
		r, err := in.store.LatestRule(ctx, tx, namespace, name)
		if err != nil {
			return nil, err
		}
		if r == nil || r.Removed {
			return nil, noRule(name)
		}
		if err := by.Expected("the rule", r.Version); err != nil {
			return nil, err
		}
		if r.Within != 0 {
			return nil, desk.Hinted(task.WrongState, "undo the split: tasker group unsplit", "the rule %q splits group %s", name,
				r.Within)
		}
		return r, in.endRule(ctx, tx, r, by)
	})
	return err
}

// endRule adds a last version that is marked as removed: groups name rules, so rules are never deleted.
func (in *Sorter) endRule(ctx context.Context, tx engine.Tx, r *deadletter.Rule, by desk.By) error {
	end := *r
	end.Version, end.Removed = r.Version+1, true
	return in.addRule(ctx, tx, &end, by)
}

func noRule(name string) error { return task.Errorf(task.NotFound, "there is no rule %q", name) }

// Rules returns the rules in force of a namespace, or of all that the request reaches (""), in the order in which they
// are tried.
func (in *Sorter) Rules(ctx context.Context, namespace string) ([]RuleStatus, error) {
	namespace, err := desk.Narrow(ctx, namespace)
	if err != nil {
		return nil, err
	}
	rules, err := in.store.Rules(ctx, namespace)
	var out []RuleStatus
	for _, r := range rules {
		out = append(out, RuleStatus{r, in.ruler.faults(r)})
	}
	return out, err
}

// Rule returns a rule with its versions, even a removed one; or NotFound.
func (in *Sorter) Rule(ctx context.Context, namespace, name string) (*RuleStory, error) {
	if !desk.Nameable(ctx, namespace, name) {
		return nil, noRule(name)
	}
	versions, err := in.store.RuleVersions(ctx, namespace, name, 0, shownVersions)
	if err == nil && len(versions) == 0 {
		err = noRule(name)
	}
	if err != nil {
		return nil, err
	}
	return &RuleStory{RuleStatus{versions[0], in.ruler.faults(versions[0])}, versions}, nil
}

// whyRule adds the rule's expressions to the parts of its group, by the version that decided, not the latest. Without
// that version a part keeps only its value.
func (in *Sorter) whyRule(ctx context.Context, g *deadletter.Group, parts []failure.Part) ([]failure.Part, error) {
	if g.Print.Rule == "" {
		return parts, nil
	}
	of, err := in.store.RuleVersions(ctx, g.Namespace, g.Print.Rule, g.Print.RuleVersion, 1)
	if err != nil || len(of) == 0 || of[0].Version != g.Print.RuleVersion {
		return parts, err
	}
	parts = slices.Clone(parts)
	parts[0].From = of[0].When
	for i, key := range of[0].Keys {
		if i+1 < len(parts) {
			parts[i+1].From = key
		}
	}
	return parts, nil
}
