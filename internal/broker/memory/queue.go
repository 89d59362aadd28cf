package memory

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/deadletter"
)

// queue is a queue of a broker, whose mu guards it. Given-back messages stand before those that were never delivered,
// so the order of sending is kept.
type queue struct {
	name string
	seq  int64

	returned []*entry // delivered and given back, by number; all before fresh
	fresh    []*entry // never delivered; those before head are gone
	head     int

	log []*entry // all that was ever sent, by number from 1; empty unless the broker keeps a log

	wake chan struct{} // closed when receivers should look again
}

// entry is a message in a queue.
type entry struct {
	seq       int64
	message   driver.Message
	delivered bool
}

func (q *queue) len() int { return len(q.returned) + len(q.fresh) - q.head }

// push adds a copy of what a sender determines about a message. The copy is deep: a sender may reuse its memory.
func (q *queue) push(m *driver.Message, now time.Time) *entry {
	q.seq++
	e := &entry{seq: q.seq, message: driver.Message{Key: bytes.Clone(m.Key), Headers: copyHeaders(m.Headers),
		Payload: bytes.Clone(m.Payload), Time: now, Origin: q.name, MessageID: m.MessageID}}
	q.fresh = append(q.fresh, e)
	return e
}

func copyHeaders(headers []deadletter.Header) []deadletter.Header {
	headers = slices.Clone(headers)
	for i := range headers {
		headers[i].Value = bytes.Clone(headers[i].Value)
	}
	return headers
}

// take removes up to max entries, and about driver.BatchBytes, from the front.
//
// The slice is copied from time to time, because a queue that is never empty would keep all entries of the past.
func (q *queue) take(max int) []*entry {
	var out []*entry
	size := 0
	// At least one message, however large it is.
	for len(out) < max && q.len() > 0 && size < driver.BatchBytes {
		var e *entry
		if len(q.returned) > 0 {
			e, q.returned = q.returned[0], q.returned[1:]
		} else {
			e = q.fresh[q.head]
			q.fresh[q.head] = nil // the message may be garbage soon
			q.head++
		}
		size += e.message.Size()
		out = append(out, e)
	}
	if q.head > 1024 && q.head > len(q.fresh)/2 {
		q.fresh, q.head = slices.Clone(q.fresh[q.head:]), 0
	}
	return out
}

// giveBack returns entries that were taken to their places.
func (q *queue) giveBack(entries []*entry) {
	if len(entries) == 0 {
		return
	}
	q.returned = slices.Concat(q.returned, entries)
	// Receivers may give back in any order.
	slices.SortFunc(q.returned, func(a, b *entry) int { return cmp.Compare(a.seq, b.seq) })
	q.signal()
}

// signal wakes the receivers if there is anything to receive.
func (q *queue) signal() {
	if q.len() > 0 {
		q.wakeAll()
	}
}

// wakeAll wakes the receivers, so that they look again: at the queue, and whether they are closed.
func (q *queue) wakeAll() {
	close(q.wake)
	q.wake = make(chan struct{})
}

// deliver returns an entry as a message. The bytes are shared: receivers do not change them.
func (b *Broker) deliver(e *entry) driver.Message {
	m := e.message
	m.Redelivered, m.Receipt = e.delivered, e
	if !b.opts.NoPositions {
		m.Position = m.Origin + "@" + strconv.FormatInt(e.seq, 10)
	}
	return m
}
