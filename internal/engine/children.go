package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A step with child tasks is carried out by the engine: it waits while ordinary tasks, its children, do the work. Its
// fan-out counts them. Nothing is done about children in the transaction in which a step begins or a child ends: that
// only leaves a mark, so that no transaction of a worker waits for another one. After its commit, or in the loop
// "children", AdvanceChildren looks at the marks. It submits children as others end, a bounded number at a time, and
// completes the step or puts it in error. What a crash interrupts, the next run continues from the marks.

// Codes of the failures of steps with child tasks.
const (
	CodeChildrenFailed  = "CHILDREN_FAILED"    // more children have failed than may
	CodeChildrenRefused = "CHILDREN_REFUSED"   // they cannot be submitted: no such template, no such list
	CodeChildrenDeep    = "CHILDREN_TOO_DEEP"  // children of children beyond the limit
	CodeChildrenLarge   = "CHILDREN_TOO_LARGE" // too many items, or their joined results are too large
)

// children are the changes of a unit to steps with child tasks, and to tasks that are children.
type children struct {
	u     *unit
	woken map[task.ID]*task.Step // fan-outs to look at
	ended map[*task.Task]bool    // children whose state counts differently now
	// settling are steps whose end follows from their children.
	settling map[task.ID]bool
	// stirred: there is something to do after the commit.
	stirred bool
}

func childrenFeature() feature {
	return feature{
		name: "children",
		runs: runner{kind: task.KindTasks, begin: func(u *unit, w Work, _ *task.Template) error {
			return childSlot.of(u).begin(w)
		}},
		of: parentTask | childTask,
		moved: func(u *unit, w Work, from task.StepState) {
			if w.Task.Meta.HasChildren {
				parentMoved(u, w, from)
			}
		},
		left: func(u *unit, d departure) {
			if d.task.Meta.Child != nil && task.ChildStateOf(d.was) != task.ChildStateOf(d.task.State) {
				childSlot.of(u).mark(d.task) // its new state counts differently
			}
		},
		stages: []stage{{rankFanOuts, "fan-outs", []string{"fan_outs", "children"},
			childSlot.save((*children).save)}},
		after: []followUp{{afterChildren, "children", childSlot.after(func(c *children) {
			if c.stirred && !c.u.e.byHand {
				c.u.e.children.Post(struct{}{})
			}
		})}},
	}
}

var childSlot = newSlot(func(u *unit) *children { return &children{u: u} })

// begin makes a pending step with child tasks wait for them. They are submitted after the commit.
func (c *children) begin(w Work) error {
	c.wake(w.Step)
	return control{c.u}.await(w, 0)
}

// wake has the fan-out of a step looked at after the commit.
func (c *children) wake(s *task.Step) {
	if c.woken == nil {
		c.woken = map[task.ID]*task.Step{}
	}
	c.woken[s.ID] = s
}

// parentMoved looks at a step of a task that has steps with children. Where somebody else has settled such a step, its
// children are cancelled. Where it has failed in a task that is itself a child, the task above may be undone. A pending
// step has children too if it was reset; then it has begun before, which its token shows.
func parentMoved(u *unit, w Work, from task.StepState) {
	failed := w.Step.State == task.StepErrored && w.Task.Meta.Child != nil
	first := from == task.StepPending && w.Step.Token == 0
	if first || !w.Step.State.Terminal() && !failed || isSettling(u, w.Step) {
		return
	}
	t, err := u.rows.template(w.Step.DefID)
	if err != nil || t.Spec(w.Step).Tasks == nil { // a template that cannot be read has no children to cancel
		return
	}
	childSlot.of(u).wake(w.Step)
}

// isSettling reports whether the end of a step follows from its children.
func isSettling(u *unit, s *task.Step) bool {
	c := childSlot.peek(u)
	return c != nil && c.settling[s.ID]
}

// mark has the step of the parent of a child look at it.
func (c *children) mark(t *task.Task) {
	if c.ended == nil {
		c.ended = map[*task.Task]bool{}
	}
	c.ended[t] = true
}

// save stores the marks.
func (c *children) save() error {
	if len(c.woken) > 0 {
		steps := sorted(setOfSteps(c.woken), func(s *task.Step) task.ID { return s.ID })
		if err := c.u.e.childRows.WakeFanOuts(c.u.ctx, c.u.tx, steps); err != nil {
			return err
		}
		c.stirred, c.woken = true, nil
	}
	if len(c.ended) == 0 {
		return nil
	}
	var marks []ChildMark
	firsts := c.firstSteps()
	for _, t := range sorted(tasksOfSet(c.ended), func(t *task.Task) task.ID { return t.ID }) {
		marks = append(marks, ChildMark{Task: t.ID, State: task.ChildStateOf(t.State), Result: resultOf(t, firsts[t.ID])})
	}
	c.stirred, c.ended = true, nil
	return c.u.e.childRows.MarkChildren(c.u.ctx, c.u.tx, marks)
}

// firstSteps returns the first steps that the unit has loaded of tasks, by task. The ID of a step does not follow from
// that of its task: another process may have created both.
func (c *children) firstSteps() map[task.ID]*task.Step {
	firsts := map[task.ID]*task.Step{}
	for _, s := range c.u.rows.steps {
		if s.Ordinal == 1 {
			firsts[s.TaskID] = s
		}
	}
	return firsts
}

// resultOf returns the result of a child whose only step has just completed it. nil: it has none, or AdvanceChildren
// reads it.
func resultOf(t *task.Task, first *task.Step) []byte {
	if t.State != task.Complete || t.Meta.Child.Quiet || t.Counts.Total() != 1 || first == nil {
		return nil
	}
	if task.LargeResultOf(first.ID, first.Result) != nil || openedOf("", first.Result) != nil {
		return nil
	}
	return first.Result
}

func setOfSteps(of map[task.ID]*task.Step) map[*task.Step]struct{} {
	set := make(map[*task.Step]struct{}, len(of))
	for _, s := range of {
		set[s] = struct{}{}
	}
	return set
}

func tasksOfSet(of map[*task.Task]bool) map[*task.Task]struct{} {
	set := make(map[*task.Task]struct{}, len(of))
	for t := range of {
		set[t] = struct{}{}
	}
	return set
}

const (
	// fanOutsAtOnce bounds the steps in one transaction of AdvanceChildren.
	fanOutsAtOnce = 50
	// freshAtOnce bounds the children of one step that it counts there.
	freshAtOnce = 500
)

// AdvanceChildren carries on with steps whose child tasks have moved: it submits children, counts those that have
// ended, and ends the steps. It returns the number of steps that it has changed, and whether there may be more. It
// may run in several processes at once: a step that another one has changed meanwhile is left to the next run. A
// *due.Error tells of steps that were stepped over.
func (e *Engine) AdvanceChildren(ctx context.Context) (n int, more bool, err error) {
	now := e.Now()
	list, err := e.due.fanOuts.Read(now, fanOutsAtOnce, func(limit int) ([]*task.FanOut, error) {
		return e.childReads.DueFanOuts(ctx, limit)
	})
	if err != nil {
		return 0, false, fmt.Errorf("look for steps with child tasks: %w", err)
	}
	// the same everywhere
	slices.SortFunc(list, func(a, b *task.FanOut) int { return bytes.Compare(a.Step[:], b.Step[:]) })
	err = e.due.fanOuts.Try(ctx, now, list, func(ctx context.Context, some []*task.FanOut) error {
		held, err := e.advanceFanOuts(ctx, some)
		n += held
		return err
	})
	stepped := due.OnlyRows(err)
	if err != nil && !stepped {
		return n, false, fmt.Errorf("advance steps with child tasks: %w", err)
	}
	return n, n > 0 || stepped && len(list) == fanOutsAtOnce, err
}

// advanceFanOuts carries on with steps in one transaction, and returns how many it has changed. It leaves out those
// whose plan fails, and returns why one did.
func (e *Engine) advanceFanOuts(ctx context.Context, list []*task.FanOut) (n int, err error) {
	plans, failed := e.planChildren(ctx, list)
	if len(plans) == 0 {
		return 0, failed
	}
	err = e.write(ctx, "children", func(u *unit) (err error) {
		a := advance{u: u, b: &builder{u: u}}
		n, err = a.all(plans)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, failed
}

// advanceChildren runs AdvanceChildren until nothing is left to do. An error is left to the loop of package upkeep,
// which tries again.
func (e *Engine) advanceChildren(calls []struct{}) ([]struct{}, error) {
	return calls, repeat(e.AdvanceChildren)
}
