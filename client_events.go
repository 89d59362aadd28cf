package tasker

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/internal/backoff"
)

// Events yields events in order, from now on or after filter.LastEventID. It continues until ctx ends, the
// caller stops, or with UntilSettled all tasks are settled:
//
//	for event, err := range client.Events(ctx, tasker.EventFilter{Name: "import"}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(event.Type, event.TaskUUID, event.ToState)
//	}
//
// Events resumes a broken stream, and retries without a time limit; an EventStreamGap marks events that may
// be missing. An error is the last item. An error that prevents the first stream from opening is returned at
// once.
func (c *Client) Events(ctx context.Context, filter EventFilter) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var pause backoff.Pauses
		for opened := false; ; {
			err := c.eventsOnce(ctx, &filter, func(e Event) bool {
				opened, pause = true, backoff.Pauses{}
				return e.Type == EventStreamAlive || yield(e, nil)
			})
			switch {
			case err == nil, errors.Is(err, errEnough):
				return
			case ctx.Err() != nil:
				err = fmt.Errorf("receive events: %w", ctx.Err())
			case opened && ErrorCode(err).Temporary() && !errors.Is(err, ErrClosed):
				if pause.Wait(ctx, ErrorRetryAfter(err)) {
					continue
				}
				err = fmt.Errorf("receive events: %w", ctx.Err())
			}
			yield(Event{}, err)
			return
		}
	}
}

// errEnough reports that the caller stopped the iteration. It never reaches a caller.
var errEnough = errors.New("enough")

// eventsOnce receives the events of one stream and records in filter where the next stream resumes. It
// returns nil when no more events can follow.
func (c *Client) eventsOnce(ctx context.Context, filter *EventFilter, receive func(Event) bool) error {
	for batch, err := range c.StreamEvents(ctx, *filter) {
		if err != nil {
			return err
		}
		for _, e := range batch {
			if e.ID != "" {
				filter.LastEventID = e.ID
			}
			if !receive(e) {
				return errEnough
			}
		}
	}
	return nil
}

// firstLook bounds the long poll with which a watcher begins. Most tasks are settled within it, and then one request is
// all that they cost; a stream needs another one for the task at its end.
const firstLook = 5 * time.Second

// watcher waits for a task with a long poll and then on a stream of events, or with long polls where the server offers
// no stream.
type watcher struct {
	client *Client
	filter EventFilter
	looked bool // the first long poll is over
	polls  bool
	there  time.Time // when the server last answered
}

// newWatcher returns a watcher of one task. Over HTTP it continues with a stream, which costs the
// server nothing between events; the filter ends the stream when the task is settled.
func (c *Client) newWatcher(id uuid.UUID) *watcher {
	w := &watcher{client: c, filter: EventFilter{Tasks: []uuid.UUID{id}, UntilSettled: true}}
	w.polls = c.server == nil // an engine in this process holds the call at no cost
	return w
}

// look returns the task once it is settled, or in its present state at the end of a long poll.
// It records in w.there when the server last answered, so that Wait can tell an outage from a
// quiet task.
func (w *watcher) look(ctx context.Context) (*Task, error) {
	switch {
	case w.polls:
		return w.poll(ctx, waitRound)
	case !w.looked:
		return w.firstLook(ctx)
	}
	err := w.client.eventsOnce(ctx, &w.filter, func(Event) bool {
		w.there = time.Now()
		return true
	})
	switch {
	case err == nil:
		w.there = time.Now()
		return w.client.Task(ctx, w.filter.Tasks[0], 0)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("wait for task %s: %w", w.filter.Tasks[0], ctx.Err())
	case ErrorCode(err) == CodeUnavailable:
		return nil, err
	}
	// An older server, too many streams, or a proxy that blocks streams: a long poll finds the reason.
	w.polls = ErrorCode(err) != CodeExhausted
	return w.poll(ctx, waitRound)
}

// firstLook is look for the first time. A server that goes away while it holds the request was there.
func (w *watcher) firstLook(ctx context.Context) (*Task, error) {
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteRequest: func(r httptrace.WroteRequestInfo) { sent.Store(r.Err == nil) }}
	t, err := w.poll(httptrace.WithClientTrace(ctx, trace), firstLook)
	var lost *Error
	if sent.Load() && w.there.IsZero() && errors.As(err, &lost) && lost.Err != nil {
		w.there = time.Now()
	}
	w.looked = err == nil
	return t, err
}

// poll returns the task once it is settled, or in its present state after the time given.
func (w *watcher) poll(ctx context.Context, wait time.Duration) (*Task, error) {
	begun := time.Now()
	t, err := w.client.Task(ctx, w.filter.Tasks[0], wait)
	if err == nil || w.there.IsZero() && time.Since(begun) >= time.Second {
		w.there = time.Now() // whatever the error: the server held the call
	}
	return t, err
}
