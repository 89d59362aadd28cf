package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

var (
	listTake     = script("list_take")
	listTakeover = script("list_takeover")
	listRelease  = script("list_release")
	listLeave    = script("list_leave")
	listReturn   = script("list_return")
)

type lists struct{ *conn }

// OpenLists connects to the server of a URL, for lists. It is a driver.OpenFunc.
func OpenLists(_ context.Context, url string) (driver.Driver, error) {
	c, err := connect(url, true)
	if err != nil {
		return nil, err
	}
	return lists{c}, nil
}

func (l lists) Open(ctx context.Context, queue string) (driver.Receiver, error) {
	if _, _, err := l.Stat(ctx, queue); err != nil { // it is no list, or must not be read
		return nil, err
	}
	id := newID()
	h := &list{lists: l, id: id, next: 1,
		keys: []string{queue, key(queue, "receivers"), key(queue, "held:"+id), key(queue, "oversized")}}
	if _, err := h.take(ctx, 0); err != nil { // our own keys may be out of reach
		return nil, err
	}
	return l.receive(queue, h)
}

// Send implements driver.Driver. A list has payloads only.
func (l lists) Send(ctx context.Context, target string, messages []driver.Message, limits driver.Limits) []error {
	verb := "RPUSH"
	if l.opts.head == "RIGHT" {
		verb = "LPUSH"
	}
	return l.send(ctx, verb, target, messages, limits,
		func(m *driver.Message) []string { return []string{string(m.Payload)} })
}

// Stat implements driver.Driver. It counts receivers' messages after the list: one that is taken in between counts
// twice rather than not at all. A sender need not be allowed to read the receivers.
func (l lists) Stat(ctx context.Context, queue string) (bool, int64, error) {
	n, err := ask(ctx, l.conn, l.client.B().Llen().Key(queue).Build(), rueidis.RedisResult.AsInt64)
	if err != nil {
		return false, 0, err
	}
	held, err := l.held(ctx, queue)
	if errors.Is(err, driver.ErrRefused) {
		return true, n, nil
	}
	return true, n + held, err
}

func (l lists) held(ctx context.Context, queue string) (n int64, err error) {
	ids, err := ask(ctx, l.conn, l.client.B().Zrangebyscore().Key(key(queue, "receivers")).Min("-inf").Max("+inf").
		Build(), rueidis.RedisResult.AsStrSlice)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		of, err := l.holds(ctx, key(queue, "held:"+id))
		if err != nil {
			return 0, err
		}
		n += of
	}
	return n, nil
}

func (l lists) Peek(ctx context.Context, queue string, max int) ([]driver.Message, error) {
	first, last := int64(0), int64(max)-1
	if l.opts.head == "RIGHT" {
		first, last = -int64(max), -1
	}
	payloads, err := ask(ctx, l.conn, l.client.B().Lrange().Key(queue).Start(first).Stop(last).Build(),
		rueidis.RedisResult.AsStrSlice)
	if err != nil {
		return nil, err
	}
	if l.opts.head == "RIGHT" {
		slices.Reverse(payloads)
	}
	messages := make([]driver.Message, len(payloads))
	for i, p := range payloads {
		messages[i] = driver.Message{Payload: []byte(p), Origin: queue}
	}
	return messages, nil
}

type list struct {
	lists
	id   string
	keys []string // list, receivers, held, oversized
	next int64
}

func (l *list) take(ctx context.Context, max int) ([]driver.Message, error) {
	answer, err := l.run(ctx, listTake, l.keys[:3], l.id, milliseconds(l.opts.gone), l.opts.head, strconv.Itoa(max),
		strconv.Itoa(driver.BatchBytes), strconv.FormatInt(l.next, 10))
	if err != nil {
		return nil, err
	}
	gone, err := answer[0].ToString()
	if err != nil {
		return nil, err
	}
	if gone == "" {
		l.next += int64(len(answer) / 2)
		return l.messages(answer[1:], false)
	}
	held := key(l.keys[0], "held:"+gone)
	answer, err = l.run(ctx, listTakeover, []string{l.keys[1], held, l.keys[2]}, gone, strconv.Itoa(max),
		strconv.Itoa(driver.BatchBytes))
	if err != nil {
		return nil, err
	}
	return l.messages(answer, true)
}

func (l *list) messages(answer []rueidis.RedisMessage, again bool) ([]driver.Message, error) {
	messages := make([]driver.Message, 0, len(answer)/2)
	err := pairs(answer, func(id, payload string) {
		messages = append(messages, driver.Message{Position: l.keys[0] + "@" + id, Payload: []byte(payload),
			Origin: l.keys[0], Redelivered: again, Receipt: id})
	})
	return messages, err
}

// wait moves the first message to its own place, which blocks while there is none.
func (l *list) wait(ctx context.Context, d time.Duration) error {
	return waited(l.client.Do(ctx, l.client.B().Arbitrary("BLMOVE").Keys(l.keys[0], l.keys[0]).
		Args(l.opts.head, l.opts.head, fmt.Sprint(d.Seconds())).Blocking()).Error())
}

// waited forgives a blocking command without a result.
func waited(err error) error {
	if rueidis.IsRedisNil(err) {
		return nil
	}
	return classify(err)
}

func (l *list) ack(ctx context.Context, ids []string) error {
	_, err := ask(ctx, l.conn, l.client.B().Hdel().Key(l.keys[2]).Field(ids...).Build(), rueidis.RedisResult.AsInt64)
	return err
}

func (l *list) release(ctx context.Context, ids []string) error { return l.giveBack(ctx, "SOME", ids) }

func (l *list) close(ctx context.Context, but []string) error { return l.giveBack(ctx, "ALL BUT", but) }

func (l *list) giveBack(ctx context.Context, which string, ids []string) error {
	_, err := l.run(ctx, listRelease, l.keys[:3], append([]string{l.id, l.opts.head, which}, ids...)...)
	return err
}

// leave implements holder. A key beside the list excludes the messages until the next receiver.
func (l *list) leave(ctx context.Context, ids []string) (again bool, err error) {
	_, err = l.run(ctx, listLeave, l.keys[2:], ids...)
	return true, err
}

func (l *list) returns(ctx context.Context, most int) ([]driver.Left, error) {
	answer, err := l.run(ctx, listReturn, []string{l.keys[0], l.keys[3]}, l.opts.head, strconv.Itoa(most))
	if err != nil {
		return nil, err
	}
	var left []driver.Left
	err = pairs(answer, func(id, size string) {
		bytes, _ := strconv.Atoi(size)
		left = append(left, driver.Left{Message: driver.Message{Position: l.keys[0] + "@" + id}, Bytes: bytes})
	})
	return left, err
}
