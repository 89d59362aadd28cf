package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/engine/acts"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (e *Room) planEnd(ctx context.Context, p *childPlan, sim task.FanOut) (err error) {
	if p.left || len(p.next) > 0 || len(p.again) > 0 {
		return nil
	}
	switch sim.Verdict(p.spec) {
	case task.Joined:
		p.end, err = e.joined(ctx, p, sim)
	case task.TooMany:
		p.end, err = e.tooMany(ctx, p, sim)
	}
	if p.end != nil {
		p.end.of = sim
	}
	return err
}

// joined returns the result of the only child, or a list by index, with null for a child without one.
func (e *Room) joined(ctx context.Context, p *childPlan, sim task.FanOut) (*childEnd, error) {
	if p.spec.CountsOnly {
		result, err := json.Marshal(struct {
			Total  int `json:"total"`
			Done   int `json:"done"`
			Failed int `json:"failed"`
		}{sim.Total, sim.Done, sim.Errored + sim.GivenUp})
		return &childEnd{result: result}, err
	}
	most := e.Cfg.Limits.PayloadBytes
	if sim.Bytes > most {
		return &childEnd{failure: tooLarge(sim.Bytes, most)}, nil
	}
	results := make([]json.RawMessage, sim.Total)
	for from := 0; from < sim.Total; {
		page, err := e.childReads.ListChildren(ctx, p.fan.Step, kernel.ChildFilter{From: from, Limit: 1000, Results: true})
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		for _, c := range page {
			if seen, fresh := p.fresh[c.Index]; fresh && c.Result == nil {
				c.Result = seen.Result
			}
			if c.Index < len(results) {
				results[c.Index] = c.Result
			}
			from = c.Index + 1
		}
	}
	if !p.spec.Each() {
		return &childEnd{result: results[0]}, nil
	}
	all := listOf(results)
	if len(all) > most {
		return &childEnd{failure: tooLarge(len(all), most)}, nil
	}
	return &childEnd{result: all}, nil
}

func tooLarge(size, most int) *task.Failure {
	return childFault(CodeChildrenLarge, "the results of the children have %d bytes together, and a result may have %d; "+
		"they stay readable as results of the children: let the template join counts only, or have the children return less",
		size, most)
}

const namedChildren = 10

func (e *Room) tooMany(ctx context.Context, p *childPlan, sim task.FanOut) (*childEnd, error) {
	list, err := e.childReads.ListChildren(ctx, p.fan.Step, kernel.ChildFilter{Limit: namedChildren,
		States: []task.ChildState{task.ChildErrored, task.ChildGivenUp}})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range list {
		switch {
		case c.Task.IsZero():
			names = append(names, fmt.Sprintf("%d was refused (%s)", c.Index, c.Note))
		case c.State == task.ChildGivenUp:
			names = append(names, fmt.Sprintf("%d is cancelled (task %s)", c.Index, c.Task))
		default:
			names = append(names, fmt.Sprintf("%d is in error (task %s)", c.Index, c.Task))
		}
	}
	failed := sim.Errored + sim.GivenUp
	if more := failed - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return &childEnd{failure: childFault(CodeChildrenFailed, "%d of %d children failed, and %d may: %s", failed, sim.Total,
		p.spec.Tolerated(sim.Total), strings.Join(names, "; "))}, nil
}

func (e *Room) cancelChildren(ctx context.Context, p *childPlan) error {
	list, err := e.childReads.ListChildren(ctx, p.fan.Step, kernel.ChildFilter{Limit: kernel.ItemWindow,
		States: []task.ChildState{task.ChildRunning, task.ChildErrored}})
	if err != nil || len(list) == 0 {
		return err
	}
	c := acts.Cancellation{Actor: kernel.System, Reason: fmt.Sprintf("the step %s of its parent is %s",
		p.tpl.Spec(p.step).Name,
		p.step.State)}
	if by := p.parent.Meta.CancelReason; p.parent.State == task.Cancelled && by != "" {
		c.Reason = "its parent was cancelled: " + by
	}
	return e.Write(ctx, "cancel", func(u *kernel.Unit) error {
		if same, err := childSlot.Of(u).unmoved(p.fan); err != nil || !same {
			return err
		}
		ids := make([]task.ID, 0, len(list))
		for _, child := range list {
			ids = append(ids, child.Task)
		}
		if err := u.Rows.GatherTasks(ids); err != nil {
			return err
		}
		for _, id := range ids {
			r, err := acts.Cancel(u, id, c)
			if err != nil {
				return err
			}
			p.left = p.left || r.Err == nil // there may be more
		}
		return nil
	})
}

// repeatChildren replays a reset step's children in error, and prepares up to room new tasks for given-up ones.
func (e *Room) repeatChildren(ctx context.Context, p *childPlan, room int) error {
	for from := 0; p.fan.Repeated == 0; {
		list, err := e.childReads.ListChildren(ctx, p.fan.Step, kernel.ChildFilter{Limit: kernel.ItemWindow, From: from,
			States: []task.ChildState{task.ChildErrored}})
		if err != nil {
			return err
		}
		if len(list) == 0 {
			break
		}
		from = list[len(list)-1].Index + 1
		if err := e.replayChildren(ctx, p, list); err != nil || p.begin != nil && p.begin.fault != nil {
			return err
		}
	}
	p.until = p.fan.Total
	if p.begin != nil {
		p.until = p.begin.total
	}
	limit := max(room, 1)
	list, err := e.childReads.ListChildren(ctx, p.fan.Step, kernel.ChildFilter{Limit: limit, From: p.fan.Repeated,
		States: []task.ChildState{task.ChildGivenUp}})
	if err != nil {
		return err
	}
	if len(list) == limit {
		p.until, p.left = list[limit-1].Index+1, true
	}
	for _, c := range list {
		if c.Fresh || c.Counted != task.ChildGivenUp { // given up after the reset
			continue
		}
		items, err := e.itemsAt(ctx, p, c.Index)
		if err != nil || len(items) == 0 {
			return err
		}
		d, err := e.draftChild(ctx, p, c.Index, items[0], p.fan.Version)
		if err != nil {
			return err
		}
		p.again = append(p.again, d)
	}
	return nil
}

// replayChildren leaves a child without a failed step to an operator. A child that cannot have its new context fails
// the step.
func (e *Room) replayChildren(ctx context.Context, p *childPlan, list []kernel.Child) error {
	r := acts.Replay{Actor: kernel.System, Reason: "the step of its parent was reset", ResetAttempts: true}
	edits := make([]*childEdit, len(list))
	for i, c := range list {
		var err error
		if edits[i], err = e.planChildEdit(ctx, p, c); err != nil || p.begin != nil && p.begin.fault != nil {
			return err
		}
	}
	for i, c := range list {
		err := e.Write(ctx, "replay", func(u *kernel.Unit) error {
			if same, err := childSlot.Of(u).unmoved(p.fan); err != nil || !same {
				return err
			}
			if edits[i] != nil {
				_, err := acts.EditContext(u, edits[i].seen, edits[i].ContextEdit.Context, &edits[i].ContextEdit)
				return err
			}
			t, err := u.Rows.Task(c.Task)
			if err != nil || t == nil || t.State != task.Errored {
				return err
			}
			_, err = acts.ReplayTask(u, t, 0, r)
			return err
		})
		if err != nil && task.CodeOf(err) != task.WrongState {
			return err
		}
	}
	return nil
}
