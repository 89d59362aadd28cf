package endpoint

import (
	"context"

	"github.com/taskerhq/tasker"
)

// AddLetters is Add for an operation of dead letters, which answers NoLetters if the store keeps none.
func AddLetters[P, B, R any](a *API, kept bool, e Endpoint, h func(ctx context.Context, params *P, body *B) (R, error),
) {
	Add(a, e, unlessKept(kept, h))
}

// AddStoredLetters is AddStored, likewise.
func AddStoredLetters[P, B, R any](a *API, kept bool, e Endpoint, h handler[P, B, R]) {
	AddStored(a, e, unlessKept(kept, h))
}

func unlessKept[P, B, R any](kept bool, h func(context.Context, *P, *B) (R, error),
) func(context.Context, *P, *B) (R, error) {
	return func(ctx context.Context, params *P, body *B) (answer R, err error) {
		if !kept {
			return answer, NoLetters()
		}
		return h(ctx, params, body)
	}
}

// NoLetters is the answer of a server whose store has no tables for dead letters. The code is unavailable, not
// not_found: the route exists, and another start of the server may serve it.
func NoLetters() error {
	return &tasker.Error{Code: tasker.CodeUnavailable, Message: "this server keeps no dead letters",
		Hint: "dead letters need a SQL store: start the server with a store of sqlite: or postgres:"}
}
