package cli

import (
	"context"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newRedriveStart creates a redrive from flags, or starts a draft by UUID, without flags. Creation is not
// idempotent: repeated after a lost answer it freezes a second redrive, whose items the first one may send. Look at
// `redrive list` before a second try.
func newRedriveStart(s *session) *cobra.Command {
	var (
		flags                redriveFlags
		dryRun, draft, watch bool
	)
	cmd := &cobra.Command{
		Use:   "start [REDRIVE_UUID]",
		Short: "Freeze a selection and send it back in waves, or start a draft",
		Long: `Freeze the selected letters and cases, and send them back in waves. With --draft the
redrive is only created; "redrive start REDRIVE_UUID" then starts it.

--operation discard discards letters and cancels the tasks of cases, --operation restore
opens discarded letters again.`,
		Example: `  tasker redrive start --group 3f1c2d5e6f700042 --canary 10 --factor 3 --observe 5m --stop-share 0.1 --watch
  tasker redrive start --source billing --state open --dry-run
  tasker redrive start --operation discard --origin orders-test --reason 'test orders'`,
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && (dryRun || draft) {
				return usagef("a redrive that exists takes neither --dry-run nor --draft")
			}
			if name := setFlag(cmd, new(redriveFlags).add); len(args) > 0 && name != "" {
				return usagef("a redrive that exists has its selection and its plan: leave out --%s", name)
			}
			flags.req.Start, flags.req.Act = !draft, signed(flags.req.Act)
			return flags.prepare(s, cmd)
		},
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			if dryRun {
				return s.preview(ctx, c, flags.req)
			}
			redrive, err := startRedrive(ctx, c, args, flags.req)
			if err != nil {
				return err
			}
			if watch {
				return s.watchRedrive(ctx, c, redrive.RedriveUUID)
			}
			return answered(s, s.printRedrive)(redrive, nil)
		}),
	}
	flags.add(cmd)
	actFlags(cmd, &flags.req.Act)
	f := cmd.Flags()
	f.BoolVar(&dryRun, "dry-run", false, "show what would be done and change nothing, as redrive plan does")
	f.BoolVar(&draft, "draft", false, "freeze the selection and do not start")
	f.BoolVar(&watch, "watch", false, "then show the progress until it ends or halts")
	return cmd
}

// setFlag returns a flag of add that is set on cmd, "" for none.
func setFlag(cmd *cobra.Command, add func(*cobra.Command)) (name string) {
	var of cobra.Command
	add(&of)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if of.Flags().Lookup(f.Name) != nil {
			name = f.Name
		}
	})
	return name
}

func startRedrive(ctx context.Context, c *tasker.Client, args []string, req deadletters.RedriveRequest,
) (*deadletters.Redrive, error) {
	if len(args) == 0 {
		return deadletters.Of(c).CreateRedrive(ctx, req)
	}
	id, err := redriveArg(args[0])
	if err != nil {
		return nil, err
	}
	return actOnRedrive(ctx, c, id, deadletters.StartRedrive, req.Act)
}

func actOnRedrive(ctx context.Context, c *tasker.Client, id uuid.UUID, action deadletters.RedriveAction,
	act deadletters.Act,
) (*deadletters.Redrive, error) {
	return deadletters.Of(c).ActOnRedrive(ctx, id, deadletters.RedriveAct{Action: action, Act: signed(act)})
}

// newRedriveAct builds `redrive pause`, `resume` and `cancel`. Sends under way, up to a batch, are finished. In a
// wrong state it exits with 4, wrong_state.
func newRedriveAct(s *session, action deadletters.RedriveAction, short string) *cobra.Command {
	var act deadletters.Act
	cmd := &cobra.Command{
		Use:     string(action) + " REDRIVE_UUID",
		Short:   short,
		Example: "  tasker redrive " + string(action) + " 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70",
		Args:    cobra.ExactArgs(1),
		RunE: s.onServer(with(redriveArg, func(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
			return answered(s, s.printRedrive)(actOnRedrive(ctx, c, id, action, act))
		})),
	}
	actFlags(cmd, &act)
	return cmd
}
