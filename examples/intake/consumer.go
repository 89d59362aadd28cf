package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker"
)

// A typical consumer, which the intake replaces, with its typical gaps: attempts are counted in memory and restart
// at zero; a retried event blocks its partition; an event from before the last restart is done twice; and nobody
// looks after the dead-letter topic.

const (
	attempts    = 5
	firstDelay  = time.Second
	longest     = 30 * time.Second
	deadLetters = ".dead"
)

type consumer struct {
	client   *kgo.Client
	handlers map[string]func(context.Context, Order) (string, error)

	mu   sync.Mutex
	seen map[string]bool // IDs of finished events; lost with the process
}

func consume(ctx context.Context, topic string) error {
	client, err := kgo.NewClient(brokers(), kgo.ConsumerGroup(topic+".billing"), kgo.ConsumeTopics(topic),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(), kgo.AllowAutoTopicCreation(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer client.CloseAllowingRebalance()
	c := &consumer{client: client, seen: map[string]bool{},
		handlers: map[string]func(context.Context, Order) (string, error){
			"order.placed": placed, "order.cancelled": cancelled}}
	for {
		fetches := client.PollRecords(ctx, 500)
		if ctx.Err() != nil {
			return nil
		}
		for _, e := range fetches.Errors() {
			slog.Error("cannot read", "topic", e.Topic, "partition", e.Partition, "error", e.Err)
		}
		if err := c.partitions(ctx, fetches); err != nil && ctx.Err() == nil {
			return err // restarts at the last commit, repeating later events
		}
		client.AllowRebalance()
	}
}

// partitions runs each partition's events in order, and the partitions concurrently.
func (c *consumer) partitions(ctx context.Context, fetches kgo.Fetches) error {
	var running sync.WaitGroup
	var mu sync.Mutex
	var failed error
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		running.Go(func() {
			for _, record := range p.Records {
				err := c.one(ctx, record)
				if err == nil {
					err = c.client.CommitRecords(ctx, record) // one by one, or a crash repeats a whole batch
				}
				if err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					return
				}
			}
		})
	})
	running.Wait()
	return failed
}

// one retries an event until it succeeds or is a dead letter.
func (c *consumer) one(ctx context.Context, record *kgo.Record) error {
	var event struct {
		Event string `json:"event"`
		Type  string `json:"type"`
		Order
	}
	if err := json.Unmarshal(record.Value, &event); err != nil {
		return c.bury(ctx, record, 1, fmt.Errorf("not JSON: %w", err))
	}
	handler, ok := c.handlers[event.Type]
	if !ok {
		return c.bury(ctx, record, 1, fmt.Errorf("no handler for type %q", event.Type))
	}
	if c.done(event.Event, false) {
		return nil
	}
	delay := firstDelay
	for attempt := 1; ; attempt++ {
		_, err := handler(ctx, event.Order)
		if err == nil {
			c.done(event.Event, true)
			return nil
		}
		var failure *tasker.Failure
		if errors.As(err, &failure) && failure.Code == "amount" || attempt == attempts {
			return c.bury(ctx, record, attempt, err)
		}
		slog.Warn("try again", "event", event.Event, "attempt", attempt, "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(delay/2 + rand.N(delay)):
		}
		delay = min(2*delay, longest)
	}
}

func (c *consumer) done(key string, now bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.seen[key]
	c.seen[key] = was || now
	return was
}

// bury sends an event to the dead-letter topic, and blocks until Kafka takes it.
func (c *consumer) bury(ctx context.Context, record *kgo.Record, attempt int, cause error) error {
	slog.Error("dead letter", "partition", record.Partition, "offset", record.Offset, "error", cause)
	letter := &kgo.Record{Topic: record.Topic + deadLetters, Key: record.Key, Value: record.Value,
		Headers: append(record.Headers,
			kgo.RecordHeader{Key: "error", Value: []byte(cause.Error())},
			kgo.RecordHeader{Key: "attempts", Value: []byte(strconv.Itoa(attempt))},
			kgo.RecordHeader{Key: "original-topic", Value: []byte(record.Topic)},
			kgo.RecordHeader{Key: "original-offset", Value: []byte(strconv.FormatInt(record.Offset, 10))})}
	return c.client.ProduceSync(ctx, letter).FirstErr()
}
