package redislist_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/broker/redislist"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

type fixture struct {
	*testing.T
	client rueidis.Client
	queue  string
	*redislist.List
}

func open(t *testing.T, o redislist.Options) fixture {
	t.Helper()
	url, prefix := redistest.Shared(t)
	option, err := rueidis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	option.DisableCache = true
	client, err := rueidis.NewClient(option)
	if err != nil {
		t.Fatal(err)
	}
	// The tag in the name makes every key begin with it.
	f := fixture{T: t, client: client, queue: "{" + prefix + "}jobs"}
	t.Cleanup(func() {
		for _, key := range []string{f.queue, redislist.Consumers(f.queue), redislist.Gone(f.queue)} {
			f.do("DEL", key)
		}
		for _, id := range []string{"a", "b"} {
			f.do("DEL", redislist.Processing(f.queue, id))
		}
		client.Close()
	})
	if f.List, err = redislist.New(client, f.queue, o); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f fixture) do(words ...string) rueidis.RedisMessage {
	f.Helper()
	m, err := f.client.Do(context.Background(), f.client.B().Arbitrary(words...).Build()).ToMessage()
	if err != nil && !rueidis.IsRedisNil(err) {
		f.Fatalf("%q: %v", words, err)
	}
	return m
}

func (f fixture) push(entries ...string) { f.do(append([]string{"RPUSH", f.queue}, entries...)...) }

func (f fixture) list(key string) []string {
	m := f.do("LRANGE", key, "0", "-1")
	out, err := m.AsStrSlice()
	if err != nil {
		f.Fatal(err)
	}
	return out
}

func (f fixture) take(id string, n int) []string {
	f.Helper()
	out, err := f.Take(f.Context(), id, n, 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	return out
}

// silence makes a consumer silent for a time.
func (f fixture) silence(id string, d time.Duration) {
	at := strconv.FormatInt(time.Now().Add(-d).UnixMilli(), 10)
	f.do("ZADD", redislist.Consumers(f.queue), "XX", at, id)
}

func (f fixture) want(what string, got []string, want ...string) {
	f.Helper()
	if !slices.Equal(got, want) {
		f.Errorf("%s: %d entries %.200q, want %d: %.200q", what, len(got), got, len(want), want)
	}
}

func (f fixture) wantCount(what string, got int64, err error, want int64) {
	f.Helper()
	if err != nil || got != want {
		f.Errorf("%s: %d, %v; want %d", what, got, err, want)
	}
}

func TestTakeAndAcknowledge(t *testing.T) {
	t.Parallel()
	f := open(t, redislist.Options{})
	f.push("1", "2", "\xff\x00", "2", "5")
	f.want("taken", f.take("a", 4), "1", "2", "\xff\x00", "2")
	f.want("held", f.list(redislist.Processing(f.queue, "a")), "1", "2", "\xff\x00", "2")
	n, err := f.Ack(t.Context(), "a", []string{"2", "\xff\x00", "none"}, true)
	f.wantCount("acknowledged", n, err, 2)
	f.want("held", f.list(redislist.Processing(f.queue, "a")), "1", "2")
	n, err = f.Leave(t.Context(), "a")
	f.wantCount("leave with entries", n, err, 2)
	n, err = f.Release(t.Context(), "a", []string{"1", "2", "none"})
	f.wantCount("released", n, err, 2)
	f.want("queue", f.list(f.queue), "1", "2", "5")
	n, err = f.Leave(t.Context(), "a")
	f.wantCount("leave", n, err, 0)
	f.want("consumers", f.strings("ZRANGE", redislist.Consumers(f.queue), "0", "-1"))
}

func (f fixture) strings(words ...string) []string {
	m := f.do(words...)
	out, err := m.AsStrSlice()
	if err != nil {
		f.Fatal(err)
	}
	return out
}

func TestTakeIsBounded(t *testing.T) {
	t.Parallel()
	f := open(t, redislist.Options{})
	f.push(strings.Repeat("x", 600), strings.Repeat("y", 600), "z")
	got, err := f.Take(t.Context(), "a", 100, 1000)
	if err != nil || len(got) != 2 {
		t.Errorf("took %d entries, %v", len(got), err)
	}
	if got, err = f.Take(t.Context(), "a", 100, 1); err != nil || len(got) != 1 {
		t.Errorf("took %d entries, %v; a large one has to be taken all the same", len(got), err)
	}
}

func TestOtherEnd(t *testing.T) {
	t.Parallel()
	f := open(t, redislist.Options{HeadRight: true})
	f.do("LPUSH", f.queue, "1", "2", "3", "4")
	f.want("taken", f.take("a", 2), "1", "2")
	entry, ok, err := f.Wait(t.Context(), "a", time.Second)
	if entry != "3" || !ok || err != nil {
		t.Errorf("waited for %q, %t, %v", entry, ok, err)
	}
	n, err := f.Release(t.Context(), "a", []string{"1", "2"})
	f.wantCount("released", n, err, 2)
	f.want("queue", f.list(f.queue), "4", "2", "1")
	f.silence("a", time.Minute)
	n, err = f.TakeOver(t.Context())
	f.wantCount("taken over", n, err, 1)
	f.want("queue", f.list(f.queue), "4", "2", "1", "3")
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	f := open(t, redislist.Options{})
	if entry, ok, err := f.Wait(t.Context(), "a", time.Millisecond); ok || err != nil {
		t.Errorf("waited for %q, %v", entry, err)
	}
}

// A silent consumer's entries come back once, in order, before later ones.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	f := open(t, redislist.Options{})
	var want []string
	for i := range 2300 { // more than one script moves
		want = append(want, fmt.Sprint(i))
	}
	f.push(want...)
	f.take("a", 2200)
	n, err := f.TakeOver(t.Context())
	f.wantCount("of a live consumer", n, err, 0)
	f.silence("a", time.Minute)
	n, err = f.TakeOver(t.Context())
	f.wantCount("taken over", n, err, 2200)
	f.want("queue", f.list(f.queue), want...)

	// From then on it takes nothing, and its unfinished calls are moved back too.
	for name, err := range map[string]error{
		"Beat": second(f.Beat(t.Context(), "a")),
		"Take": second(f.Take(t.Context(), "a", 1, 1)),
	} {
		if !errors.Is(err, redislist.ErrTakenOver) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, ok, err := f.Wait(t.Context(), "a", time.Second); !ok || err != nil {
		t.Fatal(ok, err)
	}
	n, err = f.TakeOver(t.Context())
	f.wantCount("what it took late", n, err, 1)
	f.want("queue", f.list(f.queue), want...)
	f.silence("a", 25*time.Hour)
	n, err = f.TakeOver(t.Context())
	f.wantCount("a day later", n, err, 0)
	f.want("consumers", f.strings("ZRANGE", redislist.Consumers(f.queue), "0", "-1"))
	f.want("gone", f.strings("ZRANGE", redislist.Gone(f.queue), "0", "-1"))
}

func second[T any](_ T, err error) error { return err }

func TestTakeOverLeavesTheLiving(t *testing.T) {
	t.Parallel()
	f := open(t, redislist.Options{})
	f.push("1", "2")
	f.take("a", 1)
	f.take("b", 1)
	f.silence("a", time.Minute)
	n, err := f.TakeOver(t.Context())
	f.wantCount("taken over", n, err, 1)
	f.want("queue", f.list(f.queue), "1")
	n, err = f.Beat(t.Context(), "b")
	f.wantCount("held by b", n, err, 1)
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{"jobs": true, "a:{b}:c": true, "{b}": true, "": false, "{}": false,
		"a}b{": false, "a{b": false, "a\x00": false, "\xff": false, strings.Repeat("a", 255): true,
		strings.Repeat("a", 256): false} {
		if err := redislist.CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	for queue, want := range map[string]string{"jobs": "tasker:{jobs}:processing:x",
		"a:{b}": "tasker:a:{b}:processing:x"} {
		if got := redislist.Processing(queue, "x"); got != want {
			t.Errorf("%q: %q, want %q", queue, got, want)
		}
	}
}
