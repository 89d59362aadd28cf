package local

import (
	"errors"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/refusal"
	"github.com/taskerhq/tasker/internal/model/task"
)

// ToError is refusal.ToError, also for callers of the engine outside of this package.
func ToError(err error) error { return refusal.ToError(err) }

// itemError is ToError for one item. An item has no HTTP header, so it repeats the pause in seconds. It hides an
// unclassified error, because the caller gets it unchanged. nil for nil.
func itemError(err error) *tasker.Error {
	var e *task.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		item := refusal.Of(e)
		item.RetryAfterSeconds = item.RetryAfter.Seconds()
		return item
	default:
		return tasker.Errorf(tasker.CodeInternal, "an internal error occurred")
	}
}

// toUUID, toID and toIDs convert IDs: the same 16 bytes on both sides.
func toUUID(id task.ID) uuid.UUID { return uuid.UUID(id) }
func toID(id uuid.UUID) task.ID   { return task.ID(id) }

func toIDs(ids []uuid.UUID) []task.ID {
	out := make([]task.ID, len(ids))
	for i, id := range ids {
		out[i] = task.ID(id)
	}
	return out
}
