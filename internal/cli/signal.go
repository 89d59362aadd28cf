package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/wording"
	"github.com/taskerhq/tasker/waits"
)

// newSignal builds `signal`, the group of commands about signals.
func newSignal(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "signal",
		Short: "Tell waiting steps what has happened elsewhere",
	}
	s.connectFlags(cmd)
	cmd.AddCommand(newSignalSend(s))
	return cmd
}

// newSignalSend builds `signal send`. --json prints a waits.Signal. It sends POST /v1/signals.
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
			if err != nil {
				return err
			}
			if s.json {
				return s.printJSON(sent)
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
