package bench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/taskerhq/tasker/internal/broker/amqp"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/kafka"
	"github.com/taskerhq/tasker/internal/broker/kafkaurl"
	"github.com/taskerhq/tasker/internal/broker/memory"
	"github.com/taskerhq/tasker/internal/broker/rabbitmq"
	"github.com/taskerhq/tasker/internal/broker/redis"
	"github.com/taskerhq/tasker/internal/broker/redisurl"
)

// The brokers of a letters measurement. The process's own is the fastest; the others compete for the same machine.
const (
	brokerMemory = "memory"
	brokerList   = "redis-list"
	brokerStream = "redis-stream"
	brokerRabbit = "rabbitmq"
	brokerKafka  = "kafka"
)

var brokers = []string{brokerMemory, brokerList, brokerStream, brokerRabbit, brokerKafka}

// openBroker creates the queues and connects. After close nothing is left.
func (r *letterRig) openBroker(ctx context.Context) (drivers driver.Registry, err error) {
	r.work, r.dead, r.forget = letterWork, letterWork+".dlq", func() error { return nil }
	if r.opts.Broker == brokerMemory {
		b := memory.New(nil)
		b.Declare(r.work, r.dead)
		drivers = driver.Registry{brokerMemory: b.Open}
		r.conn, err = b.Open(ctx, "")
		return drivers, err
	}
	r.work = "tasker_bench:" + rand.Text()[:10]
	r.dead = r.work + ":dead"
	if r.opts.Broker == brokerKafka { // its names have no colons
		r.work, r.dead = strings.ReplaceAll(r.work, ":", "."), strings.ReplaceAll(r.dead, ":", ".")
	}
	if err := r.makeQueues(ctx); err != nil {
		return nil, err
	}
	open := redis.OpenLists
	if r.opts.Broker == brokerRabbit {
		open = rabbitmq.Open
	}
	if r.opts.Broker == brokerStream {
		open = redis.OpenStreams
	}
	if r.opts.Broker == brokerKafka {
		open = kafka.Open
	}
	r.conn, err = open(ctx, r.opts.BrokerURL)
	return driver.Registry{r.opts.Broker: open}, err
}

// makeQueues creates streams, topics and RabbitMQ queues, which nothing else does, and sets how to remove them.
func (r *letterRig) makeQueues(ctx context.Context) error {
	switch r.opts.Broker {
	case brokerRabbit:
		return r.declareQueues(ctx)
	case brokerKafka:
		return r.createTopics(ctx)
	}
	u, err := redisurl.Parse(r.opts.BrokerURL)
	if err != nil {
		return err
	}
	u.Option.DisableCache = true
	client, err := rueidis.NewClient(u.Option)
	if err != nil {
		return fmt.Errorf("connect to Redis: %w", err)
	}
	r.forget = func() error {
		defer client.Close()
		var errs []error
		for _, queue := range []string{r.work, r.dead} {
			for _, key := range []string{queue, "tasker:{" + queue + "}:sent", "tasker:{" + queue + "}:receivers"} {
				errs = append(errs, client.Do(context.WithoutCancel(ctx), client.B().Unlink().Key(key).Build()).Error())
			}
		}
		return errors.Join(errs...)
	}
	if r.opts.Broker != brokerStream {
		return nil
	}
	for _, queue := range []string{r.work, r.dead} {
		if err := client.Do(ctx, client.B().XgroupCreate().Key(queue).Group("bench").Id("$").Mkstream().Build()).Error(); err != nil {
			return errors.Join(fmt.Errorf("make a stream: %w", err), r.forget())
		}
	}
	return nil
}

func (r *letterRig) declareQueues(ctx context.Context) error {
	target, err := amqp.Parse(r.opts.BrokerURL)
	if err != nil {
		return err
	}
	c, err := target.Dial(ctx, "tasker bench")
	if err != nil {
		return err
	}
	ch, err := c.Channel()
	if err != nil {
		c.Abort()
		return fmt.Errorf("open a channel of RabbitMQ: %w", err)
	}
	r.forget = func() error {
		defer c.Abort()
		var errs []error
		for _, queue := range []string{r.work, r.dead} {
			_, err := ch.QueueDelete(queue, false, false, false)
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
	for _, queue := range []string{r.work, r.dead} {
		if _, err := ch.QueueDeclare(queue, true, false, false, false, nil); err != nil {
			return errors.Join(fmt.Errorf("declare a queue: %w", err), r.forget())
		}
	}
	return nil
}

const topicParts = 4

// createTopics uses the cluster's default replication.
func (r *letterRig) createTopics(ctx context.Context) error {
	target, err := kafkaurl.Parse(r.opts.BrokerURL, "group", "start", "isolation", "session", "max_message")
	if err != nil {
		return err
	}
	client, err := target.Client()
	if err != nil {
		return err
	}
	admin := kadm.NewClient(client)
	r.forget = func() error {
		defer client.Close()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetTime)
		defer cancel()
		_, err := admin.DeleteTopics(ctx, r.work, r.dead)
		_, err2 := admin.DeleteGroups(ctx, "tasker-"+r.work, "tasker-"+r.dead)
		return errors.Join(err, err2)
	}
	answers, err := admin.CreateTopics(ctx, topicParts, -1, nil, r.work, r.dead)
	for _, answer := range answers {
		err = errors.Join(err, answer.Err)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("create topics: %w", err), r.forget())
	}
	return nil
}

const forgetTime = 30 * time.Second

// jobFailure is dead letter n in a Redis list, which has no headers.
func (r *letterRig) jobFailure(n int) driver.Message {
	of := r.causes[n%len(r.causes)]
	payload, err := json.Marshal(map[string]any{
		"original_job": json.RawMessage(letterPayload(n, r.opts.PayloadBytes)), "error": errorMessage(n),
		"attempt_count": 3, "first_failed_at": "2026-01-15T10:30:01.000000", "last_failed_at": "2026-01-15T10:30:15.000000",
		"queue_name": r.work, "error_type": of.kind, "stack_trace": of.stack, "http_status": nil, "response_body": nil,
		"retry_delays": []float64{1, 2.1}, "context": map[string]any{"detection_queue_depth": 15},
	})
	if err != nil {
		panic(err) // texts and numbers always marshal
	}
	return driver.Message{Payload: payload}
}
