package driver

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The errors that a driver wraps, so that the code above it knows what happened. An error of Send that wraps none of
// them means that the broker has certainly not stored the message, and that a later try may succeed. An error of the
// context counts as ErrUncertain.
var (
	// ErrNotFound: the queue or the destination does not exist. For good.
	ErrNotFound = errors.New("no such queue")
	// ErrTooLarge: the broker does not take a message of that size. For good.
	ErrTooLarge = errors.New("message too large")
	// ErrRefused: the broker does not take the message for another reason, such as missing permission. For good.
	ErrRefused = errors.New("message refused")
	// ErrUncertain: the message was written, no answer says whether it was stored, and it may have been.
	ErrUncertain = errors.New("no answer after the message was written")
	// ErrRepeatable wraps ErrUncertain: the broker remembers the SendID, so another try is safe.
	ErrRepeatable = fmt.Errorf("it can be sent again: %w", ErrUncertain)
	// ErrUntried: the message was not begun, because its turn did not come. It says nothing against the message.
	ErrUntried = errors.New("there was no time left to send it")
	// ErrBehind: an earlier message of the same key was not sent, therefore this one was not tried.
	ErrBehind = errors.New("an earlier message of the same key was not sent")
	// ErrLost: the connection is lost.
	ErrLost = errors.New("connection lost")
	// ErrNoLog: brokers of that kind keep no messages that were received. For good.
	ErrNoLog = errors.New("the broker keeps no messages that were received")
	// ErrNoPeek: brokers of that kind show no messages without delivering them. For good.
	ErrNoPeek = errors.New("the broker shows no messages without delivering them")
	// ErrClosed: the driver or the receiver was closed.
	ErrClosed = errors.New("closed")
)

// Permanent reports whether a retry of what failed with err cannot succeed.
func Permanent(err error) bool {
	return errors.Is(err, ErrNotFound) || errors.Is(err, ErrTooLarge) || errors.Is(err, ErrRefused)
}

// Fail returns n times err: the answer of a Send that failed as a whole.
func Fail(n int, err error) []error { return slices.Repeat([]error{err}, n) }

// Loss is a range of messages that were gone from a broker before they were received.
type Loss struct {
	Where    string // the queue or partition
	From, To int64  // the first position that is gone, and the first after it
	Why      string
}

// Messages returns how many positions there were, some of which may have had no message.
func (l Loss) Messages() int64 { return max(l.To-l.From, 0) }

// LossError is the error of a Receive that misses messages. The next receiver goes on behind the gap.
type LossError struct{ Losses []Loss }

// Error says what is lost.
func (e *LossError) Error() string {
	var parts []string
	for _, l := range e.Losses {
		parts = append(parts, fmt.Sprintf("up to %d messages of %s were LOST before they were read, offsets %d to %d: %s",
			l.Messages(), l.Where, l.From, l.To-1, l.Why))
	}
	return strings.Join(parts, "; ")
}

// Lost returns how many messages an error says are lost; 0 if it says nothing of that.
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
