package redisqueue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/testkit/redistest"
	"github.com/taskerhq/tasker/redisqueue"
)

func (s server) newDLQ(queue string) *redisqueue.DLQ {
	s.Helper()
	d, err := redisqueue.NewDLQ(redisqueue.DLQOptions{Client: s.client, Queue: queue, Timeout: time.Second})
	if err != nil {
		s.Fatal(err)
	}
	return d
}

func (s server) entries(d *redisqueue.DLQ) []redisqueue.Entry {
	s.Helper()
	out, err := d.Entries(context.Background(), 0, 1000)
	if err != nil {
		s.Fatal(err)
	}
	return out
}

func (s server) die(jobs ...string) {
	s.Helper()
	d := s.deadLetters(redisqueue.DeadLetterOptions{})
	for _, job := range jobs {
		f := redisqueue.JobFailure{Job: []byte(job), Error: "of " + job, Queue: s.queue}
		if err := d.Write(context.Background(), f); err != nil {
			s.Fatal(err)
		}
	}
}

// Entries are found by content, not by place; jobs come back byte for byte; a job that cannot be pushed stays.
func TestDLQ(t *testing.T) {
	t.Parallel()
	s := shared(t)
	ctx := t.Context()
	d := s.newDLQ(s.queue)
	in := []string{`{"a":  1}`, "text", "\xff\x00", `"x"`, "last"}
	s.die(in...)
	seen := s.entries(d)
	if n, err := d.Len(ctx); n != 5 || err != nil || len(seen) != 5 {
		t.Fatalf("%d, %v, %d entries", n, err, len(seen))
	}
	if some, err := d.Entries(ctx, 3, 1); err != nil || len(some) != 1 || string(some[0].Job) != `"x"` {
		t.Errorf("a page: %+v, %v", some, err)
	}
	for _, i := range []int{2, 0} {
		if err := d.Requeue(ctx, seen[i], ""); err != nil {
			t.Fatal(err)
		}
		if err := d.Requeue(ctx, seen[i], ""); !errors.Is(err, redisqueue.ErrNoEntry) {
			t.Errorf("a second time: %v", err)
		}
	}
	if job, ok, err := d.RequeueOldest(ctx, s.queue+":other"); string(job) != "text" || !ok || err != nil {
		t.Errorf("the oldest: %q, %t, %v", job, ok, err)
	}
	if got := s.list(s.queue); !slices.Equal(got, []string{in[2], in[0]}) {
		t.Errorf("the queue has %q", got)
	}
	if got := s.list(s.queue + ":other"); !slices.Equal(got, []string{"text"}) {
		t.Errorf("the other queue has %q", got)
	}
	s.do("SET", s.queue+":no", "list")
	if err := d.Requeue(ctx, seen[3], s.queue+":no"); err == nil || len(s.dlq()) != 2 {
		t.Errorf("to something that is no queue: %v, %q", err, s.dlq())
	}
	if err := d.Remove(ctx, seen[4]); err != nil || len(s.dlq()) != 1 {
		t.Errorf("remove: %v, %q", err, s.dlq())
	}
	if err := d.Remove(ctx, seen[4]); !errors.Is(err, redisqueue.ErrNoEntry) {
		t.Errorf("remove a second time: %v", err)
	}
	s.do("RPUSH", redisqueue.DLQName(s.queue), "no letter")
	if e := s.entries(d)[1]; e.Err == nil || string(e.Raw) != "no letter" || d.Requeue(ctx, e, "") == nil {
		t.Errorf("an entry of another kind: %+v", e)
	}
	for _, want := range []int64{2, 0} {
		if n, err := d.Clear(ctx); n != want || err != nil {
			t.Errorf("clear: %d, %v", n, err)
		}
	}
	if _, ok, err := d.RequeueOldest(ctx, ""); ok || err != nil {
		t.Errorf("the oldest of none: %t, %v", ok, err)
	}
	for what, err := range map[string]error{"from -1": second(d.Entries(ctx, -1, 1)), "0": second(d.Entries(ctx, 0, 0)),
		"1001": second(d.Entries(ctx, 0, 1001)), "a name": d.Requeue(ctx, seen[3], "{"),
		"no queue":   second(redisqueue.NewDLQ(redisqueue.DLQOptions{Client: s.client})),
		"no client":  second(redisqueue.NewDLQ(redisqueue.DLQOptions{Queue: "q"})),
		"no timeout": second(redisqueue.NewDLQ(redisqueue.DLQOptions{Client: s.client, Queue: "q", Timeout: 1}))} {
		if err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// Jobs moved by a full queue are managed alike, and come back unchanged.
func TestDLQOverflow(t *testing.T) {
	t.Parallel()
	s := shared(t)
	in := []string{`{"a": 1}`, "\xff", "text"}
	q := s.newQueue(redisqueue.QueueOptions{MaxSize: 3})
	if _, err := q.Push(t.Context(), jobs(in...)...); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Push(t.Context(), jobs("1", "2", "3")...); err != nil {
		t.Fatal(err)
	}
	s.do("DEL", s.queue)
	d := s.newDLQ(redisqueue.DLQOverflowName(s.queue))
	for _, e := range s.entries(d) {
		if e.Error != "queue_overflow" || e.Queue != s.queue || e.Err != nil {
			t.Errorf("%+v", e)
		}
		if err := d.Requeue(t.Context(), e, ""); err != nil {
			t.Error(err)
		}
	}
	if got := s.list(s.queue); !slices.Equal(got, in) {
		t.Errorf("the queue has %q", got)
	}
}

// Only one of concurrent callers sends an entry back.
func TestDLQAtOnce(t *testing.T) {
	t.Parallel()
	s := shared(t)
	var in []string
	for i := range 40 {
		in = append(in, fmt.Sprint("job ", i))
	}
	s.die(in...)
	d := s.newDLQ(s.queue)
	seen := s.entries(d)
	var group sync.WaitGroup
	var sent atomic.Int64
	for range 4 {
		group.Go(func() {
			for _, e := range seen {
				switch err := d.Requeue(context.Background(), e, ""); {
				case err == nil:
					sent.Add(1)
				case !errors.Is(err, redisqueue.ErrNoEntry):
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	got := s.list(s.queue)
	slices.Sort(got)
	slices.Sort(in)
	if sent.Load() != 40 || !slices.Equal(got, in) || len(s.dlq()) != 0 {
		t.Errorf("%d were sent: %q", sent.Load(), got)
	}
}

// A silent server is an error of every call, and never an empty list.
func TestDLQOutage(t *testing.T) {
	t.Parallel()
	own := redistest.Start(t)
	s := connect(t, own.URL(), "jobs")
	s.die("1")
	d := s.newDLQ("jobs")
	e := s.entries(d)[0]
	if err := own.Stop(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for what, err := range map[string]error{"Len": second(d.Len(ctx)), "Entries": second(d.Entries(ctx, 0, 1)),
		"Requeue": d.Requeue(ctx, e, ""), "Remove": d.Remove(ctx, e), "Clear": second(d.Clear(ctx))} {
		if err == nil || !strings.Contains(err.Error(), "dlq:jobs") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, ok, err := d.RequeueOldest(ctx, ""); ok || err == nil {
		t.Errorf("RequeueOldest: %t, %v", ok, err)
	}
}
