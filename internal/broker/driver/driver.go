// Package driver is the seam between brokers and their common code. A driver neither retries, reconnects, waits,
// batches nor logs; package broker does. A new broker is one package beside this one that implements [Driver] and
// [Receiver], and passes the suite in package brokertest.
//
// Begin with driver.go; errors.go lists the errors by which a driver classifies its own.
package driver

import (
	"cmp"
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// BatchBytes is about how many bytes of payload a Receive returns, and a Send gets, at most.
const BatchBytes = 16 << 20

// MessageTime bounds a message's way to its broker, with the answer. A batch has no limit.
const MessageTime = 15 * time.Second

// Limits bound a Send.
type Limits struct {
	// Until ends the turn of the caller: no message is begun after it, unless it is zero.
	Until time.Time
	// Each bounds each message that was begun, even beyond Until. Defaults to MessageTime.
	Each time.Duration
}

// Over reports whether the turn has ended.
func (l Limits) Over() bool { return !l.Until.IsZero() && !time.Now().Before(l.Until) }

// Time returns how long a message may take.
func (l Limits) Time() time.Duration { return cmp.Or(l.Each, MessageTime) }

// Message returns a context for a message that begins now.
func (l Limits) Message(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, l.Time())
}

// Message is a message as its broker holds it. Key, header values and payload are any bytes, NUL included. The bytes of
// a received message must not be changed.
type Message struct {
	// Position identifies the message on its broker, the same at every delivery: queue, partition and offset, or the ID
	// of an entry; "" for none. If the driver makes it, a message that was given back may get another one, unless
	// somebody has tried to acknowledge it.
	Position string
	Key      []byte // nil: none
	Headers  []deadletter.Header
	Payload  []byte
	// Time is the broker's, or else the sender's, time of the send; zero if unknown.
	Time time.Time
	// Origin is the queue, topic or stream of the message.
	Origin string
	// MessageID is the sender's identifier; "" where there is none, or where a broker has no field for it.
	MessageID string
	// SendID identifies a send through all its tries; "" for none. A driver that can remember it adds nothing the
	// second time, and returns ErrRepeatable for an unknown outcome. It is not sent.
	SendID string
	// Redelivered: the broker claims an earlier delivery.
	Redelivered bool
	// Receiver distinguishes repetitions from new messages. Package broker sets it.
	Receiver string
	// Deliveries counts earlier deliveries where the broker drops a message after too many; else 0.
	Deliveries int
	// Log is the message's place in a log, To being the next offset; zero without a log.
	Log LogPart
	// Receipt is the driver's own reference for Ack and Release.
	Receipt any
}

// Size returns the approximate size of a message in bytes.
func (m *Message) Size() int {
	return (&deadletter.Content{Key: m.Key, Headers: m.Headers, Payload: m.Payload}).Size()
}

// Driver is a connection to a broker. Its methods may be called concurrently. A context bounds only its call: the
// results outlive it. After an error that wraps ErrLost the caller closes it and opens another one. A driver embeds
// Basic for features that its broker lacks.
type Driver interface {
	// Open begins to receive from a queue. It never creates one: ErrNotFound if the queue does not exist.
	Open(ctx context.Context, queue string) (Receiver, error)
	// Send sends messages to a target in order, with Key, Headers, Payload, MessageID, SendID and, where the broker
	// keeps it, Time. It returns one error for each message, or nil if all are confirmed: the broker holds the message
	// as durably as the target is configured to. See errors.go for the errors.
	//
	// After the turn it begins no message: ErrUntried. Each begun message has the full time of a message. When ctx
	// ends, Send returns immediately: begun messages are uncertain.
	//
	// After a message that is not sent, the driver sends no later message of the same key in the call, if it can:
	// ErrBehind. A permanent refusal does not hold back others.
	Send(ctx context.Context, target string, messages []Message, limits Limits) []error
	// Stat reports whether a queue exists, and how many messages wait in it; -1 where the broker does not say. It
	// includes received and unacknowledged messages, unless only their receivers can count them; see Held.
	Stat(ctx context.Context, queue string) (exists bool, depth int64, err error)
	// Peek returns up to max messages at the front of a queue, and changes nothing. ErrNoPeek where the broker shows no
	// message without delivering it.
	Peek(ctx context.Context, queue string, max int) ([]Message, error)
	// Lag returns the parts of a queue in order; nil without parts that are read separately.
	Lag(ctx context.Context, queue string) ([]PartitionLag, error)
	// LogParts and ReadLog read a log: messages that queues keep after their receipt, under permanent offsets. That
	// changes nothing on the broker, nor any reader's position. ErrNoLog: there is none.
	//
	// LogParts returns the ranges of a queue's parts, in order: from the first message at or after since, up to the
	// first one at or after before. A zero time is no bound.
	LogParts(ctx context.Context, queue string, since, before time.Time) ([]LogPart, error)
	// ReadLog returns the first messages of a part, up to max and about BatchBytes, and the next offset, at last that
	// of the end of the part. A *LossError: the first messages are gone, and next is behind them.
	ReadLog(ctx context.Context, queue string, part LogPart, max int) (entries []Entry, next int64, err error)
	// Close ends the connection and its receivers. The broker keeps unacknowledged messages. It may be repeated.
	Close() error
}

// Basic is a driver whose broker has neither peeking, nor parts, nor a log.
type Basic struct{}

// Peek fails.
func (Basic) Peek(context.Context, string, int) ([]Message, error) { return nil, ErrNoPeek }

// Lag returns nothing.
func (Basic) Lag(context.Context, string) ([]PartitionLag, error) { return nil, nil }

// LogParts fails.
func (Basic) LogParts(context.Context, string, time.Time, time.Time) ([]LogPart, error) {
	return nil, ErrNoLog
}

// ReadLog fails.
func (Basic) ReadLog(_ context.Context, _ string, part LogPart, _ int) ([]Entry, int64, error) {
	return nil, part.From, ErrNoLog
}

// Receiver receives from one queue. One goroutine at a time calls its methods, except Held and Close, which may be
// called at any time. Any number of receivers, of any process, may share a queue; each message goes to one at a time. A
// receiver embeds BasicReceiver for optional methods.
type Receiver interface {
	// Receive blocks until there is a message, and returns up to max and about BatchBytes of them, the oldest first.
	// When ctx ends it returns its error. That loses no message: a later call returns it, or it stays on the broker.
	Receive(ctx context.Context, max int) ([]Message, error)
	// Ack removes this receiver's messages from the queue for good, once it returns nil. A repetition does nothing.
	Ack(ctx context.Context, messages []Message) error
	// Release gives messages back, to their places at the front of the queue if the broker can. If only closing can
	// give back, Release does nothing.
	Release(ctx context.Context, messages []Message) error
	// Keep marks messages that may have been stored although that failed, where one that is given back can lose its
	// position. Release and Close do not give them back: they come again, to any receiver, with the same positions.
	Keep(messages []Message)
	// Leave moves on behind messages that stay on the broker, if unacknowledged ones block others. again: the next
	// receiver gets them, or returns them from Return.
	Leave(ctx context.Context, messages []Message) (again bool, err error)
	// Return gives back what Leave has put aside and has up to most bytes. It returns the rest.
	Return(ctx context.Context, most int) ([]Left, error)
	// Held counts messages that have come from the broker and are not acknowledged, including those not yet received;
	// -1 if Stat counts them.
	Held() int64
	// Close gives back unacknowledged messages. A second call does nothing.
	Close() error
}

// BasicReceiver is a receiver whose messages keep their positions, block no others, and come again once it closes; Stat
// counts held messages.
type BasicReceiver struct{}

// Keep does nothing.
func (BasicReceiver) Keep([]Message) {}

// Leave leaves the messages with the receiver.
func (BasicReceiver) Leave(context.Context, []Message) (again bool, err error) { return true, nil }

// Return returns nothing.
func (BasicReceiver) Return(context.Context, int) ([]Left, error) { return nil, nil }

// Held returns -1.
func (BasicReceiver) Held() int64 { return -1 }

// Left is a message that stays on its broker, because it exceeds the reader's bound.
type Left struct {
	Message // only its position if Return leaves it
	Bytes   int
}

// PartitionLag is how far a group is behind in a part of a queue.
type PartitionLag struct {
	Partition int32
	Committed int64 // position up to which all is acknowledged; -1: nothing yet, or no positions
	End       int64 // position behind the last message; -1: no positions
	Lag       int64
}

// LogPart is a range of a part of a log, without its end.
type LogPart struct {
	Partition int32
	From, To  int64
}

// Entry is a message of a log.
type Entry struct {
	Offset int64
	Message
}
