package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

var (
	streamOpen   = script("stream_open")
	streamTake   = script("stream_take")
	streamSettle = script("stream_settle")
	streamLook   = script("stream_look")
)

type streams struct{ *conn }

// OpenStreams connects to the server of a URL, for streams. It is a driver.OpenFunc.
func OpenStreams(_ context.Context, url string) (driver.Driver, error) {
	c, err := connect(url, false)
	if err != nil {
		return nil, err
	}
	return streams{c}, nil
}

// Open implements driver.Driver. It creates a missing group, which gets the whole stream; it never creates a stream.
func (s streams) Open(ctx context.Context, queue string) (driver.Receiver, error) {
	answer, err := s.run(ctx, streamOpen, []string{queue}, s.opts.group)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", queue, err)
	}
	if exists, _ := answer[0].AsInt64(); exists == 0 {
		return nil, fmt.Errorf("open %q: %w", queue, driver.ErrNotFound)
	}
	return s.receive(queue, &stream{streams: s, queue: queue, id: newID(), last: "0-0"})
}

func (s streams) Send(ctx context.Context, target string, messages []driver.Message, limits driver.Limits) []error {
	verb := "XADD NOMKSTREAM"
	if s.opts.mkstream {
		verb = "XADD"
	}
	return s.send(ctx, verb, target, messages, limits, layout(s.opts.payload).fields)
}

// Stat implements driver.Driver. It counts the entries that the group has not acknowledged; without a group, all.
func (s streams) Stat(ctx context.Context, queue string) (bool, int64, error) {
	answer, err := s.look(ctx, queue, 0)
	if err != nil {
		return false, 0, err
	}
	exists, _ := answer[0].AsInt64()
	depth, err := answer[1].AsInt64()
	return exists == 1, depth, err
}

// Peek implements driver.Driver. It shows entries that the group has not taken.
func (s streams) Peek(ctx context.Context, queue string, max int) ([]driver.Message, error) {
	answer, err := s.look(ctx, queue, max)
	if err != nil {
		return nil, err
	}
	entries, err := answer[2].ToArray()
	if err != nil {
		return nil, err
	}
	messages := make([]driver.Message, len(entries))
	for i, e := range entries {
		parts, err := e.ToArray()
		if err != nil {
			return nil, err
		}
		if messages[i], err = s.message(queue, parts); err != nil {
			return nil, err
		}
		messages[i].Receipt = nil
	}
	return messages, nil
}

func (s streams) look(ctx context.Context, queue string, entries int) ([]rueidis.RedisMessage, error) {
	answer, err := s.run(ctx, streamLook, []string{queue}, s.opts.group, strconv.Itoa(entries))
	if err == nil && len(answer) != 3 {
		err = fmt.Errorf("the script that looks at %q gave no answer", queue)
	}
	return answer, err
}

func (s streams) message(queue string, entry []rueidis.RedisMessage) (driver.Message, error) {
	id, err := entry[0].ToString()
	if err != nil {
		return driver.Message{}, err
	}
	fields, err := entry[1].AsStrSlice()
	if err != nil {
		return driver.Message{}, err
	}
	m := layout(s.opts.payload).message(fields)
	m.Position, m.Origin, m.Receipt, m.Time = queue+"@"+id, queue, id, timeOf(id)
	return m, nil
}

// timeOf returns the time in the ID of an entry; zero for a program's own ID.
func timeOf(id string) time.Time {
	text, _, _ := strings.Cut(id, "-")
	ms, err := strconv.ParseInt(text, 10, 64)
	if t := time.UnixMilli(ms); err == nil && t.Year() >= 2000 && t.Year() < 2200 {
		return t
	}
	return time.Time{}
}

type stream struct {
	streams
	queue string
	id    string
	last  string
}

func (s *stream) take(ctx context.Context, max int) ([]driver.Message, error) {
	answer, err := s.run(ctx, streamTake, []string{s.queue}, s.opts.group, s.id, milliseconds(s.opts.gone),
		strconv.Itoa(max), strconv.Itoa(driver.BatchBytes))
	if err != nil || max == 0 {
		return nil, err
	}
	if s.last, err = answer[0].ToString(); err != nil {
		return nil, err
	}
	messages := make([]driver.Message, 0, len(answer)/3)
	for i := 1; i+2 < len(answer); i += 3 {
		m, err := s.message(s.queue, answer[i+1:])
		if err != nil {
			return nil, err
		}
		again, _ := answer[i].ToString()
		m.Redelivered = again != ""
		messages = append(messages, m)
	}
	return messages, nil
}

// wait reads behind the last entry, without a group: it takes nothing.
func (s *stream) wait(ctx context.Context, d time.Duration) error {
	return waited(s.client.Do(ctx, s.client.B().Xread().Count(1).Block(d.Milliseconds()).Streams().Key(s.queue).
		Id(s.last).Build()).Error())
}

func (s *stream) ack(ctx context.Context, ids []string) error {
	if s.opts.remove {
		return s.settle(ctx, "DELETE", ids)
	}
	return s.settle(ctx, "ACK", ids)
}

func (s *stream) release(ctx context.Context, ids []string) error {
	return s.settle(ctx, "RELEASE", ids)
}

func (s *stream) close(ctx context.Context, _ []string) error { return s.settle(ctx, "CLOSE", nil) }

// leave implements holder: entries stay in the stream, taken by this consumer until it closes.
func (s *stream) leave(context.Context, []string) (again bool, err error) { return true, nil }

func (s *stream) returns(context.Context, int) ([]driver.Left, error) { return nil, nil }

func (s *stream) settle(ctx context.Context, act string, ids []string) error {
	_, err := s.run(ctx, streamSettle, []string{s.queue}, append([]string{s.opts.group, s.id, act}, ids...)...)
	return err
}
