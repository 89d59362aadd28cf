package flow

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/engine/submit"
	"github.com/taskerhq/tasker/internal/model/task"
)

type dueFlow struct {
	fanOuts *due.Rows[*task.FanOut, task.ID]
	signals *due.Rows[task.Signal, task.SignalName]
	waits   *due.Rows[kernel.SignalMatch, task.ID]
}

func newDueFlow(e *kernel.Kernel) dueFlow {
	return dueFlow{
		fanOuts: kernel.RowsOf(e, "the child tasks of step", func(f *task.FanOut) task.ID { return f.Step }),
		signals: kernel.RowsOf(e, "the signal", func(s task.Signal) task.SignalName { return s.SignalName }),
		waits:   kernel.RowsOf(e, "the signal for step", func(m kernel.SignalMatch) task.ID { return m.Step }),
	}
}

// A step with child tasks waits while ordinary tasks, its children, do the work; its fan-out counts them.
// Transactions in which a step begins or a child ends only leave a mark, so that workers do not wait for one another.
// After the commit, or in the loop "children", AdvanceChildren handles the marks, also after a crash: it submits a
// bounded number of children at a time, and ends the step.

// Codes of the failures of steps with child tasks.
const (
	CodeChildrenFailed  = "CHILDREN_FAILED"  // more children failed than may
	CodeChildrenRefused = "CHILDREN_REFUSED" // they cannot be submitted: no such template or list
	CodeChildrenDeep    = "CHILDREN_TOO_DEEP"
	CodeChildrenLarge   = "CHILDREN_TOO_LARGE"
)

type children struct {
	u        *kernel.Unit
	woken    map[task.ID]*task.Step // fan-outs to look at
	ended    map[*task.Task]bool    // children whose state counts differently now
	settling map[task.ID]bool
	// there is work after the commit
	stirred bool
}

func ChildrenFeature() kernel.Feature {
	return kernel.Feature{
		Name: "children",
		Runs: kernel.Runner{Kind: task.KindTasks, Begin: func(u *kernel.Unit, w kernel.Work, _ *task.Template) error {
			return childSlot.Of(u).begin(w)
		}},
		Of: kernel.ParentTask | kernel.ChildTask,
		Moved: func(u *kernel.Unit, w kernel.Work, from task.StepState) {
			if w.Task.Meta.HasChildren {
				parentMoved(u, w, from)
			}
		},
		Left: func(u *kernel.Unit, d kernel.Departure) {
			if d.Task.Meta.Child != nil && task.ChildStateOf(d.Was) != task.ChildStateOf(d.Task.State) {
				childSlot.Of(u).mark(d.Task) // its new state counts differently
			}
		},
		Stages: []kernel.Stage{{Rank: kernel.RankFanOuts, Name: "fan-outs", Locks: []string{"fan_outs", "children"},
			Save: childSlot.Save((*children).save)}},
		After: []kernel.FollowUp{{Rank: kernel.AfterChildren, Name: "children", Do: childSlot.After(func(c *children) {
			if c.stirred && !c.u.E.ByHand {
				Of(c.u.E).children.Post(struct{}{})
			}
		})}},
	}
}

var childSlot = kernel.NewSlot(func(u *kernel.Unit) *children { return &children{u: u} })

func (c *children) begin(w kernel.Work) error {
	c.wake(w.Step)
	return kernel.Control{U: c.u}.Await(w, 0)
}

func (c *children) wake(s *task.Step) {
	if c.woken == nil {
		c.woken = map[task.ID]*task.Step{}
	}
	c.woken[s.ID] = s
}

// parentMoved marks a step that was settled from outside, to cancel its children, and one that failed in a child,
// because the task above may be undone. A pending step with a token was reset, so it has children too.
func parentMoved(u *kernel.Unit, w kernel.Work, from task.StepState) {
	failed := w.Step.State == task.StepErrored && w.Task.Meta.Child != nil
	first := from == task.StepPending && w.Step.Token == 0
	if first || !w.Step.State.Terminal() && !failed || isSettling(u, w.Step) {
		return
	}
	t, err := u.Rows.Template(w.Step.DefID)
	if err != nil || t.Spec(w.Step).Tasks == nil { // no children can be known
		return
	}
	childSlot.Of(u).wake(w.Step)
}

func isSettling(u *kernel.Unit, s *task.Step) bool {
	c := childSlot.Peek(u)
	return c != nil && c.settling[s.ID]
}

func (c *children) mark(t *task.Task) {
	if c.ended == nil {
		c.ended = map[*task.Task]bool{}
	}
	c.ended[t] = true
}

func (c *children) save() error {
	if len(c.woken) > 0 {
		steps := kernel.Sorted(setOfSteps(c.woken), func(s *task.Step) task.ID { return s.ID })
		if err := Of(c.u.E).childRows.WakeFanOuts(c.u.Ctx, c.u.Tx, steps); err != nil {
			return err
		}
		c.stirred, c.woken = true, nil
	}
	if len(c.ended) == 0 {
		return nil
	}
	var marks []kernel.ChildMark
	firsts := c.firstSteps()
	for _, t := range kernel.Sorted(tasksOfSet(c.ended), func(t *task.Task) task.ID { return t.ID }) {
		marks = append(marks, kernel.ChildMark{Task: t.ID, State: task.ChildStateOf(t.State),
			Result: resultOf(t, firsts[t.ID])})
	}
	c.stirred, c.ended = true, nil
	return Of(c.u.E).childRows.MarkChildren(c.u.Ctx, c.u.Tx, marks)
}

// firstSteps is needed because the ID of a step does not follow from that of its task.
func (c *children) firstSteps() map[task.ID]*task.Step {
	firsts := map[task.ID]*task.Step{}
	for _, s := range c.u.Rows.Steps {
		if s.Ordinal == 1 {
			firsts[s.TaskID] = s
		}
	}
	return firsts
}

// resultOf returns nil for no result, and where AdvanceChildren reads it.
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
	// freshAtOnce bounds the children of one step counted there.
	freshAtOnce = 500
)

// AdvanceChildren submits children, counts ended ones, and ends their steps. It returns the number of changed steps,
// and whether there may be more. Processes may run it concurrently. A *due.Error names skipped steps.
func (e *Room) AdvanceChildren(ctx context.Context) (n int, more bool, err error) {
	now := e.Now()
	list, err := e.dueFlow.fanOuts.Read(now, fanOutsAtOnce, func(limit int) ([]*task.FanOut, error) {
		return e.childReads.DueFanOuts(ctx, limit)
	})
	if err != nil {
		return 0, false, fmt.Errorf("look for steps with child tasks: %w", err)
	}
	// one order in all processes
	slices.SortFunc(list, func(a, b *task.FanOut) int { return bytes.Compare(a.Step[:], b.Step[:]) })
	err = e.dueFlow.fanOuts.Try(ctx, now, list, func(ctx context.Context, some []*task.FanOut) error {
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

// advanceFanOuts leaves out steps whose plan fails, and returns one of those errors.
func (e *Room) advanceFanOuts(ctx context.Context, list []*task.FanOut) (n int, err error) {
	plans, failed := e.planChildren(ctx, list)
	if len(plans) == 0 {
		return 0, failed
	}
	err = e.Write(ctx, "children", func(u *kernel.Unit) (err error) {
		a := advance{u: u, b: &submit.Builder{U: u}}
		n, err = a.all(plans)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, failed
}

// advanceChildren leaves errors to the upkeep loop, which tries again.
func (e *Room) advanceChildren(calls []struct{}) ([]struct{}, error) {
	return calls, kernel.Repeat(e.AdvanceChildren)
}
