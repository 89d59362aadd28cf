package kafka

import (
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// Peek implements driver.Driver. It reads what the group has not committed, without being a member of it: nothing
// changes. Of several partitions the oldest messages come first.
func (c *conn) Peek(ctx context.Context, topic string, max int) ([]driver.Message, error) {
	messages, err := c.unread(ctx, topic, max)
	slices.SortStableFunc(messages, func(a, b driver.Message) int {
		if a.Log.Partition == b.Log.Partition {
			return cmp.Compare(a.Log.From, b.Log.From)
		}
		return a.Time.Compare(b.Time)
	})
	return messages[:min(len(messages), max)], err
}

// unread returns up to max messages of each partition that the group has not committed.
func (c *conn) unread(ctx context.Context, topic string, max int) (messages []driver.Message, err error) {
	of, err := c.topic(ctx, topic)
	if err != nil {
		return nil, err
	}
	all, err := c.spans(ctx, topic)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, s := range all {
		part := driver.LogPart{Partition: s.partition, From: s.next, To: s.end}
		for left := max; left > 0 && part.From < part.To && size < driver.BatchBytes; {
			var entries []driver.Entry
			if entries, part.From, err = c.readPart(ctx, &of, part, left); err != nil {
				return nil, err
			}
			for _, e := range entries {
				messages = append(messages, e.Message)
				size += e.Size()
			}
			left -= len(entries)
		}
	}
	return messages, nil
}
