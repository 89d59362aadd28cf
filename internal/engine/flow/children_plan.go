package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/engine/submit"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// childPlan is the work of AdvanceChildren outside of the transaction: large reads and separate transactions. It is
// valid for one revision of the fan-out.
type childPlan struct {
	fan    *task.FanOut
	parent *task.Task
	step   *task.Step
	tpl    *task.Template
	spec   *task.ChildSpec

	begin *childList           // of a step that begins, or whose task's context was edited since
	fresh map[int]kernel.Child // the fresh children, with the results that had to be read
	next  []childDraft         // to submit next, by index
	again []childDraft         // given-up children to repeat because the step was reset
	until int                  // the index up to which they are repeated then
	end   *childEnd            // if its children are as the plan sees them
	left  bool                 // more is to do
	over  bool                 // the task is undone, and nothing below the step runs

	contexts *childContexts
}

// childDraft without a draft is refused, for the reason in note.
type childDraft struct {
	index int
	draft *submit.Draft
	note  string
}

type childEnd struct {
	of      task.FanOut // the counts that decide it
	result  []byte
	failure *task.Failure
}

// childFault may be repaired: an operator resets the step.
func childFault(code, format string, args ...any) *task.Failure {
	f := &task.Failure{Type: "child_tasks", Code: code, Message: fmt.Sprintf(format, args...), Class: failure.Logic}
	f.Trim()
	return f
}

// planChildren shares out the children to submit among the steps, and leaves out a step whose plan fails.
func (e *Room) planChildren(ctx context.Context, due []*task.FanOut) ([]*childPlan, error) {
	var plans []*childPlan
	var failed error
	room := kernel.ItemWindow
	for _, f := range due {
		p := &childPlan{fan: f}
		ok, err := e.findParent(ctx, p)
		if err == nil && ok {
			err = e.plan(ctx, p, room)
		}
		switch {
		case ctx.Err() != nil:
			return nil, err
		case err != nil:
			failed = fmt.Errorf("step %s: %w", f.Step, err)
		case ok:
			room -= len(p.next) + len(p.again)
			plans = append(plans, p)
		}
	}
	return plans, failed
}

// findParent reports false for a step that is gone, and if the fan-out changed meanwhile, because the step may then
// be newer.
func (e *Room) findParent(ctx context.Context, p *childPlan) (bool, error) {
	t, err := e.Store.FindTask(ctx, p.fan.Task)
	if err != nil || t == nil {
		return false, err
	}
	p.parent = t
	if p.tpl, err = e.TemplateOf(ctx, t.DefID); err != nil {
		return false, err
	}
	steps, err := e.Store.FindSteps(ctx, t.ID)
	if err != nil {
		return false, err
	}
	for _, s := range steps {
		if s.ID == p.fan.Step {
			p.step = s
		}
	}
	if p.step == nil || p.step.Ordinal > len(p.tpl.Steps) {
		return false, nil
	}
	p.spec = p.tpl.Steps[p.step.Ordinal-1].Tasks
	now, err := e.FanOut(ctx, p.fan.Step)
	return p.spec != nil && now != nil && now.Rev == p.fan.Rev, err
}

func (c *children) unmoved(f *task.FanOut) (bool, error) {
	list, err := Of(c.u.E).childRows.FanOutsIn(c.u.Ctx, c.u.Tx, []task.ID{f.Step})
	return len(list) == 1 && list[0].Rev == f.Rev, err
}

func (e *Room) plan(ctx context.Context, p *childPlan, room int) (err error) {
	waits := p.step.State == task.StepWaiting
	if waits {
		p.fan.Again()
	}
	if !waits && p.fan.Phase != task.FanOver {
		if p.over, err = e.undoes(ctx, p.parent, p.tpl, p.step); err != nil {
			return err
		}
	}
	switch {
	case waits && p.fan.Total == task.Unlisted:
		p.begin, err = e.listChildren(ctx, p)
	case waits && p.parent.Meta.ContextEdits > 0:
		p.begin, err = e.listAgain(ctx, p)
	}
	if err != nil {
		return err
	}
	switch {
	case p.step.State.Terminal() && p.fan.Phase != task.FanJoined && !p.undone():
		err = e.cancelChildren(ctx, p)
	case waits && p.fan.Phase == task.FanFailed && (p.begin == nil || p.begin.fault == nil):
		err = e.repeatChildren(ctx, p, room)
	}
	if err != nil {
		return err
	}
	if p.over && !p.left {
		if err := e.windDown(ctx, p); err != nil {
			return err
		}
	}
	sim, err := e.readFresh(ctx, p)
	if err != nil || !waits {
		return err
	}
	if p.begin != nil {
		if p.begin.fault != nil {
			return nil
		}
		sim.Total, sim.Version = p.begin.total, p.begin.version
	}
	sim.Phase = task.FanOpen
	if n := min(sim.Room(p.spec), room-len(p.again)); n > 0 {
		if p.next, err = e.draftNext(ctx, p, sim.Submitted, n, sim.Version); err != nil {
			return err
		}
	}
	return e.planEnd(ctx, p, sim)
}

// readFresh returns the fan-out as it will be once the fresh children are counted.
func (e *Room) readFresh(ctx context.Context, p *childPlan) (task.FanOut, error) {
	sim := *p.fan
	list, err := e.childReads.FreshChildren(ctx, p.fan.Step, freshAtOnce)
	if err != nil {
		return sim, err
	}
	p.fresh = make(map[int]kernel.Child, len(list))
	for _, c := range list {
		if c.State == task.ChildDone && c.Size == 0 && !p.spec.CountsOnly && !c.Task.IsZero() {
			if c.Result, c.Size, err = e.resultOfTask(ctx, c.Task); err != nil {
				return sim, err
			}
		}
		sim.Seen(c.Counted, c.State, c.Size)
		p.fresh[c.Index] = c
	}
	p.left = p.left || len(list) == freshAtOnce
	return sim, nil
}

// resultOfTask returns the result of the only last step, or an object with those of all last steps; nil without one.
// A large result is nil with its size: it does not fit into a result of children. The error is an undecidedError
// where this node cannot decrypt one.
func (e *Room) resultOfTask(ctx context.Context, id task.ID) (result []byte, size int, err error) {
	t, err := e.Store.FindTask(ctx, id)
	if err != nil || t == nil {
		return nil, 0, err
	}
	tpl, err := e.TemplateOf(ctx, t.DefID)
	if err != nil {
		return nil, 0, err
	}
	steps, err := e.Store.FindSteps(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	var last []*task.Step
	for _, s := range steps {
		if s.Ordinal <= len(tpl.Steps) && tpl.Steps[s.Ordinal-1].Yields() {
			if err := openedOf("the result of step "+tpl.Steps[s.Ordinal-1].Name, s.Result); err != nil {
				return nil, 0, err // a sealed value is bound to its step, and cannot be decrypted elsewhere
			}
			last = append(last, s)
			if l := task.LargeResultOf(s.ID, s.Result); l != nil {
				size += int(l.Bytes)
			}
		}
	}
	if size > 0 {
		return nil, max(size, e.Cfg.Limits.PayloadBytes+1), nil
	}
	if len(last) == 1 {
		return last[0].Result, len(last[0].Result), nil
	}
	all := make(map[string]json.RawMessage, len(last))
	for _, s := range last {
		if s.Result != nil {
			all[tpl.Steps[s.Ordinal-1].Name] = s.Result
		}
	}
	result = objectOf(all)
	return result, len(result), nil
}

// draftedAtOnce is in bytes: each child may have all of its parent's context.
const draftedAtOnce = 4 << 20

func (e *Room) draftNext(ctx context.Context, p *childPlan, from, n int, version string) ([]childDraft, error) {
	items, err := e.itemsAt(ctx, p, from)
	if err != nil {
		return nil, err
	}
	list := make([]childDraft, 0, min(n, len(items)))
	size := 0
	for i, item := range items[:min(n, len(items))] {
		d, err := e.draftChild(ctx, p, from+i, item, version)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
		if d.draft != nil {
			size += len(d.draft.In.Context)
		}
		if size > draftedAtOnce {
			break
		}
	}
	return list, nil
}

func (e *Room) itemsAt(ctx context.Context, p *childPlan, from int) ([]json.RawMessage, error) {
	var window []byte
	if p.begin != nil {
		if at := from / kernel.ItemWindow; at < len(p.begin.windows) {
			window = p.begin.windows[at]
		}
	} else {
		var err error
		if window, err = e.childReads.ItemWindow(ctx, p.fan.Step, from/kernel.ItemWindow); err != nil {
			return nil, err
		}
	}
	var items []json.RawMessage
	if window != nil {
		if err := json.Unmarshal(window, &items); err != nil {
			return nil, fmt.Errorf("read the items of step %s: %w", p.fan.Step, err)
		}
	}
	return items[min(from%kernel.ItemWindow, len(items)):], nil
}

// draftChild skips unique keys and back-pressure, because the parent was admitted.
func (e *Room) draftChild(ctx context.Context, p *childPlan, index int, item json.RawMessage, version string,
) (childDraft, error) {
	of := p.parent
	link := &task.ChildOf{Task: of.ID, Step: p.fan.Step, Index: index, Depth: depthOf(of) + 1, Quiet: p.spec.CountsOnly}
	in := &submit.Submission{Name: p.spec.Template, Version: version, TaskType: p.spec.Handler, Namespace: p.tpl.Namespace,
		Priority: e.PriorityName(p.step.Priority), CorrelationID: of.CorrelationID,
		Meta: task.Meta{Child: link, ParentCorrelationID: of.Meta.ParentCorrelationID, Initiator: of.Meta.Initiator,
			SourceSystem: of.Meta.SourceSystem, TraceParent: of.Meta.TraceParent}}
	var fault *task.Failure
	var err error
	if in.Context, fault, err = e.contextOf(ctx, p, index, item); err != nil {
		return childDraft{}, err
	}
	if fault != nil {
		return childDraft{index: index, note: fault.Message}, nil
	}
	d, problems, err := submit.Of(e.Kernel).Draft(ctx, in, "")
	var refused *task.Error
	switch {
	case errors.As(err, &refused) && refused.Code != task.Internal && refused.Code != task.Unavailable:
		return childDraft{index: index, note: refused.Message}, nil
	case err != nil:
		return childDraft{}, err
	case len(problems) > 0:
		note := problems[0].Message
		if problems[0].Location != "" {
			note = problems[0].Location + ": " + note
		}
		return childDraft{index: index, note: note}, nil
	}
	return childDraft{index: index, draft: d}, nil
}

func depthOf(t *task.Task) int {
	if t.Meta.Child == nil {
		return 0
	}
	return t.Meta.Child.Depth
}
