package feed

import (
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// Heartbeat is the interval of empty batches.
	Heartbeat = 5 * time.Second
	// maxPublished bounds the changes published at once.
	maxPublished = 2000
)

// Publisher publishes the changes of this process to others. Wanted is safe for concurrent use, Publish is not.
type Publisher struct {
	until atomic.Int64 // another process listens until then

	on     bool
	pos    uint64
	number uint64
	lost   bool
	at     task.Instant
}

// Wanted records that another process listens until a time.
func (t *Publisher) Wanted(until task.Instant) { t.until.Store(int64(until)) }

// Publish sends the changes since the last call, if another process listens, or an empty batch each Heartbeat. After
// a failed send, the next batch reports missing changes and reuses the number, so that numbers have no gap.
func (t *Publisher) Publish(f *Feed, send func(Batch) error) error {
	now := f.now()
	if now > task.Instant(t.until.Load()) {
		t.on = false
		return nil
	}
	batch := t.next(f)
	if len(batch.Changes) == 0 && !batch.Lost && now.Sub(t.at) < Heartbeat {
		t.number--
		return nil
	}
	if err := send(batch); err != nil {
		t.lost = true
		return err
	}
	t.at = now
	return nil
}

func (t *Publisher) next(f *Feed) Batch {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !t.on {
		t.on, t.lost, t.pos = true, true, f.next
	}
	if t.pos < f.first {
		t.lost, t.pos = true, f.next
	}
	if f.next-t.pos > maxPublished {
		t.lost, t.pos = true, f.next-maxPublished
	}
	t.number++
	out := Batch{Number: t.number, Lost: t.lost}
	t.lost = false
	for ; t.pos < f.next; t.pos++ {
		c := f.ring[t.pos%feedSize]
		switch {
		case c.Foreign:
		case c.Kind == StreamGap:
			out.Lost = true
		default:
			out.Changes = append(out.Changes, c)
		}
	}
	return out
}
