package rabbitmq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// destination is where a message is published. There are these forms:
//
//	QUEUE                the queue, past all exchanges
//	exchange:NAME/KEY    the exchange, with the routing key
//	exchange:NAME        the exchange, with the routing key of the message when it was published first
//	exchange:            the exchange and the routing key of the message when it was published first
//
// A "/" in the name of an exchange is written as %2F.
type destination struct {
	exchange string
	key      string
	ownKey   bool // the key is the message's own
	own      bool // and so is the exchange
}

const exchangePrefix = "exchange:"

func parse(text string) (destination, error) {
	rest, ok := strings.CutPrefix(text, exchangePrefix)
	if !ok {
		if text == "" || len(text) > 255 {
			return destination{}, fmt.Errorf("%w: the name of a queue has 1 to 255 bytes", driver.ErrRefused)
		}
		return destination{key: text}, nil
	}
	name, key, hasKey := strings.Cut(rest, "/")
	exchange, err := url.PathUnescape(name)
	if err != nil || len(exchange) > 255 || len(key) > 255 {
		return destination{}, fmt.Errorf("%w: an exchange is written exchange:NAME/KEY, with %%2F for a / in its name",
			driver.ErrRefused)
	}
	return destination{exchange: exchange, key: key, ownKey: !hasKey, own: !hasKey && exchange == ""}, nil
}

func (to destination) of(p *parsed) (destination, error) {
	if !to.ownKey {
		return to, nil
	}
	if p.routing == nil || to.own && p.exchange == nil {
		return to, fmt.Errorf("%w: the message does not say to which exchange it was published", driver.ErrRefused)
	}
	to.key = *p.routing
	if to.own {
		to.exchange = *p.exchange
	}
	return to, nil
}

type sending struct {
	conn     *conn
	ctx      context.Context //nolint:containedctx // it is that of the call
	to       destination
	messages []driver.Message
	limits   driver.Limits
	errs     []error
	p        *publisher
	exists   map[string]bool
	refused  map[destination]error
	gone     map[string]error
	late     []int // messages whose time ended without an answer
}

// Send implements driver.Driver. Many messages are on their way together, so after a refused one later ones may have
// been taken. The first message of the call to each exchange is alone on its way: the server closes the channel if the
// exchange is gone, without naming the messages that reached it.
func (c *conn) Send(ctx context.Context, target string, messages []driver.Message, limits driver.Limits) []error {
	to, err := parse(target)
	if err != nil {
		return driver.Fail(len(messages), err)
	}
	s := &sending{conn: c, ctx: ctx, to: to, messages: messages, limits: limits, errs: make([]error, len(messages)),
		exists: map[string]bool{"": true}, refused: map[destination]error{}, gone: map[string]error{}}
	for i := range messages {
		if !s.send(i) {
			break
		}
	}
	s.drain(0)
	if len(s.late) > 0 {
		s.retire()
	}
	if s.p != nil {
		c.rest(s.p)
	}
	return s.errs
}

func (s *sending) send(i int) bool {
	m, to, err := s.prepare(i)
	if err == nil {
		err = cmp.Or(s.gone[to.exchange], s.refused[to])
	}
	if err != nil {
		s.errs[i] = err
		return true
	}
	if err := s.ready(); err != nil {
		return s.stop(i, err)
	}
	alone := !s.exists[to.exchange] || s.conn.alone(m, to)
	if alone {
		if !s.drain(0) {
			return s.stop(i, nil)
		}
		if err := s.ready(); err != nil { // the answers may have ended the channel
			return s.stop(i, err)
		}
	}
	p, until := s.p, time.Now().Add(s.limits.Time())
	each, cancel := context.WithDeadline(s.ctx, until)
	defer cancel()
	if err := s.conn.Await(each, func() error { return p.publish(i, m, to, until) }); err != nil {
		return s.stop(i, s.unpublished(err))
	}
	if alone {
		return s.drain(0) || s.stop(i+1, nil)
	}
	return len(p.open) < window || s.drain(window/2) || s.stop(i+1, nil)
}

func (s *sending) prepare(i int) (*parsed, destination, error) {
	m, err := publishing(&s.messages[i])
	if err != nil {
		return nil, destination{}, err
	}
	to, err := s.to.of(m)
	if err != nil {
		return nil, to, err
	}
	if to.exchange == "" { // these headers route copies past the queue
		delete(m.Headers, "CC")
		delete(m.Headers, "BCC")
	}
	// All but the payload must fit into one frame, or the server closes the connection.
	const properties = 4 << 10
	if frame := s.conn.Config.FrameSize; frame > 0 && sizeOf(m.Headers)+properties > frame {
		return nil, to, fmt.Errorf("%w: its headers have more than %d bytes", driver.ErrTooLarge, frame-properties)
	}
	return m, to, nil
}

func (s *sending) ready() error {
	if s.ctx.Err() != nil || s.limits.Over() {
		return driver.ErrUntried
	}
	if why := s.conn.blockedFor(); why != "" {
		return fmt.Errorf("RabbitMQ takes no messages for now: %s", why)
	}
	if s.p != nil && !s.p.ch.IsClosed() {
		return nil
	}
	s.p = nil
	each, cancel := s.limits.Message(s.ctx)
	defer cancel()
	p, err := s.conn.publisher(each)
	if err != nil {
		if each.Err() != nil { // the connection is aborted, and nothing was written
			return fmt.Errorf("%w: %w: the server opens no channel", driver.ErrLost, driver.ErrUntried)
		}
		return err
	}
	s.p = p
	return nil
}

// stop ends the call: messages from i on without an error were not published, because of err, or else of the context or
// the connection.
func (s *sending) stop(i int, err error) bool {
	if err == nil {
		err = driver.ErrUntried
		if s.conn.IsClosed() {
			err = fmt.Errorf("%w: %w", driver.ErrLost, err)
		}
	}
	for ; i < len(s.errs); i++ {
		if s.errs[i] == nil {
			s.errs[i] = err
		}
		// Only the first may have been written in part.
		if errors.Is(err, driver.ErrUncertain) {
			err = driver.ErrUntried
		}
	}
	return false
}

func (s *sending) unpublished(err error) error {
	switch {
	case s.ctx.Err() != nil || !errors.Is(err, amqp091.ErrClosed): // some of it may have been written
		return fmt.Errorf("%w: %w: %w", driver.ErrLost, driver.ErrUncertain, err)
	case s.conn.IsClosed():
		return fmt.Errorf("%w: %w", driver.ErrLost, err)
	}
	return err // the server has just closed the channel: nothing was written
}

// drain waits until at most so many messages lack an answer; each has its own time. It returns false if one got none,
// or the context or the connection has ended.
func (s *sending) drain(left int) bool {
	for s.p != nil && len(s.p.open) > left {
		open := s.p.why == nil
		of, err := s.p.settle(s.ctx)
		// The server has closed the channel because of this message, the only one.
		because := open && s.p.why != nil && len(s.p.open) == 0
		switch {
		case err == nil:
			s.conn.took(of)
			s.exists[of.to.exchange] = true
		case errors.Is(err, errLate):
			s.errs[of.at] = fmt.Errorf("%w: %w", driver.ErrUncertain, err)
			s.late = append(s.late, of.at)
		case s.ctx.Err() != nil && errors.Is(err, s.ctx.Err()):
			s.abandon(err)
			return false
		case s.conn.IsClosed():
			s.errs[of.at] = fmt.Errorf("%w: %w: %w", driver.ErrLost, driver.ErrUncertain, err)
		case because:
			s.errs[of.at] = s.answered(of, err)
		case s.p.why != nil: // some message of several: those before it may have been stored
			s.errs[of.at] = fmt.Errorf("%w: the server has closed the channel: %w", driver.ErrUncertain, err)
			s.forget(of.to)
		default:
			s.errs[of.at] = err
		}
	}
	return len(s.late) == 0 && !s.conn.IsClosed()
}

// forget has the next message to a destination be alone on its way.
func (s *sending) forget(to destination) {
	s.conn.mu.Lock()
	delete(s.conn.proven, to)
	s.conn.mu.Unlock()
	if to.exchange != "" {
		delete(s.exists, to.exchange)
	}
}

// answered is the error of a message that was alone on its way when the server closed the channel: the cause is that
// message. A missing exchange is missing for other messages too.
func (s *sending) answered(of *pending, err error) error {
	s.forget(of.to)
	var from *amqp091.Error
	if errors.As(err, &from) && from.Code == amqp091.PreconditionFailed {
		if len(of.message.Body) > large {
			return fmt.Errorf("%w: %w", driver.ErrTooLarge, err)
		}
		return fmt.Errorf("%w: %w", driver.ErrRefused, err)
	}
	err = s.conn.classify(err)
	switch {
	case errors.Is(err, driver.ErrNotFound) && of.to.exchange != "":
		s.gone[of.to.exchange] = err
	case driver.Permanent(err):
		s.refused[of.to] = err
	}
	return err
}

func (s *sending) abandon(err error) {
	for _, of := range s.p.open {
		s.errs[of.at] = fmt.Errorf("%w: %w", driver.ErrUncertain, err)
		s.late = append(s.late, of.at)
	}
	s.p.open = nil
}

// retire closes a channel with unanswered messages. A server that does not answer that either is lost.
func (s *sending) retire() {
	if s.p != nil {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), min(polite, s.limits.Time()))
		defer cancel()
		_ = s.conn.Await(bounded, s.p.ch.Close) // else the connection is cut
		s.p = nil
	}
	if s.conn.IsClosed() {
		for _, i := range s.late {
			s.errs[i] = fmt.Errorf("%w: %w", driver.ErrLost, s.errs[i])
		}
	}
}

func (c *conn) blockedFor() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.blocked
}

// alone reports whether a message must be alone on its way, as the server may close the channel.
func (c *conn) alone(m *parsed, to destination) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.proven[to] || len(m.Body) > max(large, c.taken)
}

func (c *conn) took(of *pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = max(c.taken, len(of.message.Body))
	if len(c.proven) >= destinations {
		clear(c.proven)
	}
	c.proven[of.to] = true
}
