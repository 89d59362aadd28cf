package kafka

import (
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// producer serves one Send at a time, so that its writes are those of the Send.
type producer struct {
	client *kgo.Client
	topics map[string]shape
	// wrote: it has begun to write since fresh; cut: a write had no answer.
	wrote, cut atomic.Bool
}

// shape is a producer's view of a topic. The client would notice a change minutes later.
type shape struct {
	id    kadm.TopicID
	parts int
}

var (
	_ kgo.HookBrokerWrite = (*producer)(nil)
	_ kgo.HookBrokerE2E   = (*producer)(nil)
)

func (p *producer) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, n int, _, _ time.Duration, _ error) {
	if key == kmsg.Produce.Int16() && n > 0 {
		p.wrote.Store(true)
	}
}

func (p *producer) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e kgo.BrokerE2E) {
	if key == kmsg.Produce.Int16() && e.BytesWritten > 0 && e.Err() != nil {
		p.cut.Store(true)
	}
}

// fresh resets it: no message is on its way.
func (p *producer) fresh() {
	p.wrote.Store(false)
	p.cut.Store(false)
}

// refusals bounds the tries of a record: meanwhile a partition may get another leader.
const refusals = 10

// producer returns an idempotent producer, which waits for all replicas in sync, and sends nothing before Flush.
func (c *conn) producer(of *kadm.TopicDetail) (*producer, error) {
	now := shape{of.ID, len(of.Partitions)}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, driver.ErrClosed
	}
	for n := len(c.idle); n > 0; n = len(c.idle) {
		p := c.idle[n-1]
		c.idle = c.idle[:n-1]
		if known, ok := p.topics[of.Topic]; ok && known != now {
			c.closing.Go(p.client.Close)
			continue
		}
		c.mu.Unlock()
		p.topics[of.Topic] = now
		return p, nil
	}
	c.mu.Unlock()
	p := &producer{topics: map[string]shape{of.Topic: now}}
	var err error
	p.client, err = c.newClient(kgo.WithHooks(p), kgo.ManualFlushing(), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(partitions{kgo.StickyKeyPartitioner(nil)}),
		kgo.ProducerBatchMaxBytes(int32(c.opts.largest)+4096), kgo.BrokerMaxWriteBytes(int32(c.opts.largest)+(1<<20)),
		kgo.MaxBufferedRecords(2*runMessages), kgo.UnknownTopicRetries(2),
		kgo.RecordRetries(refusals))
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (c *conn) rest(p *producer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		p.client.Close()
		return
	}
	c.idle = append(c.idle, p)
}

// partitions chooses the named partition, or that of the key by murmur2 as in Java, or any.
type partitions struct{ kgo.Partitioner }

func (p partitions) ForTopic(topic string) kgo.TopicPartitioner {
	return topicPartitions{p.Partitioner.ForTopic(topic)}
}

type topicPartitions struct{ kgo.TopicPartitioner }

// RequiresConsistency implements kgo.TopicPartitioner: such a record waits for its partition, even without a leader.
func (p topicPartitions) RequiresConsistency(r *kgo.Record) bool {
	return r.Partition >= 0 || p.TopicPartitioner.RequiresConsistency(r)
}

func (p topicPartitions) Partition(r *kgo.Record, n int) int {
	if r.Partition >= 0 {
		return int(r.Partition)
	}
	return p.TopicPartitioner.Partition(r, n)
}

func (p topicPartitions) OnNewBatch() {
	if of, ok := p.TopicPartitioner.(kgo.TopicPartitionerOnNewBatch); ok {
		of.OnNewBatch()
	}
}
