package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newTopic shows letters as messages of topics, like /api/v1/dlq; their IDs are the senders'.
func newTopic(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topic",
		Short: "Show dead letters by original topic, retry and discard them, set policies of topics",
		Long: `The messages of a dead letter topic, by the topic that they came from. An EVENT_ID is the
ID that the sender gave a message, or the UUID of the letter.`,
	}
	s.connectFlags(cmd)
	cmd.AddCommand(newTopicList(s), newTopicStats(s), newTopicMessages(s), newTopicShow(s), newTopicRetry(s),
		newTopicDiscard(s), newTopicPolicy(s))
	return cmd
}

// The default is the key's only namespace, else default.
func topicNamespace(cmd *cobra.Command, namespace *string) {
	cmd.Flags().StringVar(namespace, "namespace", "", "namespace (default: that of the API key, or default)")
}

// newTopicList: OLDEST is the oldest message's first death, NEWEST the newest one's last; RETRIES is the mean and
// maximum per message. --json prints deadletters.DeadTopics.
func newTopicList(s *session) *cobra.Command {
	var namespace string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List original topics with the numbers of their messages",
		Example: `  tasker topic list`,
		Args:    cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			list, err := deadletters.TopicsOf(c).Topics(ctx, namespace)
			if err != nil {
				return err
			}
			if s.json {
				return s.printList("topics", list)
			}
			if len(list) == 0 {
				return s.printf("No messages.\n")
			}
			t := s.newTable("TOPIC", "PENDING", "SCHEDULED", "RETRIED", "DISCARDED", "OLDEST", "NEWEST", "RETRIES")
			for i := range list {
				of, n := &list[i], &list[i].Statuses
				t.row(of.Topic, strconv.Itoa(n.Pending), strconv.Itoa(n.Scheduled), strconv.Itoa(n.Retried),
					strconv.Itoa(n.Discarded), s.agoOf(of.OldestMessage), s.agoOf(of.NewestMessage),
					fmt.Sprintf("%.1f (%d)", of.AvgRetryCount, of.MaxRetryCount))
			}
			return t.flush()
		}),
	}
	topicNamespace(cmd, &namespace)
	return cmd
}

// newTopicStats shows ages of waiting messages. --json prints deadletters.MessageStats.
func newTopicStats(s *session) *cobra.Command {
	var namespace string
	cmd := &cobra.Command{
		Use:     "stats",
		Short:   "Count messages by status, topic and type of event",
		Example: `  tasker topic stats`,
		Args:    cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			return answered(s, s.printMessageStats)(deadletters.TopicsOf(c).Stats(ctx, namespace))
		}),
	}
	topicNamespace(cmd, &namespace)
	return cmd
}

func (s *session) printMessageStats(stats *deadletters.MessageStats) error {
	n := stats.ByStatus
	if err := s.printf("Pending: %d  Scheduled: %d  Retried: %d  Discarded: %d\n", n.Pending, n.Scheduled, n.Retried,
		n.Discarded); err != nil {
		return err
	}
	if n.Pending+n.Scheduled > 0 {
		age := func(seconds float64) time.Duration {
			return time.Duration(seconds * float64(time.Second)).Truncate(time.Second)
		}
		of := stats.AgeStats
		if err := s.printf("Ages: %v to %v, mean %v\n", age(of.Min), age(of.Max), age(of.Avg)); err != nil {
			return err
		}
	}
	if len(stats.ByTopic)+len(stats.ByEventType) == 0 {
		return nil
	}
	t := s.newTable("BY", "NAME", "MESSAGES")
	for _, of := range stats.ByTopic {
		t.row("topic", of.Topic, strconv.Itoa(of.Count))
	}
	for _, of := range stats.ByEventType {
		t.row("event type", of.EventType, strconv.Itoa(of.Count))
	}
	return t.flush()
}

// newTopicPolicy: an omitted flag takes its default, but the greatest age, test events and copies keep the previous
// values. It needs sources:admin.
func newTopicPolicy(s *session) *cobra.Command {
	var (
		req                 deadletters.TopicPolicy
		act                 deadletters.Act
		base, limit, maxAge time.Duration
		jitter              float64
		tests, copies       bool
	)
	cmd := &cobra.Command{
		Use:   "policy TOPIC",
		Short: "Set when messages of a topic are sent back; '*' is all topics without a policy",
		Example: `  tasker topic policy pod-events --strategy exponential_backoff --max-retries 3 --base 1m --cap 10m --multiplier 3
  tasker topic policy '*' --strategy manual`,
		Args: cobra.ExactArgs(1),
	}
	cmd.RunE = s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
		act = signed(act)
		req.Topic, req.Actor, req.Reason = args[0], act.Actor, act.Reason
		req.BaseDelaySeconds, req.MaxDelaySeconds = base.Seconds(), limit.Seconds()
		given := cmd.Flags().Changed
		if given("jitter") {
			req.JitterFactor = &jitter
		}
		if given("max-age") {
			seconds := maxAge.Seconds()
			req.MaxAgeSeconds = &seconds
		}
		if given("discard-test-events") {
			req.DiscardTestEvents = &tests
		}
		if given("copy-retries") {
			req.CopyRetries = &copies
		}
		return answered(s, s.printDone)(deadletters.TopicsOf(c).SavePolicy(ctx, req))
	})
	f := cmd.Flags()
	topicNamespace(cmd, &req.Namespace)
	f.StringVar(&req.Source, "source", "", "only messages of this source")
	f.StringVar(&req.Strategy, "strategy", "manual", "immediate, exponential_backoff, fixed_interval, scheduled or manual")
	f.IntVar(&req.MaxRetries, "max-retries", 0, "retries after which a message is discarded (default 5)")
	f.DurationVar(&base, "base", 0, "delay before the first retry (default 1m)")
	f.DurationVar(&limit, "cap", 0, "longest delay (default 1h)")
	f.Float64Var(&req.RetryMultiplier, "multiplier", 0, "factor of the delay for each retry (default 2)")
	f.Float64Var(&jitter, "jitter", 0, "share by which a delay varies, 0 to 1 (default 0.1 for delays that grow)")
	f.DurationVar(&maxAge, "max-age", 0, "discard older messages; 0 for no limit (default: as before, or 168h)")
	f.BoolVar(&tests, "discard-test-events", false, "discard messages whose ID begins with test-")
	f.BoolVar(&copies, "copy-retries", false, "send a copy of each retry to the topic with -retry")
	f.StringVar(&act.Actor, "actor", "", "name recorded with the act (default: the current user)")
	f.StringVar(&act.Reason, "reason", "", "reason for the act; kept in the audit trail")
	choose(cmd, "strategy", "immediate", "exponential_backoff", "fixed_interval", "scheduled", "manual")
	return cmd
}

func (s *session) printDone(done *deadletters.MessageDone) error {
	return s.printf("✓ %s\n", done.Message)
}
