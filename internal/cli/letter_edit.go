package cli

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// editFlags define what is sent instead of a letter's original: stored by `letter edit`, or applied to each letter
// by `redrive plan` and `redrive start`. patch, key and headers are unparsed.
type editFlags struct {
	edit       deadletters.Edit
	patch, key string
	headers    []string
}

func (e *editFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&e.patch, "patch", "", "JSON Patch (array) or JSON merge patch (object) of the payload: JSON, @FILE, or -")
	f.StringArrayVar(&e.headers, "set-header", nil, "NAME=VALUE: replace the headers of this name; repeatable")
	f.StringArrayVar(&e.edit.DropHeaders, "drop-header", nil, "remove the headers of this name; repeatable")
	f.StringVar(&e.key, "key", "", "replace the key of the message")
}

// prepare reports whether there is an edit. A header's value begins behind the first "=".
func (e *editFlags) prepare(s *session) (bool, error) {
	e.edit.SetHeaders = nil
	for _, pair := range e.headers {
		name, value, is := strings.Cut(pair, "=")
		if !is || name == "" {
			return false, usagef("--set-header must be NAME=VALUE, not %q", pair)
		}
		e.edit.SetHeaders = append(e.edit.SetHeaders, deadletters.NewHeader(name, []byte(value)))
	}
	var err error
	if e.edit.Patch, err = s.jsonFlag("--patch", e.patch); err != nil {
		return false, err
	}
	e.edit.Key = e.key
	return e.patch != "" || len(e.headers) > 0 || len(e.edit.DropHeaders) > 0 || e.key != "", nil
}

// newLetterEdit applies to the current content, so a second edit adds to the first; --clear excludes an edit. It
// sends PATCH /v1/dead-letters/{letter_uuid}, which needs dead-letters:edit. The next redrive sends the result.
// Without --if-match the last of two editors wins.
func newLetterEdit(s *session) *cobra.Command {
	var (
		flags editFlags
		edit  deadletters.LetterEdit
	)
	cmd := &cobra.Command{
		Use:   "edit LETTER_UUID",
		Short: "Change what is sent instead of a letter's original",
		Long: `Change what a redrive sends instead of a letter's original: its payload, headers or key.
The original is kept, and --clear goes back to it.`,
		Example: `  tasker letter edit LETTER_UUID --patch '{"currency": "EUR"}' --reason 'field was missing'
  tasker letter edit LETTER_UUID --clear`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			changes, err := flags.prepare(s)
			if err == nil && changes == edit.Clear {
				err = usagef("give --clear, or else --patch, --set-header, --drop-header or --key")
			}
			return err
		},
		RunE: s.onServer(with(letterArg, func(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
			edit.Edit, edit.Act = flags.edit, signed(edit.Act)
			return answered(s, s.printLetter)(deadletters.Of(c).EditLetter(ctx, id, edit))
		})),
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&edit.Clear, "clear", false, "send the original again")
	actFlags(cmd, &edit.Act)
	return cmd
}
