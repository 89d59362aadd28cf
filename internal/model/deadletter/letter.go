package deadletter

import (
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Header is one header of a message. A name may occur more than once; a value is binary.
type Header struct {
	Name  string
	Value []byte
}

// Content is what is sent back: the original of a letter, or its edited form.
type Content struct {
	Key     []byte // nil: none
	Headers []Header
	Payload []byte
}

// Size returns how many bytes key, headers and payload have.
func (c *Content) Size() int {
	n := len(c.Key) + len(c.Payload)
	for _, h := range c.Headers {
		n += len(h.Name) + len(h.Value)
	}
	return n
}

// Letter is a dead letter.
type Letter struct {
	ID        task.ID
	Namespace string
	// Source is the name of the source that it came from, unique in its namespace.
	Source string
	// Origin is where the consumer had taken it from: a queue, a topic. It proposes where a redrive sends it.
	Origin string
	// Format is the convention in which the message reported its failure; "raw" when none was recognised.
	Format string
	// Position identifies the message on its broker; "" where the broker has none.
	Position string
	// MessageID is the sender's identifier of the message; "" for none.
	MessageID string
	// EventType is the type of the event that the message carries, as its content says; "" for none. See EventType.
	EventType string
	// Identity makes a repeated delivery recognisable: that of the latest death that the letter's own source has brought.
	// Two letters of a source never share one. See Identify, and Alias for those of its other deaths.
	Identity string
	// Canonical is the hash of the content, by which a message without headers is recognised after it was sent back.
	Canonical string

	State   model.LetterState
	StateAt task.Instant // when it entered the state
	Due     task.Instant // of a scheduled letter
	Reason  string       // why it was discarded, or left to an operator; "" otherwise
	Redrive task.ID      // the redrive that holds it, or held it last; zero for none
	PurgeAt task.Instant // when it will be deleted; 0: never

	// Group is that of its latest occurrence.
	Group GroupID
	// Failure and Handler describe the latest occurrence.
	Failure failure.Report
	Handler string // the consumer; "" when not known
	Stack   string
	// Details are what else the message of the latest occurrence told.
	Details []Detail

	Occurrences int // times that it died
	Attempts    int // attempts of its consumers, in all
	// Replays is the number of its last send that has arrived, or was given up: times that it was sent back.
	Replays int
	// Lineage are the sends of the letters that this one continues: see Link.
	Lineage int
	// Unknown: the outcome of its last send, number Replays+1, is not known. It may have arrived, or not.
	Unknown bool
	// Link is the letter that it continues, or resembles; zero for none.
	Link Link
	// FailedSends are the sends by a policy that have failed since it died or was sent last.
	FailedSends int
	// Parked letters have been sent back too often: no operation on many takes them unless told to.
	Parked bool

	FirstAt    task.Instant // when it died first, as its message says; else when it was captured
	LastAt     task.Instant // when it died last
	CapturedAt task.Instant

	Original Content
	// Edited is what is sent in place of the original; nil for none. The original is kept.
	Edited *Content
	// Size is the size of the payload in bytes. Cut reports that an early version has kept only its beginning.
	Size int
	Cut  bool
	// Undecoded is why the message could not be decoded; "" when it was.
	Undecoded string

	Version int64 // incremented by every change
}

// Detail is one more thing that a message tells of its failure: a header, a member of its envelope.
type Detail struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Outgoing returns the content that a redrive sends.
func (l *Letter) Outgoing() Content {
	if l.Edited != nil {
		return *l.Edited
	}
	return l.Original
}

// LinkKind is why a letter is linked with another one.
type LinkKind string

// The kinds of links. A link never merges: both letters are kept.
const (
	// LinkHeader: the message has the headers of a send of the letter, and is not that send: others copy headers.
	LinkHeader LinkKind = "copied_header"
	// LinkID: a message of the source with the same ID.
	LinkID LinkKind = "same_id"
	// LinkContent: a send of the letter was not confirmed, and an equal message died meanwhile.
	LinkContent LinkKind = "same_content"
)

// Link names the letter that another one resembles.
type Link struct {
	Kind   LinkKind
	Letter task.ID
}

// Sends is how often the message was sent back, by all that is known: bounds on replays count it.
func (l *Letter) Sends() int { return l.Replays + l.Lineage }

// Alias is an identity of a letter besides its own: of an earlier death, or of one that another source has brought. It
// lasts as long as the letter: a broker may deliver a message again long after it was sent back.
type Alias struct {
	Namespace string
	Source    string // whose deliveries have the identity
	Identity  string
	Letter    task.ID
}

// Occurrence is one time that a letter died.
type Occurrence struct {
	Letter   task.ID
	No       int // from 1
	At       task.Instant
	Group    GroupID
	Failure  failure.Report
	Handler  string
	Stack    string
	Details  []Detail
	Origin   string
	Position string
	Attempts int
	Redrive  task.ID // the redrive after which it came back; zero for none
	// Payload is what died, where it differs from what was sent; nil where it does not.
	Payload []byte
}

// Oversized is a message that stays on its broker, because it is larger than a letter may be.
type Oversized struct {
	// Position identifies it within its source: its position on the broker, or a hash of it where there is none.
	Position string
	Bytes    int // of key, headers and payload
	// Partition and Offset are where a log has it, which a reader goes past; Offset is -1 where the broker keeps no log.
	Partition int32
	Offset    int64
	// Deliveries counts those before, where the broker drops what was delivered too often; else 0. It is not stored.
	Deliveries int
	// FirstAt and SeenAt are when it was delivered first, and last.
	FirstAt, SeenAt task.Instant
}

// InLog reports whether the message is in a log.
func (o *Oversized) InLog() bool { return o.Offset >= 0 }

// WhyCut is why a letter of an early version is not sent back, nor edited: a part of a sentence.
const WhyCut = "its payload was cut when it was captured, so it can be neither edited nor sent back"
