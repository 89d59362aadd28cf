// Package letters offers the use cases of package inbox as a deadletters.Backend: it converts between public and domain
// types, without rules. Package inbox checks convertible values, so that every caller gets the same refusals; this
// package refuses others, such as a malformed ID, with the same form of error.
//
// A file for each noun holds the verbs and the conversions of their answers; read.go converts parts that requests
// share. In public types an unset time is nil or the zero time, a duration is a number of seconds, an ID is a UUID, a
// group's ID is 16 hex digits, and a version is an ETag.
package letters

import (
	"cmp"
	"context"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/refusal"
	"github.com/taskerhq/tasker/internal/inbox"
)

// backend is a deadletters.Backend on an Inbox, which limits itself to the namespaces of the key in the context. It is
// safe for concurrent use. Comments are additions to the contract.
type backend struct{ inbox *inbox.Inbox }

// New returns the Backend of an Inbox.
func New(in *inbox.Inbox) deadletters.Backend { return &backend{in} }

// Page sizes where a caller names none.
const (
	defaultPage      = 50
	defaultItemsPage = 100
)

func shown[T, U any](convert func(T) U) func(T, error) (*U, error) {
	return func(answer T, err error) (*U, error) {
		if err != nil {
			return nil, refusal.ToError(err)
		}
		out := convert(answer)
		return &out, nil
	}
}

// asked calls a verb unless the request had faults, and converts its answer or error.
func asked[A, T, U any](ctx context.Context, r *reader, verb func(context.Context, A) (T, error), of A,
	convert func(T) U,
) (*U, error) {
	if err := r.err(); err != nil {
		return nil, err
	}
	return shown(convert)(verb(ctx, of))
}

func acted[A, B, T, U any](ctx context.Context, r *reader, verb func(context.Context, A, B) (T, error), of A, as B,
	convert func(T) U,
) (*U, error) {
	return asked(ctx, r, func(ctx context.Context, of A) (T, error) { return verb(ctx, of, as) }, of, convert)
}

func shownList[T, U any](convert func(T) U) func([]T, error) ([]U, error) {
	return func(answer []T, err error) ([]U, error) {
		if err != nil {
			return nil, refusal.ToError(err)
		}
		return each(answer, convert), nil
	}
}

func each[T, U any](list []T, convert func(T) U) []U {
	out := make([]U, len(list))
	for i, v := range list {
		out[i] = convert(v)
	}
	return out
}

// some is each for a list that JSON omits when empty: then it is nil.
func some[T, U any](list []T, convert func(T) U) []U {
	if len(list) == 0 {
		return nil
	}
	return each(list, convert)
}

func next[T any](page []T, limit int, cursor func(T) string) string {
	if n := len(page); n > 0 && n == limit {
		return cursor(page[n-1])
	}
	return ""
}

func actor(act deadletters.Act) (inbox.By, error) {
	var r reader
	by := r.by(act)
	return by, r.err()
}

func within(namespace string) string { return cmp.Or(namespace, defaultNamespace) }
