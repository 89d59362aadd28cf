package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	amqp "github.com/rabbitmq/amqp091-go"
)

// deadKey is the routing key of expired messages. The queue of dead letters is bound with it and with "#", to get every
// message of a topic exchange, as Tasker declares it, and of a fanout or direct one.
func (t *Topology) deadKey() string { return t.DeadQueue }

// WorkerArguments returns the arguments of workers' queues.
func (t *Topology) WorkerArguments() amqp.Table {
	args := amqp.Table{"x-message-ttl": t.TTL.Milliseconds()}
	if t.Quorum {
		args["x-queue-type"] = "quorum"
	}
	if t.DeadLetters {
		args["x-dead-letter-exchange"], args["x-dead-letter-routing-key"] = t.Exchange, t.deadKey()
		if t.Quorum { // otherwise a crash of the broker can lose an expiring message
			args["x-dead-letter-strategy"], args["x-overflow"] = "at-least-once", "reject-publish"
		}
	}
	return args
}

// DeadArguments returns the arguments of the queue of dead letters.
func (t *Topology) DeadArguments() amqp.Table {
	return amqp.Table{"x-message-ttl": t.Retention.Milliseconds()}
}

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

func (t *Topology) bindings() []string { return []string{"#", t.deadKey()} }

// declareExchange declares the exchange for dead letters. An existing one of another type is used as it is.
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

func (d *Dispatcher) declareWorker(ctx context.Context, conn *amqp.Connection, name string) error {
	return d.declareQueue(ctx, conn, queueSpec{name: name, args: d.opts.Topology.WorkerArguments()})
}

type queueSpec struct {
	name     string
	args     amqp.Table
	exchange string // "" for the default exchange only
	keys     []string
	// givenBack: its consumers are nodes, which give back their messages when it is replaced; see giveBack.
	givenBack bool
}

// declareQueue declares a queue and its bindings. If it exists with other arguments, its messages move to a new queue
// of the same name; see move.go. Without permission to declare, an existing queue is used as it is.
func (d *Dispatcher) declareQueue(ctx context.Context, conn *amqp.Connection, q queueSpec) error {
	d.moving.Lock() // one move of a queue in this process; the broker excludes those of others
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

// useAsIs uses a queue with unknown arguments that this user may not declare.
func (d *Dispatcher) useAsIs(conn *amqp.Connection, q queueSpec, denied error) error {
	there, err := exists(conn, q.name)
	if err != nil || !there {
		return errors.Join(denied, err)
	}
	d.opts.Logger.Warn("RabbitMQ does not permit this user to declare a queue; it is used with the arguments that it has",
		slog.String("queue", q.name), slog.Any("error", denied))
	return nil
}

func (q *queueSpec) declare(conn *amqp.Connection) error {
	return onChannel(conn, func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclare(q.name, true, false, false, false, q.args)
		return err
	})
}

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

// onChannel runs fn on its own channel: the server closes the channel of a refused request.
func onChannel(conn *amqp.Connection, fn func(*amqp.Channel) error) error {
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	if err := fn(ch); err != nil {
		if !ch.IsClosed() {
			_ = ch.Close() // the error has the reason already
		}
		return err
	}
	return ch.Close()
}

func inspect(conn *amqp.Connection, name string) (q amqp.Queue, err error) {
	err = onChannel(conn, func(ch *amqp.Channel) error {
		q, err = ch.QueueDeclarePassive(name, true, false, false, false, nil)
		return err
	})
	return q, err
}

func exists(conn *amqp.Connection, name string) (bool, error) {
	_, err := inspect(conn, name)
	if refusal(err) == amqp.NotFound {
		return false, nil
	}
	return err == nil, err
}
