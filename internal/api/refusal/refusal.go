// Package refusal converts the errors of the domain to those of the API, for the packages that convert public types:
// local, letters and scheduling.
package refusal

import (
	"errors"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/pointer"
	"github.com/taskerhq/tasker/internal/model/task"
)

// ToError converts an error. An unclassified one stays unchanged: it is internal, and the responder must log and hide
// it.
func ToError(err error) error {
	var e *task.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	return Of(e)
}

// Of converts field by field, without the cause, which may name hosts or files. Both sides have the same closed list of
// codes.
func Of(e *task.Error) *tasker.Error {
	return &tasker.Error{Code: tasker.Code(e.Code), Message: e.Message, Hint: e.Hint, RetryAfter: e.RetryAfter,
		Details: Details(e.Problems)}
}

// Details converts problems.
func Details(problems []task.Problem) []tasker.Detail {
	var out []tasker.Detail
	for _, p := range problems {
		out = append(out, tasker.Detail{Location: p.Location, Message: p.Message})
	}
	return out
}

// Moved is ToError with locations moved, for requests whose fields differ from the domain's: the engine refers to a
// batch, for example, and the caller has sent one item. Other locations stay. It changes an error of the API in place:
// it must not be shared.
func Moved(err error, from, to string) error {
	err = ToError(err)
	var e *tasker.Error
	if errors.As(err, &e) {
		for i := range e.Details {
			e.Details[i].Location = pointer.Move(e.Details[i].Location, from, to)
		}
	}
	return err
}
