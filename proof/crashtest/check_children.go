package crashtest

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/taskerhq/tasker"
)

// unworked: no worker has carried out the step; it waits for an event, child tasks carry it out, or its condition did
// not hold.
func (s *stepAbout) unworked() bool {
	return s.step.Handler == "" || s.step.State == tasker.StepSkipped
}

// ofItself checks a step without a worker: no hand-out, and a reason for its end.
func (c *checker) ofItself(s *stepAbout) {
	if len(s.handouts) > 0 {
		c.report(Phantom, "step %s is %s and no worker can run it; it was handed out", s.step.StepUUID, s.step.State)
	}
	var decision struct{ Approved *bool }
	if unmarshal(s.step.Results, &decision) && decision.Approved != nil && !s.mayBeActed(tasker.Approve, nil) {
		c.report(Phantom, "step %s is approved, and nobody did it", s.step.StepUUID)
	}
	if s.step.Children != nil {
		c.family(s)
	}
}

// family checks the children of a step: one for each index, and a complete step has their result.
func (c *checker) family(s *stepAbout) {
	id, counted := s.step.StepUUID, s.step.Children
	members := c.children[id]
	slices.SortFunc(members, func(a, b *Found) int { return a.Task.Parent.Index - b.Task.Parent.Index })
	done, failed := 0, 0
	var results bytes.Buffer
	for i, m := range members {
		if m.Task.Parent.Index != i {
			c.report(DuplicateKey, "step %s has the children %v; child %d is missing or there twice", id, indexes(members), i)
			return
		}
		switch m.Task.State {
		case tasker.TaskComplete:
			done++
		case tasker.TaskError, tasker.TaskCancelled:
			failed++
		}
		results.WriteByte("[,"[min(i, 1)])
		results.Write(compact(resultOf(m)))
	}
	if len(members) != counted.Submitted || counted.Running != 0 || done != counted.Done ||
		failed != counted.Errors+counted.GivenUp {
		c.report(BadCounts, "step %s counts its children as %+v; %d are there, %d done, %d failed", id, *counted,
			len(members), done, failed)
	}
	if s.step.State != tasker.StepComplete {
		return
	}
	if len(members) != counted.Total {
		c.report(Lost, "step %s is complete with %d of %d children", id, len(members), counted.Total)
	}
	if len(members) == 0 {
		results.WriteByte('[')
	}
	results.WriteByte(']')
	want := results.Bytes()
	if s.step.Name == "parcel" { // the only child of a sub-workflow
		want = want[1 : len(want)-1]
	}
	if !sameJSON(s.step.Results, want) {
		c.report(WrongResult, "step %s holds %s; its children have %s", id, s.step.Results, want)
	}
}

// resultOf is the result of a task's last step, on which no other depends.
func resultOf(f *Found) json.RawMessage {
	if f.Task.State != tasker.TaskComplete {
		return nil
	}
	return f.Steps[len(f.Steps)-1].Results
}

func indexes(members []*Found) []int {
	var list []int
	for _, m := range members {
		list = append(list, m.Task.Parent.Index)
	}
	return list
}

// childEnds checks a child: its parent exists, and it succeeded, or ended for a reason.
func (c *checker) childEnds(f *Found) {
	t := &f.Task
	s := c.steps[t.Parent.StepUUID]
	switch {
	case s == nil:
		c.report(Phantom, "task %s is a child of the step %s, which is not there", t.TaskUUID, t.Parent.StepUUID)
	case !t.State.Settled():
		c.report(Unsettled, "task %s, a child of step %s, is %s for ever", t.TaskUUID, t.Parent.StepUUID, t.State)
	case t.State == tasker.TaskCancelled && s.step.State != tasker.StepCancelled:
		c.report(Unsettled, "task %s is cancelled; the step %s of its parent is %s", t.TaskUUID, t.Parent.StepUUID,
			s.step.State)
	case t.State == tasker.TaskError && !bytes.Contains(t.Context, []byte("doomed")):
		c.report(Unsettled, "task %s, a child of step %s, is in error", t.TaskUUID, t.Parent.StepUUID)
	}
}
