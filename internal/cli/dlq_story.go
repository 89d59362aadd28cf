package cli

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/taskerhq/tasker/operate"
)

func (s *session) recovery(r *operate.CaseRecovery) string {
	if r == nil {
		return ""
	}
	text := fmt.Sprintf("by %s at %s", r.By, stamp(&r.At))
	if r.How != "" {
		text += " (" + r.How + ")"
	}
	return text + ": " + string(r.State)
}

// printOccurrences lists several occurrences of a case; a last line counts those that the server dropped between
// the first and the latest.
func (s *session) printOccurrences(c *operate.Case) error {
	if len(c.Occurrences) < 2 {
		return nil
	}
	if err := s.printf("\nOccurrences:\n\n"); err != nil {
		return err
	}
	t := s.newTable("NO", "AT", "REASON", "CAUSE", "STEP", "CLASS", "ERROR", "RECOVERED")
	t.dropFirst("CLASS", "CAUSE", "REASON")
	for i := range c.Occurrences {
		o := &c.Occurrences[i]
		t.row(strconv.Itoa(o.No), stamp(&o.OccurredAt), string(o.Reason), string(o.Cause), o.FailedStep, string(o.Class),
			o.ErrorMessage, s.recovery(o.Recovery))
	}
	if err := t.flush(); err != nil {
		return err
	}
	if dropped := c.OccurrenceCount - len(c.Occurrences); dropped > 0 {
		return s.printf("%d occurrences after the first are not kept.\n", dropped)
	}
	return nil
}

// printThread lists several notes of a case; the case itself shows a single one.
func (s *session) printThread(notes []operate.CaseNote) error {
	if len(notes) < 2 {
		return nil
	}
	if err := s.printf("\nNotes:\n"); err != nil {
		return err
	}
	for i := range notes {
		n := &notes[i]
		author := n.Author
		author = cmp.Or(author, "nobody")
		f := s.newFields("  ")
		f.block(fmt.Sprintf("%s, %s", stamp(&n.At), clean(author)), n.Text)
		if err := s.write([]byte("\n" + f.String())); err != nil {
			return err
		}
	}
	return nil
}
