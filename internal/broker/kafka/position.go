package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/clock"
)

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

// pin commits where partitions begin. After a loss it fails with it.
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

// commit commits how far all partitions are settled.
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

// store commits offsets. While the group rebalances the broker may refuse that for a moment. A member that the group
// has put out gets an error: it must not move the offsets of others.
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

// refusal returns the first error of an answer.
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
