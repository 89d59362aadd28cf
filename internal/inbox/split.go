package inbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/due"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// SplitRequest takes failures out of a group: those for which a condition holds, into one group for each combination of
// the values of the keys.
type SplitRequest struct {
	By
	Name  string // of the rule; "" makes one
	When  string // "" selects every failure of the group
	Keys  []string
	Title string
}

// SplitGroup divides a group by a rule within it. The rule decides about failures of the group from then on, and
// AdvanceMoves moves the members for which it holds. UnsplitGroup undoes it. Invalid: the rule. WrongState: the group
// is merged into another one. Conflict: a rule has that name, or splits the group in the same way; so a request that is
// sent again after a lost answer makes no second split.
func (in *Inbox) SplitGroup(ctx context.Context, id deadletter.GroupID, req SplitRequest) (*deadletter.Rule, error) {
	by, err := signed(ctx, req.By)
	if err != nil {
		return nil, err
	}
	if req.When == "" && len(req.Keys) == 0 {
		return nil, &task.Error{Code: task.Invalid, Message: "the group was not split", Problems: []task.Problem{
			{Location: "/when", Message: "give a condition, keys or both"}}}
	}
	var rule *deadletter.Rule
	err = in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		g, err := in.reachedGroup(ctx, tx, id, by)
		if err != nil {
			return err
		}
		if g.MergedInto != 0 {
			return &task.Error{Code: task.WrongState, Hint: "undo the merge first",
				Message: fmt.Sprintf("the group %s is merged into %s", id, g.MergedInto)}
		}
		if rule, err = in.addSplit(ctx, tx, g, &req, by); err != nil {
			return err
		}
		if err := in.store.AddMove(ctx, tx, &Move{ID: in.newID(), Namespace: g.Namespace, Group: g.ID, Rule: rule.Name,
			Since: rule.Since, Begun: in.now()}); err != nil {
			return err
		}
		return in.saveGroup(ctx, tx, g, act{kind: "split_group", by: by, data: rule.Name},
			"split by the rule "+rule.Name+": "+rule.When)
	})
	if err != nil {
		return nil, err
	}
	in.opts.Ruler.forget(rule.Namespace)
	return rule, nil
}

func (in *Inbox) addSplit(ctx context.Context, tx engine.Tx, g *deadletter.Group, req *SplitRequest, by By,
) (*deadletter.Rule, error) {
	r := &deadletter.Rule{Namespace: g.Namespace, Name: req.Name, When: req.When, Keys: req.Keys, Title: req.Title,
		Within: g.ID, SavedAt: in.now(), Actor: by.Actor, Key: by.key, Reason: by.Reason}
	if r.When == "" {
		r.When = "true"
	}
	if r.Name == "" {
		r.Name = fmt.Sprintf("split-%s-%d", g.ID, g.Notes+1) // every split adds a note
	}
	if _, err := in.checkRule(r); err != nil {
		return nil, err
	}
	latest, err := in.store.LatestRule(ctx, tx, r.Namespace, r.Name)
	if err != nil {
		return nil, err
	}
	if latest != nil && !latest.Removed {
		return nil, &task.Error{Code: task.Conflict, Message: fmt.Sprintf("there is a rule %q", r.Name),
			Hint: "choose another name"}
	}
	if err := in.notSplitAlike(ctx, tx, r); err != nil {
		return nil, err
	}
	r.Follow(latest)
	if err := in.roomForRule(ctx, tx, r); err != nil {
		return nil, err
	}
	return r, in.addRule(ctx, tx, r, "save_rule", by)
}

// notSplitAlike refuses a split with the condition and keys of one that is in force: it would take nothing.
func (in *Inbox) notSplitAlike(ctx context.Context, tx engine.Tx, next *deadletter.Rule) error {
	rules, err := in.store.RulesInForce(ctx, tx, next.Namespace)
	if err != nil {
		return err
	}
	for _, r := range rules {
		if r.Within == next.Within && r.When == next.When && slices.Equal(r.Keys, next.Keys) {
			return &task.Error{Code: task.Conflict,
				Message: fmt.Sprintf("the rule %q splits the group %s in the same way", r.Name, r.Within),
				Hint:    "see tasker rule show " + r.Name}
		}
	}
	return nil
}

// notSplitAgain refuses to undo a split while one of its groups is split itself: its members are in the inner groups,
// and would come back to a group whose split is gone.
func (in *Inbox) notSplitAgain(ctx context.Context, tx engine.Tx, outer *deadletter.Rule) error {
	rules, err := in.store.RulesInForce(ctx, tx, outer.Namespace)
	if err != nil {
		return err
	}
	for _, r := range rules {
		if r.Within == 0 {
			continue
		}
		g, err := in.store.Group(ctx, tx, r.Within)
		if err != nil {
			return err
		}
		if g != nil && g.Print.Rule == outer.Name && g.Print.RuleVersion == outer.Since {
			return &task.Error{Code: task.WrongState,
				Message: fmt.Sprintf("the rule %q splits the group %s, which this split made", r.Name, g.ID),
				Hint:    "undo that split first: tasker group unsplit, with one of its groups"}
		}
	}
	return nil
}

// UnsplitGroup undoes the split that made a group: all groups of that split give their members back. It returns the
// group that was split. WrongState: no split in force made the group, or a group of the split is split itself.
func (in *Inbox) UnsplitGroup(ctx context.Context, id deadletter.GroupID, by By) (*deadletter.Group, error) {
	whole, err := acting(ctx, in, by, func(ctx context.Context, tx engine.Tx, by By) (*deadletter.Group, error) {
		g, err := in.reachedGroup(ctx, tx, id, by)
		if err != nil {
			return nil, err
		}
		rule, err := in.store.LatestRule(ctx, tx, g.Namespace, g.Print.Rule)
		if err != nil {
			return nil, err
		}
		if g.Print.Rule == "" || rule == nil || rule.Removed || rule.Within == 0 || rule.Since != g.Print.RuleVersion {
			return nil, task.Errorf(task.WrongState, "the group %s was made by no split that is in force", id)
		}
		whole, err := in.store.Group(ctx, tx, rule.Within)
		if err != nil {
			return nil, err
		}
		if whole == nil {
			return nil, noGroup(rule.Within)
		}
		if err := in.notSplitAgain(ctx, tx, rule); err != nil {
			return nil, err
		}
		if err := in.endRule(ctx, tx, rule, "remove_rule", by); err != nil {
			return nil, err
		}
		if err := in.store.AddMove(ctx, tx, &Move{ID: in.newID(), Namespace: g.Namespace, Group: rule.Within,
			Rule: rule.Name, Since: rule.Since, Undo: true, Begun: in.now()}); err != nil {
			return nil, err
		}
		return whole, in.saveGroup(ctx, tx, whole, act{kind: "unsplit_group", by: by, data: rule.Name},
			"the split by the rule "+rule.Name+" was undone")
	})
	if err != nil {
		return nil, err
	}
	in.opts.Ruler.forget(whole.Namespace)
	return whole, nil
}

const (
	// moveDelay is how long a move waits: until then, another node may still decide by the rules from before.
	moveDelay = 3 * time.Second
	// movedAtOnce bounds the members that one transaction moves.
	movedAtOnce = 200
)

// AdvanceMoves moves the next members of the oldest split, or undone split, that is due. It must run in one process at
// a time; another one continues from what is stored. It returns the number of members that it looked at, and whether
// there are more. One that fails is stepped over: a *due.Error tells of it.
func (in *Inbox) AdvanceMoves(ctx context.Context) (n int, more bool, err error) {
	now := in.now()
	moves, err := in.due.moves.Read(now, 1, func(limit int) ([]*Move, error) { return in.store.Moves(ctx, limit) })
	if err != nil || len(moves) == 0 || now < moves[0].Begun.Add(moveDelay) {
		return 0, false, err
	}
	err = in.due.moves.Each(ctx, now, moves, func(ctx context.Context, move *Move) error {
		m := &mover{in: in, ctx: ctx, move: move}
		n, err = m.step()
		more = err == nil && !m.done
		return err
	})
	return n, more || due.OnlyRows(err), err
}
