package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// kept returns the log of a queue. The caller holds the broker's mu.
func (b *Broker) kept(name string) ([]*entry, error) {
	q := b.queues[name]
	switch {
	case !b.opts.KeepLog:
		return nil, driver.ErrNoLog
	case q == nil:
		return nil, fmt.Errorf("read the log of %q: %w", name, driver.ErrNotFound)
	}
	return q.log, nil
}

// LogParts implements driver.Driver: a queue has one part, whose offsets begin at 1.
func (c *conn) LogParts(ctx context.Context, name string, since, before time.Time) ([]driver.LogPart, error) {
	if err := c.use(ctx); err != nil {
		return nil, err
	}
	c.broker.mu.Lock()
	defer c.broker.mu.Unlock()
	log, err := c.broker.kept(name)
	if err != nil {
		return nil, err
	}
	from := func(at time.Time, otherwise int) int64 {
		for _, e := range log {
			if !at.IsZero() && !e.message.Time.Before(at) {
				return e.seq
			}
		}
		return int64(otherwise)
	}
	part := driver.LogPart{From: 1, To: from(before, len(log)+1)}
	if !since.IsZero() {
		part.From = from(since, len(log)+1)
	}
	return []driver.LogPart{part}, nil
}

func (c *conn) ReadLog(ctx context.Context, name string, part driver.LogPart, max int) ([]driver.Entry, int64, error) {
	if err := c.use(ctx); err != nil {
		return nil, part.From, err
	}
	c.broker.mu.Lock()
	defer c.broker.mu.Unlock()
	log, err := c.broker.kept(name)
	if err != nil || part.Partition != 0 || part.From < 1 || part.To > int64(len(log))+1 {
		return nil, part.From, err
	}
	var entries []driver.Entry
	next := part.From
	for size := 0; next < part.To && len(entries) < max && size < driver.BatchBytes; next++ {
		m := c.broker.deliver(log[next-1])
		m.Receipt, m.Redelivered = nil, false
		size += m.Size()
		entries = append(entries, driver.Entry{Offset: next, Message: m})
	}
	return entries, next, nil
}
