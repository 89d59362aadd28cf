// Package seam is the seam between the inbox and the brokers of its sources: what arrives from them, what is sent to
// them, and the outcomes of both. Package carrier implements it.
package seam

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Carrier connects the inbox with brokers of one driver. It is safe for concurrent use. Package carrier implements it.
type Carrier interface {
	Sender
	// Depth returns how many messages of a source are not captured; -1 where the broker does not count, 0 for a missing
	// queue. Messages that another node has taken and not stored count if the broker counts them. Errors may wrap
	// ErrRefused.
	Depth(ctx context.Context, source *deadletter.Source) (int64, error)
	// OnTheWay reports whether messages may be between broker and node, where Depth briefly misses them.
	OnTheWay(source *deadletter.Source) bool
	Lag(ctx context.Context, source *deadletter.Source) (map[int32]int64, error)
	// "" for a source whose letters go to hosts
	Breaker(source *deadletter.Source) task.BreakerState
	// Read receives messages of a source and acknowledges stored ones. It reconnects after errors, and blocks until ctx
	// ends.
	//
	// capture prepares a batch and returns its store function. A batch may be prepared while the one before is stored;
	// batches are stored one at a time, in order. After an error the broker delivers the messages again. report gets
	// errors, and nil when the source answers again. ErrBlocked: messages cannot be stored now.
	Read(ctx context.Context, source *deadletter.Source, of ReadOptions,
		capture func([]Arrival) (store func(context.Context) error), report func(error))
	// Peek returns up to max messages at the front of a source, and leaves them there. ErrNoPeek: this kind of broker
	// cannot do that.
	Peek(ctx context.Context, source *deadletter.Source, max int) ([]Arrival, error)
	LogReader
}

// ReadOptions configure Carrier.Read.
type ReadOptions struct {
	Batch int // messages captured at a time; 0 is a default
	// MaxBytes bounds a captured message. A larger one stays on its broker, and those behind it are captured once Left
	// returns nil. Left may get a message again.
	MaxBytes int
	Left     func(ctx context.Context, messages []deadletter.Oversized) error
}

// Sender sends letters to destinations of one kind of broker. It is safe for concurrent use.
type Sender interface {
	Exists(ctx context.Context, source *deadletter.Source, destination string) (bool, error)
	// Send sends messages in order and returns an error for each. nil and ErrRepeated confirm that the broker has it.
	// ErrUnknown: the broker may have it. ErrNotTried: it was not begun. Any other error is a refusal: the broker
	// certainly does not have it; with ErrForGood another try cannot succeed.
	//
	// Send begins no message after the deadline of ctx; those begun have their own time-out. Send abandons them when
	// ctx is cancelled.
	Send(ctx context.Context, source *deadletter.Source, destination string, letters []Outgoing) []error
}

// Outgoing is one message to send.
type Outgoing struct {
	// Letter is for what a broker needs beyond the content, such as the message ID. For a failure it has only the ID.
	Letter  *deadletter.Letter
	Content deadletter.Content
	SendID  string
}

// LogReader reads topics again, where a broker keeps received messages. It changes nothing there.
type LogReader interface {
	// LogParts returns the ranges of a topic's parts: from the first message at or after since, up to the first at or
	// after before. A zero time is no bound.
	LogParts(ctx context.Context, source *deadletter.Source, topic string, since, before time.Time) (
		[]model.ReplayPart, error)
	// ReadLog returns up to max messages of a part from its Next on, and the next offset. A *GoneError: they were
	// deleted, up to next. ErrNoLog: this kind of broker keeps nothing. ErrForGood: a retry is in vain.
	ReadLog(ctx context.Context, source *deadletter.Source, topic string, part model.ReplayPart, max int) (
		list []LogEntry, next int64, err error)
}

// LogEntry is a message of a topic, with the broker's key and headers.
type LogEntry struct {
	Offset  int64
	At      task.Instant // 0: unknown
	Key     []byte
	Headers []deadletter.Header
	Size    int
	Arrival func() Arrival
}

// Report is a failure that a program reports.
type Report struct {
	// MessageID is the program's identifier of the message. A report that equals an earlier one of its source, with the
	// same identifier, changes nothing. Without an identifier it is always new.
	MessageID string
	// Origin is where the consumer took the message from; "" if unknown. For a report over HTTP it is a claim: letters
	// are only sent there if the source lists it as a target.
	Origin   string
	Handler  string
	Content  deadletter.Content // as the consumer got it
	Failure  failure.Report     // cut with a mark at its capture, as is Stack
	Stack    string
	Details  []deadletter.Detail
	Attempts int          // of the consumer; 0: unknown
	FailedAt task.Instant // 0: now
	FirstAt  task.Instant // of the first failure; 0, or a later time: FailedAt
	Letter   task.ID      // from its header tasker-letter; zero for none
}

// Arrival is a decoded message that died, or a report of a program.
type Arrival struct {
	Report
	Format    string
	Position  string // on its broker; "" for none
	Replays   int    // number of the send that died, from its header tasker-replays; 0 for none
	Undecoded string // why it could not be decoded; "" if it was
	// Receiver identifies the receiver. After an acknowledgement, its next message is no repetition. "" for a report.
	Receiver string
	// Redelivered: the broker claims an earlier delivery.
	Redelivered bool
	// Reread: read again from a topic in which messages do not die, so it is no return of a letter.
	Reread bool
}

// ErrNoPeek means: messages cannot be shown without taking them.
var ErrNoPeek = errors.New("the broker shows no messages without delivering them")

// GoneError reports messages that a broker deleted before they were read, once. Reading continues.
type GoneError struct {
	Messages int64 // at most
	Why      string
}

// Error implements error.
func (e *GoneError) Error() string { return "messages are gone: " + e.Why }

// IsGone reports whether an error is a *GoneError.
func IsGone(err error) bool {
	_, ok := errors.AsType[*GoneError](err)
	return ok
}

// ErrBlocked means: reading stops although the broker answers.
var ErrBlocked = errors.New("messages of the source cannot be captured now")

// ErrPartly is wrapped by the error of a batch of which some parts are stored.
var ErrPartly = errors.New("a part of the batch is stored")

// ErrRefused means: the broker answers and refuses, so retries fail until its permissions or the source change.
var ErrRefused = errors.New("the broker refuses")

// The outcomes of a send. Test with errors.Is.
var (
	// ErrUnknown: the message was written without an answer, and may have arrived.
	ErrUnknown = errors.New("the outcome of the send is not known")
	// ErrRepeated: confirmed after a try without an answer; it may be there twice.
	ErrRepeated = errors.New("it is confirmed after a try without an answer")
	// ErrNotTried: not begun, because its destination is down or slow; the message is not at fault.
	ErrNotTried = errors.New("not tried")
)

var (
	// ErrNoLog means: the broker keeps nothing to read again.
	ErrNoLog = errors.New("the broker keeps no messages that were received")
	// ErrForGood means: no retry succeeds.
	ErrForGood = errors.New("it cannot be read")
)

// Carriers are carriers by driver names.
type Carriers map[string]Carrier

// Of returns the carrier of a source, or nil.
func (c Carriers) Of(s *deadletter.Source) Carrier {
	if s.Driver == deadletter.DriverHTTP {
		return nil
	}
	return c[s.Driver]
}

// Waiting counts the messages of a source on its broker; 0 where the broker does not count or the queue does not exist,
// and for reports. Unavailable: the broker does not answer. Conflict: it refuses.
func (c Carriers) Waiting(ctx context.Context, s *deadletter.Source) (int64, error) {
	carrier := c.Of(s)
	if carrier == nil {
		return 0, nil
	}
	n, err := carrier.Depth(ctx, s)
	if err != nil {
		code := task.Unavailable
		if errors.Is(err, ErrRefused) {
			code = task.Conflict
		}
		return 0, &task.Error{Code: code, Message: Unasked(s, err), Err: err, Hint: "see tasker source test " + s.Name}
	}
	return max(n, 0), nil
}

// Unasked says that the broker of a source cannot be asked.
func Unasked(s *deadletter.Source, err error) string {
	return fmt.Sprintf("the broker of the source %s cannot be asked: %s", s.Name, desk.ItemMessage(err))
}

// LevelTime bounds the time of a broker that is asked for a count.
const LevelTime = 2 * time.Second
