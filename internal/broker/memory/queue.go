package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// queue is guarded by the broker's mu.
type queue struct {
	name string
	seq  int64

	waiting []*entry      // by number
	log     []*entry      // all that was ever sent, by number from 1; empty unless the broker keeps a log
	wake    chan struct{} // closed when receivers should look again
}

type entry struct {
	seq       int64
	message   driver.Message
	delivered bool
}

// push adds a deep copy of the sender's fields: a sender may reuse its memory.
func (q *queue) push(m *driver.Message, now time.Time) *entry {
	q.seq++
	e := &entry{seq: q.seq, message: driver.Message{Key: bytes.Clone(m.Key), Headers: copyHeaders(m.Headers),
		Payload: bytes.Clone(m.Payload), Time: now, Origin: q.name, MessageID: m.MessageID}}
	q.waiting = append(q.waiting, e)
	return e
}

func copyHeaders(headers []deadletter.Header) []deadletter.Header {
	headers = slices.Clone(headers)
	for i := range headers {
		headers[i].Value = bytes.Clone(headers[i].Value)
	}
	return headers
}

func (q *queue) take(max int) []*entry {
	var out []*entry
	size := 0
	for len(out) < max && len(q.waiting) > 0 && size < driver.BatchBytes {
		e := q.waiting[0]
		q.waiting[0], q.waiting = nil, q.waiting[1:] // so that the message can be freed
		size += e.message.Size()
		out = append(out, e)
	}
	return out
}

// giveBack returns taken entries to their places. Receivers may give back in any order.
func (q *queue) giveBack(entries []*entry) {
	if len(entries) > 0 {
		q.waiting = slices.Concat(entries, q.waiting)
		slices.SortFunc(q.waiting, func(a, b *entry) int { return cmp.Compare(a.seq, b.seq) })
	}
	q.signal()
}

func (q *queue) signal() {
	close(q.wake)
	q.wake = make(chan struct{})
}

func (b *Broker) deliver(e *entry) driver.Message {
	m := e.message
	m.Redelivered, m.Receipt = e.delivered, e
	if !b.opts.NoPositions {
		m.Position = m.Origin + "@" + strconv.FormatInt(e.seq, 10)
	}
	return m
}

// LogParts implements driver.Driver: a queue has one part, with offsets from 1.
func (c *conn) LogParts(ctx context.Context, name string, since, before time.Time) (parts []driver.LogPart, err error) {
	if !c.broker.opts.KeepLog {
		return nil, driver.ErrNoLog
	}
	err = c.with(ctx, "read the log of", name, func(q *queue) {
		first := func(at time.Time) int64 {
			i := slices.IndexFunc(q.log, func(e *entry) bool { return !e.message.Time.Before(at) })
			if at.IsZero() || i < 0 {
				return int64(len(q.log)) + 1
			}
			return q.log[i].seq
		}
		part := driver.LogPart{From: 1, To: first(before)}
		if !since.IsZero() {
			part.From = first(since)
		}
		parts = []driver.LogPart{part}
	})
	return parts, err
}

func (c *conn) ReadLog(ctx context.Context, name string, part driver.LogPart, max int) (entries []driver.Entry,
	next int64, err error,
) {
	next = part.From
	if !c.broker.opts.KeepLog {
		return nil, next, driver.ErrNoLog
	}
	err = c.with(ctx, "read the log of", name, func(q *queue) {
		if part.Partition != 0 || part.From < 1 || part.To > int64(len(q.log))+1 {
			return
		}
		for size := 0; next < part.To && len(entries) < max && size < driver.BatchBytes; next++ {
			m := c.broker.deliver(q.log[next-1])
			m.Receipt, m.Redelivered = nil, false
			size += m.Size()
			entries = append(entries, driver.Entry{Offset: next, Message: m})
		}
	})
	return entries, next, err
}
