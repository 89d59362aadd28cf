package deadletter

import (
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Header is a header of a message. Names may repeat; a value is binary.
type Header struct {
	Name  string
	Value []byte
}

// Content is the original or the edited form of a letter, as it is sent back.
type Content struct {
	Key     []byte
	Headers []Header
	Payload []byte
}

// Size counts key, headers and payload.
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
	Source    string
	// Origin is the queue or topic of the consumer, and the default destination of a redrive.
	Origin string
	// Format is the convention in which the message reported its failure; "raw" for an unknown one.
	Format    string
	Position  string
	MessageID string
	EventType string
	// Identity recognises a repeated delivery: that of the latest death from the letter's own source, in which it is
	// unique. See Identify, and Alias for other deaths.
	Identity string
	// Canonical is the hash of the content, which recognises a returned message without headers.
	Canonical string

	State   model.LetterState
	StateAt task.Instant
	Due     task.Instant
	Reason  string
	Redrive task.ID
	PurgeAt task.Instant

	Group   GroupID
	Failure failure.Report
	Handler string
	Stack   string
	Details []Detail

	Occurrences int
	Attempts    int // attempts of its consumers, in all
	// Replays is the number of its last send that arrived or was abandoned.
	Replays int
	// Lineage counts the sends of the letters that this one continues: see Link.
	Lineage int
	// Unknown means that the last send, number Replays+1, may have arrived.
	Unknown bool
	Link    Link
	// FailedSends counts failed sends by a policy since its last death or send.
	FailedSends int
	// Parked letters were sent back too often: bulk operations skip them by default.
	Parked bool

	FirstAt    task.Instant // first death, by the message; else the capture
	LastAt     task.Instant
	CapturedAt task.Instant

	Original Content
	Edited   *Content
	// Size is the payload in bytes. Cut means that an early version kept only its beginning.
	Size      int
	Cut       bool
	Undecoded string

	Version int64
}

// Detail is a further fact about a failure.
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

// LinkKind says why two letters are linked.
type LinkKind string

// The kinds of links. A link never merges letters.
const (
	// LinkHeader is a message with the headers of a send of the letter that is not that send.
	LinkHeader LinkKind = "copied_header"
	// LinkID is a message of the source with the same ID.
	LinkID LinkKind = "same_id"
	// LinkContent is an equal message that died while a send of the letter was unconfirmed.
	LinkContent LinkKind = "same_content"
)

// Link names the letter that another one resembles.
type Link struct {
	Kind   LinkKind
	Letter task.ID
}

// Sends counts all known sends of the message, for bounds on replays.
func (l *Letter) Sends() int { return l.Replays + l.Lineage }

// Alias is a further identity of a letter: of an earlier death, or from another source. It lasts as long as the
// letter, because a broker may redeliver a message much later.
type Alias struct {
	Namespace string
	Source    string
	Identity  string
	Letter    task.ID
}

// Occurrence is one death of a letter.
type Occurrence struct {
	Letter   task.ID
	No       int
	At       task.Instant
	Group    GroupID
	Failure  failure.Report
	Handler  string
	Stack    string
	Details  []Detail
	Origin   string
	Position string
	Attempts int
	Redrive  task.ID
	Payload  []byte
}

// Oversized is a message beyond the limit of a letter, which stays on its broker.
type Oversized struct {
	// Position identifies it within its source: the broker's position, or a hash.
	Position string
	Bytes    int
	// Partition and Offset locate it in a log, whose reader skips it; Offset is -1 without a log.
	Partition int32
	Offset    int64
	// Deliveries counts earlier ones if the broker drops messages after too many; else 0. It is not stored.
	Deliveries      int
	FirstAt, SeenAt task.Instant
}

// InLog reports whether the message is in a log.
func (o *Oversized) InLog() bool { return o.Offset >= 0 }

// WhyCut completes the refusal to send or edit a cut letter.
const WhyCut = "its payload was cut when it was captured, so it can be neither edited nor sent back"
