package tasker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/internal/kit/backoff"
	"github.com/taskerhq/tasker/internal/kit/query"
)

// Client submits tasks and reads their state. It is safe for concurrent use. One Client per process is enough: it
// keeps connections and gathers concurrent submissions. It has the methods of its Backend and more.
type Client struct {
	Backend

	server server // nil for an engine in this process
	coder  *coder // nil without a codec
}

// NewClient returns a Client of b. remote.Dial and embedded.Open call it.
func NewClient(b Backend) *Client {
	s, _ := b.(server)
	return &Client{Backend: b, server: s}
}

// server is a Backend at the other end of a network; package remote has one.
type server interface {
	Call(ctx context.Context, r Request, out any) error
	Stream(ctx context.Context, r Request, contentType string) (io.ReadCloser, error)
}

// Request is one request to a server, for parts of the API that a Backend lacks.
type Request struct {
	Verb   string // the caller's intention, for errors: "list cases"
	Method string
	Path   string // escaped, "/v1/dlq"
	Query  url.Values
	Body   any
}

// Call sends a request to the server of a Client from remote.Dial and decodes the response into out unless that is
// nil. Packages such as operate build on it. CodeUnavailable: the server does not answer; CodeInvalid: another
// Client.
func (c *Client) Call(ctx context.Context, r Request, out any) error {
	if c.server == nil {
		return Errorf(CodeInvalid, "%s: the client is not connected to a server, and its Backend cannot do it", r.Verb)
	}
	return c.server.Call(ctx, r, out)
}

// Stream is Call for responses that are too long to hold: it returns the body, which the caller reads and closes.
// RequestTimeout bounds the time until the response begins, and then each Read. The response must have the content
// type.
func (c *Client) Stream(ctx context.Context, r Request, contentType string) (io.ReadCloser, error) {
	if c.server == nil {
		return nil, Errorf(CodeInvalid, "%s: the client is not connected to a server, and its Backend cannot do it", r.Verb)
	}
	return c.server.Stream(ctx, r, contentType)
}

// ShowSensitive returns a context for calls that read sensitive values, which a server otherwise masks. The key needs
// the permission sensitive, and the audit trail records the calls. It applies to reads of tasks, steps, cases,
// letters and the audit trail over HTTP; other reads are CodeInvalid. An engine in this process masks nothing.
func ShowSensitive(ctx context.Context) context.Context {
	return query.ShowSensitive(ctx)
}

// waitRound is below the usual idle timeout of proxies, 60 seconds.
const waitRound = 30 * time.Second

// Wait blocks until the task is settled and returns it. A task in error comes without a Go error: check its State.
// Wait holds a request for a few seconds, then follows a stream of events, or polls where the server offers none. It
// retries for a minute if the server becomes unavailable, but not at the first call. To bound the wait, pass a ctx
// with a deadline; the error then wraps ctx.Err(). CodeNotFound: no such task.
func (c *Client) Wait(ctx context.Context, id uuid.UUID) (*Task, error) {
	early := 0 // consecutive answers before the end of the long poll
	var pause backoff.Pauses
	w := c.newWatcher(id)
	for {
		begun := time.Now()
		t, err := w.look(ctx)
		switch {
		case err == nil:
			pause = backoff.Pauses{}
		case ErrorCode(err) == CodeUnavailable && !errors.Is(err, ErrClosed) && !w.there.IsZero() &&
			time.Since(w.there) < backoff.Patience:
			if !pause.Wait(ctx, ErrorRetryAfter(err)) {
				return nil, fmt.Errorf("wait for task %s: %w", id, ctx.Err())
			}
			continue
		default:
			return nil, err
		}
		if t.State.Settled() {
			return t, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("wait for task %s: %w", id, err)
		}
		if time.Since(begun) >= time.Second {
			early = 0
			continue
		}
		// A Backend that is closing does not hold the call: pause instead of spinning.
		early++
		backoff.Sleep(ctx, backoff.Early(early, time.Second))
	}
}

// Events yields events in order, from now on or after filter.LastEventID. It continues until ctx ends, the caller
// stops, or with UntilSettled all tasks are settled:
//
//	for event, err := range client.Events(ctx, tasker.EventFilter{Name: "import"}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(event.Type, event.TaskUUID, event.ToState)
//	}
//
// Events resumes a broken stream and retries without a time limit; an EventStreamGap marks events that may be
// missing. It ends with an error if the first stream does not open.
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

var errEnough = errors.New("enough")

// eventsOnce receives one stream and records in filter where the next one resumes. It returns nil when no more events
// can follow.
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

// firstLook bounds the first long poll. Most tasks are settled within it and need only one request.
const firstLook = 5 * time.Second

// watcher waits for a task with a long poll, then with a stream of events or, where the server offers none, with more
// polls.
type watcher struct {
	client *Client
	filter EventFilter
	looked bool
	polls  bool
	there  time.Time // when the server last answered
}

func (c *Client) newWatcher(id uuid.UUID) *watcher {
	w := &watcher{client: c, filter: EventFilter{Tasks: []uuid.UUID{id}, UntilSettled: true}}
	w.polls = c.server == nil // an engine in this process holds the call at no cost
	return w
}

// look returns the task once it is settled, or in its present state at the end of a long poll. It records the last
// answer in w.there, so that Wait can tell an outage from a quiet task.
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

// firstLook is the first look. A server that leaves while it holds the request was there.
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

func (w *watcher) poll(ctx context.Context, wait time.Duration) (*Task, error) {
	begun := time.Now()
	t, err := w.client.Task(ctx, w.filter.Tasks[0], wait)
	if err == nil || w.there.IsZero() && time.Since(begun) >= time.Second {
		w.there = time.Now() // whatever the error: the server held the call
	}
	return t, err
}
