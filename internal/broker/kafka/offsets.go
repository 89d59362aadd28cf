package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/clock"
)

// coordinatorTime bounds the wait for the coordinator of a group.
const coordinatorTime = 10 * time.Second

// span is what a partition holds, and how far the group has read it.
type span struct {
	partition  int32
	start, end int64
	committed  int64 // -1: nothing yet
	next       int64 // where the group reads on; other than committed, if that is not in the log
}

// bounds returns where the partitions of a topic begin and end. The end is where a reader of committed messages stops.
func (c *conn) bounds(ctx context.Context, topic string) (starts, ends kadm.ListedOffsets, err error) {
	if starts, err = c.admin.ListStartOffsets(ctx, topic); err != nil {
		return nil, nil, c.fail(err)
	}
	list := c.admin.ListCommittedOffsets
	if c.opts.uncommitted {
		list = c.admin.ListEndOffsets
	}
	if ends, err = list(ctx, topic); err != nil {
		return nil, nil, c.fail(err)
	}
	return starts, ends, nil
}

func (c *conn) spans(ctx context.Context, topic string) ([]span, error) {
	starts, ends, err := c.bounds(ctx, topic)
	if err != nil {
		return nil, err
	}
	group := c.groupOf(topic)
	committed, err := c.committed(ctx, group, topic)
	if err != nil {
		return nil, fmt.Errorf("the group %q: %w", group, c.fail(err))
	}
	var all []span
	for n, of := range starts[topic] {
		end, ok := ends.Lookup(topic, n)
		if !ok || of.Err != nil || end.Err != nil {
			return nil, fmt.Errorf("the offsets of %s/%d: %w", topic, n, classify(errors.Join(of.Err, end.Err)))
		}
		s := span{partition: n, start: of.Offset, end: end.Offset, committed: -1}
		if at, ok := committed.Lookup(topic, n); ok {
			if at.Err != nil {
				return nil, fmt.Errorf("the group %q: %w", group, classify(at.Err))
			}
			s.committed = at.At
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b span) int { return int(a.partition - b.partition) })
	begun := slices.ContainsFunc(all, func(s span) bool { return s.committed >= 0 })
	for i := range all {
		all[i].next = all[i].front(c.opts.latest && !begun)
	}
	return all, nil
}

// front returns where the group reads on. latest says that it begins with the end of what it has not read yet.
func (s span) front(latest bool) int64 {
	switch {
	case s.committed < 0 && latest:
		return s.end
	case s.committed > s.end:
		return s.start
	}
	return max(s.committed, s.start)
}

func (c *conn) Lag(ctx context.Context, topic string) ([]driver.PartitionLag, error) {
	all, err := c.spans(ctx, topic)
	if err != nil {
		return nil, err
	}
	lags := make([]driver.PartitionLag, len(all))
	for i, s := range all {
		lags[i] = driver.PartitionLag{Partition: s.partition, Committed: s.committed, End: s.end,
			Lag: s.end - s.next}
	}
	return lags, nil
}

// committed returns what a group has committed. A coordinator that moves, or is made for the first group of all, is
// waited for.
func (c *conn) committed(ctx context.Context, group, topic string) (kadm.OffsetResponses, error) {
	bounded, cancel := context.WithTimeout(ctx, coordinatorTime)
	defer cancel()
	for {
		found, err := c.admin.FetchOffsetsForTopics(bounded, group, topic)
		if !errors.Is(err, kerr.CoordinatorNotAvailable) && !errors.Is(err, kerr.NotCoordinator) &&
			!errors.Is(err, kerr.CoordinatorLoadInProgress) || clock.Sleep(bounded, 50*time.Millisecond) != nil {
			return found, err
		}
	}
}
