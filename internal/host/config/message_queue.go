package config

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/broker/dispatch"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// MessageQueue configures the brokers over which steps reach workers.
type MessageQueue struct {
	Rabbitmq Rabbitmq
}

// Rabbitmq configures the dispatch of steps over RabbitMQ.
type Rabbitmq struct {
	// URL is amqp://USER:PASSWORD@HOST:PORT/VHOST, or amqps:// with TLS; without it workers cannot have the
	// transport amqp.
	URL         string
	QueuePrefix string
	// QueueType is classic or quorum.
	QueueType string
	// WorkerQueueTTLMs bounds a step's wait in its worker's queue, in milliseconds, 1,000 to 604,800,000, unless
	// the step or its template sets one.
	WorkerQueueTTLMs int
	// OnExpiry is retry, within the step's attempts and ExpiryLimit, or fail.
	OnExpiry string
	// ExpiryLimit is the number of expired dispatches at which a step fails permanently.
	ExpiryLimit int
	// Prefetch bounds the dispatched steps of a worker below its capacity; 0 is its capacity, or 100 without one.
	Prefetch   int
	DeadLetter RabbitmqDeadLetter
}

// RabbitmqDeadLetter configures the fate of messages that expire in workers' queues.
type RabbitmqDeadLetter struct {
	// Enabled sends them to Exchange, and from there to Queue; otherwise they vanish.
	Enabled         bool
	Exchange, Queue string
	// TTLMs is how long Queue keeps a message, in milliseconds, 60,000 to 604,800,000.
	TTLMs int
}

var defaultRabbitmq = Rabbitmq{QueuePrefix: "worker.", QueueType: "classic", WorkerQueueTTLMs: 300_000,
	OnExpiry: string(settings.ExpiryRetry), ExpiryLimit: 3,
	DeadLetter: RabbitmqDeadLetter{Enabled: true, Exchange: "attune.dlx", Queue: "attune.dlx.queue", TTLMs: 86_400_000}}

func (r Rabbitmq) withDefaults() Rabbitmq {
	d := defaultRabbitmq
	r.QueuePrefix, r.QueueType = cmp.Or(r.QueuePrefix, d.QueuePrefix), cmp.Or(r.QueueType, d.QueueType)
	r.WorkerQueueTTLMs = cmp.Or(r.WorkerQueueTTLMs, d.WorkerQueueTTLMs)
	r.OnExpiry, r.ExpiryLimit = cmp.Or(r.OnExpiry, d.OnExpiry), cmp.Or(r.ExpiryLimit, d.ExpiryLimit)
	r.DeadLetter.Exchange = cmp.Or(r.DeadLetter.Exchange, d.DeadLetter.Exchange)
	r.DeadLetter.Queue = cmp.Or(r.DeadLetter.Queue, d.DeadLetter.Queue)
	r.DeadLetter.TTLMs = cmp.Or(r.DeadLetter.TTLMs, d.DeadLetter.TTLMs)
	return r
}

// WorkerQueueTTL returns WorkerQueueTTLMs as a duration.
func (r *Rabbitmq) WorkerQueueTTL() time.Duration {
	return time.Duration(r.WorkerQueueTTLMs) * time.Millisecond
}

// Retention returns DeadLetter.TTLMs as a duration.
func (r *Rabbitmq) Retention() time.Duration {
	return time.Duration(r.DeadLetter.TTLMs) * time.Millisecond
}

// delivery returns the engine's part of the section.
func (r *Rabbitmq) delivery() settings.Delivery {
	return settings.Delivery{Offered: r.URL != "", QueuePrefix: r.QueuePrefix, TTL: r.WorkerQueueTTL(),
		Capacity: r.Prefetch, OnExpiry: settings.OnExpiry(r.OnExpiry), ExpiryLimit: r.ExpiryLimit}
}

const (
	// minRetention bounds the retention of dead letters: a restart of a server must not lose them.
	minRetention = time.Minute
	// maxRabbitName bounds broker names; AMQP has 255 bytes, and .moving and a worker's ID are added.
	maxRabbitName = 150
)

func (l *loader) validateRabbitmq(check func(path string, err error)) {
	const section = "message_queue.rabbitmq."
	r := &l.cfg.MessageQueue.Rabbitmq
	check(section+"url", checkAMQP(r.URL))
	check(section+"queue_prefix", checkRabbitName(r.QueuePrefix))
	check(section+"queue_type", oneOf(r.QueueType, "classic", "quorum"))
	check(section+"worker_queue_ttl_ms", between(r.WorkerQueueTTLMs, int(task.MinDispatchTTL.Milliseconds()),
		int(task.MaxDispatchTTL.Milliseconds())))
	check(section+"on_expiry", oneOf(r.OnExpiry, string(settings.ExpiryRetry), string(settings.ExpiryFail)))
	check(section+"expiry_limit", between(r.ExpiryLimit, 1, 1000))
	check(section+"prefetch", between(r.Prefetch, 0, 10_000))
	check(section+"dead_letter.exchange", checkRabbitName(r.DeadLetter.Exchange))
	check(section+"dead_letter.queue", checkRabbitName(r.DeadLetter.Queue))
	check(section+"dead_letter.ttl_ms", between(r.DeadLetter.TTLMs, int(minRetention.Milliseconds()),
		int(task.MaxDispatchTTL.Milliseconds())))
	if strings.HasPrefix(r.DeadLetter.Queue, r.QueuePrefix) {
		check(section+"dead_letter.queue", fmt.Errorf("must not begin with queue_prefix: it would look like a worker's"))
	}
}

func checkRabbitName(name string) error {
	switch {
	case len(name) > maxRabbitName:
		return fmt.Errorf("must not be longer than %d bytes", maxRabbitName)
	case strings.HasPrefix(name, "amq."):
		return fmt.Errorf("must not begin with amq., which RabbitMQ keeps for itself")
	case task.TextFault(name, maxRabbitName) != "":
		return fmt.Errorf("%s", task.TextFault(name, maxRabbitName))
	}
	return nil
}

// checkAMQP checks the form of a RabbitMQ URL up to the host; connecting checks the rest. The error does not repeat
// the URL, which may contain a password.
func checkAMQP(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "amqp" && u.Scheme != "amqps" {
		return fmt.Errorf("must look like amqp://USER:PASSWORD@HOST:PORT/VHOST, or amqps:// with TLS")
	}
	return dispatch.Transports.Missing(dispatch.RabbitMQ)
}
