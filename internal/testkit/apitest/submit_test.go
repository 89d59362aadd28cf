package apitest_test

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/settings"
)

// TestGatheredSubmitsAreJudgedAlone: tasks that the SDK sends together are accepted and refused individually.
func TestGatheredSubmitsAreJudgedAlone(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		testGatheredSubmits(t, serve(t, dsn, node.Options{Engine: settings.Config{Backpressure: settings.Backpressure{
			Scope: settings.AllScope, UserBurst: 20, Soft: 50, HighOnly: -1, AllowListOnly: -1, AllowList: []string{"vip"},
		}}}))
	})
}

func testGatheredSubmits(t *testing.T, s *server) {
	// Sends one task each of many callers, and counts the answers by user.
	atOnce := func(reqs ...tasker.TaskRequest) map[string]int {
		var mu sync.Mutex
		var all sync.WaitGroup
		got, start := map[string]int{}, make(chan struct{})
		for _, r := range reqs {
			all.Go(func() {
				<-start
				_, err := s.Submit(s.ctx, r)
				var e *tasker.Error
				if errors.As(err, &e) && e.RetryAfter <= 0 {
					t.Errorf("%v does not say when to come back", err)
				}
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					got[r.Initiator]++
				} else if tasker.ErrorCode(err) != tasker.CodeExhausted {
					t.Errorf("%s: %v", r.Initiator, err)
				}
			})
		}
		close(start)
		all.Wait()
		return got
	}
	of := func(n int, r tasker.TaskRequest) []tasker.TaskRequest {
		out := make([]tasker.TaskRequest, n)
		for i := range out {
			out[i] = r
		}
		return out
	}
	if got := atOnce(of(60, tasker.TaskRequest{TaskType: "x", Initiator: "ann"})...); got["ann"] != 20 {
		t.Errorf("of 60 tasks of ann 20 are allowed, and %d were accepted", got["ann"])
	}
	beside := append(of(15, tasker.TaskRequest{TaskType: "x", Initiator: "bob"}),
		of(15, tasker.TaskRequest{TaskType: "x", Initiator: "ann"})...)
	if got := atOnce(beside...); got["bob"] != 15 || got["ann"] != 0 {
		t.Errorf("beside ann, who may submit no more, bob: %v", got)
	}
	if got := atOnce(of(20, tasker.TaskRequest{TaskType: "vip", Initiator: "carl"})...); got["carl"] != 20 {
		t.Errorf("20 on the allow-list: %v", got)
	}
	mixed := append(of(10, tasker.TaskRequest{TaskType: "x", Initiator: "dora", Priority: tasker.High}),
		append(of(10, tasker.TaskRequest{TaskType: "x", Initiator: "emil"}),
			of(10, tasker.TaskRequest{TaskType: "vip", Initiator: "fred"})...)...)
	if got := atOnce(mixed...); got["dora"] != 10 || got["emil"] != 0 || got["fred"] != 10 {
		t.Errorf("in a full queue, urgent, usual and listed: %v", got)
	}
}

// TestKeyOfAnotherBody: both families refuse a key of another body, alone and in a batch, and accept the same body in
// another notation.
func TestKeyOfAnotherBody(t *testing.T) { onEveryStore(t, testKeyOfAnotherBody) }

func testKeyOfAnotherBody(t *testing.T, s *server) {
	first := s.submit(t, tasker.TaskRequest{TaskType: "h", IdempotencyKey: "k",
		Context: json.RawMessage(`{"a": 1, "b": {"c": 2, "d": 3}}`)})
	again, err := s.Submit(s.ctx, tasker.TaskRequest{TaskType: "h", IdempotencyKey: "k",
		Context: json.RawMessage(`{"b":{"d":3,"c":2},"a":1}`)})
	if err != nil || again.TaskUUID != first.TaskUUID || again.Created {
		t.Errorf("the same body is answered %+v, %v", again, err)
	}
	queued, err := s.Enqueue(s.ctx, queueapi.EnqueueTask{TaskType: "h", IdempotencyKey: "k",
		Parameters: json.RawMessage(`{"a":1,"b":{"c":2,"d":3}}`)})
	if err != nil || queued.TaskID != first.TaskUUID || queued.Created {
		t.Errorf("through the queue it is answered %+v, %v", queued, err)
	}
	conflict := func(what string, err error) {
		t.Helper()
		var e *tasker.Error
		if !errors.As(err, &e) || e.Code != tasker.CodeConflict || len(e.Details) != 1 {
			t.Fatalf("%s: %v", what, err)
		}
	}
	_, err = s.Submit(s.ctx, tasker.TaskRequest{TaskType: "h", IdempotencyKey: "k", Context: json.RawMessage(`{"a":2}`)})
	conflict("another body", err)
	_, err = s.Enqueue(s.ctx, queueapi.EnqueueTask{TaskType: "other", IdempotencyKey: "k"})
	conflict("another type, through the queue", err)
	for _, itemErrors := range []bool{false, true} {
		receipts, err := s.SubmitTasks(s.ctx, tasker.SubmitRequest{ItemErrors: itemErrors, Tasks: []tasker.TaskRequest{
			{TaskType: "h"}, {TaskType: "other", IdempotencyKey: "k"}, {TaskType: "h"},
		}})
		if err != nil || !receipts[0].Created || !receipts[2].Created {
			t.Fatalf("in a batch the others are answered %+v, %v", receipts, err)
		}
		conflict("in a batch", receipts[1].Error)
		if at := receipts[1].Error.Details[0].Location; at != "/tasks/1/idempotency_key" {
			t.Errorf("in a batch the conflict is at %s", at)
		}
	}
	queue, err := s.EnqueueTasks(s.ctx,
		queueapi.EnqueueRequest{Tasks: []queueapi.EnqueueTask{{TaskType: "h"}, {TaskType: "other", IdempotencyKey: "k"}}})
	if err != nil || !queue[0].Created {
		t.Fatalf("in a batch of the queue the other is answered %+v, %v", queue, err)
	}
	conflict("in a batch of the queue", queue[1].Error)
}
