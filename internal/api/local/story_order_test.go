package local_test

import (
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// TestHistoryOfAHandOff: a step handed to a waiting poll was ready and taken at one time.
func TestHistoryOfAHandOff(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		r.template(t, pair)
		r.submit(t, tasker.TaskRequest{TaskType: "h"}) // makes the route known
		r.report(t, r.take(t, true), completed(`1`))
		polled := make(chan *protocol.PollResponse, 1)
		go func() {
			resp, err := protocol.Of(r.Client).Poll(t.Context(),
				protocol.PollRequest{WorkerID: r.worker, WaitMS: 60_000, Start: true})
			if err != nil {
				t.Errorf("poll: %v", err)
			}
			polled <- resp
		}()
		id := r.submit(t, tasker.TaskRequest{Name: "pair"})
		if resp := <-polled; resp == nil || len(resp.Steps) != 1 || resp.Steps[0].TaskUUID != id {
			t.Fatalf("the waiting poll got %+v", resp)
		}
		want := `
0s task >pending
0s a >pending
0s b >pending
0s a pending>enqueued
0s a enqueued>in_progress #1 w
0s task pending>steps_in_process
attempt a #1 token 1 running: 0s 0s 0s -
`
		if got := r.story(t, id); got != want[1:] {
			t.Errorf("the history is\n%s\nwant\n%s", got, want[1:])
		}
	})
}

// diamond lists a child before its parents.
const diamond = `
name: diamond
version: "1"
steps:
  - {name: join, handler: h, dependencies: [left, right]}
  - {name: left, handler: h, dependencies: [root]}
  - {name: right, handler: h, dependencies: [root]}
  - {name: root, handler: h}
`

// TestHistoryOfADiamond: at one time, causes come before effects, in any order of the template; attempts are in the
// order of their begin.
func TestHistoryOfADiamond(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		r.template(t, diamond)
		id := r.submit(t, tasker.TaskRequest{Name: "diamond"})
		for range 4 {
			r.wait(t, second)
			r.report(t, r.take(t, true), completed(`1`))
		}
		want := `
0s task >pending
0s join >pending
0s left >pending
0s right >pending
0s root >pending
0s root pending>enqueued
0s task pending>steps_in_process
1s root enqueued>in_progress #1 w
1s root in_progress>complete #1 w
1s left pending>enqueued
1s right pending>enqueued
2s left enqueued>in_progress #1 w
2s left in_progress>complete #1 w
3s right enqueued>in_progress #1 w
3s right in_progress>complete #1 w
3s join pending>enqueued
4s join enqueued>in_progress #1 w
4s join in_progress>complete #1 w
4s task steps_in_process>complete
attempt root #1 token 1 completed: 0s 1s 1s 1s
attempt left #1 token 1 completed: 1s 2s 2s 2s
attempt right #1 token 1 completed: 1s 3s 3s 3s
attempt join #1 token 1 completed: 3s 4s 4s 4s
`
		if got := r.story(t, id); got != want[1:] {
			t.Errorf("the history is\n%s\nwant\n%s", got, want[1:])
		}
	})
}

// TestHistoryOfADeadline: a step that waits for a retry at the deadline does not become ready first, and no step has an
// attempt that it never made.
func TestHistoryOfADeadline(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		r.template(t, "name: quick\nversion: \"1\"\nlifecycle: {max_duration_minutes: 1}\nsteps:\n"+
			"  - {name: a, handler: h, retry: {max_attempts: 3, backoff: fixed, backoff_base_ms: 300000, max_backoff_ms: "+
			"300000, jitter: 0}}\n"+
			"  - {name: b, handler: h}\n")
		id := r.submit(t, tasker.TaskRequest{Name: "quick"})
		r.wait(t, second)
		r.report(t, r.take(t, true), failed("down", false))
		r.wait(t, time.Minute)
		want := strings.ReplaceAll(`
0s task >pending
0s a >pending
0s b >pending
0s a pending>enqueued
0s b pending>enqueued
0s task pending>steps_in_process
1s a enqueued>in_progress #1 w
1s a in_progress>waiting_for_retry #1 w down
1m1s a waiting_for_retry>error system LATE
1m1s b enqueued>error system LATE
1m1s task steps_in_process>error LATE
attempt a #1 token 1 failed: 0s 1s 1s 1s down
`, "LATE", "max_duration_minutes_exceeded")
		if got := r.story(t, id); got != want[1:] {
			t.Errorf("the history is\n%s\nwant\n%s", got, want[1:])
		}
	})
}
