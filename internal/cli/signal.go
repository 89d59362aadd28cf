package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/waits"
)

func newSignal(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "signal",
		Short: "Tell waiting steps what has happened elsewhere, and list what was told",
	}
	s.connectFlags(cmd)
	cmd.AddCommand(newSignalSend(s), newSignalList(s))
	return cmd
}

// newSignalSend sends POST /v1/signals. --json prints a waits.Signal.
func newSignalSend(s *session) *cobra.Command {
	var req waits.SignalRequest
	var payload string
	cmd := &cobra.Command{
		Use:   "send NAME KEY",
		Short: "Send a signal to the steps that wait for it",
		Long: `Send a signal to every step of a namespace that waits for its name and key. The steps
complete with the payload as their result. The signal is kept for a while
(engine.signals.keep), and steps that begin to wait within that time take it too.`,
		Example: `  tasker signal send payment.settled order-7 --payload '{"amount": 12}' --id evt_1`,
		Args:    cobra.ExactArgs(2),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			req.Name, req.Key = args[0], args[1]
			var err error
			if req.Payload, err = s.jsonFlag("--payload", payload); err != nil {
				return err
			}
			sent, err := waits.Of(c).SendSignal(ctx, req)
			if err != nil || s.json {
				return s.jsonOf(sent, err)
			}
			return s.printf("✓ Signal %s: %s took it; it is kept until %s\n", clean(sent.SignalID),
				wording.Count(int(sent.Taken), "step"), stamp(&sent.KeptUntil))
		}),
	}
	f := cmd.Flags()
	f.StringVar(&req.Namespace, "namespace", "", "namespace of the steps")
	f.StringVar(&req.SignalID, "id", "", "ID of the signal: a second one with this ID changes nothing (default: a new ID)")
	f.StringVar(&payload, "payload", "", "result of the steps: JSON, @FILE, or - for standard input")
	return cmd
}

// newSignalList reads GET /v1/signals. --json prints a waits.SignalPage.
func newSignalList(s *session) *cobra.Command {
	var filter waits.SignalFilter
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the signals that are kept and that no step has taken",
		Example: `  tasker signal list --name payment.settled`,
		Long: `List the signals that are kept (engine.signals.keep) and that no step has taken yet; the
one that is kept for the shortest time comes first. A signal that should have been taken
often has another name or key than the step waits for: compare with "tasker task explain".`,
		Args: cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			return answered(s, s.printSignals)(waits.Of(c).Signals(ctx, filter))
		}),
	}
	f := cmd.Flags()
	f.StringSliceVar(&filter.Namespaces, "namespace", nil, "filter by namespace; repeatable")
	f.StringVar(&filter.Name, "name", "", "filter by the name of the signal")
	f.StringVar(&filter.Key, "key", "", "filter by the key of the signal")
	f.BoolVar(&filter.IncludeTaken, "include-taken", false, "also signals that a step has taken")
	f.StringVar(&filter.Cursor, "cursor", "", "continue at this cursor of the previous page")
	pageFlag(cmd, &filter.Limit, 50, "number of signals")
	return cmd
}

func (s *session) printSignals(page *waits.SignalPage) error {
	t := s.newList("No such signal is kept.", "SIGNAL", "NAMESPACE", "NAME", "KEY", "RECEIVED", "KEPT UNTIL", "TAKEN")
	t.dropFirst("NAMESPACE", "KEPT UNTIL")
	for i := range page.Signals {
		one := &page.Signals[i]
		t.row(one.SignalID, one.Namespace, one.Name, one.Key, stamp(&one.ReceivedAt), stamp(&one.KeptUntil),
			wording.Count(int(one.Taken), "step"))
	}
	return t.flushPage(page.NextCursor)
}
