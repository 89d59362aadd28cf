package public

import (
	"context"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/inbox"
)

// shown converts what a verb of the inbox answers, or its error.
func shown[T, U any](convert func(T) U) func(T, error) (*U, error) {
	return func(answer T, err error) (*U, error) {
		if err != nil {
			return nil, shownError(err)
		}
		out := convert(answer)
		return &out, nil
	}
}

// asked asks a verb of the inbox, unless the request could not be read, and converts its answer or error.
func asked[A, T, U any](ctx context.Context, r *reader, verb func(context.Context, A) (T, error), of A,
	convert func(T) U,
) (*U, error) {
	if err := r.err(); err != nil {
		return nil, err
	}
	return shown(convert)(verb(ctx, of))
}

// acted is asked for a verb that changes an object.
func acted[A, B, T, U any](ctx context.Context, r *reader, verb func(context.Context, A, B) (T, error), of A, as B,
	convert func(T) U,
) (*U, error) {
	if err := r.err(); err != nil {
		return nil, err
	}
	return shown(convert)(verb(ctx, of, as))
}

// shownList is shown for a list. An empty one is not nil, so that JSON has [].
func shownList[T, U any](convert func(T) U) func([]T, error) ([]U, error) {
	return func(answer []T, err error) ([]U, error) {
		if err != nil {
			return nil, shownError(err)
		}
		return each(answer, convert), nil
	}
}

// each converts a list. An empty one is not nil.
func each[T, U any](list []T, convert func(T) U) []U {
	out := make([]U, len(list))
	for i, v := range list {
		out[i] = convert(v)
	}
	return out
}

// next returns the cursor behind a page: that of its last element if the page is full, "" if it is not.
func next[T any](page []T, limit int, cursor func(T) string) string {
	if n := len(page); n > 0 && n == limit {
		return cursor(page[n-1])
	}
	return ""
}

// actor reads who acts, where nothing else of a request has to be converted.
func actor(act deadletters.Act) (inbox.By, error) {
	var r reader
	by := r.by(act)
	return by, r.err()
}
