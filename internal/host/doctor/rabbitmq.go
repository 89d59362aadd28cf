package doctor

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/taskerhq/tasker/internal/broker/amqp"
	"github.com/taskerhq/tasker/internal/broker/dispatch/rabbitmq"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// rabbitWorkers bounds the workers whose queues are checked.
	rabbitWorkers = 50
	// rabbitDepth is the number of waiting dead letters that causes a warning.
	rabbitDepth = 100
)

// rabbit examines the RabbitMQ of the dispatch, if any.
func (p *patient) rabbit(ctx context.Context) ([]Check, error) {
	if p.RabbitMQ.URL == "" {
		return nil, nil
	}
	var workers []task.ID
	checks, err := p.examine(ctx, []exam{{"rabbitmq_queues", func(ctx context.Context, tx *sql.Tx) (_ []Check, err error) {
		workers, err = amqpWorkers(ctx, tx)
		return nil, err
	}}})
	if err != nil {
		return nil, err
	}
	topology := topologyOf(&p.RabbitMQ)
	names := make([]string, len(workers))
	for i, id := range workers {
		names[i] = task.DeliveryQueue(p.RabbitMQ.QueuePrefix, id)
	}
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	found, err := lookAtRabbit(ctx, p.RabbitMQ.URL, &topology, names)
	if err != nil {
		return append(checks, Check{"rabbitmq", Fail, "the RabbitMQ of the dispatch cannot be used: " +
			reason(driver.Hide(err, p.RabbitMQ.URL)),
			"Check that it runs, its address, virtual host, user and permissions: see docs/guides/rabbitmq-dispatch.md."}), nil
	}
	checks = append(checks, exchangeChecks(&topology, found)...)
	return append(checks, workerQueueChecks(&topology, found)...), nil
}

// topologyOf returns the servers' declarations.
func topologyOf(r *config.Rabbitmq) rabbitmq.Topology {
	return rabbitmq.Topology{Quorum: r.QueueType == "quorum", TTL: r.WorkerQueueTTL(), DeadLetters: r.DeadLetter.Enabled,
		Exchange: r.DeadLetter.Exchange, DeadQueue: r.DeadLetter.Queue, Retention: r.Retention()}
}

func lookAtRabbit(ctx context.Context, url string, t *rabbitmq.Topology, queues []string) (*rabbitmq.Finding, error) {
	target, err := amqp.Parse(url)
	if err != nil {
		return nil, err
	}
	conn, err := target.Dial(ctx, "tasker doctor")
	if err != nil {
		return nil, err
	}
	defer conn.Abort()
	return t.Inspect(ctx, conn, queues)
}

func amqpWorkers(ctx context.Context, tx *sql.Tx) ([]task.ID, error) {
	texts, err := list(ctx, tx, scanText, `SELECT CAST(id AS TEXT) FROM tasker_workers WHERE transport = 'amqp'
  AND state <> 'dead' ORDER BY worker_no LIMIT $1`, rabbitWorkers)
	if err != nil || len(texts) == 0 {
		return nil, err
	}
	ids := make([]task.ID, len(texts))
	var source *task.Source // SQLite stores the sequence of an ID
	for i, text := range texts {
		if ids[i], err = task.ParseID(text); err == nil {
			continue
		}
		sequence, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, err
		}
		if source == nil {
			var seed string
			if err := tx.QueryRowContext(ctx, `SELECT value FROM tasker_meta WHERE key = 'id_seed'`).Scan(&seed); err != nil {
				return nil, err
			}
			number, err := strconv.ParseUint(seed, 16, 64)
			if err != nil {
				return nil, err
			}
			source = task.NewSource(number, 0)
		}
		ids[i] = source.ID(sequence)
	}
	return ids, nil
}

func scanText(rows *sql.Rows) (text string, err error) { return text, rows.Scan(&text) }

func exchangeChecks(t *rabbitmq.Topology, f *rabbitmq.Finding) []Check {
	const exchange, queue = "rabbitmq_exchange", "rabbitmq_dead_letters"
	if !t.DeadLetters {
		return []Check{{exchange, Warn, "dead_letter.enabled is false: messages that expire in the queues of workers " +
			"vanish, and their steps wait until their leases end", "Enable message_queue.rabbitmq.dead_letter.enabled."}}
	}
	var checks []Check
	switch {
	case !f.Exchange:
		checks = append(checks, Check{exchange, Fail, "there is no exchange " + t.Exchange + ": expired messages vanish",
			"Start a server: it declares the exchange."})
	case !f.Bound:
		checks = append(checks, Check{exchange, Fail, "the exchange " + t.Exchange + " delivers to no queue: expired " +
			"messages vanish", "Start a server, which binds the queue, or bind " + t.DeadQueue + " with the key #."})
	default:
		checks = append(checks, Check{Name: exchange, Status: OK, Seen: "the exchange " + t.Exchange + " delivers"})
	}
	switch d := &f.Dead; {
	case !d.Exists:
		return append(checks, Check{queue, Fail, "there is no queue " + d.Name, "Start a server: it declares the queue."})
	case d.Differs != "":
		return append(checks, Check{queue, Warn, d.Name + " has other arguments than the configuration says: " + d.Differs,
			"Restart a server: it replaces the queue and keeps the messages."})
	case d.Consumers == 0:
		return append(checks, Check{queue, Fail,
			fmt.Sprintf("nobody reads %s, in which %d messages wait", d.Name, d.Messages), "Start a server."})
	case d.Messages > rabbitDepth:
		return append(checks, Check{queue, Warn, fmt.Sprintf("%d messages wait in %s", d.Messages, d.Name),
			"Look at the log of the servers: the database may not answer."})
	case d.Hidden:
		return append(checks, hidden(queue, d.Name))
	}
	return append(checks, Check{Name: queue, Status: OK, Seen: f.Dead.Name + " is as configured, and is read"})
}

// hidden is the check of a queue whose arguments this user may not see.
func hidden(name, queue string) Check {
	return Check{name, Warn, "the user may not see the arguments of " + queue,
		"Give it the permission to configure: see docs/guides/rabbitmq-dispatch.md."}
}

func workerQueueChecks(t *rabbitmq.Topology, f *rabbitmq.Finding) []Check {
	const name = "rabbitmq_queues"
	var checks []Check
	for _, q := range f.Workers {
		switch {
		case !q.Exists:
			checks = append(checks, Check{name, Warn, "a living worker has no queue " + q.Name,
				"Start a server that reaches RabbitMQ: it declares the queue."})
		case q.Differs != "":
			checks = append(checks, Check{name, Warn,
				q.Name + " has other arguments than the configuration says: " + q.Differs,
				"Restart a server: it replaces the queue and keeps the messages."})
		case q.Consumers == 0:
			checks = append(checks, Check{name, Warn, fmt.Sprintf("no worker consumes from %s, in which %d messages wait",
				q.Name, q.Messages), "Check that the worker reaches RabbitMQ, and may read its queue."})
		case q.Hidden:
			checks = append(checks, hidden(name, q.Name))
		}
	}
	if len(checks) > 0 {
		return checks
	}
	seen := fmt.Sprintf("%d queues of workers are as configured, and are read", len(f.Workers))
	if !t.Quorum && t.DeadLetters {
		seen += "; classic queues send dead letters at most once: after a crash of RabbitMQ a step may wait for the end of " +
			"its lease"
	}
	return []Check{{Name: name, Status: OK, Seen: seen}}
}
