package deadletter

import (
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// SendKind is what a send carries.
type SendKind string

// The kinds of sends.
const (
	SendLetter  SendKind = "letter"
	SendCopy    SendKind = "copy"    // of a letter, for those who watch: best-effort
	SendFailure SendKind = "failure" // of a task that an intake has made
)

// SendState is the state of a send.
type SendState string

// The states of sends. Only a confirmation makes a send delivered: an unknown outcome is a state, and no success.
const (
	SendPlanned   SendState = "planned"
	SendInFlight  SendState = "in_flight" // marked; its node has not recorded the outcome yet
	SendUnknown   SendState = "unknown"   // it may have arrived, or not
	SendDelivered SendState = "delivered" // the broker has confirmed it, or it has died
	SendRefused   SendState = "refused"   // it has certainly not arrived
)

// Send is one send: a row of the outbox. Tries keep its number, by which a consumer recognises a second copy.
type Send struct {
	Owner task.ID // the letter, or the failure
	Kind  SendKind
	No    int // from 1
	State SendState
	// Namespace and Source are those of the letter, and Content is the hash of the payload; see Canonical.
	Namespace, Source, Destination, Content string
	MessageID                               string
	Lineage                                 int          // sends of the letters that the letter continues
	About                                   task.ID      // the redrive that sends a letter, zero for a policy; the task of a failure
	Item                                    int          // the number of the redrive's item
	Turn                                    int64        // the turn of the loop that has marked it
	Began                                   task.Instant // when it was marked first, under its number
	At                                      task.Instant
	NextAt                                  task.Instant // when it is tried next; 0: not by itself
	Tries                                   int
	Copies                                  int // tries of which the message may have arrived
	Died                                    int // deaths that consumed it
	Error                                   string
}

const (
	// unknownTries bounds the tries of a send whose outcome stays unknown. Then an operator, or the policy, decides.
	unknownTries = 6
	// firstUnknown and longestUnknown bound the pause before the next try.
	firstUnknown, longestUnknown = 2 * time.Second, 30 * time.Second
)

// Mark records that the send is about to be made.
func (s *Send) Mark(turn int64, now task.Instant) {
	if s.State == SendInFlight { // its node has ended without a record
		s.Copies++
	}
	s.State, s.Turn, s.At, s.NextAt = SendInFlight, turn, now, 0
	if s.Tries++; s.Began == 0 {
		s.Began = now
	}
}

// Delivered records a confirmation. again: a try before had no answer.
func (s *Send) Delivered(again bool) {
	s.State, s.NextAt, s.Error = SendDelivered, 0, ""
	if s.Copies++; again {
		s.Copies = max(s.Copies, 2)
	}
	if s.Died > 0 { // of an equal message, perhaps
		s.Copies = s.Died
	}
}

// Arrived records that the destination holds copies of the message by tries before.
func (s *Send) Arrived(copies int) {
	s.State, s.NextAt, s.Error = SendDelivered, 0, ""
	s.Copies = max(copies, s.Died)
}

// NoAnswer records that the outcome of a try is not known. It reports whether the send is tried again by itself.
func (s *Send) NoAnswer(why string, now task.Instant) (again bool) {
	s.Copies++
	return s.wait(why, now)
}

// Failed records a try that has certainly not arrived. forGood: another try cannot succeed. It reports whether the send
// is tried again by itself: only one that may have arrived by an earlier try is, because nobody else can settle it.
func (s *Send) Failed(why string, forGood bool, now task.Instant) (again bool) {
	if s.Copies == 0 || forGood {
		s.end(why)
		return false
	}
	return s.wait(why, now)
}

// wait makes the send due again, unless it was tried too often.
func (s *Send) wait(why string, now task.Instant) bool {
	if s.Tries >= unknownTries {
		s.end(why)
		return false
	}
	pause := min(firstUnknown<<min(s.Tries-1, 10), longestUnknown)
	s.State, s.NextAt, s.Error = SendUnknown, now.Add(pause), failure.Cut(why, MaxCause)
	return true
}

// NotTried records that the turn of the send did not come: the try does not count.
func (s *Send) NotTried(why string, until task.Instant) {
	s.Tries--
	s.State, s.NextAt, s.Error = SendRefused, 0, failure.Cut(why, MaxCause)
	if s.Copies > 0 {
		s.State, s.NextAt = SendUnknown, until
	}
}

// GiveUp ends the tries of a send whose outcome is not known.
func (s *Send) GiveUp(why string) {
	if s.State == SendInFlight {
		s.Copies++
	}
	s.end(why)
}

// end is the last state of a send that was not confirmed.
func (s *Send) end(why string) {
	s.State, s.NextAt, s.Error = SendRefused, 0, failure.Cut(why, MaxCause)
	if s.Copies > 0 {
		s.State = SendUnknown
	}
}

// Open reports whether a message with nothing but its content may be a death of the send: each send is consumed once.
func (s *Send) Open() bool {
	return s.Kind == SendLetter && s.State != SendRefused && s.State != SendPlanned && s.Died == 0
}

// Dies records that the message of the send has died. If that is proved, it had arrived; a message that has only the
// content may be another one, so a send in flight has its outcome to come. named: the message names the send. After one
// that does not, none that does is taken for a second copy: it may be the first. second: an earlier death has consumed
// the send, and this one is of another copy of it.
func (s *Send) Dies(proved, named bool) (second bool) {
	if s.State == SendInFlight && !proved {
		s.Died++
		return false
	}
	if s.State == SendInFlight { // nobody else counts the try under way
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

// Again reports whether the next send of a letter takes the number of this one, of unknown outcome: both are the same.
func (s *Send) Again(destination, content string) bool {
	return s.Destination == destination && s.Content == content
}

// Lands reports whether a message that a consumer took from origin can be one that was sent to destination. An origin
// that is not known, and a destination that names no queue, agree with all.
func Lands(destination, origin string) bool {
	if origin == "" || destination == origin {
		return true
	}
	if strings.HasPrefix(destination, "exchange:") || strings.Contains(destination, "://") {
		return true // where the broker, or the server, puts it is not known
	}
	topic, _, part := strings.Cut(destination, "#") // a partition of a topic
	return part && topic == origin
}

// The headers of a message that is sent back. When it dies again, they name the send that it may be a death of.
const (
	HeaderLetter  = "tasker-letter"  // ID of the letter
	HeaderRedrive = "tasker-redrive" // ID of the redrive
	HeaderReplays = "tasker-replays" // number of the send, in decimal; one that is tried again keeps it
)

// The headers that consumers of event platforms expect, beside those above, on what is sent back.
const (
	HeaderRetryCount     = "dlq_retry_count"     // as tasker-replays
	HeaderOriginalError  = "dlq_original_error"  // the error of the letter, cut to 1 KiB
	HeaderRetryTimestamp = "dlq_retry_timestamp" // when it was sent back: RFC 3339 with microseconds
)
