package apitest_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/operate"
)

type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

const patientTemplate = `
name: patient
namespace_name: slow
version: "1"
lifecycle: {max_steps_in_process_minutes: 60, max_waiting_for_dependencies_minutes: 60, max_waiting_for_retry_minutes: 60}
steps: [{name: wait, handler: nobody}]
`

const usualTemplate = `
name: usual
version: "1"
lifecycle: {max_steps_in_process_minutes: 30}
steps: [{name: nobody, handler: nobody}]
`

// TestStaleness: healthy, warned of, stale; viewed, detected, repaired.
func TestStaleness(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		c := &clock{}
		testStaleness(t, serve(t, dsn, node.Options{Now: c.now, Engine: settings.Config{
			Cases: settings.Cases{WorkerUnavailableAfter: -1},
			// The test detects: the server's first cycle may begin late, after the clock was put forward.
			StalenessDetection: settings.StalenessDetection{Enabled: settings.Off},
		}}), c)
	})
}

func testStaleness(t *testing.T, s *server, c *clock) {
	s.register(t, patientTemplate)
	s.register(t, usualTemplate)
	usual := s.submit(t, tasker.TaskRequest{Name: "usual"})
	s.submit(t, tasker.TaskRequest{Name: "patient", Namespace: "slow"})

	health := func(query string) string {
		t.Helper()
		var out []string
		for _, k := range get[[]operate.StaleTask](t, s, "/v1/dlq/staleness"+query) {
			name := map[bool]string{true: "usual", false: "patient"}[k.TaskUUID == usual.TaskUUID]
			out = append(out, name+" "+string(k.Health))
		}
		return strings.Join(out, ", ")
	}
	expect := func(query, want string) {
		t.Helper()
		if got := health(query); got != want {
			t.Errorf("staleness%s is %q, want %q", query, got, want)
		}
	}
	if got := health(""); !strings.Contains(got, "usual healthy") || !strings.Contains(got, "patient healthy") {
		t.Errorf("at first staleness is %q", got)
	}
	c.advance(25 * time.Minute) // 83 % of 30 minutes, 42 % of 60
	expect("", "usual warning, patient healthy")
	expect("?health=warning", "usual warning")
	expect("?namespace=slow", "patient healthy")
	expect("?task_name=patient&limit=1", "patient healthy")
	c.advance(25 * time.Minute)
	expect("", "usual stale, patient warning")

	detect := func(body string) []operate.Detection {
		t.Helper()
		var out []operate.Detection
		if status, answer := s.send(t, "POST", "/v1/dlq/staleness/detect", body, &out); status != 200 {
			t.Fatalf("the detection is answered %d %s", status, answer)
		}
		return out
	}
	dry := detect(`{"dry_run":true}`)
	if len(dry) != 1 || dry[0].TaskUUID != usual.TaskUUID || dry[0].ActionTaken != operate.WouldTransition ||
		dry[0].MovedToDLQ || dry[0].TransitionSuccess {
		t.Errorf("the dry run says %+v", dry)
	}
	if cases := get[[]operate.Case](t, s, "/v1/dlq"); len(cases) != 0 {
		t.Errorf("the dry run opened %+v", cases)
	}
	done := detect("")
	if len(done) != 1 {
		t.Fatalf("the detection says %+v", done)
	}
	if done[0].TaskUUID != usual.TaskUUID || done[0].ActionTaken != operate.MovedAndErrored ||
		!done[0].MovedToDLQ || !done[0].TransitionSuccess ||
		done[0].ThresholdMinutes != 30 || done[0].TimeInStateMinutes < 50 {
		t.Errorf("the detection says %+v", done)
	}
	if again := detect("{}"); len(again) != 0 {
		t.Errorf("detected again: %+v", again)
	}
	s.settled(t, usual, tasker.TaskError)
	expect("", "patient warning")
	found := get[operate.Case](t, s, "/v1/dlq/task/"+usual.TaskUUID.String())
	if found.Reason != tasker.ReasonStaleness || found.OriginalState != done[0].CurrentState {
		t.Errorf("the case is %+v", found)
	}

	// The step never ran: an operator does its work.
	step := s.step(t, usual, "nobody")
	if _, err := s.ActOnStep(s.ctx, usual.TaskUUID, step.StepUUID,
		tasker.StepAction{ActionType: tasker.ResolveManually, ResolvedBy: "ann", Reason: "done by mail"}); err != nil {
		t.Fatal(err)
	}
	s.settled(t, usual, tasker.TaskResolvedManually)
	if again := get[operate.Case](t, s, "/v1/dlq/task/"+usual.TaskUUID.String()); again.Recovery == nil ||
		again.Recovery.By != "ann" {
		t.Errorf("after the repair the recovery is %+v", again.Recovery)
	}
}
