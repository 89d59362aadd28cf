package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Topic is the state of a topic.
type Topic struct {
	Name   string
	Exists bool
	// Replicas is the least number of copies of a partition.
	Replicas int
	// Missing are Tasker's operations that the user may not do.
	Missing []string
}

// Finding is the result of Inspect.
type Finding struct {
	Brokers      int
	Queue        Topic
	Group        string
	GroupMissing []string
	// Sends are the topics for letters, in the order of the request.
	Sends []Topic
	// OldestUnread is the time of the oldest record that the group has not read; zero: none, or it may not be read.
	OldestUnread time.Time

	// ConfigError is why the settings below are unknown: they need the permission DescribeConfigs.
	ConfigError error
	// Retention is how long Kafka keeps records; negative means forever.
	Retention time.Duration
	Cleanup   string // cleanup.policy
	InSync    int    // min.insync.replicas
}

// Inspect looks at a source's topic, and at those for its letters. It changes nothing. It fails if the cluster does not
// answer, or the URL is wrong.
func Inspect(ctx context.Context, url, queue string, sends []string) (*Finding, error) {
	d, err := Open(ctx, url)
	if err != nil {
		return nil, err
	}
	c := d.(*conn)
	defer func() { _ = c.Close() }()
	f := &Finding{Group: c.groupOf(queue)}
	if f.Queue, err = c.look(ctx, f, queue, kadm.OpRead); err != nil {
		return nil, err
	}
	for _, text := range sends {
		to, err := parse(text)
		if err != nil {
			return nil, err
		}
		t, err := c.look(ctx, f, to.topic, kadm.OpWrite)
		if err != nil {
			return nil, err
		}
		f.Sends = append(f.Sends, t)
	}
	groups, err := c.admin.DescribeGroups(kadm.WithAuthorizedOps(ctx), f.Group)
	// Kafka shows no permissions of a group without members, if the user may see it.
	of := groups[f.Group]
	if errors.Is(errors.Join(err, of.Err), kerr.GroupAuthorizationFailed) ||
		len(of.AuthorizedOperations) > 0 && !slices.Contains(of.AuthorizedOperations, kadm.OpRead) {
		f.GroupMissing = []string{kadm.OpRead.String()}
	}
	if !f.Queue.Exists || len(f.Queue.Missing)+len(f.GroupMissing) > 0 {
		return f, nil
	}
	if f.OldestUnread, err = c.oldestUnread(ctx, queue); err != nil {
		return nil, err
	}
	f.ConfigError = c.configure(ctx, f)
	return f, nil
}

// look describes one topic, and counts the brokers. A request for several has no answer if the user may not describe
// one of them, which then counts as existing.
func (c *conn) look(ctx context.Context, f *Finding, name string, needs kadm.ACLOperation) (Topic, error) {
	t := Topic{Name: name}
	meta, err := c.admin.Metadata(kadm.WithAuthorizedOps(ctx), name)
	if errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Exists, t.Missing = true, []string{kadm.OpDescribe.String(), needs.String()}
		return t, nil
	}
	if err != nil {
		return t, c.fail(err)
	}
	f.Brokers = len(meta.Brokers)
	of, ok := meta.Topics[name]
	if !ok || of.Err != nil {
		return t, nil
	}
	t.Exists = true
	for _, p := range of.Partitions {
		t.Replicas = min(cmp.Or(t.Replicas, len(p.Replicas)), len(p.Replicas))
	}
	if !slices.Contains(of.AuthorizedOperations, needs) {
		t.Missing = []string{needs.String()}
	}
	return t, nil
}

func (c *conn) oldestUnread(ctx context.Context, topic string) (oldest time.Time, err error) {
	messages, err := c.unread(ctx, topic, 1)
	for _, m := range messages {
		if !m.Time.IsZero() && (oldest.IsZero() || m.Time.Before(oldest)) {
			oldest = m.Time
		}
	}
	return oldest, err
}

func (c *conn) configure(ctx context.Context, f *Finding) error {
	settings, err := c.settings(ctx, f.Queue.Name)
	if err != nil {
		return err
	}
	f.Cleanup, f.Retention = settings["cleanup.policy"], milliseconds(settings["retention.ms"])
	if f.InSync, err = strconv.Atoi(settings["min.insync.replicas"]); err != nil {
		return fmt.Errorf("min.insync.replicas of the topic %s: %w", f.Queue.Name, err)
	}
	return nil
}
