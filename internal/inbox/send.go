package inbox

import (
	"context"
	"errors"

	"github.com/taskerhq/tasker/internal/deadletter"
)

// Outgoing is one letter to send. Content is what is sent; Letter is for what a broker needs beyond it, such as its ID.
type Outgoing struct {
	Letter  *deadletter.Letter
	Content deadletter.Content // with the headers of its lineage
	Copy    bool               // it is a copy for those who watch, besides the send of the letter
}

// Sender sends letters to destinations of one kind of broker. It is safe for concurrent use.
type Sender interface {
	// Exists reports whether a destination exists.
	Exists(ctx context.Context, source *deadletter.Source, destination string) (bool, error)
	// Send sends letters in order and returns an error for each; nil confirms that the broker has it, and so does
	// ErrRepeated. ErrUncertain reports one that the broker may have, and ErrNotTried one that it was not asked to take.
	// After any other error the broker does not have it.
	//
	// The deadline of ctx ends the turn: no letter is begun after it. Send then waits for those that were begun, each of
	// which has its own time. When ctx is cancelled, it gives up at once.
	Send(ctx context.Context, source *deadletter.Source, destination string, letters []Outgoing) []error
}

// ErrUncertain reports a send whose outcome is not known: the connection broke after the message was written and before
// the broker confirmed it. Test with errors.Is.
var ErrUncertain = errors.New("the outcome of the send is not known")

// ErrRepeated reports a letter that the broker has. Test with errors.Is.
var ErrRepeated = errors.New("delivered; a try before had no answer, so it may be there twice")

// ErrNotTried reports a letter that was not sent because the destination is down or slow: its circuit breaker is open,
// the turn of the letter did not come, or an earlier letter of its key was not sent. It says nothing against the
// letter. Test with errors.Is.
var ErrNotTried = errors.New("not tried")
