package public

import (
	"errors"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/pointer"
	"github.com/taskerhq/tasker/internal/task"
)

// shownError converts the domain's error to the API's. An unclassified error stays unchanged: it is internal, and the
// caller that responds must log and hide it.
func shownError(err error) error {
	var e *task.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	return &tasker.Error{Code: tasker.Code(e.Code), Message: e.Message, Hint: e.Hint, RetryAfter: e.RetryAfter,
		Details: details(e.Problems)}
}

func details(problems []task.Problem) []tasker.Detail {
	var out []tasker.Detail
	for _, p := range problems {
		out = append(out, tasker.Detail{Location: p.Location, Message: p.Message})
	}
	return out
}

// relocated returns shownError with its locations moved from one place to another, where a public type names or nests a
// field in another way than the domain. Other locations stay.
func relocated(err error, from, to string) error {
	shown := shownError(err)
	var e *tasker.Error
	if errors.As(shown, &e) {
		for i := range e.Details {
			e.Details[i].Location = pointer.Move(e.Details[i].Location, from, to)
		}
	}
	return shown
}
