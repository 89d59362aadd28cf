package tasker

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/google/uuid"
)

// Events returns what happens from now on, or behind filter.LastEventID, in order. It
// goes on until ctx ends, the caller stops, or with UntilSettled all tasks are
// settled:
//
//	for event, err := range client.Events(ctx, tasker.EventFilter{Name: "import"}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(event.Type, event.TaskUUID, event.ToState)
//	}
//
// A stream that breaks off is resumed, for as long as it takes; what was missed then
// shows as EventStreamGap. An error is the last that comes. The one that keeps the
// first stream from opening comes at once.
func (c *Client) Events(ctx context.Context, filter EventFilter) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var pause backoff
		for opened := false; ; {
			err := c.eventsOnce(ctx, &filter, func(e Event) bool {
				opened, pause = true, backoff{}
				return e.Type == EventStreamAlive || yield(e, nil)
			})
			switch {
			case err == nil, errors.Is(err, errEnough):
				return
			case ctx.Err() != nil:
				err = fmt.Errorf("receive events: %w", ctx.Err())
			case opened && comesBack(err) && !errors.Is(err, errClosed):
				if pause.wait(ctx, err) {
					continue
				}
				err = fmt.Errorf("receive events: %w", ctx.Err())
			}
			yield(Event{}, err)
			return
		}
	}
}

// errEnough says that the caller wants no more events.
var errEnough = errors.New("enough")

// eventsOnce receives the events of one stream, and notes in the filter where to go
// on. It returns nil when nothing more is to come.
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

// watcher waits for a task on a stream of events. Where there is none it falls back on long polls.
type watcher struct {
	client *Client
	filter EventFilter
	polls  bool
	there  time.Time // when the server was there last
}

func (c *Client) newWatcher(id uuid.UUID) *watcher {
	w := &watcher{client: c, filter: EventFilter{Tasks: []uuid.UUID{id}, UntilSettled: true}}
	// an engine in this process holds the call at no cost
	_, remote := c.Backend.(*httpBackend)
	w.polls = !remote
	return w
}

// look returns the task once it is settled; before that when a long poll is over.
func (w *watcher) look(ctx context.Context) (*Task, error) {
	id := w.filter.Tasks[0]
	if !w.polls {
		err := w.client.eventsOnce(ctx, &w.filter, func(Event) bool {
			w.there = time.Now()
			return true
		})
		switch {
		case err == nil:
			w.there = time.Now()
			return w.client.Task(ctx, id, 0)
		case ctx.Err() != nil:
			return nil, fmt.Errorf("wait for task %s: %w", id, ctx.Err())
		case ErrorCode(err) == CodeUnavailable:
			return nil, err
		}
		// an older server, too many streams, a proxy that passes none: a long poll
		// finds out what there is to say
		w.polls = ErrorCode(err) != CodeExhausted
	}
	begun := time.Now()
	t, err := w.client.Task(ctx, id, waitRound)
	if err == nil || w.there.IsZero() && time.Since(begun) >= time.Second {
		w.there = time.Now() // whatever it says: it has held the call
	}
	return t, err
}
