// Package load is everybody who calls Tasker in a crash test: producers, an
// operator in each of them, workers, and zombies that report what is over.
//
// All of them go on while servers and databases come and go under them. A lost
// answer is no fault: they say Lost, wait as their Retry says, and try again
// where a real caller would. What a server must not refuse, and does, ends them
// with an error. They judge nothing else; that is the business of
// [crashtest.Check].
package load

import (
	"context"
	"errors"

	"github.com/taskerhq/tasker"
)

// Retry blocks until it makes sense to call again after an answer was lost, of
// which err says how. Its error ends the caller.
type Retry func(ctx context.Context, err error) error

// Lost reports whether an error leaves open what happened.
func Lost(err error) bool {
	var e *tasker.Error
	if !errors.As(err, &e) {
		return err != nil
	}
	return e.Code == tasker.CodeUnavailable || e.Code == tasker.CodeInternal
}
