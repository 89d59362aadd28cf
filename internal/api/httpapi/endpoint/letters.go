package endpoint

import (
	"context"

	"github.com/taskerhq/tasker"
)

// AddLetters is Add for an operation of dead letters that answers 200, or NoLetters if the store keeps none.
func AddLetters[P, B, R any](a *API, kept bool, e Endpoint, h func(ctx context.Context, params *P, body *B) (R, error),
) {
	AddStoredLetters(a, kept, e, func(ctx context.Context, params *P, body *B) (Answer[R], error) {
		answer, err := h(ctx, params, body)
		return OK(answer), err
	})
}

// AddStoredLetters is AddLetters for an operation that reports whether it created its answer.
func AddStoredLetters[P, B, R any](a *API, kept bool, e Endpoint, h handler[P, B, R]) {
	Add(a, e, func(ctx context.Context, params *P, body *B) (Answer[R], error) {
		if !kept {
			return Answer[R]{}, NoLetters()
		}
		return h(ctx, params, body)
	})
}

// NoLetters is the answer of a server whose store has no tables for dead letters. The code is unavailable, not
// not_found: the route exists, and another start of the server may serve it.
func NoLetters() error {
	return &tasker.Error{Code: tasker.CodeUnavailable, Message: "this server keeps no dead letters",
		Hint: "dead letters need a SQL store: start the server with a store of sqlite: or postgres:"}
}
