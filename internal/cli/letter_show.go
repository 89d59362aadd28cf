package cli

import (
	"context"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/kit/wording"
)

// newLetterShow prints a letter with up to 100 latest occurrences. --json prints a deadletters.LetterStory, with
// binary values in base64.
func newLetterShow(s *session) *cobra.Command {
	var show bool
	cmd := &cobra.Command{
		Use:     "show LETTER_UUID",
		Short:   "Show a dead letter, its content and how often it died",
		Example: `  tasker letter show 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(with(letterArg, func(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
			return answered(s, s.printLetterStory)(deadletters.Of(c).Letter(showing(ctx, show), id))
		})),
	}
	addShowSensitive(cmd, &show)
	return cmd
}

// printLetterStory prints a letter and its deaths, the latest first, with the redrive before each.
func (s *session) printLetterStory(l *deadletters.LetterStory) error {
	if err := s.printLetter(&l.Letter); err != nil || len(l.History) == 0 {
		return err
	}
	if err := s.printf("\nTimes that it died:\n\n"); err != nil {
		return err
	}
	t := s.newTable("NO", "AT", "ATTEMPTS", "HANDLER", "REDRIVE", "ERROR")
	t.dropFirst("REDRIVE", "ATTEMPTS", "HANDLER")
	for i := range l.History {
		o := &l.History[i]
		redrive := ""
		if o.RedriveUUID != nil {
			redrive = o.RedriveUUID.String()
		}
		t.row(strconv.Itoa(o.No), stamp(&o.At), strconv.Itoa(o.Attempts), o.Handler, redrive,
			headline(failureLine(&o.Failure)))
	}
	return t.flush()
}

// printLetter prints every field with a value, and the whole payload.
func (s *session) printLetter(l *deadletters.Letter) error {
	f := s.newFields("  ")
	f.add("Letter", l.LetterUUID.String())
	f.add("Source", qualified(l.Namespace, l.Source))
	f.add("Origin", l.Origin)
	f.add("Message ID", l.MessageID)
	f.add("Position", l.Position)
	f.add("Format", l.Format)
	f.add("State", letterState(l))
	f.add("Reason", l.Reason)
	f.add("Due", s.stampAgo(l.DueAt))
	f.add("Purged", s.stampAgo(l.PurgeAt))
	f.add("Group", l.GroupID)
	f.add("Handler", l.Handler)
	f.block("Error", failureLine(&l.Failure))
	f.add("Code", l.Failure.Code)
	f.add("Class", string(l.Failure.Class))
	f.add("Died", wording.Count(l.Occurrences, "time")+", last at "+s.stampAgo(&l.LastAt))
	f.add("Sent back", wording.Count(l.Replays, "time"))
	f.add("Not decoded", l.Undecoded)
	f.block("Stack", l.Failure.Stack)
	size := fmt.Sprintf("%d bytes", l.SizeBytes)
	if l.Cut {
		size += ", cut"
	}
	f.add("Size", size)
	contentFields(&f, "", &l.Original)
	if l.Edited != nil {
		contentFields(&f, "Edited ", l.Edited)
	}
	return s.write([]byte(f.String()))
}

// prefix separates the edited message from the original.
func contentFields(f *fields, prefix string, c *deadletters.Content) {
	f.add(prefix+"Key", shownBytes(c.KeyBytes()))
	for i := range c.Headers {
		f.add(prefix+"Header "+c.Headers[i].Name, shownBytes(c.Headers[i].Bytes()))
	}
	f.block(prefix+"Payload", shownBytes(c.PayloadBytes()))
}

// shownBytes replaces bytes that are not UTF-8 by their number; --json has them in base64. fields cleans the
// result.
func shownBytes(b []byte) string {
	if !utf8.Valid(b) {
		return fmt.Sprintf("%d bytes, not text (see --json)", len(b))
	}
	return string(b)
}
