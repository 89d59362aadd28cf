package rabbitmq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/broker/amqp"
	"github.com/taskerhq/tasker/internal/broker/driver"
)

const polite = 5 * time.Second

type conn struct {
	driver.Basic
	*amqp.Conn
	prefetch int // from the URL; 0: it follows from the messages

	mu     sync.Mutex
	idle   []*publisher
	closed bool
	// largest message that the server has taken, and destinations that it allows
	taken  int
	proven map[destination]bool
	// why the server blocks publishing now; "" if it does not
	blocked string
}

// Open connects to the RabbitMQ of a URL. Besides the parameters of package amqp it takes prefetch=N, 1 to 65535: how
// many messages the server sends ahead, whatever their size.
func Open(ctx context.Context, url string) (driver.Driver, error) {
	target, err := amqp.Parse(url, "prefetch")
	if err != nil {
		return nil, err
	}
	prefetch, err := strconv.Atoi(cmp.Or(target.Own.Get("prefetch"), "0"))
	if err != nil || target.Own.Has("prefetch") && prefetch < 1 || prefetch > 65535 {
		return nil, errors.New("prefetch in the URL of RabbitMQ must be a number from 1 to 65535")
	}
	c, err := target.Dial(ctx, "tasker dead letters")
	if err != nil {
		return nil, err
	}
	of := &conn{Conn: c, prefetch: prefetch, proven: map[destination]bool{}}
	go of.watch(c.NotifyBlocked(make(chan amqp091.Blocking, 1)))
	return of, nil
}

// watch notes whether the server blocks the connection, for lack of memory or disk space.
func (c *conn) watch(changes <-chan amqp091.Blocking) {
	for b := range changes {
		c.mu.Lock()
		if c.blocked = ""; b.Active {
			c.blocked = cmp.Or(b.Reason, "an alarm")
		}
		c.mu.Unlock()
	}
}

func (c *conn) channel(ctx context.Context) (*amqp091.Channel, error) {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return nil, driver.ErrClosed
	}
	var ch *amqp091.Channel
	err := c.Await(ctx, func() (err error) {
		ch, err = c.Channel()
		return err
	})
	if err != nil {
		return nil, c.classify(err)
	}
	return ch, nil
}

// ask runs a call on its own channel: the server closes the channel of a question with the answer no.
func (c *conn) ask(ctx context.Context, call func(*amqp091.Channel) error) error {
	ch, err := c.channel(ctx)
	if err != nil {
		return err
	}
	if err := c.Await(ctx, func() error { return call(ch) }); err != nil {
		return c.classify(err)
	}
	return c.classify(c.Await(ctx, ch.Close))
}

// Stat implements driver.Driver. Exchanges have no depth. Received messages do not count.
func (c *conn) Stat(ctx context.Context, name string) (exists bool, depth int64, err error) {
	to, err := parse(name)
	if err != nil {
		return false, 0, err
	}
	depth = -1
	err = c.ask(ctx, func(ch *amqp091.Channel) error {
		switch {
		case to.own:
			return nil
		case to.exchange != "":
			return ch.ExchangeDeclarePassive(to.exchange, amqp091.ExchangeDirect, true, false, false, false, nil)
		}
		q, err := ch.QueueDeclarePassive(to.key, true, false, false, false, nil)
		depth = int64(q.Messages)
		return err
	})
	if errors.Is(err, driver.ErrNotFound) {
		return false, 0, nil
	}
	return err == nil, depth, err
}

func (c *conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.Shutdown(polite)
	return nil
}

// classify converts an error of the client. It says nothing about the outcome of a message.
func (c *conn) classify(err error) error {
	var of *amqp091.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, driver.ErrLost) || errors.Is(err, driver.ErrClosed):
		return err
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		if c.IsClosed() {
			return fmt.Errorf("%w: %w", driver.ErrLost, err)
		}
		return err
	case !errors.As(err, &of) || c.IsClosed():
		return fmt.Errorf("%w: %w", driver.ErrLost, err)
	}
	switch of.Code {
	case amqp091.NotFound:
		return fmt.Errorf("%w: %w", driver.ErrNotFound, err)
	case amqp091.AccessRefused, amqp091.ResourceLocked, amqp091.NotAllowed:
		return fmt.Errorf("%w: %w", driver.ErrRefused, err)
	case amqp091.ContentTooLarge:
		return fmt.Errorf("%w: %w", driver.ErrTooLarge, err)
	}
	return err
}
