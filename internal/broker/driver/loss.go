package driver

import (
	"errors"
	"fmt"
	"strings"
)

// Loss is a range of messages that were gone from a broker before they were received.
type Loss struct {
	Where    string // the queue or partition
	From, To int64  // the first position that is gone, and the first after it
	Why      string
}

// Messages returns how many positions there were; some of them may not have been messages.
func (l Loss) Messages() int64 { return max(l.To-l.From, 0) }

// LossError is the error of a Receive that finds out that messages are gone. It is returned once: a receiver that is
// opened after it goes on behind the gap.
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
