package task

import "slices"

// Checkpoint is where an attempt of a step has got to, in the words of its handler. The next attempt receives it.
type Checkpoint struct {
	Step  ID
	Task  ID
	DefID int64 // of its step; set in a new checkpoint only
	Token int64 // of the lease under which it was stored
	At    Instant
	Bytes int    // size of Body
	Body  []byte // JSON; nil where only the other fields were read
}

// Checkpointed reports whether a step, by its ordinal, may have a checkpoint. It says no for most steps, which saves
// each a query.
func (m *Meta) Checkpointed(ordinal int) bool { return slices.Contains(m.Checkpoints, ordinal) }

// NoteCheckpoint records that a step may have a checkpoint, and reports whether that is new. The list is copied: others
// may hold the old one.
func (m *Meta) NoteCheckpoint(ordinal int) bool {
	at, found := slices.BinarySearch(m.Checkpoints, ordinal)
	if !found {
		m.Checkpoints = slices.Insert(slices.Clone(m.Checkpoints), at, ordinal)
	}
	return !found
}
