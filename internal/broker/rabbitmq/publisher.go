package rabbitmq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

const (
	// window bounds the unconfirmed messages. The server may return all of them.
	window       = 1024
	destinations = 10_000
	// large is the size above which a message is sent alone, unless the server has taken one of its size.
	large = 1 << 20
)

// publisher is a channel for publishing. One Send uses it at a time.
type publisher struct {
	ch      *amqp091.Channel
	returns chan amqp091.Return
	closed  chan *amqp091.Error
	why     error
	open    []*pending // in the order of publishing
}

type pending struct {
	at       int
	message  *parsed
	to       destination
	confirm  *amqp091.DeferredConfirmation
	returned *amqp091.Return
	until    time.Time
}

func (c *conn) publisher(ctx context.Context) (*publisher, error) {
	c.mu.Lock()
	for n := len(c.idle); n > 0; n = len(c.idle) {
		p := c.idle[n-1]
		c.idle = c.idle[:n-1]
		if !p.ch.IsClosed() {
			c.mu.Unlock()
			return p, nil
		}
	}
	c.mu.Unlock()
	ch, err := c.channel(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.Await(ctx, func() error { return ch.Confirm(false) }); err != nil {
		return nil, c.classify(err)
	}
	return &publisher{ch: ch, returns: ch.NotifyReturn(make(chan amqp091.Return, window)),
		closed: ch.NotifyClose(make(chan *amqp091.Error, 1))}, nil
}

func (c *conn) rest(p *publisher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !p.ch.IsClosed() && len(p.open) == 0 {
		c.idle = append(c.idle, p)
	}
}

// publish is mandatory. It blocks while the server does not read.
func (p *publisher) publish(at int, m *parsed, to destination, until time.Time) error {
	confirm, err := p.ch.PublishWithDeferredConfirm(to.exchange, to.key, true, false, m.Publishing)
	if err != nil {
		return err
	}
	p.open = append(p.open, &pending{at: at, message: m, to: to, confirm: confirm, until: until})
	return nil
}

var errLate = errors.New("the server has not confirmed it in time")

func (p *publisher) settle(ctx context.Context) (*pending, error) {
	oldest := p.open[0]
	each, cancel := context.WithDeadline(ctx, oldest.until)
	defer cancel()
	// An answer in time counts, although earlier waits took its time.
	if _, err := oldest.confirm.WaitContext(each); err != nil && !answered(oldest) {
		if ctx.Err() != nil {
			return oldest, ctx.Err()
		}
		p.open = p.open[1:]
		return oldest, errLate
	}
	p.match()
	p.open = p.open[1:]
	if oldest.confirm.Acked() {
		if oldest.returned != nil {
			return oldest, unroutable(oldest)
		}
		return oldest, nil
	}
	if err := p.failure(); err != nil {
		return oldest, err
	}
	// A full queue with overflow reject-publish answers so.
	return oldest, errors.New("the server has not taken the message (nack): a queue that rejects what is over its " +
		"limit, or an error of the server")
}

func answered(of *pending) bool {
	select {
	case <-of.confirm.Done():
		return true
	default:
		return false
	}
}

func (p *publisher) failure() error {
	if p.why == nil {
		select {
		case of, ok := <-p.closed:
			if p.why = error(amqp091.ErrClosed); ok {
				p.why = of
			}
		default:
		}
	}
	return p.why
}

// match finds returned messages without a number: a return comes before the confirmation of its message, and returns
// come in the order of publishing. Equal messages to one destination are interchangeable.
func (p *publisher) match() {
	for {
		select {
		case r, ok := <-p.returns:
			if !ok {
				return
			}
			if of := p.candidate(&r); of != nil {
				of.returned = &r
			}
		default:
			return
		}
	}
}

// candidate returns the message of a return: the first with its content or, if changed on the way, its payload.
func (p *publisher) candidate(r *amqp091.Return) *pending {
	var alike *pending
	for _, o := range p.open {
		if o.returned != nil || o.to.exchange != r.Exchange || o.to.key != r.RoutingKey ||
			!bytes.Equal(o.message.Body, r.Body) {
			continue
		}
		if o.message.MessageId == r.MessageId && sameTables(o.message.Headers, r.Headers) {
			return o
		}
		if alike == nil {
			alike = o
		}
	}
	return alike
}

func sameTables(a, b amqp091.Table) bool {
	if len(a) != len(b) {
		return false
	}
	for name, value := range a {
		text, kind := encode(value)
		other, otherKind := encode(b[name])
		if !bytes.Equal(text, other) || !reflect.DeepEqual(kind, otherKind) {
			return false
		}
	}
	return true
}

func unroutable(of *pending) error {
	if of.returned.ReplyCode == amqp091.NoRoute {
		if of.to.exchange == "" {
			return fmt.Errorf("%w: there is no queue %q", driver.ErrNotFound, of.to.key)
		}
		return fmt.Errorf("%w: the exchange %q has no queue for the routing key %q (NO_ROUTE)", driver.ErrNotFound,
			of.to.exchange, of.to.key)
	}
	return fmt.Errorf("%w: the server returned the message: %d %s", driver.ErrRefused, of.returned.ReplyCode,
		of.returned.ReplyText)
}
