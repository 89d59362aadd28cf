package redisqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/broker/redislist"
	"github.com/taskerhq/tasker/internal/model/failure"
)

// ErrNoEntry means: an entry is no longer in the list of dead letters; it was moved or removed.
var ErrNoEntry = errors.New("the entry is not in the list of dead letters any more")

const maxEntries = 1000

// DLQOptions are the settings of a DLQ.
type DLQOptions struct {
	// Client reaches the server; it stays the caller's. Required.
	Client rueidis.Client
	// Queue has the dead letters, with dlq: or without. Required.
	Queue string
	// HeadRight: consumers of the queue take from the right end, so that jobs go back to the left end.
	HeadRight bool
	// Timeout bounds a call. 10ms to 1m. Defaults to 2s.
	Timeout time.Duration
}

// DLQ manages the list of dead letters of a queue, for an application without a Tasker server. A server that reads the
// list takes its entries, and does all of this and more, with a history. It is safe for concurrent use. It returns
// every error of Redis: an outage is no empty list.
type DLQ struct {
	o       DLQOptions
	list    string
	requeue *rueidis.Lua
}

// Entry is an entry of a list of dead letters. A job from a full queue has the error queue_overflow.
type Entry struct {
	JobFailure
	// Raw is the entry in the list, which identifies it at any place.
	Raw []byte
	// Err is why the entry cannot be read: JobFailure is empty then.
	Err error
}

// NewDLQ returns a DLQ. It connects to nothing.
func NewDLQ(o DLQOptions) (*DLQ, error) {
	if o.Client == nil {
		return nil, errors.New("DLQOptions needs Client")
	}
	list := DLQName(o.Queue)
	if err := redislist.CheckKeys(o.Client, o.Queue); err != nil {
		return nil, fmt.Errorf("DLQOptions.Queue: %w", err)
	}
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Second
	}
	if o.Timeout < 10*time.Millisecond || o.Timeout > time.Minute {
		return nil, fmt.Errorf("DLQOptions.Timeout must be 10ms to 1m, not %v", o.Timeout)
	}
	script, err := loadScript("requeue")
	if err != nil {
		return nil, err
	}
	return &DLQ{o, list, script}, nil
}

// Len returns the number of entries.
func (d *DLQ) Len(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, d.o.Timeout)
	defer cancel()
	n, err := d.o.Client.Do(ctx, d.o.Client.B().Llen().Key(d.list).Build()).AsInt64()
	return n, d.wrap("count", err)
}

// Entries returns up to limit entries from a place in the list, the oldest first. limit is 1 to 1000. They stay.
func (d *DLQ) Entries(ctx context.Context, start, limit int) ([]Entry, error) {
	if start < 0 || limit < 1 || limit > maxEntries {
		return nil, fmt.Errorf("entries are asked for from 0 on, 1 to %d at once, not %d from %d", maxEntries, limit, start)
	}
	ctx, cancel := context.WithTimeout(ctx, d.o.Timeout)
	defer cancel()
	texts, err := d.o.Client.Do(ctx, d.o.Client.B().Lrange().Key(d.list).Start(int64(start)).
		Stop(int64(start+limit-1)).Build()).AsStrSlice()
	if err != nil {
		return nil, d.wrap("read", err)
	}
	out := make([]Entry, len(texts))
	for i, text := range texts {
		out[i].Raw = []byte(text)
		out[i].JobFailure, out[i].Err = parseEntry(out[i].Raw)
	}
	return out, nil
}

// overflowReason is the reason of an entry of the list of an overflow, and the error of its JobFailure.
const overflowReason = "queue_overflow"

func parseEntry(raw []byte) (JobFailure, error) {
	f, err := ParseJobFailure(raw)
	if err == nil {
		return f, nil
	}
	var moved struct {
		Queue    string          `json:"original_queue"`
		Data     json.RawMessage `json:"data"`
		Reason   string          `json:"reason"`
		Encoding string          `json:"data_encoding"`
	}
	if json.Unmarshal(raw, &moved) != nil || moved.Reason != overflowReason || moved.Data == nil {
		return f, err
	}
	if moved.Encoding == "" && moved.Data[0] == '"' {
		moved.Encoding = failure.JobText
	}
	f = JobFailure{Error: overflowReason, ErrorType: overflowReason, Queue: moved.Queue}
	f.Job, err = parseJob(moved.Data, moved.Encoding)
	return f, err
}

// Requeue sends the job of an entry to a queue, "" for its origin, and removes the entry, in one step. ErrNoEntry: it
// is gone, and nothing was sent. After another error it is still there, unless the connection was lost: then it may
// have been sent.
func (d *DLQ) Requeue(ctx context.Context, e Entry, target string) error {
	if e.Err != nil {
		return fmt.Errorf("the job of an entry of %s is not known: %w", d.list, e.Err)
	}
	if target == "" {
		target = e.Queue
	}
	if err := redislist.CheckKeys(d.o.Client, d.o.Queue, target); err != nil {
		return err
	}
	push := "RPUSH"
	if d.o.HeadRight {
		push = "LPUSH"
	}
	ctx, cancel := context.WithTimeout(ctx, d.o.Timeout)
	defer cancel()
	n, err := d.requeue.Exec(ctx, d.o.Client, []string{d.list, target},
		[]string{push, rueidis.BinaryString(e.Raw), rueidis.BinaryString(e.Job)}).AsInt64()
	if err == nil && n < 0 {
		return ErrNoEntry
	}
	return d.wrap("requeue from", err)
}

// RequeueOldest sends the job of the oldest entry back, as Requeue does, and returns it. ok is false without one.
func (d *DLQ) RequeueOldest(ctx context.Context, target string) (job []byte, ok bool, err error) {
	for {
		entries, err := d.Entries(ctx, 0, 1)
		if err != nil || len(entries) == 0 {
			return nil, false, err
		}
		err = d.Requeue(ctx, entries[0], target)
		if errors.Is(err, ErrNoEntry) {
			continue // others were faster
		}
		return entries[0].Job, err == nil, err
	}
}

// Remove removes an entry for good. ErrNoEntry: it is gone.
func (d *DLQ) Remove(ctx context.Context, e Entry) error {
	ctx, cancel := context.WithTimeout(ctx, d.o.Timeout)
	defer cancel()
	n, err := d.o.Client.Do(ctx, d.o.Client.B().Lrem().Key(d.list).Count(1).Element(rueidis.BinaryString(e.Raw)).
		Build()).AsInt64()
	if err == nil && n == 0 {
		return ErrNoEntry
	}
	return d.wrap("remove from", err)
}

// Clear removes up to 1000 of the oldest entries for good and returns how many; call it until it returns 0. Each call
// removes only entries that were in the list when it began.
func (d *DLQ) Clear(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, d.o.Timeout)
	defer cancel()
	texts, err := d.o.Client.Do(ctx, d.o.Client.B().Lpop().Key(d.list).Count(maxEntries).Build()).AsStrSlice()
	if rueidis.IsRedisNil(err) {
		return 0, nil
	}
	return int64(len(texts)), d.wrap("clear", err)
}

func (d *DLQ) wrap(verb string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", verb, d.list, err)
}
