// Package driver is the seam between brokers and the code that is the same for all of them. A driver is small and dumb:
// it neither retries, reconnects, waits, batches nor logs; package broker does. A new broker is one package beside this
// one that implements [Driver] and [Receiver], and passes the suite in package brokertest.
//
// Begin with driver.go; errors.go lists the errors that a driver classifies its own by.
package driver

import (
	"cmp"
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// BatchBytes is about how many bytes of payload a Receive returns, and a Send gets, at most.
const BatchBytes = 16 << 20

// MessageTime bounds the way of a message to its broker, and of the answer. A batch has no limit.
const MessageTime = 15 * time.Second

// Limits bound a Send.
type Limits struct {
	// Until ends the turn of the caller: no message is begun after it. The zero time: it does not end.
	Until time.Time
	// Each bounds each message that was begun, also beyond Until. Defaults to MessageTime.
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

// Message is a message as its broker holds it. Key, header values and payload are any bytes, NUL included. Nobody
// changes the bytes of a message that was received.
type Message struct {
	// Position identifies the message on its broker, the same at every delivery: queue, partition and offset, or the ID
	// of an entry; "" where there is none. Where the driver has made it, a message that was given back may have another
	// one, unless somebody has tried to acknowledge it.
	Position string
	Key      []byte // nil: none
	Headers  []deadletter.Header
	Payload  []byte
	// Time is when the broker, or else the sender, says that it was sent; zero for unknown.
	Time time.Time
	// Origin is the queue, topic or stream that it was received from.
	Origin string
	// MessageID is the sender's identifier; "" for none. Where a broker has no field for it, a driver leaves it empty.
	MessageID string
	// SendID identifies a send of the message, through all its tries; "" for none. A driver that can remember it adds
	// nothing the second time, and says so with ErrRepeatable if the outcome of a try is not known. It is not sent.
	SendID string
	// Redelivered: the broker says that it has delivered the message before.
	Redelivered bool
	// Receiver identifies who received it, to tell repetitions from new messages. Package broker sets it.
	Receiver string
	// Deliveries counts earlier deliveries where the broker drops a message after too many; else 0.
	Deliveries int
	// Log is where a log has the message, To being the offset behind it; zero if its broker keeps no log.
	Log LogPart
	// Receipt is how the driver finds the delivery again at Ack and Release; nobody else reads it.
	Receipt any
}

// Size returns about how many bytes a message has.
func (m *Message) Size() int {
	return (&deadletter.Content{Key: m.Key, Headers: m.Headers, Payload: m.Payload}).Size()
}

// Driver is a connection to a broker. Its methods may be called concurrently. A context bounds its call only: what the
// call returns outlives it. An error that wraps ErrLost means that the connection is of no more use: the caller closes
// it and opens another one. A driver embeds Basic for what its broker cannot do.
type Driver interface {
	// Open begins to receive from a queue. It fails with ErrNotFound if the queue does not exist: it never creates one.
	Open(ctx context.Context, queue string) (Receiver, error)
	// Send sends messages to a target, in their order; it uses their Key, Headers, Payload, MessageID, SendID and, where
	// the broker keeps it, Time. It returns one error for each message, or nil if all are confirmed: the broker holds the
	// message as durably as the target is configured to. See errors.go for what an error says.
	//
	// No message is begun once the turn is over; those fail with ErrUntried. Every message that was begun has the full
	// time of a message, whatever the others need. When ctx ends, Send gives up at once: what was begun is uncertain.
	//
	// If a message is not sent, the driver sends no later message of the same key in the call, where it can help it; those
	// fail with ErrBehind. A message that is refused for good does not hold back others.
	Send(ctx context.Context, target string, messages []Message, limits Limits) []error
	// Stat reports whether a queue exists, and how many messages wait in it; -1 where the broker does not say.
	// Messages that were received and not acknowledged count, unless only their receivers know them; see Held.
	Stat(ctx context.Context, queue string) (exists bool, depth int64, err error)
	// Peek returns up to max messages at the front of a queue. They stay as they are. It fails with ErrNoPeek where the
	// broker shows no message without delivering it.
	Peek(ctx context.Context, queue string, max int) ([]Message, error)
	// Lag returns the parts of a queue in their order; nil where it has none that are read at their own pace.
	Lag(ctx context.Context, queue string) ([]PartitionLag, error)
	// LogParts and ReadLog read a log: what queues keep of messages that were received, under offsets that never change.
	// That changes nothing on the broker, and no reader's position. They fail with ErrNoLog where there is none.
	//
	// LogParts returns what the parts of a queue hold now, in their order: from the first message that is as new as
	// since, up to the first one that is as new as before. A zero time is no bound.
	LogParts(ctx context.Context, queue string, since, before time.Time) ([]LogPart, error)
	// ReadLog returns the first messages of a part, up to max and about BatchBytes of them, and the offset to go on from:
	// that of the end of the part once all is read. A *LossError says that the first messages are gone; next is behind
	// them then.
	ReadLog(ctx context.Context, queue string, part LogPart, max int) (entries []Entry, next int64, err error)
	// Close ends the connection and its receivers. The broker keeps what was not acknowledged. It may be repeated.
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

// Receiver receives from one queue. One goroutine at a time calls its methods, but for Held and Close, which may be
// called at any time. Any number of receivers, of any process, may receive from a queue; each message goes to one of
// them at a time. A receiver embeds BasicReceiver for what it need not do.
type Receiver interface {
	// Receive blocks until there is at least one message, and returns up to max and about BatchBytes of them, the oldest
	// first. When ctx ends it returns the error of ctx. No message is lost by that: it is returned by a later call, or
	// stays on the broker.
	Receive(ctx context.Context, max int) ([]Message, error)
	// Ack removes messages that this receiver received from the queue, for good, once it returns nil. A repeated Ack of a
	// message does nothing.
	Ack(ctx context.Context, messages []Message) error
	// Release gives messages back, to their places at the front of the queue where the broker can do so. Where it can only
	// give back by closing, Release does nothing and Close gives back.
	Release(ctx context.Context, messages []Message) error
	// Keep says that messages may have been stored although that failed, where one that is given back can lose its
	// position. Release and Close do not give them back: they come again, to this receiver or another one, with the same
	// positions.
	Keep(messages []Message)
	// Leave lets the receiver go on behind messages that stay on the broker, if one that is neither acknowledged nor given
	// back is in the way of others. again: the next receiver gets them, or returns them from Return.
	Leave(ctx context.Context, messages []Message) (again bool, err error)
	// Return gives back what Leave has put aside on the broker and has up to most bytes. It returns the rest.
	Return(ctx context.Context, most int) ([]Left, error)
	// Held returns how many messages have come from the broker and are not acknowledged, those that Receive has not
	// returned yet included; -1 if Stat counts them.
	Held() int64
	// Close gives back what was not acknowledged. A second call does nothing.
	Close() error
}

// BasicReceiver is a receiver whose messages keep their positions, do not stand in the way of others, and come again
// once it closes; Stat counts what it holds.
type BasicReceiver struct{}

// Keep does nothing.
func (BasicReceiver) Keep([]Message) {}

// Leave leaves the messages with the receiver.
func (BasicReceiver) Leave(context.Context, []Message) (again bool, err error) { return true, nil }

// Return returns nothing.
func (BasicReceiver) Return(context.Context, int) ([]Left, error) { return nil, nil }

// Held returns -1.
func (BasicReceiver) Held() int64 { return -1 }

// Left is a message that stays on its broker, because it is larger than its reader takes.
type Left struct {
	Message     // of one that Return leaves where it is, the position only
	Bytes   int // its size
}

// PartitionLag is how far a group is behind in a part of a queue.
type PartitionLag struct {
	Partition int32
	Committed int64 // the position up to which all is acknowledged; -1: nothing is yet, or there are no positions
	End       int64 // the position behind the last message; -1: there are no positions
	Lag       int64 // messages that wait
}

// LogPart is a range of a part of a log: from an offset up to another one, which is not included.
type LogPart struct {
	Partition int32
	From, To  int64
}

// Entry is a message of a log.
type Entry struct {
	Offset int64
	Message
}
