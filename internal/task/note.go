package task

// CaseNote is one entry in the thread of notes of a case. Notes are only ever added.
type CaseNote struct {
	No     int // 1 is the first
	At     Instant
	Author string
	Key    string // name of the author's API key, "" without one
	Text   string
}

// Bounds of the thread of a case.
const (
	MaxNotes     = 200
	MaxNoteBytes = 256 << 10
)

// note adds to the thread. TooLarge when it is full.
func (c *Case) note(author, key, text string, now Instant) error {
	if c.NoteCount >= MaxNotes || c.NoteBytes+len(text) > MaxNoteBytes {
		e := Errorf(TooLarge, "the case %s has %d notes of %d bytes; the limit is %d notes and %d bytes", c.ID, c.NoteCount,
			c.NoteBytes, MaxNotes, MaxNoteBytes)
		e.Hint = "resolve the case without a note, and go on in a new case of the task"
		return e
	}
	c.NoteCount++
	c.NoteBytes += len(text)
	c.Thread = append(c.Thread, CaseNote{No: c.NoteCount, At: now, Author: author, Key: key, Text: text})
	return nil
}
