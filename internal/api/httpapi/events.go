package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"os"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/model/access"
)

const eventType = "text/event-stream"

const eventsDoc = "Server-sent events. The data of each is an Event; its id and event repeat the Event's id and " +
	"type. Comments keep the connection alive."

// eventTimeout bounds a client's time to receive a batch of events, then the server closes the connection. A client
// that reconnects gets the missed events, or a gap.
const eventTimeout = 30 * time.Second

const eventRetry = 1000

type eventQuery struct {
	Task          []string `query:"task_uuid,explode" doc:"Task UUIDs; repeatable up to 100 times. The stream only covers these tasks and begins with their current state."`
	Until         string   `query:"until" enum:"settled" doc:"settled: the stream ends when all tasks of task_uuid are settled."`
	Type          []string `query:"type,explode" doc:"Event types; repeatable."`
	Namespace     []string `query:"namespace,explode" doc:"Repeatable."`
	Name          string   `query:"name" maxLength:"255" doc:"Template name or task type."`
	State         []string `query:"to_state,explode" doc:"New states of tasks; repeatable."`
	Tag           string   `query:"tag" maxLength:"255"`
	CorrelationID string   `query:"correlation_id" maxLength:"255"`
	Queue         bool     `query:"queue" doc:"Include the queue: at the beginning and after changes, at most once a second."`
	LastEventID   string   `header:"Last-Event-ID" doc:"ID of the event to resume after. If that is no longer possible, the stream begins with stream.gap."`
}

// filter splits parameters that repeat or have commas. It refuses unknown states, which are usually misspelt; the
// backend checks event types.
func (q *eventQuery) filter() (tasker.EventFilter, error) {
	f := tasker.EventFilter{UntilSettled: q.Until == "settled", Namespaces: endpoint.SplitAll(q.Namespace), Name: q.Name,
		Tag: q.Tag, CorrelationID: q.CorrelationID, Queue: q.Queue, LastEventID: q.LastEventID}
	if len(f.Namespaces) > endpoint.MaxRepeats || len(q.Type) > endpoint.MaxRepeats || len(q.State) > endpoint.MaxRepeats {
		return f, endpoint.TooManyRepeats()
	}
	for _, word := range endpoint.SplitAll(q.Type) {
		f.Types = append(f.Types, tasker.EventType(word))
	}
	for _, word := range endpoint.SplitAll(q.State) {
		state, err := endpoint.ParseTaskState("query.to_state", word)
		if err != nil {
			return f, err
		}
		f.States = append(f.States, state)
	}
	for _, word := range endpoint.SplitAll(q.Task) {
		id, err := uuid.Parse(word)
		if err != nil || len(word) != 36 {
			return f, endpoint.BadParameter("query.task_uuid", "must be a UUID such as 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70")
		}
		f.Tasks = append(f.Tasks, id)
	}
	return f, nil
}

type events = iter.Seq2[[]tasker.Event, error]

// streamEvents answers not found for a task outside the key's reach, before the stream begins.
func (s *server) streamEvents(ctx context.Context, filter tasker.EventFilter) (events, error) {
	// Without namespaces in the filter a limited key gets those that it reaches, never all.
	if p := access.From(ctx); p.Limited() {
		for _, namespace := range filter.Namespaces {
			if err := endpoint.ReachNamespace(ctx, namespace, "query.namespace"); err != nil {
				return nil, err
			}
		}
		if len(filter.Namespaces) == 0 {
			filter.Namespaces = p.Namespaces()
		}
		for _, id := range filter.Tasks {
			if _, err := s.backend.Task(ctx, id, 0); err != nil { // outside the key's reach
				return nil, err
			}
		}
	}
	return s.backend.StreamEvents(ctx, filter), nil
}

func (s *server) serveEvents(ctx context.Context, hc huma.Context, params *eventQuery) {
	s.stream(ctx, hc, params.filter, func(e *tasker.Event) any { return e })
}

// stream sends the selected events, each converted by shape (nil: skip it), until they end, the client leaves or the
// server stops.
//
// The end has a reason. After "done" the stream sends stream.end and a client must not reconnect. When the server
// stops, the client is slow, or an error occurs, the connection just ends: the client reconnects with the ID of the
// last event and gets the rest, or a gap.
func (s *server) stream(ctx context.Context, hc huma.Context, parse func() (tasker.EventFilter, error),
	shape func(*tasker.Event) any,
) {
	filter, err := parse()
	if err != nil {
		s.api.Refuse(hc, err)
		return
	}
	leave, err := s.streams.enter(endpoint.Caller(ctx), s.limits)
	if err != nil {
		s.api.Refuse(hc, err)
		return
	}
	defer leave()
	waiting, cut, cancel := web.Patient(ctx)
	defer cancel()
	stream, err := s.streamEvents(waiting, filter)
	if err != nil {
		s.api.Refuse(hc, err)
		return
	}
	w := eventWriter{hc: hc, s: s, shape: shape, ended: func(string) {}}
	err = w.sendAll(stream)
	if err == nil && !cut() && ctx.Err() == nil {
		// The end has the ID of the last event, so a client that reconnects anyway misses nothing.
		err = w.send([]tasker.Event{{ID: w.last, Type: tasker.EventStreamEnd, At: time.Now().UTC()}})
	}
	why := "done"
	switch {
	case cut():
		why = "stopped"
		err = tasker.Errorf(tasker.CodeUnavailable, "the server is stopping")
	case errors.Is(err, os.ErrDeadlineExceeded):
		why = "slow"
	case ctx.Err() != nil, errors.Is(err, errGone):
		why = "gone"
	case err != nil:
		why = "failed"
	}
	switch {
	case err != nil && !w.begun:
		s.api.Refuse(hc, err)
	case why == "failed": // the stream just ends: the client reconnects and gets the rest, or the error
		s.front.Log().WarnContext(ctx, "a stream of events broke off", "error", err)
	}
	w.ended(why)
}

var errGone = errors.New("the client takes no more events")

// eventWriter writes events to one client. It sends the status with the first batch, so that an earlier error can be a
// problem.
type eventWriter struct {
	hc    huma.Context
	s     *server
	shape func(*tasker.Event) any
	begun bool
	// Reports the end to the watcher; it does nothing until the stream begins.
	ended func(why string)
	last  string // id
	buf   bytes.Buffer
}

func (w *eventWriter) sendAll(stream events) error {
	for batch, err := range stream {
		if err == nil {
			err = w.send(batch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *eventWriter) send(batch []tasker.Event) error {
	w.buf.Reset()
	_, rw := humago.Unwrap(w.hc)
	if !w.begun {
		w.begun = true
		if w.s.watcher != nil {
			w.ended = w.s.watcher.WatchStream()
		}
		w.hc.SetHeader("Content-Type", eventType)
		w.hc.SetHeader("X-Accel-Buffering", "no") // keeps proxies from buffering
		w.hc.SetStatus(http.StatusOK)
		fmt.Fprintf(&w.buf, "retry: %d\n", eventRetry)
	}
	for i := range batch {
		if err := w.write(&batch[i]); err != nil {
			return err
		}
	}
	control := http.NewResponseController(rw)
	_ = control.SetWriteDeadline(time.Now().Add(eventTimeout)) // a test may have none to set
	_, err := w.hc.BodyWriter().Write(w.buf.Bytes())
	if err == nil {
		err = control.Flush()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return nil
}

// write adds one event to the batch. A sign of life is a comment with an ID: a client that reconnects after a quiet
// hour resumes at the right place.
func (w *eventWriter) write(e *tasker.Event) error {
	w.last = e.ID
	if e.Type == tasker.EventStreamAlive {
		fmt.Fprintf(&w.buf, ": alive\nid: %s\n\n", e.ID)
		return nil
	}
	shown := w.shape(e)
	if shown == nil {
		return nil
	}
	name := string(e.Type)
	if named, is := shown.(interface{ EventName() string }); is {
		name = named.EventName()
	}
	data, err := json.Marshal(shown)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	fmt.Fprintf(&w.buf, "id: %s\nevent: %s\ndata: %s\n\n", e.ID, name, data)
	return nil
}
