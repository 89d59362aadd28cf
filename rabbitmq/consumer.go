package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/broker/amqp"
	"github.com/taskerhq/tasker/worker"
)

type consumer struct {
	sub        worker.Subscription
	conn       *amqp.Conn
	channel    *amqp091.Channel
	tag        string
	deliveries <-chan amqp091.Delivery
	closed     chan *amqp091.Error
	cancelled  chan string // the queue is gone
	answers    *answers
}

// newConsumer begins to consume. A queue that does not exist is an error: the server declares it, nobody else does.
func newConsumer(ctx context.Context, conn *amqp.Conn, sub worker.Subscription) (*consumer, error) {
	defer context.AfterFunc(ctx, conn.Abort)() // a frozen broker holds no worker that must stop
	channel, err := conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", err)
	}
	c := &consumer{sub: sub, conn: conn, channel: channel, answers: newAnswers(channel)}
	c.tag = "tasker-" + sub.WorkerID.String()
	c.closed = channel.NotifyClose(make(chan *amqp091.Error, 1))
	c.cancelled = channel.NotifyCancel(make(chan string, 1))
	if err := channel.Qos(min(max(sub.Prefetch, 1), maxPrefetch), 0, false); err != nil {
		return nil, fmt.Errorf("set the prefetch: %w", err)
	}
	// Like a passive declaration, which needs more permissions, consuming refuses a missing queue.
	c.deliveries, err = channel.Consume(sub.Queue, c.tag, false, false, false, false, nil)
	if err != nil {
		return nil, fmt.Errorf("consume %s: %w", sub.Queue, err)
	}
	return c, nil
}

const maxPrefetch = 65535

// run passes deliveries on until the consumer is lost, or ctx has ended and every delivery has its answer.
func (c *consumer) run(ctx context.Context) error {
	var sending sync.WaitGroup
	ended := make(chan struct{})
	sending.Go(func() { c.answers.run(ended) })
	defer sending.Wait()
	defer close(ended)
	defer c.conn.Shutdown(closeTimeout) // first: on a frozen network, sending an answer blocks
	for {
		select {
		case d, ok := <-c.deliveries:
			if !ok {
				return c.reason()
			}
			c.deliver(&d)
		case <-ctx.Done():
			return c.leave()
		}
	}
}

// reason returns why no more deliveries come. Both channels are closed with the connection.
func (c *consumer) reason() error {
	select {
	case _, ok := <-c.cancelled:
		if ok {
			return errors.New("RabbitMQ has ended the consumer: the queue was deleted or moved")
		}
	default:
	}
	select {
	case why := <-c.closed:
		if err := closedBy(why); err != nil {
			return err
		}
	default:
	}
	return errors.New("the connection was closed")
}

func (c *consumer) deliver(d *amqp091.Delivery) {
	answer := c.answers.expect(d.DeliveryTag)
	step, err := decode(d, c.sub.WorkerID)
	if err != nil {
		c.sub.Logger.Error("a message is not for this worker", "queue", c.sub.Queue, "message_id", d.MessageId, "error", err)
		answer(reject)
		return
	}
	c.sub.Deliver(worker.Delivery{
		Assignment: step,
		Ack:        func() { answer(ack) },
		Release:    func() { answer(release) },
		Reject:     func() { answer(reject) },
	})
}

// leave takes no more messages, passes on those already here, and waits for all answers.
func (c *consumer) leave() error {
	// On a frozen network the broker's answer would not come before the heartbeats are missed.
	patience := time.AfterFunc(closeTimeout, c.conn.Abort)
	cancelled := make(chan struct{})
	go func() {
		defer close(cancelled)
		_ = c.channel.Cancel(c.tag, false) // after an error the channel is closed, and with it deliveries
	}()
	for d := range c.deliveries {
		c.deliver(&d)
	}
	<-cancelled
	patience.Stop()
	select {
	case <-c.answers.settled():
		return nil
	case why := <-c.closed:
		return closedBy(why)
	}
}

// closedBy returns the reason of a close as an error; nil for a requested close.
func closedBy(why *amqp091.Error) error {
	if why == nil {
		return nil
	}
	return why
}
