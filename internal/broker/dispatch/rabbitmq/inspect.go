package rabbitmq

import (
	"context"
	"errors"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	connection "github.com/taskerhq/tasker/internal/broker/amqp"
)

// probeType marks messages by which Inspect tests an exchange. They expire immediately, and readers drop them.
const probeType = "tasker.probe"

// Finding is the result of Inspect.
type Finding struct {
	Exchange bool
	Bound    bool // a message to it reaches a queue
	Dead     QueueFinding
	Workers  []QueueFinding
}

// QueueFinding is the state of a queue.
type QueueFinding struct {
	Name                string
	Exists              bool
	Messages, Consumers int
	// Differs is RabbitMQ's text about an argument that differs from the configuration; "" for none.
	Differs string
	// Hidden: this user may not read its arguments.
	Hidden bool
}

const probeTimeout = 5 * time.Second

// Inspect compares a broker with the topology and the named queues of workers. It creates nothing. An error means that
// the broker does not answer.
func (t *Topology) Inspect(ctx context.Context, conn *connection.Conn, workers []string) (f *Finding, err error) {
	f = &Finding{}
	err = conn.Await(ctx, func() error {
		for _, name := range workers {
			q, err := lookAt(conn.Connection, queueSpec{name: name, args: t.WorkerArguments()})
			if err != nil {
				return err
			}
			f.Workers = append(f.Workers, q)
		}
		if !t.DeadLetters {
			return nil
		}
		if f.Dead, err = lookAt(conn.Connection, queueSpec{name: t.DeadQueue, args: t.DeadArguments()}); err != nil {
			return err
		}
		err := onChannel(conn.Connection, func(ch *amqp.Channel) error {
			return ch.ExchangeDeclarePassive(t.Exchange, amqp.ExchangeTopic, true, false, false, false, nil)
		})
		if refusal(err) == amqp.NotFound {
			return nil
		} else if err != nil {
			return err
		}
		f.Exchange = true
		f.Bound, err = t.routes(conn.Connection)
		return err
	})
	return f, err
}

func (t *Topology) routes(conn *amqp.Connection) (bool, error) {
	ch, err := conn.Channel()
	if err != nil {
		return false, err
	}
	defer func() { _ = ch.Close() }()
	if err := ch.Confirm(false); err != nil {
		return false, err
	}
	returns := ch.NotifyReturn(make(chan amqp.Return, 1))
	confirm, err := ch.PublishWithDeferredConfirmWithContext(context.Background(), t.Exchange, t.deadKey(), true, false,
		amqp.Publishing{Type: probeType, Expiration: "0"})
	if err != nil {
		return false, err
	}
	select {
	case <-confirm.Done():
	case <-time.After(probeTimeout):
		return false, errors.New("RabbitMQ does not confirm a message to the exchange")
	}
	return len(returns) == 0, nil // a return comes before the confirm
}

func lookAt(conn *amqp.Connection, spec queueSpec) (QueueFinding, error) {
	f := QueueFinding{Name: spec.name}
	q, err := inspect(conn, spec.name)
	if refusal(err) == amqp.NotFound {
		return f, nil
	} else if err != nil {
		return f, err
	}
	f.Exists, f.Messages, f.Consumers = true, q.Messages, q.Consumers
	err = spec.declare(conn) // declares nothing, as it exists: RabbitMQ compares
	var refused *amqp.Error
	switch refusal(err) {
	case amqp.PreconditionFailed:
		errors.As(err, &refused)
		f.Differs = refused.Reason
	case amqp.AccessRefused:
		f.Hidden = true
	default:
		return f, err
	}
	return f, nil
}
