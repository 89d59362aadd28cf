package deadletter

import (
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// SendKind is the content of a send.
type SendKind string

// The kinds of sends.
const (
	SendLetter  SendKind = "letter"
	SendCopy    SendKind = "copy"    // of a letter, for observers: best-effort
	SendFailure SendKind = "failure" // of a task from an intake
)

// SendState is the state of a send.
type SendState string

// The states of sends. Only a confirmation delivers a send: an unknown outcome is a separate state.
const (
	SendPlanned   SendState = "planned"
	SendInFlight  SendState = "in_flight" // marked; the outcome is not recorded yet
	SendUnknown   SendState = "unknown"   // it may have arrived
	SendDelivered SendState = "delivered" // the broker confirmed it, or it died
	SendRefused   SendState = "refused"   // it has certainly not arrived
)

// Send is a row of the outbox. Tries keep its number, by which a consumer recognises a second copy.
type Send struct {
	Owner                                   task.ID
	Kind                                    SendKind
	No                                      int
	State                                   SendState
	Namespace, Source, Destination, Content string
	MessageID                               string
	Lineage                                 int     // sends of the letters that the letter continues
	About                                   task.ID // the redrive of a letter, zero for a policy; the task of a failure
	Item                                    int
	Turn                                    int64
	Began                                   task.Instant
	At                                      task.Instant
	NextAt                                  task.Instant // the next try; 0: none by itself
	Tries                                   int
	Copies                                  int // tries that may have arrived
	Died                                    int
	Error                                   string
}

const (
	// unknownTries bounds the tries of a send of unknown outcome. Then an operator or the policy decides.
	unknownTries = 6
	// firstUnknown and longestUnknown bound the pause before the next try.
	firstUnknown, longestUnknown = 2 * time.Second, 30 * time.Second
)

// Mark precedes a send.
func (s *Send) Mark(turn int64, now task.Instant) {
	if s.State == SendInFlight { // its node ended without a record
		s.Copies++
	}
	s.State, s.Turn, s.At, s.NextAt = SendInFlight, turn, now, 0
	if s.Tries++; s.Began == 0 {
		s.Began = now
	}
}

// Delivered records a confirmation. again means that an earlier try had no answer.
func (s *Send) Delivered(again bool) {
	s.State, s.NextAt, s.Error = SendDelivered, 0, ""
	if s.Copies++; again {
		s.Copies = max(s.Copies, 2)
	}
	if s.Died > 0 { // of an equal message, perhaps
		s.Copies = s.Died
	}
}

// Arrived records that the destination holds copies from earlier tries.
func (s *Send) Arrived(copies int) {
	s.State, s.NextAt, s.Error = SendDelivered, 0, ""
	s.Copies = max(copies, s.Died)
}

// NoAnswer records a try of unknown outcome. It reports whether the send repeats by itself.
func (s *Send) NoAnswer(why string, now task.Instant) (again bool) {
	s.Copies++
	return s.wait(why, now)
}

// Failed records a try that certainly did not arrive. forGood means that another try cannot succeed. It reports
// whether the send repeats by itself: only if an earlier try may have arrived, which nobody else can settle.
func (s *Send) Failed(why string, forGood bool, now task.Instant) (again bool) {
	if s.Copies == 0 || forGood {
		s.end(why)
		return false
	}
	return s.wait(why, now)
}

func (s *Send) wait(why string, now task.Instant) bool {
	if s.Tries >= unknownTries {
		s.end(why)
		return false
	}
	pause := min(firstUnknown<<min(s.Tries-1, 10), longestUnknown)
	s.State, s.NextAt, s.Error = SendUnknown, now.Add(pause), failure.Cut(why, MaxCause)
	return true
}

// NotTried records that the send's turn did not come: the try does not count.
func (s *Send) NotTried(why string, until task.Instant) {
	s.Tries--
	s.State, s.NextAt, s.Error = SendRefused, 0, failure.Cut(why, MaxCause)
	if s.Copies > 0 {
		s.State, s.NextAt = SendUnknown, until
	}
}

// GiveUp ends the tries of a send of unknown outcome.
func (s *Send) GiveUp(why string) {
	if s.State == SendInFlight {
		s.Copies++
	}
	s.end(why)
}

func (s *Send) end(why string) {
	s.State, s.NextAt, s.Error = SendRefused, 0, failure.Cut(why, MaxCause)
	if s.Copies > 0 {
		s.State = SendUnknown
	}
}

// Open reports whether a message that matches by content alone may be a death of the send: each send is consumed
// once.
func (s *Send) Open() bool {
	return s.Kind == SendLetter && s.State != SendRefused && s.State != SendPlanned && s.Died == 0
}

// Dies records a death of the send's message. proved: the message had arrived; a match by content alone may be
// another message, so the outcome of a send in flight stays open. named: the message names the send. After an unnamed
// death a named one is no second copy: it may be the first. second: an earlier death consumed the send; this is
// another copy.
func (s *Send) Dies(proved, named bool) (second bool) {
	if s.State == SendInFlight && !proved {
		s.Died++
		return false
	}
	if s.State == SendInFlight { // nothing else counts the current try
		s.Copies++
	}
	if s.State != SendDelivered {
		s.State, s.NextAt, s.Error = SendDelivered, 0, ""
		s.Copies = max(s.Copies, 1)
	}
	if s.Died++; !named {
		s.Copies = s.Died
	}
	return s.Died > 1
}

// Again reports whether a letter's next send has the destination and content of this one of unknown outcome, and so
// takes its number.
func (s *Send) Again(destination, content string) bool {
	return s.Destination == destination && s.Content == content
}

// Lands reports whether a message taken from origin can come from a send to destination. An unknown origin, and a
// destination that names no queue, match everything.
func Lands(destination, origin string) bool {
	if origin == "" || destination == origin {
		return true
	}
	if strings.HasPrefix(destination, "exchange:") || strings.Contains(destination, "://") {
		return true // the broker or the server decides the queue
	}
	topic, _, part := strings.Cut(destination, "#") // a partition of a topic
	return part && topic == origin
}

// The headers of a message that is sent back, which name the send when it dies again.
const (
	HeaderLetter  = "tasker-letter"
	HeaderRedrive = "tasker-redrive"
	HeaderReplays = "tasker-replays" // number of the send, in decimal; tries keep it
)

// Headers for consumers that expect those of event platforms.
const (
	HeaderRetryCount     = "dlq_retry_count"
	HeaderOriginalError  = "dlq_original_error"  // the error of the letter, cut to 1 KiB
	HeaderRetryTimestamp = "dlq_retry_timestamp" // when it was sent back: RFC 3339 with microseconds
)
