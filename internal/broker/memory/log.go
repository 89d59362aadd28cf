package memory

import (
	"context"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// LogParts implements driver.Driver: a queue has one part, whose offsets begin at 1.
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
