package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

const (
	// fetchBytes bounds an answer to a fetch, after a first message.
	fetchBytes = 8 << 20
	buffered   = 2000
	lookEvery  = 3 * time.Second
	// handOver bounds how long a leaving partition waits for acknowledgements under way.
	handOver = 30 * time.Second
)

type receiver struct {
	driver.BasicReceiver
	conn   *conn
	client *kgo.Client
	topic  string
	id     kadm.TopicID
	parts  int // of the topic, at the latest look; used by the pump only

	ended context.Context
	end   context.CancelFunc
	pumps sync.WaitGroup

	commits    sync.Mutex
	mu         sync.Mutex
	partitions map[int32]*partition
	committing int
	ready      []*entry // polled or given back, and not delivered
	bytes      int
	changed    chan struct{}
	starts     map[int32]kgo.EpochOffset // to be committed before anything is delivered
	losses     []driver.Loss             // reported once the starts are committed
	err        error
}

// Open implements driver.Driver. Messages come once the group has assigned partitions.
func (c *conn) Open(ctx context.Context, topic string) (driver.Receiver, error) {
	of, err := c.topic(ctx, topic)
	if err != nil {
		return nil, err
	}
	r := &receiver{conn: c, topic: topic, id: of.ID, parts: len(of.Partitions), changed: make(chan struct{}),
		partitions: map[int32]*partition{}, starts: map[int32]kgo.EpochOffset{}}
	if _, err := c.spans(ctx, topic); err != nil { // fail now for a group that it may not use
		return nil, err
	}
	r.ended, r.end = context.WithCancel(c.ended)
	isolation := kgo.ReadCommitted()
	if c.opts.uncommitted {
		isolation = kgo.ReadUncommitted()
	}
	// It reads ends of transactions too, and never changes an offset silently.
	r.client, err = c.newClient(kgo.FetchIsolationLevel(isolation), kgo.KeepControlRecords(),
		kgo.FetchMaxBytes(fetchBytes), kgo.FetchMaxPartitionBytes(fetchBytes/4),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.WithContext(r.ended), kgo.ConsumerGroup(c.groupOf(topic)),
		kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.FetchMaxWait(time.Second), kgo.MetadataMaxAge(30*time.Second),
		kgo.SessionTimeout(c.opts.session), kgo.HeartbeatInterval(min(c.opts.session/4, 3*time.Second)),
		kgo.RebalanceTimeout(2*handOver), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.AdjustFetchOffsetsFn(r.adjust), kgo.OnPartitionsAssigned(r.assigned), kgo.OnPartitionsRevoked(r.revoked),
		kgo.OnPartitionsLost(r.lost))
	if err != nil {
		r.end()
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		go r.client.CloseAllowingRebalance()
		r.end()
		return nil, driver.ErrClosed
	}
	c.receivers[r] = struct{}{}
	r.pumps.Go(r.pump)
	return r, nil
}

// pump polls until the receiver ends, but not while enough is buffered; then the client does not fetch.
func (r *receiver) pump() {
	for r.room() {
		ctx, cancel := context.WithTimeout(r.ended, lookEvery)
		fetches := r.client.PollRecords(ctx, buffered)
		idle := ctx.Err() != nil
		cancel()
		controls, err := r.take(fetches)
		// No partition was taken away between the poll and this.
		r.client.AllowRebalance()
		if err == nil && controls {
			err = r.commit(r.ended)
		}
		if err == nil && idle && r.ended.Err() == nil {
			err = r.look()
		}
		if err == nil {
			err = r.pin()
		}
		if err != nil {
			r.fail(err)
			return
		}
	}
}

// await waits until ready, which it calls with mu held, returns true; false if ctx ends before.
func (r *receiver) await(ctx context.Context, ready func() bool) bool {
	for {
		r.mu.Lock()
		ok, changed := ready(), r.changed
		r.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

func (r *receiver) room() (room bool) {
	r.await(r.ended, func() bool {
		room = r.err == nil && r.ended.Err() == nil && len(r.ready) < buffered && r.bytes < driver.BatchBytes
		return room || r.err != nil
	})
	return room
}

// take buffers polled records, and reports whether control records are among them, which nobody acknowledges. It
// returns the first error of a partition or the group.
func (r *receiver) take(fetches kgo.Fetches) (controls bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fetches.EachRecord(func(rec *kgo.Record) {
		p := r.partitions[rec.Partition]
		if p == nil || p.leaving {
			return
		}
		e := p.add(rec)
		if e.settled {
			controls = true
			return
		}
		r.ready = append(r.ready, e)
		r.bytes += sizeOf(rec)
	})
	r.signal()
	for _, e := range fetches.Errors() {
		if !errors.Is(e.Err, context.DeadlineExceeded) && !errors.Is(e.Err, context.Canceled) {
			return controls, fmt.Errorf("read %s/%d: %w", r.topic, e.Partition, r.ending(e.Err))
		}
	}
	return controls, nil
}

func (r *receiver) ending(err error) error {
	err = r.conn.fail(err)
	if driver.Permanent(err) || errors.Is(err, driver.ErrClosed) || errors.Is(err, driver.ErrLost) {
		return err
	}
	return fmt.Errorf("%w: %w", driver.ErrLost, err)
}

func sizeOf(r *kgo.Record) int { return len(r.Key) + len(r.Value) + 64 }

// look checks that the topic exists and is still the same. Without a topic the client waits silently.
func (r *receiver) look() error {
	ctx, cancel := context.WithTimeout(r.ended, 3*lookEvery)
	defer cancel()
	of, err := r.conn.topic(ctx, r.topic)
	switch {
	case r.ended.Err() != nil:
		return driver.ErrClosed
	case err != nil:
		return r.ending(fmt.Errorf("the cluster does not answer: %w", err))
	case of.ID != r.id:
		return fmt.Errorf("%w: the topic %q was deleted and created again", driver.ErrLost, r.topic)
	case len(of.Partitions) != r.parts:
		r.parts = len(of.Partitions)
		r.client.ForceMetadataRefresh()
	}
	return nil
}

func (r *receiver) signal() {
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *receiver) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
		r.signal()
	}
}

func (r *receiver) Receive(ctx context.Context, max int) (batch []driver.Message, err error) {
	if !r.await(ctx, func() bool {
		if err = cmp.Or(ctx.Err(), r.err); err == nil && len(r.starts) == 0 {
			batch = r.deliver(max)
		}
		return err != nil || len(batch) > 0
	}) {
		return nil, ctx.Err()
	}
	return batch, err
}

func (r *receiver) deliver(max int) []driver.Message {
	var batch []driver.Message
	size := 0
	for len(r.ready) > 0 && len(batch) < max && (size < driver.BatchBytes || len(batch) == 0) {
		e := r.ready[0]
		r.ready[0], r.ready = nil, r.ready[1:]
		n := sizeOf(e.record)
		r.bytes -= n
		size += n
		e.delivered = true
		e.of.delivered++
		m := message(e.record, r.id)
		m.Receipt = e
		batch = append(batch, m)
	}
	if len(batch) > 0 {
		r.signal()
	}
	return batch
}

// Ack implements driver.Receiver. A message behind an unacknowledged one is committed together with that.
func (r *receiver) Ack(ctx context.Context, messages []driver.Message) error {
	r.mu.Lock()
	settled := false
	for i := range messages {
		e, ok := messages[i].Receipt.(*entry)
		if !ok || e.settled {
			continue
		}
		if e.of.gone {
			r.mu.Unlock()
			return fmt.Errorf("%w: the group has taken the partition %d away", driver.ErrLost, e.of.number)
		}
		e.settle()
		settled = true
	}
	r.committing++
	r.mu.Unlock()
	var err error
	if settled {
		err = r.commit(ctx)
	} else if r.ended.Err() != nil {
		err = driver.ErrClosed
	}
	r.mu.Lock()
	r.committing--
	r.signal()
	r.mu.Unlock()
	return err
}

// Leave implements driver.Receiver: the log keeps committed messages.
func (r *receiver) Leave(ctx context.Context, messages []driver.Message) (again bool, err error) {
	return false, r.Ack(ctx, messages)
}

// Release implements driver.Receiver: messages return to their places in the buffer.
func (r *receiver) Release(_ context.Context, messages []driver.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var back []*entry
	for i := range messages {
		e, ok := messages[i].Receipt.(*entry)
		if !ok || e.settled || !e.delivered || e.of.gone {
			continue
		}
		e.delivered = false
		e.of.delivered--
		if !e.of.leaving {
			back = append(back, e)
			r.bytes += sizeOf(e.record)
		}
	}
	r.ready = slices.Concat(back, r.ready)
	slices.SortFunc(r.ready, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.of.number, b.of.number), cmp.Compare(a.offset, b.offset))
	})
	r.signal()
	return nil
}

func (r *receiver) Close() error {
	r.fail(driver.ErrClosed)
	r.conn.mu.Lock()
	delete(r.conn.receivers, r)
	r.conn.mu.Unlock()
	if r.ended.Err() == nil {
		bounded, cancel := context.WithTimeout(r.ended, polite)
		_ = r.client.LeaveGroupContext(bounded) // else the group waits until the session has expired
		cancel()
	}
	r.end()
	r.pumps.Wait()
	r.client.CloseAllowingRebalance()
	return nil
}
