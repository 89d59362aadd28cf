package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newTopicMessages: --json prints a deadletters.MessagePage without headers and larger events, which `topic show`
// has.
func newTopicMessages(s *session) *cobra.Command {
	var (
		filter deadletters.MessageFilter
		status string
	)
	cmd := &cobra.Command{
		Use:   "messages",
		Short: "List messages, newest first",
		Example: `  tasker topic messages --topic pod-events --status pending
  tasker topic messages --event-type pod.failed --limit 1000 --json`,
		Args: cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			filter.Status = deadletters.MessageStatus(status)
			return answered(s, s.printMessages)(deadletters.TopicsOf(c).Messages(ctx, filter))
		}),
	}
	f := cmd.Flags()
	topicNamespace(cmd, &filter.Namespace)
	f.StringVar(&filter.Topic, "topic", "", "filter by original topic")
	f.StringVar(&filter.EventType, "event-type", "", "filter by type of event")
	f.StringVar(&status, "status", "", "filter by status: pending, scheduled, retried or discarded")
	choose(cmd, "status", deadletters.MessagePending, deadletters.MessageScheduled, deadletters.MessageRetried,
		deadletters.MessageDiscarded)
	pageFlag(cmd, &filter.Limit, 50, "messages per page")
	f.IntVar(&filter.Offset, "cursor", 0, "start after the previous page: the value that it printed")
	return cmd
}

// NEXT is when a scheduled message is sent back.
func (s *session) printMessages(page *deadletters.MessagePage) error {
	t := s.newList("No messages.", "EVENT", "TOPIC", "TYPE", "STATUS", "RETRIES", "FAILED", "NEXT", "ERROR")
	t.dropFirst("TYPE", "RETRIES", "NEXT", "FAILED")
	for i := range page.Messages {
		m := &page.Messages[i]
		t.row(m.EventID, m.OriginalTopic, m.EventType, string(m.Status), strconv.Itoa(m.RetryCount), s.ago(m.LastFailedAt),
			s.agoOf(m.NextRetryAt), headline(messageError(m)))
	}
	if next := page.Offset + len(page.Messages); next < page.Total {
		return t.flushPage(strconv.Itoa(next))
	}
	return t.flush()
}

func messageError(m *deadletters.DeadMessage) string {
	if m.ErrorType == "" {
		return m.Error
	}
	return m.ErrorType + ": " + m.Error
}

func messageFlags(cmd *cobra.Command, name *deadletters.MessageName) {
	topicNamespace(cmd, &name.Namespace)
	cmd.Flags().StringVar(&name.Source, "source", "", "source of the message, where several have the ID")
}

// newTopicShow exits with 3 for an unknown ID, and with 4 for one in several sources. --json prints a
// deadletters.DeadMessage.
func newTopicShow(s *session) *cobra.Command {
	var name deadletters.MessageName
	cmd := &cobra.Command{
		Use:     "show EVENT_ID",
		Short:   "Show a message whole",
		Example: `  tasker topic show 4f7c`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, args []string) error {
			name.EventID = args[0]
			return answered(s, s.printMessage)(deadletters.TopicsOf(c).Message(ctx, name))
		}),
	}
	messageFlags(cmd, &name)
	return cmd
}

func (s *session) printMessage(m *deadletters.DeadMessage) error {
	text := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	at := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	facts := [][2]string{{"Event", m.EventID}, {"Type", m.EventType}, {"Topic", m.OriginalTopic},
		{"Status", string(m.Status)}, {"Error", messageError(m)}, {"Failed", at(&m.FailedAt)},
		{"Last Failed", at(&m.LastFailedAt)}, {"Retries", strconv.Itoa(m.RetryCount)},
		{"Attempts", strconv.Itoa(m.AttemptCount)}, {"Producer", m.ProducerID}, {"Next Retry", at(m.NextRetryAt)},
		{"Retried", at(m.RetriedAt)}, {"Discarded", at(m.DiscardedAt)}, {"Reason", text(m.DiscardReason)},
		{"Last Error", text(m.LastError)}, {"Source", m.Source}, {"Letter", m.LetterUUID.String()}}
	for _, h := range m.Headers {
		value := h.Value
		if h.ValueBase64 != nil {
			value = strconv.Itoa(len(h.ValueBase64)) + " bytes"
		}
		facts = append(facts, [2]string{"Header " + h.Name, value})
	}
	facts = append(facts, [2]string{"Payload", string(m.Event)})
	for _, fact := range facts {
		if fact[1] == "" {
			continue
		}
		if err := s.printf("%s: %s\n", fact[0], fact[1]); err != nil {
			return err
		}
	}
	return nil
}

// newTopicRetry sends immediately and answers after at most 25 seconds; unsent messages are "pending" and follow
// later. The exit code is 1 after a failed send. It needs dead-letters:redrive, and dead-letters:discard for
// discarded ones. --json prints a deadletters.MessageRetryAnswer.
func newTopicRetry(s *session) *cobra.Command {
	var (
		req deadletters.MessageRetry
		act deadletters.Act
	)
	cmd := &cobra.Command{
		Use:   "retry EVENT_ID...",
		Short: "Send messages back to their topics now",
		Long: `Send up to 1,000 messages back to their original topics, whatever their policies say. One
that was discarded or retried is sent again. For many messages see "tasker redrive".`,
		Example: `  tasker topic retry 4f7c 4f7d`,
		Args:    cobra.RangeArgs(1, deadletters.MaxMessageRetries),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			act = signed(act)
			req.EventIDs, req.Actor, req.Reason = args, act.Actor, act.Reason
			answer, err := deadletters.TopicsOf(c).Retry(ctx, req)
			if err != nil {
				return err
			}
			if err := s.printRetries(answer); err != nil {
				return err
			}
			if answer.Failed > 0 {
				return exitError(exitFailure)
			}
			return nil
		}),
	}
	f := cmd.Flags()
	topicNamespace(cmd, &req.Namespace)
	f.StringVar(&req.Source, "source", "", "source of the messages, where several have an ID")
	f.StringVar(&act.Actor, "actor", "", "name recorded with the act (default: the current user)")
	f.StringVar(&act.Reason, "reason", "", "reason for the act; kept in the audit trail")
	return cmd
}

func (s *session) printRetries(answer *deadletters.MessageRetryAnswer) error {
	if s.json {
		return s.printJSON(answer)
	}
	for _, d := range answer.Details {
		var err error
		switch d.Status {
		case "success":
			err = s.printf("✓ %s\n", d.EventID)
		case "pending":
			err = s.printf("… %s is sent later\n", d.EventID)
		default:
			err = s.printf("✗ %s: %s\n", d.EventID, d.Error)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// newTopicDiscard stores the required reason with the message. A message neither pending nor scheduled exits with
// 4, wrong_state, also after a lost answer.
func newTopicDiscard(s *session) *cobra.Command {
	var (
		name deadletters.MessageName
		act  deadletters.Act
	)
	cmd := &cobra.Command{
		Use:     "discard EVENT_ID",
		Short:   "Give a message up, for a reason",
		Example: `  tasker topic discard 4f7c --reason 'test event'`,
		Args:    cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			if act.Reason == "" {
				return usagef("--reason is required; it is stored with the message")
			}
			return nil
		},
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			name.EventID = args[0]
			return answered(s, s.printDone)(deadletters.TopicsOf(c).Discard(ctx, name, signed(act)))
		}),
	}
	messageFlags(cmd, &name)
	cmd.Flags().StringVar(&act.Actor, "actor", "", "name recorded with the act (default: the current user)")
	cmd.Flags().StringVar(&act.Reason, "reason", "", "reason for the act; kept with the message")
	return cmd
}
