package local_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// pair is two steps in a row, with a fixed delay of ten seconds between attempts.
const pair = `
name: pair
version: "1"
steps:
  - name: a
    handler: h
    retry: {max_attempts: 2, backoff: fixed, backoff_base_ms: 10000, jitter: 0}
    timeout_seconds: 600
  - name: b
    handler: h
    dependencies: [a]
    retry: {max_attempts: 2, backoff: fixed, backoff_base_ms: 10000, jitter: 0}
    timeout_seconds: 600
`

// second passes between the events of a story.
const second = time.Second

// TestHistory compares whole lives: every transition and every attempt, in order.
func TestHistory(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		live func(t *testing.T, r *rig) uuid.UUID
		want string
	}{
		"Straight": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{Name: "pair"})
			for _, result := range []string{`1`, `2`} {
				r.wait(t, second)
				a := r.take(t, true)
				r.wait(t, second)
				r.report(t, a, completed(result))
			}
			return id
		}, `
0s task >pending
0s a >pending
0s b >pending
0s a pending>enqueued
0s task pending>steps_in_process
1s a enqueued>in_progress #1 w
2s a in_progress>complete #1 w
2s b pending>enqueued
3s b enqueued>in_progress #1 w
4s b in_progress>complete #1 w
4s task steps_in_process>complete
attempt a #1 token 1 completed: 0s 1s 1s 2s
attempt b #1 token 1 completed: 2s 3s 3s 4s
`},
		"TwoPhase": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{TaskType: "h"})
			r.wait(t, second)
			a := r.take(t, false)
			r.wait(t, second)
			r.start(t, a)
			r.wait(t, second)
			r.report(t, a, completed(`1`))
			return id
		}, `
0s task >pending
0s h >pending
0s h pending>enqueued
0s task pending>steps_in_process
1s h enqueued>assigned #1 w
2s h assigned>in_progress #1 w
3s h in_progress>complete #1 w
3s task steps_in_process>complete
attempt h #1 token 1 completed: 0s 1s 2s 3s
`},
		"Assigned": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{TaskType: "h"})
			r.wait(t, second)
			r.take(t, false)
			return id
		}, `
0s task >pending
0s h >pending
0s h pending>enqueued
0s task pending>steps_in_process
1s h enqueued>assigned #1 w
attempt h #1 token 1 running: 0s 1s - -
`},
		"NotStartedInTime": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{TaskType: "h"})
			r.take(t, false)
			r.wait(t, 30*second)
			r.take(t, true)
			return id
		}, `
0s task >pending
0s h >pending
0s h pending>enqueued
0s h enqueued>assigned #1 w
0s task pending>steps_in_process
30s h assigned>enqueued not_started
30s h enqueued>in_progress #1 w
attempt h #1 token 1 not_started: 0s 0s - 30s
attempt h #1 token 2 running: 30s 30s 30s -
`},
		"RetryThenSuccess": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{Name: "pair"})
			r.report(t, r.take(t, true), completed(`1`))
			r.wait(t, second)
			r.report(t, r.take(t, true), failed("down", false))
			r.wait(t, 10*second)
			r.wait(t, second)
			a := r.take(t, true)
			r.wait(t, second)
			r.report(t, a, completed(`2`))
			return id
		}, `
0s task >pending
0s a >pending
0s b >pending
0s a pending>enqueued
0s a enqueued>in_progress #1 w
0s a in_progress>complete #1 w
0s b pending>enqueued
0s task pending>steps_in_process
1s b enqueued>in_progress #1 w
1s b in_progress>waiting_for_retry #1 w down
1s task steps_in_process>waiting_for_retry
11s b waiting_for_retry>enqueued
11s task waiting_for_retry>steps_in_process
12s b enqueued>in_progress #2 w
13s b in_progress>complete #2 w
13s task steps_in_process>complete
attempt a #1 token 1 completed: 0s 0s 0s 0s
attempt b #1 token 1 failed: 0s 1s 1s 1s down
attempt b #2 token 2 completed: 11s 12s 12s 13s
`},
		"ExhaustedThenResetAndComplete": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{TaskType: "h", MaxRetries: new(int)})
			r.wait(t, second)
			r.report(t, r.take(t, true), failed("down", false))
			r.wait(t, second)
			r.act(t, id, "h", tasker.ResetForRetry)
			r.wait(t, second)
			a := r.take(t, true)
			r.wait(t, second)
			r.report(t, a, completed(`1`))
			return id
		}, `
0s task >pending
0s h >pending
0s h pending>enqueued
0s task pending>steps_in_process
1s h enqueued>in_progress #1 w
1s h in_progress>error #1 w down
1s task steps_in_process>error
2s h error>pending ann by_hand
2s task error>enqueuing_steps
3s h pending>enqueued
3s h enqueued>in_progress #1 w
3s task enqueuing_steps>steps_in_process
4s h in_progress>complete #1 w
4s task steps_in_process>complete
attempt h #1 token 1 failed: 0s 1s 1s 1s down
attempt h #1 token 2 completed: 3s 3s 3s 4s
`},
		"ResetWhileWaitingForRetry": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{Name: "pair"})
			r.report(t, r.take(t, true), failed("down", false))
			r.wait(t, second)
			r.act(t, id, "a", tasker.ResetForRetry)
			return id
		}, `
0s task >pending
0s a >pending
0s b >pending
0s a pending>enqueued
0s a enqueued>in_progress #1 w
0s a in_progress>waiting_for_retry #1 w down
0s task pending>steps_in_process
0s task steps_in_process>waiting_for_retry
1s a waiting_for_retry>pending ann by_hand
1s task waiting_for_retry>enqueuing_steps
attempt a #1 token 1 failed: 0s 0s 0s 0s down
`},
		"ResolvedInError": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{Name: "pair"})
			r.report(t, r.take(t, true), failed("no", true))
			r.wait(t, second)
			r.act(t, id, "a", tasker.ResolveManually)
			r.wait(t, second)
			r.act(t, id, "b", tasker.ResolveManually)
			return id
		}, `
0s task >pending
0s a >pending
0s b >pending
0s a pending>enqueued
0s a enqueued>in_progress #1 w
0s a in_progress>error #1 w no
0s task pending>steps_in_process
0s task steps_in_process>error
1s a error>resolved_manually ann by_hand
1s b pending>enqueued
1s task error>steps_in_process
2s b enqueued>resolved_manually ann by_hand
2s task steps_in_process>resolved_manually
attempt a #1 token 1 failed: 0s 0s 0s 0s no
`},
		"ResolvedBeforeItsTurn": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{Name: "pair"})
			r.wait(t, second)
			r.act(t, id, "b", tasker.ResolveManually)
			r.wait(t, second)
			r.report(t, r.take(t, true), completed(`1`))
			return id
		}, `
0s task >pending
0s a >pending
0s b >pending
0s a pending>enqueued
0s task pending>steps_in_process
1s b pending>resolved_manually ann by_hand
2s a enqueued>in_progress #1 w
2s a in_progress>complete #1 w
2s task steps_in_process>resolved_manually
attempt a #1 token 1 completed: 0s 2s 2s 2s
`},
		"CompletedManuallyCutsOffTheLease": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{Name: "pair"})
			r.wait(t, second)
			r.take(t, true)
			r.wait(t, second)
			r.act(t, id, "a", tasker.CompleteManually)
			return id
		}, `
0s task >pending
0s a >pending
0s b >pending
0s a pending>enqueued
0s task pending>steps_in_process
1s a enqueued>in_progress #1 w
2s a in_progress>complete #1 w ann by_hand
2s b pending>enqueued
attempt a #1 token 1 cancelled: 0s 1s 1s 2s
`},
		"ResolvedWhileAssigned": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{TaskType: "h"})
			r.wait(t, second)
			r.take(t, false)
			r.wait(t, second)
			r.act(t, id, "h", tasker.ResolveManually)
			return id
		}, `
0s task >pending
0s h >pending
0s h pending>enqueued
0s task pending>steps_in_process
1s h enqueued>assigned #1 w
2s h assigned>resolved_manually #1 w ann by_hand
2s task steps_in_process>resolved_manually
attempt h #1 token 1 cancelled: 0s 1s - 2s
`},
		"CancelledWhileRunning": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{Name: "pair"})
			r.wait(t, second)
			r.take(t, true)
			r.wait(t, second)
			r.cancel(t, id)
			return id
		}, `
0s task >pending
0s a >pending
0s b >pending
0s a pending>enqueued
0s task pending>steps_in_process
1s a enqueued>in_progress #1 w
2s a in_progress>cancelled #1 w
2s b pending>cancelled
2s task steps_in_process>cancelled ann not_needed
attempt a #1 token 1 cancelled: 0s 1s 1s 2s
`},
		"CancelledWhileWaitingForRetry": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{Name: "pair"})
			r.wait(t, second)
			r.report(t, r.take(t, true), failed("down", false))
			r.wait(t, second)
			r.cancel(t, id)
			return id
		}, `
0s task >pending
0s a >pending
0s b >pending
0s a pending>enqueued
0s task pending>steps_in_process
1s a enqueued>in_progress #1 w
1s a in_progress>waiting_for_retry #1 w down
1s task steps_in_process>waiting_for_retry
2s a waiting_for_retry>cancelled
2s b pending>cancelled
2s task waiting_for_retry>cancelled ann not_needed
attempt a #1 token 1 failed: 0s 1s 1s 1s down
`},
		"CancelledInItsQueueAfterARetry": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{Name: "pair"})
			r.report(t, r.take(t, true), failed("down", false))
			r.wait(t, 10*second)
			r.wait(t, second)
			r.cancel(t, id)
			return id
		}, `
0s task >pending
0s a >pending
0s b >pending
0s a pending>enqueued
0s a enqueued>in_progress #1 w
0s a in_progress>waiting_for_retry #1 w down
0s task pending>steps_in_process
0s task steps_in_process>waiting_for_retry
10s a waiting_for_retry>enqueued
10s task waiting_for_retry>steps_in_process
11s a enqueued>cancelled
11s b pending>cancelled
11s task steps_in_process>cancelled ann not_needed
attempt a #1 token 1 failed: 0s 0s 0s 0s down
`},
		"Scheduled": {func(t *testing.T, r *rig) uuid.UUID {
			at := noon.Add(time.Minute)
			id := r.submit(t, tasker.TaskRequest{TaskType: "h", RunAt: &at})
			r.wait(t, time.Minute)
			return id
		}, `
0s task >pending
0s h >pending
1m0s h pending>enqueued
1m0s task pending>steps_in_process
`},
		"Released": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{TaskType: "h"})
			r.wait(t, second)
			a := r.take(t, true)
			r.wait(t, second)
			r.report(t, a, protocol.StepResult{Status: protocol.ResultReleased})
			r.wait(t, second)
			r.take(t, true)
			return id
		}, `
0s task >pending
0s h >pending
0s h pending>enqueued
0s task pending>steps_in_process
1s h enqueued>in_progress #1 w
2s h in_progress>enqueued released
3s h enqueued>in_progress #1 w
attempt h #1 token 1 released: 0s 1s 1s 2s
attempt h #1 token 2 running: 2s 3s 3s -
`},
		"Snoozed": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{TaskType: "h"})
			r.wait(t, second)
			r.report(t, r.take(t, true), protocol.StepResult{Status: protocol.ResultSnoozed, SnoozeSeconds: 60})
			r.wait(t, time.Minute)
			return id
		}, `
0s task >pending
0s h >pending
0s h pending>enqueued
0s task pending>steps_in_process
1s h enqueued>in_progress #1 w
1s h in_progress>waiting_for_retry #1 w snoozed
1s task steps_in_process>waiting_for_retry
1m1s h waiting_for_retry>enqueued
1m1s task waiting_for_retry>steps_in_process
attempt h #1 token 1 snoozed: 0s 1s 1s 1s
`},
		"LeaseLostLate": {func(t *testing.T, r *rig) uuid.UUID {
			id := r.submit(t, tasker.TaskRequest{Name: "pair"})
			a := r.take(t, true)
			r.wait(t, 80*second) // well into the attempt
			if _, err := protocol.Of(r.Client).Heartbeat(t.Context(), protocol.Heartbeat{WorkerID: r.worker,
				Steps: []protocol.LeaseRef{ref(a)}}); err != nil {
				t.Fatal(err)
			}
			r.wait(t, 90*second)
			return id
		}, `
0s task >pending
0s a >pending
0s b >pending
0s a pending>enqueued
0s a enqueued>in_progress #1 w
0s task pending>steps_in_process
2m50s a in_progress>waiting_for_retry #1 w no_heartbeat_for_1m30s:_the_worker_died_or_lost_its_connection
2m50s task steps_in_process>waiting_for_retry
attempt a #1 token 1 lease_expired: 0s 0s 0s 2m50s no_heartbeat_for_1m30s:_the_worker_died_or_lost_its_connection
`},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryStore(t, func(t *testing.T, r *rig) {
				r.template(t, pair)
				if got := r.story(t, test.live(t, r)); got != test.want[1:] {
					t.Errorf("the history is\n%s\nwant\n%s", got, test.want[1:])
				}
			})
		})
	}
}
