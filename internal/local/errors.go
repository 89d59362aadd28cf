package local

import (
	"errors"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/pointer"
	"github.com/taskerhq/tasker/internal/task"
)

// ToError converts the engine's error to the API's. An unclassified error stays unchanged: it is internal,
// and the caller that responds must log and hide it.
// It is also used outside of this package, by callers of the engine that answer in the words of the API.
func ToError(err error) error {
	var e *task.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	return apiError(e)
}

// apiError converts field by field. The cause stays behind: it may name hosts or files.
// Both sides have the same closed list of codes.
func apiError(e *task.Error) *tasker.Error {
	out := &tasker.Error{Code: tasker.Code(e.Code), Message: e.Message, Hint: e.Hint, RetryAfter: e.RetryAfter}
	for _, p := range e.Problems {
		out.Details = append(out.Details, tasker.Detail{Location: p.Location, Message: p.Message})
	}
	return out
}

// itemError is ToError for the answer to one item. An item has no HTTP header, so the pause is
// repeated in seconds.
// Unlike ToError it hides an unclassified error itself, because the caller gets the answer to an item unchanged. It
// returns nil for nil.
func itemError(err error) *tasker.Error {
	var e *task.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		item := apiError(e)
		item.RetryAfterSeconds = item.RetryAfter.Seconds()
		return item
	default:
		return tasker.Errorf(tasker.CodeInternal, "an internal error occurred")
	}
}

// relocate changes the pointers of problems: the engine refers to a batch, the caller may have sent one item.
// A location that does not begin with from stays as it is. An error of another type has no locations and is returned
// unchanged. The error is changed in place: it must not be shared.
func relocate(err error, from, to string) error {
	var e *tasker.Error
	if !errors.As(err, &e) {
		return err
	}
	for i := range e.Details {
		e.Details[i].Location = pointer.Move(e.Details[i].Location, from, to)
	}
	return err
}

// toUUID, toID and toIDs convert IDs, which are the same 16 bytes on both sides.
func toUUID(id task.ID) uuid.UUID { return uuid.UUID(id) }
func toID(id uuid.UUID) task.ID   { return task.ID(id) }

func toIDs(ids []uuid.UUID) []task.ID {
	out := make([]task.ID, len(ids))
	for i, id := range ids {
		out[i] = task.ID(id)
	}
	return out
}
