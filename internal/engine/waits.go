package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

func waitsFeature() feature {
	return feature{
		name: "waits",
		runs: runner{task.KindWait,
			func(u *unit, w Work, def *task.Template) error { return control{u}.beginWait(w, def) },
			func(u *unit, w Work, def *task.Template) error { return control{u}.expireWait(w, def) }},
		moved: func(u *unit, w Work, from task.StepState) {
			if from == task.StepWaiting {
				control{u}.waited(w)
			}
		},
		decide: map[ActKind]func(*unit, Work, StepAct) error{ApproveStep: decideApproval, RejectStep: decideApproval},
		stages: []stage{{rankWaits, "waits", []string{"step_waits"}, waitSlot.save((*newWaits).save)}},
		after: []followUp{{afterWaits, "waits", waitSlot.after(func(nw *newWaits) {
			if nw.awaitsSignal() && !nw.u.e.byHand {
				nw.u.e.handOvers.Post(struct{}{})
			}
		})}},
	}
}

// newWaits are a unit's waits by step; nil: the wait is over.
type newWaits struct {
	u  *unit
	of map[task.ID]*task.StepWait
}

var waitSlot = newSlot(func(u *unit) *newWaits { return &newWaits{u: u, of: map[task.ID]*task.StepWait{}} })

func (c control) beginWait(w Work, t *task.Template) error {
	wait := t.Spec(w.Step).Wait
	if wait.ReadsContext() {
		if err := c.readContext(w.Task); err != nil {
			return err
		}
		if err := openedOf(theContext, w.Task.Context); err != nil {
			return c.leaveAlone(w, "its wait does not begin", err)
		}
		work := len(w.Task.Context) / bytesDecoded // a text is filled from the whole context each time
		evaluationSlot.of(c.u).work += work
		c.backlogOf(w.Task).each = work
	}
	row, err := c.awaited(w, t)
	if err != nil {
		return c.failUnrun(w, t, task.WaitFailure(task.CodeWaitInvalid, fmt.Sprintf("the wait of step %s: %v",
			t.Spec(w.Step).Name, err)))
	}
	if err := c.await(w, row.Until); err != nil {
		return err
	}
	waitSlot.of(c.u).begins(row)
	if row.Kind == task.WaitApproval {
		return tellEvent(c.u, deadletter.ApprovalHappened(row, wait.Approval, c.u.now))
	}
	return nil
}

// awaited returns the wait of a step. It fails if the context lacks the data.
func (c control) awaited(w Work, t *task.Template) (*task.StepWait, error) {
	spec := t.Spec(w.Step)
	until, err := textOf(spec.Wait.Until, w.Task.Context)
	if err != nil {
		return nil, err
	}
	ends, err := spec.Wait.Ends(c.u.now, until)
	if err != nil {
		return nil, err
	}
	row := &task.StepWait{Step: w.Step.ID, Task: w.Task.ID, Namespace: t.Namespace, Template: t.Name, StepName: spec.Name,
		Kind: spec.Wait.Kind(), At: c.u.now, Until: ends}
	if row.Kind != task.WaitSignal {
		return row, nil
	}
	row.Name, row.Fresh = spec.Wait.Signal, true
	if row.Key, err = textOf(spec.Wait.Key, w.Task.Context); err != nil {
		return nil, err
	}
	return row, task.KeyOfWait(row.Key)
}

// Steps of other kinds have no row.
func (c control) waited(w Work) {
	t, err := c.u.rows.template(w.Step.DefID)
	if err == nil && t.Spec(w.Step).Kind() != task.KindWait {
		return
	}
	waitSlot.of(c.u).over(w.Step.ID)
	if err == nil && t.Spec(w.Step).Wait.Kind() == task.WaitApproval {
		a := approvalSlot.of(c.u)
		a.ended = append(a.ended, w)
	}
}

func (nw *newWaits) begins(w *task.StepWait) {
	nw.of[w.Step] = w
}

func (nw *newWaits) over(step task.ID) {
	nw.of[step] = nil
}

func (nw *newWaits) awaitsSignal() bool {
	for _, w := range nw.of {
		if w != nil && w.Fresh {
			return true
		}
	}
	return false
}

func (nw *newWaits) save() error {
	if len(nw.of) == 0 {
		return nil
	}
	var put []task.StepWait
	var over []task.ID
	for _, id := range slices.SortedFunc(maps.Keys(nw.of), compareIDs) {
		if w := nw.of[id]; w != nil {
			put = append(put, *w)
		} else {
			over = append(over, id)
		}
	}
	return nw.u.e.waitStore.ChangeWaits(nw.u.ctx, nw.u.tx, put, over)
}

func (c control) expireWait(w Work, t *task.Template) error {
	wait := t.Spec(w.Step).Wait
	switch wait.Kind() {
	case task.WaitSignal:
		if arrived, err := c.awaitHandOver(w); err != nil || arrived {
			return err
		}
	case task.WaitApproval:
		approvalSlot.of(c.u).decided(w, task.DecisionTimedOut, System, "its time is over")
	}
	result, f := wait.Expired()
	if f != nil {
		return c.failUnrun(w, t, f)
	}
	return c.finish(w, result)
}

// handOverSlack postpones the time-out of a step whose signal has arrived.
const handOverSlack = time.Second

// The process that should hand over an arrived signal may have ended.
func (c control) awaitHandOver(w Work) (arrived bool, err error) {
	m, err := c.u.e.waitStore.SignalFor(c.u.ctx, c.u.tx, w.Step.ID)
	if err != nil || m.Signal.ID == "" {
		return false, err
	}
	waits, err := c.u.e.waitStore.WaitsOf(c.u.ctx, c.u.tx, []task.ID{w.Step.ID})
	if err != nil || len(waits) == 0 {
		return false, err
	}
	waits[0].Fresh = true
	waitSlot.of(c.u).begins(&waits[0])
	later := c.u.now.Add(handOverSlack)
	w.Step.Key = int64(later)
	c.u.rows.changedStep(w.Step)
	c.u.wake.dueAt(later)
	return true, nil
}

func textOf(text string, context []byte) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	key, err := limit.ParseKey(text)
	if err != nil {
		return "", err
	}
	return key.Text(context)
}

func decideApproval(u *unit, w Work, a StepAct) error {
	c := control{u}
	t, err := c.u.rows.template(w.Step.DefID)
	if err != nil {
		return err
	}
	wait, now := t.Spec(w.Step).Wait, c.u.now
	if w.Step.State != task.StepWaiting || wait == nil || wait.Kind() != task.WaitApproval {
		return &task.Error{Code: task.WrongState,
			Message: fmt.Sprintf("the step is %s and does not wait for an approval", w.Step.State),
			Hint:    "another operator may have decided, or its time is over; see the history of the task"}
	}
	if until := task.Instant(w.Step.Key); w.Step.Queue == task.Timers && until <= now {
		return &task.Error{Code: task.WrongState, Hint: "a reset of the step asks again, once the timers have ended it",
			Message: fmt.Sprintf("the time for an approval ended %s ago", now.Sub(until))}
	}
	from := w.Step.State
	result, f, err := wait.Decide(task.Decision{Approved: a.Kind == ApproveStep, Actor: a.Actor, Reason: a.Reason,
		At: c.u.now.Time()})
	switch {
	case err != nil:
		return err
	case f != nil:
		err = c.failUnrun(w, t, f)
	default:
		err = c.finish(w, result)
	}
	if err != nil {
		return err
	}
	c.u.records.acts = append(c.u.records.acts, task.Act{At: c.u.now, TaskID: w.Task.ID, StepID: w.Step.ID,
		Kind: string(a.Kind), Actor: a.Actor, Reason: a.Reason, From: string(from), To: string(w.Step.State)})
	decision := task.DecisionRejected
	if a.Kind == ApproveStep {
		decision = task.DecisionApproved
	}
	approvalSlot.of(c.u).decided(w, decision, a.Actor, a.Reason)
	return nil
}
