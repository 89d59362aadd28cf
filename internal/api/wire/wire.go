package wire

import (
	"errors"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// Limits of one request with the items of several callers.
const (
	MaxItems = 500     // half of the server's default limit
	MaxBytes = 2 << 20 // of the payload; well below the server's limit of a body
)

// ErrTooLong marks a response over the limit of the client.
var ErrTooLong = errors.New("answer over the limit of the client")

// RefusedWhole reports whether the server refused a whole batch, perhaps because of a single item. A response
// too long to read is no refusal: its acts have happened.
func RefusedWhole(err error) bool {
	if errors.Is(err, ErrTooLong) {
		return false
	}
	switch tasker.ErrorCode(err) {
	case tasker.CodeInvalid, tasker.CodeTooLarge:
		return true
	}
	return false
}

// Unanswered reports whether the request failed without an answer of the server. Everything
// that the server said is an *Error; everything else comes from the transport.
func Unanswered(err error) bool {
	var spoke *tasker.Error
	return !errors.As(err, &spoke)
}

// SameLength refuses a response with another number of items than the request, which would
// credit answers to the wrong items.
func SameLength(verb string, asked, answered int) error {
	if asked == answered {
		return nil
	}
	return tasker.Errorf(tasker.CodeInternal, "%s: the server answered %d of %d items", verb, answered, asked)
}

// ResultWeight estimates the bytes of a result in a request.
func ResultWeight(r *protocol.StepResult) int {
	w := len(r.Result) + len(r.Log) + 128
	if r.Error != nil {
		w += len(r.Error.Message) + len(r.Error.Stack) + len(r.Error.ResponseBody) + len(r.Error.Details)
	}
	return w
}
