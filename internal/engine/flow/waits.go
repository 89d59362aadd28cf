package flow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

func WaitsFeature() kernel.Feature {
	return kernel.Feature{
		Name: "waits",
		Runs: kernel.Runner{Kind: task.KindWait,
			Begin: func(u *kernel.Unit, w kernel.Work, def *task.Template) error {
				return beginWait(kernel.Control{U: u}, w, def)
			},
			Wake: func(u *kernel.Unit, w kernel.Work, def *task.Template) error {
				return expireWait(kernel.Control{U: u}, w, def)
			}},
		Moved: func(u *kernel.Unit, w kernel.Work, from task.StepState) {
			if from == task.StepWaiting {
				waited(kernel.Control{U: u}, w)
			}
		},
		Decide: map[kernel.ActKind]func(*kernel.Unit, kernel.Work, kernel.StepAct) error{
			kernel.ApproveStep: decideApproval, kernel.RejectStep: decideApproval},
		Stages: []kernel.Stage{{Rank: kernel.RankWaits, Name: "waits", Locks: []string{"step_waits"},
			Save: waitSlot.Save((*newWaits).save)}},
		After: []kernel.FollowUp{{Rank: kernel.AfterWaits, Name: "waits", Do: waitSlot.After(func(nw *newWaits) {
			if nw.awaitsSignal() && !nw.u.E.ByHand {
				Of(nw.u.E).handOvers.Post(struct{}{})
			}
		})}},
	}
}

// newWaits are a unit's waits by step; nil: the wait is over.
type newWaits struct {
	u  *kernel.Unit
	of map[task.ID]*task.StepWait
}

var waitSlot = kernel.NewSlot(func(u *kernel.Unit) *newWaits {
	return &newWaits{u: u, of: map[task.ID]*task.StepWait{}}
})

func beginWait(c kernel.Control, w kernel.Work, t *task.Template) error {
	wait := t.Spec(w.Step).Wait
	if wait.ReadsContext() {
		if err := readContext(c, w.Task); err != nil {
			return err
		}
		if err := openedOf(theContext, w.Task.Context); err != nil {
			return leaveAlone(c, w, "its wait does not begin", err)
		}
		work := len(w.Task.Context) / bytesDecoded // a text is filled from the whole context each time
		evaluationSlot.Of(c.U).work += work
		backlogOf(c, w.Task).each = work
	}
	row, err := awaited(c, w, t)
	if err != nil {
		return c.FailUnrun(w, t, task.WaitFailure(task.CodeWaitInvalid, fmt.Sprintf("the wait of step %s: %v",
			t.Spec(w.Step).Name, err)))
	}
	if err := c.Await(w, row.Until); err != nil {
		return err
	}
	waitSlot.Of(c.U).begins(row)
	if row.Kind == task.WaitApproval {
		return kernel.TellEvent(c.U, deadletter.ApprovalHappened(row, wait.Approval, c.U.Now))
	}
	return nil
}

// awaited returns the wait of a step. It fails if the context lacks the data.
func awaited(c kernel.Control, w kernel.Work, t *task.Template) (*task.StepWait, error) {
	spec := t.Spec(w.Step)
	until, err := textOf(spec.Wait.Until, w.Task.Context)
	if err != nil {
		return nil, err
	}
	ends, err := spec.Wait.Ends(c.U.Now, until)
	if err != nil {
		return nil, err
	}
	row := &task.StepWait{Step: w.Step.ID, Task: w.Task.ID, Namespace: t.Namespace, Template: t.Name, StepName: spec.Name,
		Kind: spec.Wait.Kind(), At: c.U.Now, Until: ends}
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
func waited(c kernel.Control, w kernel.Work) {
	t, err := c.U.Rows.Template(w.Step.DefID)
	if err == nil && t.Spec(w.Step).Kind() != task.KindWait {
		return
	}
	waitSlot.Of(c.U).over(w.Step.ID)
	if err == nil && t.Spec(w.Step).Wait.Kind() == task.WaitApproval {
		a := approvalSlot.Of(c.U)
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
	for _, id := range slices.SortedFunc(maps.Keys(nw.of), kernel.CompareIDs) {
		if w := nw.of[id]; w != nil {
			put = append(put, *w)
		} else {
			over = append(over, id)
		}
	}
	return Of(nw.u.E).waitStore.ChangeWaits(nw.u.Ctx, nw.u.Tx, put, over)
}

func expireWait(c kernel.Control, w kernel.Work, t *task.Template) error {
	wait := t.Spec(w.Step).Wait
	switch wait.Kind() {
	case task.WaitSignal:
		if arrived, err := awaitHandOver(c, w); err != nil || arrived {
			return err
		}
	case task.WaitApproval:
		approvalSlot.Of(c.U).decided(w, task.DecisionTimedOut, kernel.System, "its time is over")
	}
	result, f := wait.Expired()
	if f != nil {
		return c.FailUnrun(w, t, f)
	}
	return c.Finish(w, result)
}

// handOverSlack postpones the time-out of a step whose signal has arrived.
const handOverSlack = time.Second

// The process that should hand over an arrived signal may have ended.
func awaitHandOver(c kernel.Control, w kernel.Work) (arrived bool, err error) {
	m, err := Of(c.U.E).waitStore.SignalFor(c.U.Ctx, c.U.Tx, w.Step.ID)
	if err != nil || m.Signal.ID == "" {
		return false, err
	}
	waits, err := Of(c.U.E).waitStore.WaitsOf(c.U.Ctx, c.U.Tx, []task.ID{w.Step.ID})
	if err != nil || len(waits) == 0 {
		return false, err
	}
	waits[0].Fresh = true
	waitSlot.Of(c.U).begins(&waits[0])
	later := c.U.Now.Add(handOverSlack)
	w.Step.Key = int64(later)
	c.U.Rows.ChangedStep(w.Step)
	c.U.Wake.DueAt(later)
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

func decideApproval(u *kernel.Unit, w kernel.Work, a kernel.StepAct) error {
	c := kernel.Control{U: u}
	t, err := c.U.Rows.Template(w.Step.DefID)
	if err != nil {
		return err
	}
	wait, now := t.Spec(w.Step).Wait, c.U.Now
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
	result, f, err := wait.Decide(task.Decision{Approved: a.Kind == kernel.ApproveStep, Actor: a.Actor, Reason: a.Reason,
		At: c.U.Now.Time()})
	switch {
	case err != nil:
		return err
	case f != nil:
		err = c.FailUnrun(w, t, f)
	default:
		err = c.Finish(w, result)
	}
	if err != nil {
		return err
	}
	c.U.Records.Acts = append(c.U.Records.Acts, task.Act{At: c.U.Now, TaskID: w.Task.ID, StepID: w.Step.ID,
		Kind: string(a.Kind), Actor: a.Actor, Reason: a.Reason, From: string(from), To: string(w.Step.State)})
	decision := task.DecisionRejected
	if a.Kind == kernel.ApproveStep {
		decision = task.DecisionApproved
	}
	approvalSlot.Of(c.U).decided(w, decision, a.Actor, a.Reason)
	return nil
}
