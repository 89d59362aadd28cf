package task

// CaseNote is an append-only entry in the thread of a case.
type CaseNote struct {
	No     int
	At     Instant
	Author string
	Key    string
	Text   string
}

// Bounds of the thread of a case.
const (
	MaxNotes     = 200
	MaxNoteBytes = 256 << 10
)

// note returns TooLarge if the thread is full.
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
