package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// logWait bounds the wait for messages that are already in the broker's log.
const logWait = 500 * time.Millisecond

// LogParts implements driver.Driver. The end is where a reader of committed messages stops.
func (c *conn) LogParts(ctx context.Context, topic string, since, before time.Time) ([]driver.LogPart, error) {
	if _, err := c.topic(ctx, topic); err != nil {
		return nil, err
	}
	starts, ends, err := c.bounds(ctx, topic)
	if err != nil {
		return nil, err
	}
	froms, tos := starts, ends
	for _, bound := range []struct {
		at time.Time
		to *kadm.ListedOffsets
	}{{since, &froms}, {before, &tos}} {
		if bound.at.IsZero() {
			continue
		}
		if *bound.to, err = c.admin.ListOffsetsAfterMilli(ctx, bound.at.UnixMilli(), topic); err != nil {
			return nil, c.fail(err)
		}
	}
	var parts []driver.LogPart
	for n, start := range starts[topic] {
		end, from, to := ends[topic][n], froms[topic][n], tos[topic][n]
		if err := errors.Join(start.Err, end.Err, from.Err, to.Err); err != nil {
			return nil, fmt.Errorf("the offsets of %s/%d: %w", topic, n, classify(err))
		}
		p := driver.LogPart{Partition: n, From: max(start.Offset, from.Offset), To: min(end.Offset, to.Offset)}
		p.To = max(p.From, p.To)
		parts = append(parts, p)
	}
	slices.SortFunc(parts, func(a, b driver.LogPart) int { return int(a.Partition - b.Partition) })
	return parts, nil
}

// ReadLog implements driver.Driver. It asks the leader of the partition: only a fetch shows the gaps of a log: markers
// and messages of transactions, and compacted ones.
func (c *conn) ReadLog(ctx context.Context, topic string, part driver.LogPart, max int) ([]driver.Entry, int64, error) {
	of, err := c.topic(ctx, topic)
	if err != nil {
		return nil, part.From, err
	}
	return c.readPart(ctx, &of, part, max)
}

func (c *conn) readPart(ctx context.Context, of *kadm.TopicDetail, part driver.LogPart, max int) ([]driver.Entry, int64,
	error,
) {
	next := part.From
	for next < part.To {
		fetched, behind, err := c.fetch(ctx, of, part.Partition, next)
		switch {
		case errors.Is(err, kerr.OffsetOutOfRange):
			return c.gap(ctx, of.Topic, part, next)
		case err != nil:
			return nil, next, fmt.Errorf("read %s/%d: %w", of.Topic, part.Partition, c.fail(err))
		case behind <= next:
			return nil, next, fmt.Errorf("read %s/%d: the broker returns nothing at offset %d", of.Topic, part.Partition, next)
		}
		var entries []driver.Entry
		next = min(behind, part.To)
		for _, r := range fetched {
			if r.Offset >= part.To {
				break
			}
			if len(entries) == max {
				next = r.Offset
				break
			}
			entries = append(entries, driver.Entry{Offset: r.Offset, Message: message(r, of.ID)})
		}
		if len(entries) > 0 {
			return entries, next, nil
		}
	}
	return nil, next, nil
}

func (c *conn) fetch(ctx context.Context, of *kadm.TopicDetail, partition int32, offset int64) ([]*kgo.Record, int64,
	error,
) {
	at, ok := of.Partitions[partition]
	if !ok {
		return nil, offset, fmt.Errorf("%w: the topic %q has no partition %d", driver.ErrNotFound, of.Topic, partition)
	}
	if at.Err != nil {
		return nil, offset, at.Err
	}
	isolation := kgo.ReadCommitted()
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(logWait.Milliseconds()), 1, fetchBytes
	if req.IsolationLevel = 1; c.opts.uncommitted {
		isolation, req.IsolationLevel = kgo.ReadUncommitted(), 0
	}
	req.SessionEpoch = -1 // no session
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, fetchBytes/4
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID, t.Partitions = of.Topic, of.ID, []kmsg.FetchRequestTopicPartition{p}
	req.Topics = []kmsg.FetchRequestTopic{t}
	answer, err := req.RequestWith(ctx, c.client.Broker(int(at.Leader)))
	if err == nil {
		err = kerr.ErrorForCode(answer.ErrorCode)
	}
	if err != nil {
		return nil, offset, err
	}
	if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
		return nil, offset, errors.New("the broker answers for other partitions")
	}
	records, behind := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Offset: offset, IsolationLevel: isolation,
		Topic: of.Topic, Partition: partition}, &answer.Topics[0].Partitions[0], kgo.DefaultDecompressor(), nil)
	return records.Records, behind, records.Err
}

func (c *conn) gap(ctx context.Context, topic string, part driver.LogPart, next int64) ([]driver.Entry, int64, error) {
	starts, err := c.admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, next, c.fail(err)
	}
	start, ok := starts.Lookup(topic, part.Partition)
	if !ok || start.Err != nil {
		return nil, next, fmt.Errorf("the offsets of %s/%d: %w", topic, part.Partition, classify(start.Err))
	}
	to := min(start.Offset, part.To)
	if to <= next { // the log ends before the offset: the topic is another one
		to = part.To
	}
	return nil, to, &driver.LossError{Losses: []driver.Loss{{Where: fmt.Sprintf("%s/%d", topic, part.Partition),
		From: next, To: to, Why: "the log does not have them any more"}}}
}

// Peek implements driver.Driver. It reads uncommitted messages without joining the group: nothing changes. Of several
// partitions the oldest messages come first.
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
