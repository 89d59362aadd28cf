package groups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// SplitRequest takes failures that meet a condition out of a group, into one group for each combination of key values.
type SplitRequest struct {
	desk.By
	Name  string // of the rule; "" makes one
	When  string // "" selects all
	Keys  []string
	Title string
}

// SplitGroup divides a group by a rule within it, which applies to new failures of the group; AdvanceMoves moves the
// members. UnsplitGroup undoes it. WrongState: the group is merged into another one. Conflict: a rule has that name, or
// splits the group in the same way, so that a retry makes no second split.
func (in *Sorter) SplitGroup(ctx context.Context, id deadletter.GroupID, req SplitRequest) (*deadletter.Rule, error) {
	if req.When == "" && len(req.Keys) == 0 {
		return nil, desk.Invalid("the group was not split", "/when", "give a condition, keys or both")
	}
	return desk.Acting(ctx, in.Desk, req.By, func(ctx context.Context, tx engine.Tx, by desk.By) (*deadletter.Rule,
		error,
	) {
		g, err := in.reachedGroup(ctx, tx, id, by)
		if err != nil {
			return nil, err
		}
		if g.MergedInto != 0 {
			return nil, desk.Hinted(task.WrongState, "undo the merge first", "the group %s is merged into %s", id, g.MergedInto)
		}
		rule, err := in.addSplit(ctx, tx, g, &req, by)
		if err != nil {
			return nil, err
		}
		return rule, errors.Join(in.move(ctx, tx, rule, false), in.saveGroup(ctx, tx, g, desk.Act{Kind: "split_group", By: by,
			Data: rule.Name}, "split by the rule "+rule.Name+": "+rule.When))
	})
}

func (in *Sorter) move(ctx context.Context, tx engine.Tx, r *deadletter.Rule, undo bool) error {
	return in.store.AddMove(ctx, tx, &Move{ID: in.NewID(), Namespace: r.Namespace, Group: r.Within, Rule: r.Name,
		Since: r.Since, Undo: undo, Begun: in.Now()})
}

func (in *Sorter) addSplit(ctx context.Context, tx engine.Tx, g *deadletter.Group, req *SplitRequest, by desk.By,
) (*deadletter.Rule, error) {
	r := &deadletter.Rule{Namespace: g.Namespace, Name: req.Name, When: req.When, Keys: req.Keys, Title: req.Title,
		Within: g.ID}
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
		return nil, desk.Hinted(task.Conflict, "choose another name", "there is a rule %q", r.Name)
	}
	rules, err := in.store.RulesInForce(ctx, tx, r.Namespace)
	if err != nil {
		return nil, err
	}
	for _, known := range rules {
		if known.Within == r.Within && known.When == r.When && slices.Equal(known.Keys, r.Keys) {
			return nil, desk.Hinted(task.Conflict, "see tasker rule show "+known.Name,
				"the rule %q splits the group %s in the same way", known.Name, known.Within)
		}
	}
	r.Follow(latest)
	if err := roomForRule(rules, r); err != nil {
		return nil, err
	}
	return r, in.addRule(ctx, tx, r, by)
}

// notSplitAgain refuses to undo a split while one of its groups is split: members of the inner groups would return to a
// group whose split is gone.
func (in *Sorter) notSplitAgain(ctx context.Context, tx engine.Tx, outer *deadletter.Rule) error {
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
			return desk.Hinted(task.WrongState, "undo that split first: tasker group unsplit, with one of its groups",
				"the rule %q splits the group %s, which this split made", r.Name, g.ID)
		}
	}
	return nil
}

// UnsplitGroup undoes the split that made a group: all groups of that split return their members. It returns the group
// that was split. WrongState: no split in force made the group, or a group of the split is split itself.
func (in *Sorter) UnsplitGroup(ctx context.Context, id deadletter.GroupID, by desk.By) (*deadletter.Group, error) {
	return desk.Acting(ctx, in.Desk, by, func(ctx context.Context, tx engine.Tx, by desk.By) (*deadletter.Group, error) {
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
		return whole, errors.Join(in.endRule(ctx, tx, rule, by), in.move(ctx, tx, rule, true), in.saveGroup(ctx, tx, whole,
			desk.Act{Kind: "unsplit_group", By: by, Data: rule.Name}, "the split by the rule "+rule.Name+" was undone"))
	})
}

const (
	// moveDelay lets other nodes stop using the earlier rules.
	moveDelay   = 3 * time.Second
	movedAtOnce = 200
)

// AdvanceMoves moves the next members of the oldest due split, or reversal, in one process at a time. It returns the
// number of members that it read, and whether there are more. A *due.Error names a failed one.
func (in *Sorter) AdvanceMoves(ctx context.Context) (n int, more bool, err error) {
	now := in.Now()
	moves, err := in.dueMoves.Read(now, 1, func(limit int) ([]*Move, error) { return in.store.Moves(ctx, limit) })
	if err != nil || len(moves) == 0 || now < moves[0].Begun.Add(moveDelay) {
		return 0, false, err
	}
	err = in.dueMoves.Each(ctx, now, moves, func(ctx context.Context, move *Move) error {
		m := &mover{in: in, ctx: ctx, move: move}
		n, err = m.step()
		more = err == nil && !m.done
		return err
	})
	return n, more || due.OnlyRows(err), err
}
