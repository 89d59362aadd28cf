package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

type outcome int

const (
	published outcome = iota
	returned          // no such queue: certainly not published
	refused           // by the broker, or never written: certainly not published
	uncertain         // written, without a confirm
)

var words = map[outcome]string{published: "published", returned: "returned", refused: "refused",
	uncertain: "uncertain"}

// publisher publishes on one channel with confirms, in order, without waiting for each: it calls done once for every
// message, from another goroutine, when its confirm has come or cannot come.
type publisher struct {
	ch    *amqp.Channel
	slots chan struct{} // a token for each message in flight
	limit time.Duration

	sending sync.Mutex // held while one message is written

	mu       sync.Mutex
	pending  map[uint64]*sent   // by delivery tag
	byID     map[string][]*sent // of pending, by message ID
	blocked  bool
	unblock  chan struct{}   // closed while it is not blocked
	clear    context.Context // ends when it is blocked
	block    context.CancelFunc
	finished chan struct{} // closed when no confirm can come
}

type sent struct {
	at       time.Time
	id       string
	returned bool
	done     func(outcome)
}

func newPublisher(conn *amqp.Connection, inFlight int, limit time.Duration) (*publisher, error) {
	ch, err := conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open channel: %w", err)
	}
	if err := ch.Confirm(false); err != nil {
		return nil, fmt.Errorf("turn confirms on: %w", err)
	}
	p := &publisher{ch: ch, slots: make(chan struct{}, inFlight), limit: limit, pending: map[uint64]*sent{},
		byID: map[string][]*sent{}, unblock: make(chan struct{}), finished: make(chan struct{})}
	close(p.unblock)
	p.clear, p.block = context.WithCancel(context.Background())
	// A return precedes the confirm of its message. Only an unbuffered channel, read by the same goroutine, keeps that
	// order.
	returns := ch.NotifyReturn(make(chan amqp.Return))
	confirms := ch.NotifyPublish(make(chan amqp.Confirmation, inFlight))
	blocks := conn.NotifyBlocked(make(chan amqp.Blocking, 8))
	go p.listen(returns, confirms)
	go p.watch(blocks)
	return p, nil
}

// listen matches returns and confirms with messages until the channel closes; the others are uncertain then.
func (p *publisher) listen(returns <-chan amqp.Return, confirms <-chan amqp.Confirmation) {
	defer close(p.finished)
	for {
		select {
		case r, ok := <-returns:
			if !ok {
				returns = nil
				continue
			}
			p.mu.Lock()
			for _, s := range p.byID[r.MessageId] { // more than one only with message IDs of others
				s.returned = true
			}
			p.mu.Unlock()
		case c, ok := <-confirms:
			if !ok {
				p.abandon()
				return
			}
			p.confirmed(c)
		}
	}
}

func (p *publisher) confirmed(c amqp.Confirmation) {
	p.mu.Lock()
	s := p.take(c.DeliveryTag)
	p.mu.Unlock()
	switch {
	case s == nil:
	case !c.Ack:
		p.end(s, refused)
	case s.returned:
		p.end(s, returned)
	default:
		p.end(s, published)
	}
}

// take returns nil for a message that is not in flight. The caller holds mu.
func (p *publisher) take(tag uint64) *sent {
	s := p.pending[tag]
	if s == nil {
		return nil
	}
	delete(p.pending, tag)
	same := p.byID[s.id]
	if len(same) == 1 {
		delete(p.byID, s.id)
	} else {
		p.byID[s.id] = slices.DeleteFunc(same, func(other *sent) bool { return other == s })
	}
	return s
}

func (p *publisher) end(s *sent, o outcome) {
	<-p.slots
	s.done(o)
}

func (p *publisher) abandon() {
	p.sending.Lock() // a message being written is pending, without a confirm to come
	defer p.sending.Unlock()
	p.mu.Lock()
	left := p.pending
	p.pending, p.byID = map[uint64]*sent{}, map[string][]*sent{}
	p.mu.Unlock()
	for _, s := range left {
		p.end(s, uncertain)
	}
}

func (p *publisher) watch(blocks <-chan amqp.Blocking) {
	for b := range blocks {
		p.mu.Lock()
		if b.Active && !p.blocked {
			p.unblock = make(chan struct{})
			p.block()
		} else if !b.Active && p.blocked {
			p.clear, p.block = context.WithCancel(context.Background())
			close(p.unblock)
		}
		p.blocked = b.Active
		p.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.block()
}

// open waits until the broker takes messages, and returns a context that ends with ctx or with that.
func (p *publisher) open(ctx context.Context) (context.Context, context.CancelFunc) {
	p.mu.Lock()
	unblock := p.unblock
	p.mu.Unlock()
	select {
	case <-unblock:
	case <-ctx.Done():
	}
	p.mu.Lock()
	clear := p.clear
	p.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(clear, cancel)
	return ctx, func() { stop(); cancel() }
}

// publish waits for a place among the messages in flight. It always calls done.
func (p *publisher) publish(ctx context.Context, queue string, m amqp.Publishing, done func(outcome)) {
	select {
	case p.slots <- struct{}{}:
	case <-p.finished:
		done(refused)
		return
	case <-ctx.Done():
		done(refused)
		return
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	s := &sent{at: time.Now(), id: m.MessageId, done: done}
	tag := p.ch.GetNextPublishSeqNo()
	p.mu.Lock()
	p.pending[tag], p.byID[s.id] = s, append(p.byID[s.id], s)
	p.mu.Unlock()
	err := p.ch.PublishWithContext(context.Background(), "", queue, true, false, m)
	if err == nil && !p.ended() {
		return
	}
	p.mu.Lock()
	s = p.take(tag)
	p.mu.Unlock()
	switch {
	case s == nil: // its confirm came anyway
	case errors.Is(err, amqp.ErrClosed): // closed before the message was complete
		p.end(s, refused)
	default:
		p.end(s, uncertain)
	}
}

func (p *publisher) ended() bool {
	select {
	case <-p.finished:
		return true
	default:
		return false
	}
}

// overdue reports a late confirm. While publishers are blocked, nothing is confirmed.
func (p *publisher) overdue(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.blocked {
		return false
	}
	for _, s := range p.pending {
		if now.Sub(s.at) > p.limit {
			return true
		}
	}
	return false
}

func (p *publisher) drain(ctx context.Context) {
	for range cap(p.slots) {
		select {
		case p.slots <- struct{}{}:
		case <-p.finished:
			return
		case <-ctx.Done():
			return
		}
	}
}
