package redisqueue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/format"
	"github.com/taskerhq/tasker/redisqueue"
)

func (s server) newQueue(o redisqueue.QueueOptions) *redisqueue.Queue {
	s.Helper()
	o.Client, o.Name = s.client, s.queue
	q, err := redisqueue.NewQueue(o)
	if err != nil {
		s.Fatal(err)
	}
	return q
}

func jobs(texts ...string) [][]byte {
	out := make([][]byte, len(texts))
	for i, text := range texts {
		out[i] = []byte(text)
	}
	return out
}

func TestPush(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, headRight := range []bool{false, true} {
		for policy, tc := range map[redisqueue.OverflowPolicy]struct {
			queue, overflow []string
			result          redisqueue.PushResult
		}{
			redisqueue.OverflowReject: {[]string{"1", "2", "3", "4"}, nil,
				redisqueue.PushResult{QueueLength: 4, HadBackpressure: true}},
			redisqueue.OverflowDLQ: {[]string{"2", "3", "4", "5", "6"}, []string{"1"},
				redisqueue.PushResult{Success: true, QueueLength: 5, MovedToDLQCount: 1, HadBackpressure: true}},
			redisqueue.OverflowDropOldest: {[]string{"2", "3", "4", "5", "6"}, nil,
				redisqueue.PushResult{Success: true, QueueLength: 5, DroppedCount: 1, HadBackpressure: true}},
		} {
			t.Run(fmt.Sprint(policy, headRight), func(t *testing.T) {
				t.Parallel()
				s := shared(t)
				q := s.newQueue(redisqueue.QueueOptions{MaxSize: 5, Policy: policy, HeadRight: headRight})
				if r, err := q.Push(ctx, jobs("1", "2", "3")...); err != nil || r.HadBackpressure || r.QueueLength != 3 {
					t.Errorf("%+v, %v", r, err)
				}
				if r, err := q.Push(ctx, jobs("4")...); err != nil || !r.HadBackpressure || r.Warning == "" {
					t.Errorf("at the threshold: %+v, %v", r, err)
				}
				r, err := q.Push(ctx, jobs("5", "6")...)
				if errors.Is(err, redisqueue.ErrQueueFull) == tc.result.Success {
					t.Errorf("error %v", err)
				}
				if (r.Error == "") != r.Success || (r.Warning != "") != r.Success {
					t.Errorf("%+v", r)
				}
				r.Error, r.Warning = "", ""
				if r != tc.result {
					t.Errorf("%+v, want %+v", r, tc.result)
				}
				got := s.list(s.queue)
				if headRight {
					slices.Reverse(got)
				}
				if !slices.Equal(got, tc.queue) {
					t.Errorf("queue %q", got)
				}
				var overflow []string
				for _, text := range s.list(redisqueue.DLQOverflowName(s.queue)) {
					d := format.Decode(driver.Message{Payload: []byte(text)}, "")
					overflow = append(overflow, string(d.Content.Payload))
				}
				if !slices.Equal(overflow, tc.overflow) {
					t.Errorf("overflow %q", overflow)
				}
				// More than the queue may have is refused whatever the policy is.
				if _, err := q.Push(ctx, jobs("a", "b", "c", "d", "e", "f")...); !errors.Is(err, redisqueue.ErrQueueFull) {
					t.Errorf("six jobs: %v", err)
				}
			})
		}
	}
}

// TestOverflowEntry: the entry has the names that other programs read, and any job comes out as it went in.
func TestOverflowEntry(t *testing.T) {
	t.Parallel()
	s := shared(t)
	q := s.newQueue(redisqueue.QueueOptions{MaxSize: 100})
	in := []string{`{"a": "b/c"}`, "ü €𝄞\u2028", "\x00\x1f\x7f\"\\", "\xff", "\xc0\x80", "\xed\xa0\x80",
		"\xf4\x90\x80\x80", "\xe2\x82", "a\xc3", "\xf0\x9f\x92", "\xff\xfe\xfd", "ab\xff", "abc\xff", "", "\xe0\x80\x80",
		"\xc3\xff\xa4"}
	if _, err := q.Push(t.Context(), jobs(in...)...); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Push(t.Context(), jobs(slices.Repeat([]string{"x"}, 100)...)...); err != nil {
		t.Fatal(err)
	}
	out := s.list(redisqueue.DLQOverflowName(s.queue))
	want := fmt.Sprintf(`{"original_queue":%q,"data":"{\"a\": \"b\/c\"}","reason":"queue_overflow",`+
		`"overflow_policy":"dlq"}`, s.queue)
	if len(out) != len(in) || out[0] != want {
		t.Fatalf("%q, want %s", out, want)
	}
	for i, text := range out {
		d := format.Decode(driver.Message{Payload: []byte(text)}, "")
		if d.Format != "job_failure" || string(d.Content.Payload) != in[i] || d.Origin != s.queue ||
			d.Failure.Type != "queue_overflow" {
			t.Errorf("%q: %s (%s), %q", in[i], d.Format, d.Undecoded, d.Content.Payload)
		}
	}
}

// Concurrent producers never exceed the limit, and every job is in one of the lists.
func TestPushAtOnce(t *testing.T) {
	t.Parallel()
	s := shared(t)
	q := s.newQueue(redisqueue.QueueOptions{MaxSize: 20})
	var group sync.WaitGroup
	for p := range 10 {
		group.Go(func() {
			for i := range 20 {
				if r, err := q.Push(context.Background(), fmt.Appendf(nil, "%d/%d", p, i)); err != nil || r.QueueLength > 20 {
					t.Errorf("%+v, %v", r, err)
				}
			}
		})
	}
	group.Wait()
	all := append(s.list(s.queue), s.list(redisqueue.DLQOverflowName(s.queue))...)
	if st := q.Stats(); len(all) != 200 || st.Moved != 180 || st.Overflows != 180 {
		t.Errorf("%d jobs, %+v", len(all), st)
	}
}

func TestPushLimits(t *testing.T) {
	t.Parallel()
	s := shared(t)
	q := s.newQueue(redisqueue.QueueOptions{MaxSize: 2, MaxOverflow: 1})
	for range 3 {
		if _, err := q.Push(t.Context(), jobs("1")...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.Push(t.Context(), jobs("2")...); !errors.Is(err, redisqueue.ErrOverflowFull) {
		t.Errorf("with a full overflow: %v", err)
	}
	for _, list := range [][][]byte{nil, make([][]byte, 1001), {make([]byte, 64<<20+1)}} {
		if _, err := q.Push(t.Context(), list...); err == nil {
			t.Errorf("%d jobs were accepted", len(list))
		}
	}
	s.do("SET", redisqueue.DLQOverflowName(s.queue)+"x", "no list")
	s.do("RENAME", redisqueue.DLQOverflowName(s.queue)+"x", redisqueue.DLQOverflowName(s.queue))
	if _, err := q.Push(t.Context(), jobs("2")...); err == nil || len(s.list(s.queue)) != 2 {
		t.Errorf("with an overflow that is no list: %v, queue %q", err, s.list(s.queue))
	}
	for name, o := range map[string]redisqueue.QueueOptions{"Policy": {Policy: "drop"}, "Size": {MaxSize: -1},
		"Threshold": {BackpressureThreshold: 1.1}, "Overflow": {MaxOverflow: -1}, "Timeout": {Timeout: 1}} {
		o.Client, o.Name = s.client, s.queue
		if _, err := redisqueue.NewQueue(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
