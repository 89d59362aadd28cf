package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/kit/clock"
)

const coordinatorTime = 10 * time.Second

type span struct {
	partition  int32
	start, end int64
	committed  int64 // -1: nothing yet
	next       int64 // where the group continues; not committed if that is not in the log
}

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

// front returns where the group continues. latest: it begins at the end of unread partitions.
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

// committed returns the group's commits. It waits for a coordinator that moves, or is created for the first group.
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

// adjust decides where to begin in newly assigned partitions, before the client fetches. Without a commit of the group,
// pin commits the beginning first, so that a restart does not begin elsewhere. If the log lacks the next offset, the
// receiver ends with that loss once the new position is committed.
func (r *receiver) adjust(ctx context.Context, given map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset,
	error,
) {
	all, err := r.conn.spans(ctx, r.topic)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range all {
		_, mine := given[r.topic][s.partition]
		if !mine || r.partitions[s.partition] == nil || s.next == s.committed {
			continue
		}
		r.starts[s.partition] = kgo.EpochOffset{Epoch: -1, Offset: s.next}
		given[r.topic][s.partition] = kgo.NewOffset().At(s.next)
		if s.committed >= 0 {
			r.losses = append(r.losses, lossOf(r.topic, s))
		}
	}
	return given, nil
}

func lossOf(topic string, s span) driver.Loss {
	if s.committed > s.end {
		return driver.Loss{Where: fmt.Sprintf("%s/%d", topic, s.partition), From: s.end, To: s.committed,
			Why: "the log ends before what was read already: a leader without the latest messages has taken over"}
	}
	return driver.Loss{Where: fmt.Sprintf("%s/%d", topic, s.partition), From: s.committed, To: s.start,
		Why: "the retention of the topic, or somebody, has deleted them"}
}

func (r *receiver) pin() error {
	r.mu.Lock()
	starts := maps.Clone(r.starts)
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
	maps.DeleteFunc(r.starts, func(n int32, at kgo.EpochOffset) bool { return starts[n] == at })
	r.signal()
	if len(r.losses) == 0 {
		return nil
	}
	return &driver.LossError{Losses: r.losses}
}

func (r *receiver) commit(ctx context.Context) error {
	r.commits.Lock() // an older offset must not follow a newer one
	defer r.commits.Unlock()
	offsets := map[int32]kgo.EpochOffset{}
	r.mu.Lock()
	for n, p := range r.partitions {
		if to, ok := p.commit(); ok {
			offsets[n] = to
		}
	}
	r.mu.Unlock()
	if len(offsets) == 0 {
		return nil
	}
	if err := r.store(ctx, offsets); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, to := range offsets {
		if p := r.partitions[n]; p != nil {
			p.committed(to.Offset)
		}
	}
	return nil
}

// store commits offsets. It retries refusals during a rebalance. An expelled member gets an error: it must not move the
// offsets of others.
func (r *receiver) store(ctx context.Context, offsets map[int32]kgo.EpochOffset) error {
	for {
		var failed error
		r.client.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{r.topic: offsets},
			func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
				if failed = err; err == nil {
					failed = refusal(answer)
				}
			})
		if failed == nil {
			return nil
		}
		if !errors.Is(failed, kerr.RebalanceInProgress) || clock.Sleep(ctx, 20*time.Millisecond) != nil {
			return fmt.Errorf("commit the offsets of %q: %w", r.topic, r.ending(failed))
		}
	}
}

func refusal(answer *kmsg.OffsetCommitResponse) error {
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}
