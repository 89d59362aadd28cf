package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newWebhook: both commands need admin. Webhooks have secrets, so only the configuration adds them.
func newWebhook(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "List and test the webhooks that receive events of the inbox",
		Long: `A webhook receives events of the inbox: new groups, regressions, bursts, halted redrives
and lost sources. Webhooks are configuration of the server; see docs/reference/configuration.md.`,
	}
	s.connectFlags(cmd)
	cmd.AddCommand(newWebhookList(s), newWebhookTest(s))
	return cmd
}

// newWebhookList shows the answering node's webhooks with scheme and host, and the number of secrets. --json prints
// deadletters.Webhooks.
func newWebhookList(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the configured webhooks",
		Example: `  tasker webhook list`,
		Args:    cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			return answeredList(s, "webhooks", s.printWebhooks)(deadletters.Of(c).Webhooks(ctx))
		}),
	}
}

// NAMESPACES is "all" without a limit; the JSON omits the field then.
func (s *session) printWebhooks(list []deadletters.Webhook) error {
	t := s.newList("No webhooks.", "WEBHOOK", "URL", "EVENTS", "NAMESPACES", "SECRETS")
	for _, w := range list {
		events := make([]string, len(w.Events))
		for i, e := range w.Events {
			events[i] = string(e)
		}
		namespaces := "all"
		if len(w.Namespaces) > 0 {
			namespaces = strings.Join(w.Namespaces, " ")
		}
		t.row(w.Name, w.URL, strings.Join(events, " "), namespaces, strconv.Itoa(w.Secrets))
	}
	return t.flush()
}

// newWebhookTest sends one event by POST /v1/webhooks/{name}/test and waits up to 10 seconds. It makes no task and
// no audit entry. --json prints a deadletters.WebhookAnswer.
func newWebhookTest(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "test NAME",
		Short: "Send a signed test event to a webhook and show the answer",
		Long: `Send a signed event of the type webhook.test to a webhook, once and at once, and show
how it answered. The exit code is 1 if it did not accept the event.`,
		Example: `  tasker webhook test ops`,
		Args:    cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			answer, err := deadletters.Of(c).TestWebhook(ctx, args[0])
			if err != nil {
				return err
			}
			return s.printWebhookAnswer(answer)
		}),
	}
}

// Any answer but 2xx, or none, is printed and exits with 1.
func (s *session) printWebhookAnswer(a *deadletters.WebhookAnswer) error {
	var err error
	switch {
	case s.json:
		err = s.printJSON(a)
	case a.Delivered:
		err = s.printf("✓ Webhook %s accepted the test event: status %d after %.3f s\n", a.Name, a.Status, a.Seconds)
	default:
		f := s.newFields("  ")
		f.add("Webhook", a.Name)
		f.add("Error", a.Error)
		f.add("Message", a.MessageID)
		f.add("After", fmt.Sprintf("%.3f s", a.Seconds))
		err = s.write([]byte(f.String()))
	}
	if err == nil && !a.Delivered {
		err = exitError(exitFailure)
	}
	return err
}
