package cli

import (
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/deadletters"
)

// newLetter: reading needs dead-letters:read, because it shows payloads; read alone exits with 6.
func newLetter(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "letter",
		Short: "Look at dead letters; edit, discard, restore and export them",
		Long: `A dead letter is a message that its consumer could not process. "tasker redrive" sends
letters back.`,
	}
	s.connectFlags(cmd)
	cmd.AddCommand(
		newLetterList(s),
		newLetterShow(s),
		newLetterEdit(s),
		newLetterDiscard(s),
		newLetterRestore(s),
		newLetterExport(s),
	)
	return cmd
}

// selectionFlags are the filters of `letter list`, `letter export` and the redrives, combined with AND; repeated
// values are alternatives. Each command adds --namespace, whose default differs.
type selectionFlags struct {
	selection     deadletters.Selection
	ids           []string
	state         string
	after, before string
	parked        bool
}

func (l *selectionFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&l.ids, "id", nil, "filter by UUID; repeatable")
	f.StringSliceVar(&l.selection.Groups, "group", nil, "filter by group; repeatable")
	f.StringVar(&l.selection.Source, "source", "", "filter by source")
	f.StringVar(&l.selection.Origin, "origin", "", "filter by origin: a queue or topic")
	f.StringVar(&l.selection.ErrorType, "error-type", "", "filter by the type of the error")
	f.StringVar(&l.selection.Text, "text", "", "filter by a part of the error message or the payload")
	f.StringVar(&l.selection.HeaderName, "header-name", "", "filter by the name of a header")
	f.StringVar(&l.selection.HeaderValue, "header-value", "", "filter by the value of the header --header-name")
	f.StringVar(&l.after, "after", "", "died last at or after: a time, or an age such as 24h")
	f.StringVar(&l.before, "before", "", "died last before: a time, or an age such as 24h")
	f.IntVar(&l.selection.MinReplays, "min-replays", 0, "sent back at least that often")
	f.BoolVar(&l.parked, "parked", false, "filter by parked: sent back too often (--parked=false: not)")
	f.StringVar(&l.state, "state", "", "filter by state: open, scheduled, redriving, redriven or discarded")
	choose(cmd, "state", deadletters.LetterOpen, deadletters.LetterScheduled, deadletters.LetterRedriving,
		deadletters.LetterRedriven, deadletters.LetterDiscarded)
}

// Only Changed separates an omitted --parked from --parked=false.
func (l *selectionFlags) prepare(s *session, cmd *cobra.Command) error {
	l.selection.State = deadletters.LetterState(l.state)
	l.selection.IDs = nil
	for _, arg := range l.ids {
		id, err := uuid.Parse(arg)
		if err != nil {
			return usagef("%q is not the UUID of a letter or a case", arg)
		}
		l.selection.IDs = append(l.selection.IDs, id)
	}
	if l.selection.HeaderValue != "" && l.selection.HeaderName == "" {
		return usagef("--header-value requires --header-name")
	}
	if cmd.Flags().Changed("parked") {
		l.selection.Parked = &l.parked
	}
	var err error
	l.selection.After, l.selection.Before, err = s.timeFlags(l.after, l.before)
	return err
}
