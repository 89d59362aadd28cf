package crashtest

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// submissions checks that accepted tasks exist once, and refused ones do not.
func (c *checker) submissions() {
	byRef := map[string][]*Submit{}
	batches := map[int64][]*Submit{}
	for i := range c.j.Submits {
		s := &c.j.Submits[i]
		c.unknown(s.Answer)
		byRef[s.Ref] = append(byRef[s.Ref], s)
		if s.Batch != 0 {
			batches[s.Batch] = append(batches[s.Batch], s)
		}
	}
	for ref, tries := range byRef {
		c.submission(ref, tries)
	}
	for _, batch := range batches {
		c.batch(batch)
	}
	for i := range c.found {
		if t := &c.found[i].Task; byRef[t.CorrelationID] == nil {
			c.report(Phantom, "task %s (%q): nobody submitted it", t.TaskUUID, t.CorrelationID)
		}
	}
}

// submission checks all attempts to submit one task. A task may exist although every answer was lost (an orphan):
// idempotency keys are for that.
func (c *checker) submission(ref string, tries []*Submit) {
	there := c.byRef[ref]
	var accepted []*Submit
	var created, unknown int
	for _, s := range tries {
		switch {
		case s.Accepted():
			accepted = append(accepted, s)
			if s.Created {
				created++
			}
		case !s.Known:
			unknown++
		}
	}
	switch {
	case len(accepted) == 0 && unknown == 0 && len(there) > 0:
		c.report(Phantom, "task %s (%s) is there though its submission was refused", there[0].Task.TaskUUID, ref)
	case len(accepted) > 0 && len(there) == 0:
		c.report(Lost, "task %s (%s) was accepted and is gone", accepted[0].Task, ref)
	case len(there) > 1:
		c.report(DuplicateKey, "%d tasks are there for one submission (%s): %s, %s", len(there), ref, there[0].Task.TaskUUID,
			there[1].Task.TaskUUID)
	case len(accepted) == 0 && len(there) == 1:
		c.verdict.Orphans++
	}
	if created > 1 {
		c.report(DuplicateKey, "%d tries of %s were told that they created the task", created, ref)
	}
	if len(accepted) > 0 && created+unknown == 0 {
		c.report(DuplicateKey, "%s: the task was there before anybody submitted it", ref)
	}
	c.identity(ref, tries[0], accepted, there)
}

// identity checks that every answer named the same task, with the sent content.
func (c *checker) identity(ref string, first *Submit, accepted []*Submit, there []*Found) {
	ids := map[uuid.UUID]bool{}
	for _, s := range accepted {
		ids[s.Task] = true
	}
	if len(ids) > 1 {
		c.report(DuplicateKey, "%d different tasks were named in the answers to %s", len(ids), ref)
	}
	for _, f := range there {
		if len(ids) > 0 && !ids[f.Task.TaskUUID] {
			c.report(Lost, "%s was accepted as another task than %s", ref, f.Task.TaskUUID)
		}
		if !sameJSON(f.Task.Context, first.Context) {
			c.report(Lost, "task %s (%s): the context is %s, submitted was %s", f.Task.TaskUUID, ref, f.Task.Context,
				first.Context)
		}
		if f.Task.IdempotencyKey != first.Key {
			c.report(Lost, "task %s (%s): the idempotency key is %q, submitted was %q", f.Task.TaskUUID, ref,
				f.Task.IdempotencyKey, first.Key)
		}
	}
}

// batch checks that a batch without an answer exists whole or not at all. submission checks answered ones.
func (c *checker) batch(tasks []*Submit) {
	there := 0
	for _, s := range tasks {
		there += min(len(c.byRef[s.Ref]), 1)
	}
	if there != 0 && there != len(tasks) && !tasks[0].Known {
		c.report(SplitBatch, "%d of the %d tasks of a batch are there (%s and on)", there, len(tasks), tasks[0].Ref)
	}
}

// ends checks the final state of a task: an expected one, or cancelled if that may have been requested.
func (c *checker) ends(f *Found) {
	t, a := &f.Task, c.tasks[f.Task.TaskUUID]
	if t.Parent != nil {
		c.childEnds(f)
		return
	}
	if !t.State.Settled() {
		c.report(Unsettled, "task %s (%s) is %s for ever", t.TaskUUID, t.CorrelationID, t.State)
		return
	}
	cancelled, mayBeCancelled := false, false
	for _, n := range a.cancels {
		cancelled = cancelled || n.Accepted()
		mayBeCancelled = mayBeCancelled || n.Possible()
	}
	ends := c.j.Ends[t.CorrelationID]
	if ends == nil {
		ends = []tasker.TaskState{tasker.TaskComplete}
	}
	switch {
	case cancelled && t.State != tasker.TaskCancelled:
		c.report(Lost, "task %s (%s) is %s; its cancellation was accepted", t.TaskUUID, t.CorrelationID, t.State)
	case t.State == tasker.TaskCancelled && mayBeCancelled:
	case !slices.Contains(ends, t.State):
		c.report(Unsettled, "task %s (%s) ended %s, not in any of %v%s", t.TaskUUID, t.CorrelationID, t.State, ends,
			failures(f))
	}
}

func failures(f *Found) (text string) {
	for _, s := range f.Steps {
		if s.State == tasker.StepError {
			text += fmt.Sprintf("; step %s: %v", s.Name, s.LastError)
		}
	}
	return text
}
