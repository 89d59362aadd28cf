package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/query"
)

// eventSilence is the silence after which a stream counts as lost. The server sends a sign of life every 15 seconds.
const eventSilence = 45 * time.Second

// maxEventBytes bounds a line of a stream and the data of an event, so that a faulty server cannot fill the memory.
const maxEventBytes = 1 << 20

var errSilent = errors.New("the stream of events has been silent for " + eventSilence.String())

// StreamEvents ends a broken stream by two clocks: RequestTimeout until its header arrives, then eventSilence between
// any two lines.
func (b *httpBackend) StreamEvents(ctx context.Context, f tasker.EventFilter) iter.Seq2[[]tasker.Event, error] {
	return func(yield func([]tasker.Event, error) bool) {
		limited, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		stop := context.AfterFunc(b.ctx, func() { cancel(tasker.ErrClosed) })
		defer stop()
		// Until its header arrives, a stream is a request like any other.
		patience := time.AfterFunc(b.opts.RequestTimeout, func() { cancel(errSilent) })
		defer patience.Stop()

		c := call{verb: "receive events", method: http.MethodGet, path: "/v1/events", query: eventQuery(f)}
		resp, err := b.openEvents(limited, c, f.LastEventID)
		if err != nil {
			yield(nil, b.explain(ctx, c, silent(limited, err)))
			return
		}
		defer resp.Body.Close()
		s := eventReader{lines: bufio.NewReaderSize(resp.Body, 16<<10), alive: func() { patience.Reset(eventSilence) }}
		for {
			batch, err := s.next()
			if err != nil {
				yield(nil, b.explain(ctx, c, silent(limited, err)))
				return
			}
			last := batch[len(batch)-1]
			if last.Type == tasker.EventStreamEnd {
				_, _ = s.lines.ReadByte() // to the end, so that the connection can be reused
				batch = batch[:len(batch)-1]
			}
			if len(batch) > 0 && !yield(batch, nil) || last.Type == tasker.EventStreamEnd {
				return
			}
		}
	}
}

func silent(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

// openEvents returns the response with the stream. The caller must close its body.
func (b *httpBackend) openEvents(ctx context.Context, c call, after string) (*http.Response, error) {
	req, err := b.newRequest(ctx, c, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	resp, err := b.http.Do(req)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode != http.StatusOK:
		answer, rerr := readLimited(resp, b.opts.MaxResponseBytes)
		err = problemError(resp, answer)
		if rerr != nil {
			err = rerr
		}
	case kind != "text/event-stream":
		e := tasker.Errorf(tasker.CodeInternal, "%s answers with %q instead of a stream of events", b.base, kind)
		e.Hint = "check the address: it does not look like a Tasker server"
		err = e
	default:
		return resp, nil
	}
	resp.Body.Close()
	return nil, err
}

func eventQuery(f tasker.EventFilter) url.Values {
	q := query.Of(f)
	if f.UntilSettled {
		q.Set("until", "settled")
	}
	return url.Values(q)
}

type eventReader struct {
	lines *bufio.Reader
	alive func() // called on every received line
	id    string
	err   error // for the next call
}

// next returns the events already received; it blocks until there is one.
func (r *eventReader) next() ([]tasker.Event, error) {
	if r.err != nil {
		return nil, r.err
	}
	var batch []tasker.Event
	for len(batch) == 0 || r.lines.Buffered() > 0 && len(batch) < 1000 {
		e, err := r.event()
		if err != nil && len(batch) == 0 {
			return nil, err
		}
		if err != nil {
			r.err = err
			break
		}
		batch = append(batch, e)
	}
	return batch, nil
}

func (r *eventReader) event() (tasker.Event, error) {
	var data []byte
	for {
		line, err := r.line()
		if err != nil {
			return tasker.Event{}, fmt.Errorf("the stream of events has ended: %w", err)
		}
		r.alive()
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0 && data == nil:
			return tasker.Event{ID: r.id, Type: tasker.EventStreamAlive}, nil
		case len(line) == 0:
			e := tasker.Event{}
			if err := json.Unmarshal(data, &e); err != nil {
				return e, &tasker.Error{Code: tasker.CodeInternal, Message: "an event of the stream cannot be read", Err: err}
			}
			e.ID = r.id
			return e, nil
		case string(name) == "id" && !bytes.ContainsRune(value, 0):
			r.id = string(value)
		case string(name) == "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
			if len(data) > maxEventBytes {
				return tasker.Event{}, tooLong(maxEventBytes)
			}
		}
	}
}

func (r *eventReader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		if len(line)+len(part) > maxEventBytes {
			return nil, tooLong(maxEventBytes)
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}
