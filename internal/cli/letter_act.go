package cli

import (
	"context"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// eachLetter builds the body of a command that does the same to each letter that is named. It parses all IDs before it
// changes the first letter, so a misspelt one changes nothing. The letters are then changed one by one: the first
// refusal ends the command, and what was changed before stays changed. With dryRun it reads the letters and prints them
// as they are.
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
			// The letter is read even if it will be changed: an unknown ID is reported before the act, and for a dry
			// run nothing else is needed.
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
		return s.printLetters(page)
	})
}

// newLetterDiscard builds `letter discard`. It requires a reason, because a discarded letter is purged after a time and
// the audit trail is what then remains. It needs dead-letters:discard, and dead-letters:read for the look before it. A
// letter that a redrive is sending is refused with wrong_state. Run again after a lost answer, it is refused in the
// same way.
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

// newLetterRestore builds `letter restore`. It needs no reason: it only undoes a discard. The letter is open again at
// once, and policies leave it alone: only a new failure makes them decide again. What was purged is gone, exit code 3.
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
