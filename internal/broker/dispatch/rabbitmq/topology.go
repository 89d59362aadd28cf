package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	amqp "github.com/rabbitmq/amqp091-go"
)

// deadKey is the routing key of expired messages. The queue of dead letters is bound with it and with "#", so that it
// gets every message, whether the exchange is a topic exchange, as Tasker declares it, or exists as a fanout or direct
// one.
func (t *Topology) deadKey() string { return t.DeadQueue }

// WorkerArguments returns the arguments of the queues of workers.
func (t *Topology) WorkerArguments() amqp.Table {
	args := amqp.Table{"x-message-ttl": t.TTL.Milliseconds()}
	if t.Quorum {
		args["x-queue-type"] = "quorum"
	}
	if t.DeadLetters {
		args["x-dead-letter-exchange"], args["x-dead-letter-routing-key"] = t.Exchange, t.deadKey()
		if t.Quorum { // without these two a crash of the broker can lose a message that expires
			args["x-dead-letter-strategy"], args["x-overflow"] = "at-least-once", "reject-publish"
		}
	}
	return args
}

// DeadArguments returns the arguments of the queue of dead letters.
func (t *Topology) DeadArguments() amqp.Table {
	return amqp.Table{"x-message-ttl": t.Retention.Milliseconds()}
}

// declareShared declares what is not of one worker: the exchange, the queue of dead letters and its bindings.
func (d *Dispatcher) declareShared(ctx context.Context, conn *amqp.Connection) error {
	t := &d.opts.Topology
	if !t.DeadLetters {
		return nil
	}
	if err := d.declareExchange(conn); err != nil {
		return fmt.Errorf("declare exchange %s: %w", t.Exchange, err)
	}
	if err := d.declareQueue(ctx, conn, queueSpec{name: t.DeadQueue, args: t.DeadArguments(), exchange: t.Exchange,
		keys: t.bindings(), givenBack: true}); err != nil {
		return fmt.Errorf("declare queue %s: %w", t.DeadQueue, err)
	}
	return nil
}

// bindings are the keys by which the queue of dead letters is bound.
func (t *Topology) bindings() []string { return []string{"#", t.deadKey()} }

// declareExchange declares the exchange for dead letters. One that exists with another type is used as it is.
func (d *Dispatcher) declareExchange(conn *amqp.Connection) error {
	name := d.opts.Topology.Exchange
	err := onChannel(conn, func(ch *amqp.Channel) error {
		return ch.ExchangeDeclare(name, amqp.ExchangeTopic, true, false, false, false, nil)
	})
	if code := refusal(err); code != amqp.PreconditionFailed && code != amqp.AccessRefused {
		return err
	}
	d.opts.Logger.Debug("the exchange for dead letters is used as it is", slog.String("exchange", name),
		slog.Any("error", err))
	return onChannel(conn, func(ch *amqp.Channel) error {
		return ch.ExchangeDeclarePassive(name, amqp.ExchangeTopic, true, false, false, false, nil)
	})
}

// declareWorker declares the queue of a worker.
func (d *Dispatcher) declareWorker(ctx context.Context, conn *amqp.Connection, name string) error {
	return d.declareQueue(ctx, conn, queueSpec{name: name, args: d.opts.Topology.WorkerArguments()})
}

// queueSpec is a queue as it should be.
type queueSpec struct {
	name     string
	args     amqp.Table
	exchange string // "" for none but the default exchange
	keys     []string
	// givenBack: its consumers are nodes, which give back what they hold when it is replaced; see giveBack.
	givenBack bool
}

// declareQueue declares a queue and its bindings. If it exists with other arguments, its messages are moved to a new
// queue of the same name; see move.go. If this user may not declare queues, one that exists is used as it is.
func (d *Dispatcher) declareQueue(ctx context.Context, conn *amqp.Connection, q queueSpec) error {
	d.moving.Lock() // no two moves of one queue in this process; those of others are excluded by the broker
	defer d.moving.Unlock()
	unfinished, err := exists(conn, q.moving())
	if err != nil {
		return err
	}
	if !unfinished {
		err = q.declare(conn)
		switch refusal(err) {
		case amqp.PreconditionFailed:
			d.opts.Logger.Warn("a queue has other arguments than the configuration says; its messages are moved to a new one",
				slog.String("queue", q.name), slog.Any("error", err))
		case amqp.AccessRefused:
			return d.useAsIs(conn, q, err)
		default:
			if err != nil {
				return err
			}
			return q.bind(conn)
		}
	}
	if err := d.move(ctx, conn, q); err != nil {
		return fmt.Errorf("move its messages: %w", err)
	}
	return nil
}

// useAsIs uses a queue that this user may not declare. Its arguments are not known then.
func (d *Dispatcher) useAsIs(conn *amqp.Connection, q queueSpec, denied error) error {
	there, err := exists(conn, q.name)
	if err != nil || !there {
		return errors.Join(denied, err)
	}
	d.opts.Logger.Warn("RabbitMQ does not permit this user to declare a queue; it is used with the arguments that it has",
		slog.String("queue", q.name), slog.Any("error", denied))
	return nil
}

// declare declares the queue without its bindings.
func (q *queueSpec) declare(conn *amqp.Connection) error {
	return onChannel(conn, func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclare(q.name, true, false, false, false, q.args)
		return err
	})
}

// bind binds the queue.
func (q *queueSpec) bind(conn *amqp.Connection) error {
	return bindTo(conn, q.name, q.exchange, q.keys)
}

func bindTo(conn *amqp.Connection, queue, exchange string, keys []string) error {
	return onChannel(conn, func(ch *amqp.Channel) error {
		for _, key := range keys {
			if err := ch.QueueBind(queue, key, exchange, false, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// onChannel runs fn on a channel of its own: the server closes the channel of a refused request.
func onChannel(conn *amqp.Connection, fn func(*amqp.Channel) error) error {
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	if err := fn(ch); err != nil {
		if !ch.IsClosed() {
			_ = ch.Close() // the reason of the failure is already in the error
		}
		return err
	}
	return ch.Close()
}

// inspect returns the counts of a queue.
func inspect(conn *amqp.Connection, name string) (q amqp.Queue, err error) {
	err = onChannel(conn, func(ch *amqp.Channel) error {
		q, err = ch.QueueDeclarePassive(name, true, false, false, false, nil)
		return err
	})
	return q, err
}

// exists reports whether a queue exists.
func exists(conn *amqp.Connection, name string) (bool, error) {
	_, err := inspect(conn, name)
	if refusal(err) == amqp.NotFound {
		return false, nil
	}
	return err == nil, err
}
