package task

import "slices"

// Checkpoint is the progress of an attempt, in its handler's format, for the next attempt.
type Checkpoint struct {
	Step  ID
	Task  ID
	DefID int64 // of its step; older checkpoints have none
	Token int64 // of the lease under which it was stored
	At    Instant
	Bytes int
	Body  []byte
}

// Checkpointed reports whether a step may have a checkpoint; false saves a query.
func (m *Meta) Checkpointed(ordinal int) bool { return slices.Contains(m.Checkpoints, ordinal) }

// NoteCheckpoint records that a step may have a checkpoint, and reports a change. It copies the list, because readers
// may hold the old one.
func (m *Meta) NoteCheckpoint(ordinal int) bool {
	at, found := slices.BinarySearch(m.Checkpoints, ordinal)
	if !found {
		m.Checkpoints = slices.Insert(slices.Clone(m.Checkpoints), at, ordinal)
	}
	return !found
}
