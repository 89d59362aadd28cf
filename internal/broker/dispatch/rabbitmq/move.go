package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/kit/clock"
)

// The arguments of a queue never change. So a queue with other arguments is replaced: its messages wait in a queue
// "<name>.moving" while it is deleted and declared anew.
//
// 1. Declare .moving, and consume from it exclusively: only one node of all moves a queue at a time.
//
// 2. If the queue has other arguments: publish its messages to .moving, and acknowledge them after the confirms. When
// it is empty, bind .moving where the queue is bound, move late messages, and delete the queue if empty.
//
// 3. Declare and bind the queue, move the messages back, and delete .moving if it is empty.
//
// RabbitMQ does not count what consumers hold unacknowledged, and deletes it with a queue. So nodes give back what they
// hold of the queue of dead letters, and step 2 waits for that: the messages of a crashed node would be lost. Workers
// do not: a worker runs the steps of its messages, and after a crash their leases end.
//
// A message is always in at least one of the two queues. After a crash it may be in both, and is delivered twice:
// consumers recognise a dispatch by its message ID, and the inbox a letter. Any node that finds .moving continues with
// 2 or 3. Consumers of the old queue get basic.cancel, finish, and consume again.

const (
	movingSuffix = ".moving"
	moveBatch    = 500
	// moveIdle is the pause in deliveries after which transfer asks whether the queue is empty.
	moveIdle = 200 * time.Millisecond
	// movedHeader keeps an expiration, and movedUser a user ID, of a message in .moving: it must not expire there, and
	// RabbitMQ takes no message with the ID of another user.
	movedHeader, movedUser = "tasker-moving-expiration", "tasker-moving-user-id"
)

var errMoving = errors.New("another node is replacing the queue")

func (q *queueSpec) moving() string { return q.name + movingSuffix }

// move replaces a queue. The caller holds moving.
func (d *Dispatcher) move(ctx context.Context, conn *amqp.Connection, q queueSpec) error {
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	defer func() { _ = ch.Close() }()
	args := amqp.Table{}
	if kind, ok := q.args["x-queue-type"]; ok {
		args["x-queue-type"] = kind
	}
	if _, err := ch.QueueDeclare(q.moving(), true, false, false, false, args); err != nil {
		return fmt.Errorf("declare %s: %w", q.moving(), err)
	}
	if err := ch.Qos(moveBatch, 0, false); err != nil {
		return err
	}
	// An exclusive consumer keeps others away until the messages are moved back.
	held, err := ch.Consume(q.moving(), "", false, true, false, false, nil)
	if refusal(err) == amqp.AccessRefused {
		return fmt.Errorf("%w: %w", errMoving, err)
	} else if err != nil {
		return fmt.Errorf("consume from %s: %w", q.moving(), err)
	}
	pub, err := newPublisher(conn, moveBatch, d.opts.ConfirmTimeout)
	if err != nil {
		return err
	}
	defer func() { _ = pub.ch.Close() }()
	m := &mover{d: d, conn: conn, q: q, pub: pub}
	err = q.declare(conn)
	if refusal(err) == amqp.PreconditionFailed {
		if err := m.free(ctx); errors.Is(err, errHeld) {
			d.opts.Logger.Warn("a queue keeps its arguments, because somebody else consumes from it",
				slog.String("queue", q.name), slog.Any("error", err))
			return m.back(ctx, held)
		} else if err != nil {
			return err
		}
		if err = m.away(ctx); err != nil {
			return err
		}
		err = q.declare(conn)
	}
	if err != nil {
		return fmt.Errorf("declare it anew: %w", err)
	}
	return m.back(ctx, held)
}

type mover struct {
	d    *Dispatcher
	conn *amqp.Connection
	q    queueSpec
	pub  *publisher
}

var errHeld = errors.New("it has consumers")

func (m *mover) free(ctx context.Context) error {
	if !m.q.givenBack {
		return nil
	}
	for end := time.Now().Add(giveBackFor); ; {
		q, err := inspect(m.conn, m.q.name)
		if err != nil || q.Consumers == 0 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w: %d", errHeld, q.Consumers)
		}
		if err := clock.Sleep(ctx, giveBackPause); err != nil {
			return err
		}
	}
}

const (
	giveBackEvery, giveBackFor = time.Second, 5 * time.Second
	giveBackPause              = 50 * time.Millisecond
)

var errReplaced = errors.New("the queue is being replaced")

// giveBack returns a context that ends with errReplaced when a queue is being replaced. The end of the session gives
// back its messages. It detects that by deleting .moving if unused: unlike a question, that is no error for a missing
// queue.
func giveBack(ctx context.Context, conn *amqp.Connection, q queueSpec) context.Context {
	consuming, cancel := context.WithCancelCause(ctx)
	go func() {
		defer cancel(nil)
		for clock.Sleep(consuming, giveBackEvery) == nil {
			err := onChannel(conn, func(ch *amqp.Channel) error {
				_, err := ch.QueueDelete(q.moving(), true, true, false)
				return err
			})
			switch refusal(err) {
			case amqp.PreconditionFailed, amqp.ResourceLocked:
				cancel(errReplaced)
				return
			case amqp.AccessRefused: // this user cannot replace queues, and other nodes have the same user
				<-consuming.Done()
				return
			}
		}
	}()
	return consuming
}

func (m *mover) away(ctx context.Context) error {
	if err := m.drain(ctx); err != nil {
		return err
	}
	// From here on .moving gets the queue's messages. While both are bound, both get them.
	if err := bindTo(m.conn, m.q.moving(), m.q.exchange, m.q.keys); err != nil {
		return fmt.Errorf("bind %s: %w", m.q.moving(), err)
	}
	if err := unbind(m.conn, m.q.name, m.q.exchange, m.q.keys); err != nil {
		return fmt.Errorf("unbind: %w", err)
	}
	for {
		if err := m.drain(ctx); err != nil {
			return err
		}
		err := onChannel(m.conn, func(ch *amqp.Channel) error {
			_, err := ch.QueueDelete(m.q.name, m.q.givenBack, true, false)
			return err
		})
		if refusal(err) != amqp.PreconditionFailed { // another message has come, or a consumer
			return err
		}
		if err := m.free(ctx); err != nil {
			return err
		}
	}
}

func (m *mover) drain(ctx context.Context) error {
	ch, err := m.conn.Channel()
	if err != nil {
		return err
	}
	defer func() { _ = ch.Close() }() // gives back unacknowledged ones
	if err := ch.Qos(moveBatch, 0, false); err != nil {
		return err
	}
	const consumer = "tasker-moving"
	source, err := ch.Consume(m.q.name, consumer, false, false, false, false,
		amqp.Table{"x-priority": int32(1000)}) // before other consumers
	if err != nil {
		return fmt.Errorf("consume from it: %w", err)
	}
	n, err := m.transfer(ctx, source, m.q.moving(), packed, func() (bool, error) {
		left, err := inspect(m.conn, m.q.name)
		if err == nil && left.Messages == 0 { // messages delivered until the answer are moved too
			err = ch.Cancel(consumer, false)
		}
		return false, err
	})
	if n > 0 {
		m.d.opts.Logger.Info("messages of a queue are moved", slog.String("queue", m.q.name), slog.Int("messages", n))
	}
	if errors.Is(err, errClosed) && !ch.IsClosed() {
		return nil
	}
	return err
}

func (m *mover) back(ctx context.Context, held <-chan amqp.Delivery) error {
	if err := m.empty(ctx, held); err != nil {
		return err
	}
	if err := m.q.bind(m.conn); err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	if err := unbind(m.conn, m.q.moving(), m.q.exchange, m.q.keys); err != nil {
		return fmt.Errorf("unbind %s: %w", m.q.moving(), err)
	}
	for {
		if err := m.empty(ctx, held); err != nil {
			return err
		}
		err := onChannel(m.conn, func(ch *amqp.Channel) error {
			_, err := ch.QueueDelete(m.q.moving(), false, true, false)
			return err
		})
		if refusal(err) != amqp.PreconditionFailed {
			return err
		}
	}
}

func (m *mover) empty(ctx context.Context, held <-chan amqp.Delivery) error {
	_, err := m.transfer(ctx, held, m.q.name, unpacked, func() (bool, error) {
		left, err := inspect(m.conn, m.q.moving())
		return left.Messages == 0, err
	})
	return err
}

var errClosed = errors.New("the consumer has ended")

// transfer publishes messages to a queue, and acknowledges each after its confirm, until empty, which it calls after a
// pause, returns true. It returns their number, and errClosed if the consumer ends.
func (m *mover) transfer(ctx context.Context, source <-chan amqp.Delivery, to string,
	form func(amqp.Delivery) amqp.Publishing, empty func() (bool, error),
) (int, error) {
	var flying sync.WaitGroup
	var mu sync.Mutex
	var failed error
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		failed = errors.Join(failed, err)
	}
	idle := time.NewTimer(moveIdle)
	defer idle.Stop()
	n := 0
	for {
		select {
		case message, ok := <-source:
			if !ok {
				flying.Wait()
				if failed != nil {
					return n, failed
				}
				return n, errClosed
			}
			n++
			flying.Add(1)
			m.pub.publish(ctx, to, form(message), func(o outcome) {
				defer flying.Done()
				if o != published {
					fail(fmt.Errorf("a message to %s is %s", to, words[o]))
				} else if err := message.Ack(false); err != nil {
					fail(err)
				}
			})
			idle.Reset(moveIdle)
		case <-idle.C:
			flying.Wait()
			if failed != nil {
				return n, failed
			}
			done, err := empty()
			if done || err != nil {
				return n, err
			}
			idle.Reset(moveIdle)
		case <-ctx.Done():
			return n, context.Cause(ctx)
		}
	}
}

func packed(m amqp.Delivery) amqp.Publishing {
	p := copyOf(m)
	if m.Expiration != "" {
		p.Headers[movedHeader], p.Expiration = m.Expiration, ""
	}
	if m.UserId != "" {
		p.Headers[movedUser], p.UserId = m.UserId, ""
	}
	return p
}

func unpacked(m amqp.Delivery) amqp.Publishing {
	p := copyOf(m)
	expiration, ok := p.Headers[movedHeader].(string)
	if !ok {
		return p
	}
	delete(p.Headers, movedHeader)
	p.Expiration = expiration
	text, _ := p.Headers[headerDispatchedAt].(string)
	ttl, err := strconv.ParseInt(expiration, 10, 64)
	if sent, bad := time.Parse(dispatchedLayout, text); err == nil && bad == nil {
		left := time.Until(sent.Add(time.Duration(ttl) * time.Millisecond)).Milliseconds()
		p.Expiration = strconv.FormatInt(min(max(left, 0), ttl), 10)
	}
	return p
}

func copyOf(m amqp.Delivery) amqp.Publishing {
	headers := amqp.Table{}
	for name, value := range m.Headers {
		headers[name] = value
	}
	return amqp.Publishing{Headers: headers, ContentType: m.ContentType, ContentEncoding: m.ContentEncoding,
		DeliveryMode: m.DeliveryMode, Priority: m.Priority, CorrelationId: m.CorrelationId, ReplyTo: m.ReplyTo,
		Expiration: m.Expiration, MessageId: m.MessageId, Timestamp: m.Timestamp, Type: m.Type, UserId: m.UserId,
		AppId: m.AppId, Body: m.Body}
}

func unbind(conn *amqp.Connection, queue, exchange string, keys []string) error {
	return onChannel(conn, func(ch *amqp.Channel) error {
		for _, key := range keys {
			if err := ch.QueueUnbind(queue, key, exchange, nil); err != nil {
				return err
			}
		}
		return nil
	})
}
