package httpapi

import (
	"errors"
	"strings"

	"github.com/taskerhq/tasker"
)

// The engine's verbs take lists. These functions serve the routes that are
// about one thing.

// first returns the one item of a list. A Backend that answers with none is
// broken, and that must not become a panic here.
func first[T any](items []T) (T, error) {
	if len(items) == 0 {
		var zero T
		return zero, errors.New("the backend answered one item with none")
	}
	return items[0], nil
}

// orNil makes a nil *Error a nil error.
func orNil(e *tasker.Error) error {
	if e == nil {
		return nil
	}
	return e
}

// aboutOne takes the place in the list out of an error's locations, because the
// caller sent no list: "/tasks/0/context" becomes "/context".
func aboutOne(err error, place string) error {
	var e *tasker.Error
	if !errors.As(err, &e) || len(e.Details) == 0 {
		return err
	}
	shown := *e
	shown.Details = make([]tasker.Detail, len(e.Details))
	for i, detail := range e.Details {
		if rest, found := strings.CutPrefix(detail.Location, place); found && (rest == "" || rest[0] == '/') {
			detail.Location = rest
		}
		shown.Details[i] = detail
	}
	return &shown
}
