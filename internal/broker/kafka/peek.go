package kafka

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// Peek implements driver.Driver. It reads what the group has not committed, without being a member of it: nothing
// changes. Of several partitions the oldest messages come first.
func (c *conn) Peek(ctx context.Context, topic string, max int) ([]driver.Message, error) {
	of, err := c.topic(ctx, topic)
	if err != nil {
		return nil, err
	}
	records, err := c.unread(ctx, topic, max)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(records, func(a, b *kgo.Record) int {
		if a.Partition == b.Partition {
			return cmp.Compare(a.Offset, b.Offset)
		}
		return a.Timestamp.Compare(b.Timestamp)
	})
	messages := make([]driver.Message, 0, min(len(records), max))
	for _, r := range records[:min(len(records), max)] {
		messages = append(messages, message(r, of.ID))
	}
	return messages, nil
}

// unread returns up to max records of each partition that the group has not committed.
func (c *conn) unread(ctx context.Context, topic string, max int) ([]*kgo.Record, error) {
	all, err := c.spans(ctx, topic)
	if err != nil {
		return nil, err
	}
	ends, from := map[int32]int64{}, map[int32]kgo.Offset{}
	for _, s := range all {
		if s.next < s.end {
			ends[s.partition], from[s.partition] = s.end, kgo.NewOffset().At(s.next)
		}
	}
	return c.read(ctx, topic, from, ends, max)
}

// read reads up to max records of each partition, up to the ends.
func (c *conn) read(ctx context.Context, topic string, from map[int32]kgo.Offset, ends map[int32]int64, max int) (
	[]*kgo.Record, error,
) {
	if len(from) == 0 || max <= 0 {
		return nil, nil
	}
	client, err := c.newConsumer(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
		kgo.DisableFetchSessions())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var records []*kgo.Record
	counts, size := map[int32]int{}, 0
	for len(ends) > 0 && size < driver.BatchBytes {
		fetches := client.PollRecords(ctx, max)
		for _, e := range fetches.Errors() {
			return nil, fmt.Errorf("read %s/%d: %w", topic, e.Partition, c.fail(e.Err))
		}
		fetches.EachRecord(func(r *kgo.Record) {
			end, wanted := ends[r.Partition]
			if !wanted {
				return
			}
			if !r.Attrs.IsControl() && r.Offset < end {
				records = append(records, r)
				counts[r.Partition]++
				size += sizeOf(r)
			}
			if r.Offset+1 >= end || counts[r.Partition] >= max {
				delete(ends, r.Partition)
				client.PauseFetchPartitions(map[string][]int32{topic: {r.Partition}})
			}
		})
	}
	return records, nil
}
