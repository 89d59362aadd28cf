package deadletter

import "github.com/taskerhq/tasker/internal/task"

// Oversized is a message that stays on its broker, because it is larger than a letter may be.
type Oversized struct {
	// Position identifies it within its source: its position on the broker, or a hash of it where there is none.
	Position string
	Bytes    int // of key, headers and payload
	// Partition and Offset are where a log has it, which a reader goes past; Offset is -1 where the broker keeps no log.
	Partition int32
	Offset    int64
	// Deliveries is how often the broker has delivered it before, where it drops what was delivered too often; else 0.
	// It is not stored.
	Deliveries int
	// FirstAt and SeenAt are when it was delivered first, and last.
	FirstAt, SeenAt task.Instant
}

// InLog reports whether the message is in a log.
func (o *Oversized) InLog() bool { return o.Offset >= 0 }

// WhyCut is why a letter of an early version is not sent back, nor edited: a part of a sentence.
const WhyCut = "its payload was cut when it was captured, so it can be neither edited nor sent back"
