package redisqueue

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/model/attempt"
)

// Permanent marks an error as one that another attempt would meet again: the job is not repeated. It returns nil for
// nil. The mark changes neither the text nor what errors.Is and errors.As find.
func Permanent(err error) error { return attempt.Permanent(err) }

// HTTPError is an answer of a server that a handler called. A dead letter has its status and the beginning of its body.
type HTTPError struct {
	Status int    // such as 503
	Body   string // of the answer; as much as may be stored
	Err    error  // what it means; nil says the status in words
}

// Error returns the text of Err, or the status in words.
func (e *HTTPError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return strings.TrimSpace(fmt.Sprintf("HTTP status %d %s", e.Status, http.StatusText(e.Status)))
}

// Unwrap returns Err.
func (e *HTTPError) Unwrap() error { return e.Err }

// again are the statuses below 500 after which a repetition may help.
var again = []int{http.StatusRequestTimeout, http.StatusConflict, http.StatusLocked, http.StatusTooEarly,
	http.StatusTooManyRequests}

// Retryable reports whether another attempt may help: not after a status from 400 to 499, except those that ask to come
// again (408, 409, 423, 425, 429).
func (e *HTTPError) Retryable() bool {
	return e.Status < 400 || e.Status > 499 || slices.Contains(again, e.Status)
}

// Stacked is what an error implements that knows the stack on which it arose. A dead letter has its beginning.
type Stacked interface{ Stack() string }

// IsPermanent reports whether an error rules another attempt out: it is marked with Permanent; or its method
// Retryable() bool, such as that of HTTPError, says so; or it has a method Class() string that says "logic". The first
// of these in the chain of err that says anything decides. Everything else is worth another attempt.
func IsPermanent(err error) bool { return attempt.IsPermanent(err) }
