package redisqueue

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/model/attempt"
)

// Permanent marks an error as permanent: the job is not repeated. It returns nil for nil. The mark changes neither the
// text nor the results of errors.Is and errors.As.
func Permanent(err error) error { return attempt.Permanent(err) }

// HTTPError is an answer of a server that a handler called. A dead letter has its status and the beginning of its body.
type HTTPError struct {
	Status int    // such as 503
	Body   string // as much as may be stored
	Err    error  // its meaning; nil: the status in words
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

// statuses below 500 after which a repetition may help
var again = []int{http.StatusRequestTimeout, http.StatusConflict, http.StatusLocked, http.StatusTooEarly,
	http.StatusTooManyRequests}

// Retryable reports whether another attempt may help: not after a status from 400 to 499, except 408, 409, 423, 425 and
// 429.
func (e *HTTPError) Retryable() bool {
	return e.Status < 400 || e.Status > 499 || slices.Contains(again, e.Status)
}

// Stacked is an error with the stack on which it arose. A dead letter has its beginning.
type Stacked interface{ Stack() string }

// IsPermanent reports whether an error rules out another attempt: it is marked with Permanent; or its method
// Retryable() bool, such as that of HTTPError, says so; or it has a method Class() string that returns "logic". The
// first of these in the chain of err decides. Any other error allows another attempt.
func IsPermanent(err error) bool { return attempt.IsPermanent(err) }
