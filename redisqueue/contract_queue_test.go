package redisqueue_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/redisqueue"
)

func contractOverflow(t *testing.T, c *contract) {
	open := func(t *testing.T, o redisqueue.QueueOptions) *redisqueue.Queue {
		t.Helper()
		c.do("DEL", detection, redisqueue.DLQOverflowName(detection))
		return c.newQueue(o)
	}
	push := func(t *testing.T, q *redisqueue.Queue, texts ...string) redisqueue.PushResult {
		t.Helper()
		r, err := q.Push(t.Context(), jobs(texts...)...)
		if err != nil && !errors.Is(err, redisqueue.ErrQueueFull) {
			t.Fatal(err)
		}
		return r
	}
	t.Run("LimitIsTenThousand", func(t *testing.T) {
		if s, err := open(t, redisqueue.QueueOptions{}).Status(t.Context()); err != nil || s.MaxSize != 10_000 {
			t.Errorf("%+v, %v", s, err)
		}
	})
	for name, tc := range map[string]struct {
		policy         redisqueue.OverflowPolicy
		success        bool
		queue          []string
		moved, dropped int64
	}{
		"PolicyIsDLQ":      {"", true, []string{"2", "3"}, 1, 0},
		"PolicyDLQ":        {"dlq", true, []string{"2", "3"}, 1, 0},
		"PolicyReject":     {"reject", false, []string{"1", "2"}, 0, 0},
		"PolicyDropOldest": {"drop_oldest", true, []string{"2", "3"}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			q := open(t, redisqueue.QueueOptions{MaxSize: 2, Policy: tc.policy})
			push(t, q, "1", "2")
			r := push(t, q, "3")
			if r.Success != tc.success || r.MovedToDLQCount != tc.moved || r.DroppedCount != tc.dropped ||
				!r.HadBackpressure || !slices.Equal(c.list(detection), tc.queue) {
				t.Errorf("%+v, queue %q", r, c.list(detection))
			}
		})
	}
	t.Run("EntryOfOverflow", func(t *testing.T) {
		q := open(t, redisqueue.QueueOptions{MaxSize: 1})
		push(t, q, "1")
		push(t, q, "2")
		const want = `{"original_queue":"detection_queue","data":"1","reason":"queue_overflow","overflow_policy":"dlq"}`
		if got := c.list(redisqueue.DLQOverflowName(detection)); len(got) != 1 || got[0] != want {
			t.Errorf("%q", got)
		}
	})
	t.Run("ResultMembers", func(t *testing.T) {
		q := open(t, redisqueue.QueueOptions{MaxSize: 1})
		push(t, q, "1")
		out, err := json.Marshal(push(t, q, "2"))
		const want = `{"success":true,"queue_length":1,"dropped_count":0,"moved_to_dlq_count":1,"warning":"queue ` +
			`detection_queue is full: 1 oldest jobs were moved to dlq:overflow:detection_queue","had_backpressure":true}`
		if err != nil || string(out) != want {
			t.Errorf("%s, %v", out, err)
		}
	})
	t.Run("BackpressureFromEightyPercent", func(t *testing.T) {
		q := open(t, redisqueue.QueueOptions{MaxSize: 10})
		if r := push(t, q, "1", "2", "3", "4", "5", "6", "7"); r.HadBackpressure || r.Warning != "" {
			t.Errorf("at 7 of 10: %+v", r)
		}
		if r := push(t, q, "8"); !r.HadBackpressure || r.Warning == "" || !r.Success {
			t.Errorf("at 8 of 10: %+v", r)
		}
	})
	t.Run("UnknownPolicyIsRefused_Differs", func(t *testing.T) {
		if _, err := redisqueue.NewQueue(redisqueue.QueueOptions{Client: c.client, Name: "q", Policy: "no"}); err == nil {
			t.Error("it is accepted")
		}
	})
}

func contractManagement(t *testing.T, c *contract) {
	ctx := t.Context()
	d := c.newDLQ(detection)
	refill := func(t *testing.T) []redisqueue.Entry {
		t.Helper()
		c.do("FLUSHALL")
		for _, text := range []string{"Temporary outage", "bad file", "a temporary fault"} {
			err := c.deadLetters(redisqueue.DeadLetterOptions{}).Write(ctx, redisqueue.JobFailure{
				Job: []byte(`{"for":"` + text + `"}`), Error: text, Queue: detection})
			if err != nil {
				t.Fatal(err)
			}
		}
		return c.entries(d)
	}
	queued := func(want ...string) bool {
		return slices.Equal(c.list(detection), want)
	}
	t.Run("Count", func(t *testing.T) {
		refill(t)
		if n, err := d.Len(ctx); n != 3 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})
	t.Run("ListLeavesThem", func(t *testing.T) {
		if all := refill(t); len(all) != 3 || all[0].Error != "Temporary outage" || len(c.entries(d)) != 3 {
			t.Errorf("%+v", all)
		}
	})
	t.Run("RequeueTheOldest", func(t *testing.T) {
		refill(t)
		job, ok, err := d.RequeueOldest(ctx, "")
		if string(job) != `{"for":"Temporary outage"}` || !ok || err != nil || !queued(string(job)) {
			t.Errorf("%s, %t, %v", job, ok, err)
		}
	})
	t.Run("MoveToAnotherQueue", func(t *testing.T) {
		err := d.Requeue(ctx, refill(t)[1], analysis)
		if got := c.list(analysis); err != nil || len(got) != 1 || got[0] != `{"for":"bad file"}` {
			t.Errorf("%v, %q", err, got)
		}
	})
	t.Run("Clear", func(t *testing.T) {
		refill(t)
		if n, err := d.Clear(ctx); n != 3 || err != nil || len(c.dlq()) != 0 {
			t.Errorf("%d, %v", n, err)
		}
	})
	t.Run("SelectiveRequeueSendsTheInspectedJob_Differs", func(t *testing.T) {
		for _, e := range refill(t) {
			if strings.Contains(strings.ToLower(e.Error), "temporary") {
				if err := d.Requeue(ctx, e, ""); err != nil {
					t.Fatal(err)
				}
			}
		}
		left := c.entries(d)
		if !queued(`{"for":"Temporary outage"}`, `{"for":"a temporary fault"}`) || len(left) != 1 ||
			left[0].Error != "bad file" {
			t.Errorf("queue %q, left %+v", c.list(detection), left)
		}
	})
	t.Run("AFailedPushLosesNothing_Differs", func(t *testing.T) {
		all := refill(t)
		c.do("SET", detection, "no list")
		if err := d.Requeue(ctx, all[0], ""); err == nil || len(c.dlq()) != 3 {
			t.Errorf("%v, %d letters", err, len(c.dlq()))
		}
	})
}
