package driver

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The errors that a driver wraps. An error of Send that wraps none of them means that the broker has certainly not
// stored the message, and that a later try may succeed. An error of the context counts as ErrUncertain.
var (
	// ErrNotFound: the queue or the destination does not exist. Permanent.
	ErrNotFound = errors.New("no such queue")
	// ErrTooLarge: the message exceeds the broker's limit. Permanent.
	ErrTooLarge = errors.New("message too large")
	// ErrRefused: another refusal, such as a missing permission. Permanent.
	ErrRefused = errors.New("message refused")
	// ErrUncertain: the message was written without an answer, and may have been stored.
	ErrUncertain = errors.New("no answer after the message was written")
	// ErrRepeatable wraps ErrUncertain: the broker remembers the SendID, so another try is safe.
	ErrRepeatable = fmt.Errorf("it can be sent again: %w", ErrUncertain)
	// ErrUntried: the message was not begun, because its turn did not come; the message is not at fault.
	ErrUntried = errors.New("there was no time left to send it")
	// ErrBehind: not tried, as an earlier message of the same key was not sent.
	ErrBehind = errors.New("an earlier message of the same key was not sent")
	// ErrLost: the connection is lost.
	ErrLost = errors.New("connection lost")
	// ErrNoLog: this kind of broker keeps no received messages. Permanent.
	ErrNoLog = errors.New("the broker keeps no messages that were received")
	// ErrNoPeek: this kind of broker shows no message without delivering it. Permanent.
	ErrNoPeek = errors.New("the broker shows no messages without delivering them")
	// ErrClosed: the driver or the receiver was closed.
	ErrClosed = errors.New("closed")
)

// Permanent reports whether a retry after err cannot succeed.
func Permanent(err error) bool {
	return errors.Is(err, ErrNotFound) || errors.Is(err, ErrTooLarge) || errors.Is(err, ErrRefused)
}

// Fail returns n times err, for a Send that failed as a whole.
func Fail(n int, err error) []error { return slices.Repeat([]error{err}, n) }

// Loss is a range of messages that were gone from a broker before they were received.
type Loss struct {
	Where    string
	From, To int64 // the first missing position, and the next one
	Why      string
}

// Messages returns the number of positions, some of which may have had no message.
func (l Loss) Messages() int64 { return max(l.To-l.From, 0) }

// LossError is the error of a Receive that misses messages. The next receiver continues behind the gap.
type LossError struct{ Losses []Loss }

// Error names the lost range.
func (e *LossError) Error() string {
	var parts []string
	for _, l := range e.Losses {
		parts = append(parts, fmt.Sprintf("up to %d messages of %s were LOST before they were read, offsets %d to %d: %s",
			l.Messages(), l.Where, l.From, l.To-1, l.Why))
	}
	return strings.Join(parts, "; ")
}

// Lost returns the number of lost messages in an error; 0 for other errors.
func Lost(err error) int64 {
	var of *LossError
	if !errors.As(err, &of) {
		return 0
	}
	n := int64(0)
	for _, l := range of.Losses {
		n += l.Messages()
	}
	return n
}
