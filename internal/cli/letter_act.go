package cli

import (
	"context"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// eachLetter parses all IDs before the first change, so a misspelt one changes nothing. Then it changes letters one
// by one: the first refusal ends the command, and earlier changes stay. With dryRun it only prints the letters.
func (s *session) eachLetter(dryRun *bool,
	act func(context.Context, deadletters.Backend, uuid.UUID) (*deadletters.Letter, error),
) func(*cobra.Command, []string) error {
	return s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
		ids := make([]uuid.UUID, len(args))
		for i, arg := range args {
			var err error
			if ids[i], err = letterArg(arg); err != nil {
				return err
			}
		}
		page := &deadletters.LetterPage{Letters: []deadletters.Letter{}}
		for _, id := range ids {
			// Report an unknown ID before the act; a dry run needs no more.
			letter, err := deadletters.Of(c).Letter(ctx, id)
			if err != nil {
				return err
			}
			changed := &letter.Letter
			if !*dryRun {
				if changed, err = act(ctx, deadletters.Of(c), id); err != nil {
					return err
				}
			}
			page.Letters = append(page.Letters, *changed)
		}
		return answered(s, s.printLetters)(page, nil)
	})
}

// newLetterDiscard requires a reason, because only the audit trail outlives the purge. It needs
// dead-letters:discard, and dead-letters:read for the look before. A letter being sent is refused with wrong_state,
// and so is a repetition.
func newLetterDiscard(s *session) *cobra.Command {
	var (
		act    deadletters.Act
		dryRun bool
	)
	cmd := &cobra.Command{
		Use:   "discard LETTER_UUID...",
		Short: "Give dead letters up, for a reason",
		Long: `Give dead letters up. "letter restore" opens one again until it is purged. For many letters
see "tasker redrive start --operation discard".`,
		Example: `  tasker letter discard LETTER_UUID --reason 'test order'`,
		Args:    cobra.MinimumNArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			if act.Reason == "" {
				return usagef("--reason is required; it is stored with the letter")
			}
			return nil
		},
		RunE: s.eachLetter(&dryRun,
			func(ctx context.Context, b deadletters.Backend, id uuid.UUID) (*deadletters.Letter, error) {
				return b.DiscardLetter(ctx, id, signed(act))
			}),
	}
	actFlags(cmd, &act)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the letters and change nothing")
	return cmd
}

// newLetterRestore opens a discarded letter; only a new failure makes policies decide again. A purged one exits
// with 3.
func newLetterRestore(s *session) *cobra.Command {
	var (
		act    deadletters.Act
		dryRun bool
	)
	cmd := &cobra.Command{
		Use:     "restore LETTER_UUID...",
		Short:   "Open discarded letters again",
		Example: `  tasker letter restore LETTER_UUID`,
		Args:    cobra.MinimumNArgs(1),
		RunE: s.eachLetter(&dryRun,
			func(ctx context.Context, b deadletters.Backend, id uuid.UUID) (*deadletters.Letter, error) {
				return b.RestoreLetter(ctx, id, signed(act))
			}),
	}
	actFlags(cmd, &act)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the letters and change nothing")
	return cmd
}
