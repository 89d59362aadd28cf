package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

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
	epoch      int32
}

// spans returns the partitions of a topic in their order. The end is where a reader of committed messages stops.
func (c *conn) spans(ctx context.Context, topic string) ([]span, error) {
	starts, err := c.admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, c.fail(err)
	}
	list := c.admin.ListCommittedOffsets
	if c.opts.uncommitted {
		list = c.admin.ListEndOffsets
	}
	ends, err := list(ctx, topic)
	if err != nil {
		return nil, c.fail(err)
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
		s := span{partition: n, start: of.Offset, end: end.Offset, committed: -1, epoch: -1}
		if at, ok := committed.Lookup(topic, n); ok {
			if at.Err != nil {
				return nil, fmt.Errorf("the group %q: %w", group, classify(at.Err))
			}
			s.committed, s.epoch = at.At, at.LeaderEpoch
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b span) int { return int(a.partition - b.partition) })
	return all, nil
}

// Lag implements driver.Lagger.
func (c *conn) Lag(ctx context.Context, topic string) ([]driver.PartitionLag, error) {
	all, err := c.spans(ctx, topic)
	if err != nil {
		return nil, err
	}
	begun := begun(all)
	lags := make([]driver.PartitionLag, len(all))
	for i, s := range all {
		lags[i] = driver.PartitionLag{Partition: s.partition, Committed: s.committed, End: s.end,
			Lag: s.end - c.front(s, begun)}
	}
	return lags, nil
}

// begun reports whether the group has read the topic before.
func begun(all []span) bool {
	return slices.ContainsFunc(all, func(s span) bool { return s.committed >= 0 })
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

// adjust decides where to begin in partitions that the group has given to the receiver. The client calls it before it
// fetches. Where the group has committed nothing, the beginning is committed first, so that a restart does not begin
// elsewhere. Where the log does not have what comes next, that is a loss, and the receiver ends with it once the new
// position is committed.
func (r *receiver) adjust(ctx context.Context, given map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset,
	error,
) {
	all, err := r.conn.spans(ctx, r.topic)
	if err != nil {
		return nil, err
	}
	begun := begun(all)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range all {
		if _, mine := given[r.topic][s.partition]; !mine || r.partitions[s.partition] == nil {
			continue
		}
		if s.committed >= s.start && s.committed <= s.end {
			continue
		}
		at := s.start
		if s.committed < 0 && r.conn.opts.latest && !begun {
			at = s.end
		}
		if r.starts == nil {
			r.starts = map[int32]kgo.EpochOffset{}
		}
		r.starts[s.partition] = kgo.EpochOffset{Epoch: -1, Offset: at}
		given[r.topic][s.partition] = kgo.NewOffset().At(at)
		if s.committed >= 0 {
			r.losses = append(r.losses, lossOf(r.topic, s))
		}
	}
	return given, nil
}

// lossOf describes messages that were gone before they were read.
func lossOf(topic string, s span) driver.Loss {
	if s.committed > s.end {
		return driver.Loss{Where: fmt.Sprintf("%s/%d", topic, s.partition), From: s.end, To: s.committed,
			Why: "the log ends before what was read already: a leader without the latest messages has taken over"}
	}
	return driver.Loss{Where: fmt.Sprintf("%s/%d", topic, s.partition), From: s.committed, To: s.start,
		Why: "the retention of the topic, or somebody, has deleted them"}
}

// pin commits where partitions begin. After a loss it fails with it.
func (r *receiver) pin() error {
	r.mu.Lock()
	starts := r.starts
	r.mu.Unlock()
	if len(starts) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.ended, handOver)
	defer cancel()
	if err := r.store(ctx, starts); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starts = nil
	r.signal()
	if len(r.losses) == 0 {
		return nil
	}
	return &driver.LossError{Losses: r.losses}
}
