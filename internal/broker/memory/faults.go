package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/kit/clock"
)

var errFault = errors.New("told to fail")

// faults are injected faults. The broker's mu guards them.
type faults struct {
	sends, confirms, receives, acks countdown

	duplicates int
	forgotten  int
	down       bool
	delay      time.Duration
}

type countdown struct {
	n   int
	err error
}

func (c *countdown) next() error {
	if c.n == 0 {
		return nil
	}
	c.n--
	return c.err
}

func (b *Broker) tell(change func(*faults)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.faults)
}

// FailSends fails the next n messages that are sent: they do not enter their queues. A nil err is a transient one.
func (b *Broker) FailSends(n int, err error) {
	b.tell(func(f *faults) { f.sends = countdown{n, cmp.Or(err, errFault)} })
}

// LoseConfirms accepts the next n messages that are sent, and answers driver.ErrUncertain.
func (b *Broker) LoseConfirms(n int) {
	b.tell(func(f *faults) { f.confirms = countdown{n, driver.ErrUncertain} })
}

// FailReceives fails the next n calls that would receive anything; nothing is delivered. A nil err is a transient one.
func (b *Broker) FailReceives(n int, err error) {
	b.tell(func(f *faults) { f.receives = countdown{n, cmp.Or(err, errFault)} })
}

// FailAcks fails the next n acknowledgements; the messages stay with their receivers. A nil err is a transient one.
func (b *Broker) FailAcks(n int, err error) {
	b.tell(func(f *faults) { f.acks = countdown{n, cmp.Or(err, errFault)} })
}

// DeliverTwice delivers each of the next n messages twice to its receiver.
func (b *Broker) DeliverTwice(n int) { b.tell(func(f *faults) { f.duplicates = n }) }

// ForgetAcks lets the next n acknowledgements succeed, but their messages come back when the receiver closes.
func (b *Broker) ForgetAcks(n int) { b.tell(func(f *faults) { f.forgotten = n }) }

// Slow delays every operation; 0 ends it.
func (b *Broker) Slow(d time.Duration) { b.tell(func(f *faults) { f.delay = d }) }

// Disconnect cuts all connections, which gives back their messages. Clients can reconnect immediately; see Stop.
func (b *Broker) Disconnect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.conns {
		c.end(fmt.Errorf("cut by the broker: %w", driver.ErrLost))
	}
}

// Stop cuts all connections and refuses new ones, until Start.
func (b *Broker) Stop() {
	b.tell(func(f *faults) { f.down = true })
	b.Disconnect()
}

// Start ends Stop.
func (b *Broker) Start() { b.tell(func(f *faults) { f.down = false }) }

// reach waits while the broker is slow, and fails if it is stopped. Every operation begins with it.
func (b *Broker) reach(ctx context.Context) error {
	b.mu.Lock()
	delay, down := b.faults.delay, b.faults.down
	b.mu.Unlock()
	if delay > 0 {
		if err := clock.Sleep(ctx, delay); err != nil {
			return err
		}
	}
	if down {
		return fmt.Errorf("connection refused: %w", driver.ErrLost)
	}
	return ctx.Err()
}
