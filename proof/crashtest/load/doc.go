// Package load has the callers of crash tests: producers that are also operators, workers, and zombies that report
// under old tokens.
//
// They continue while servers and databases fail. A lost answer is not a fault: they test for Lost, wait with Retry,
// and try again like a real caller. A wrong refusal ends them with an error. Everything else is judged by
// [crashtest.Check].
package load

import (
	"context"
	"errors"

	"github.com/taskerhq/tasker"
)

// Retry blocks until another call makes sense after a lost answer with err. Its error ends the caller.
type Retry func(ctx context.Context, err error) error

// Lost reports whether an error leaves the outcome open.
func Lost(err error) bool {
	var e *tasker.Error
	if !errors.As(err, &e) {
		return err != nil
	}
	return e.Code == tasker.CodeUnavailable || e.Code == tasker.CodeInternal
}
