package local

import (
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

// readTurn explains a held task: the task that has the turn of its ordering key, its state, and the number before; ""
// for a task that is not held.
func (x *explainer) readTurn(ctx context.Context) (string, error) {
	t := x.task
	if !t.Meta.Held || t.State.Settled() {
		return "", nil
	}
	place, err := x.b.engine.OrderPlace(ctx, t, x.tpl.Namespace)
	if err != nil {
		return "", ToError(err)
	}
	s := fmt.Sprintf("it waits for its turn under the ordering key %q", t.Meta.OrderingKey)
	if place.Head.IsZero() {
		return s, nil
	}
	head, err := x.b.engine.Task(ctx, place.Head, 0)
	switch {
	case task.CodeOf(err) == task.NotFound: // it ended meanwhile, and retention deleted it
		return s, nil
	case err != nil:
		return "", ToError(err)
	}
	s += fmt.Sprintf(", which the task %s has (%s)", toUUID(place.Head), head.State)
	if place.Before > 0 {
		s += ", with " + wording.Count(place.Before, "task") + " in between"
	}
	if head.State == task.Errored {
		s += "; that keeps its turn until it is repaired or cancelled"
	}
	return s, nil
}
